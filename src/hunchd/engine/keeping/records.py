"""Journal records of memory changes.

Records of any earlier version can be read.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

from hunchd.domain.facts import Change
from hunchd.domain.filters import of_family
from hunchd.protocol.memories import memory_from_json, memory_json
from hunchd.store.journal.journal import Record


def record_of(change: Change) -> Record:
    """Serialize a change as one record, so that it is atomic."""
    identifier, told = secrets.token_hex(8), [memory_json(memory) for memory in change.memories]
    if len(told) == 1 and not change.deletions:
        return Record(id=identifier, type="memory", project=change.project, data=told[0], at=0.0)
    data = {"memories": told, "deletions": list(change.deletions)}
    return Record(id=identifier, type="change", project=change.project, data=data, at=0.0)


def record_of_forgetting(identifier: str, project: str | None) -> Record:
    """Create the record of a deletion."""
    return Record(id=secrets.token_hex(8), type="forget", project=project, data={"id": identifier}, at=0.0)


def change_of(record: Record) -> Change | None:
    """Parse the change of a record, or return None for other records."""
    match record.type:
        case "memory":
            return Change((memory_from_json(record.data),), project=record.project, silent=True)
        case "change":
            memories = tuple(memory_from_json(told) for told in record.data["memories"])
            return Change(memories, tuple(record.data["deletions"]), record.project)
        case "forget":
            return Change(deletions=(record.data["id"],), project=record.project, silent=True)
    return None


def tells_of(record: Record, identifier: str) -> bool:
    """Return True if a record holds text of a memory.

    Also for a version of it, or a contradiction that quotes it.
    """
    match record.type:
        case "memory":
            return of_family(str(record.data.get("id")), identifier)
        case "change":
            return any(
                of_family(str(told.get("id")), identifier)
                or any(of_family(str(link.get("ref")), identifier) for link in told.get("links", ()))
                for told in record.data.get("memories", ())
            )
    return False


def holds_one_of(record: Record, ids: Collection[str]) -> bool:
    """Return True if a record holds one of these memories.

    Alone, or in a change of several.
    """
    if record.type == "memory":
        return record.data.get("id") in ids
    return record.type == "change" and any(told.get("id") in ids for told in record.data.get("memories", ()))
