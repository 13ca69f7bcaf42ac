"""Journal records for memory changes.

Records written by any earlier version can still be read.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

from hunchd.domain.facts import MemoryChange
from hunchd.domain.filters import is_in_any_family
from hunchd.protocol.memories import memory_from_json, memory_to_json
from hunchd.store.journal.journal import JournalRecord


def change_to_record(change: MemoryChange) -> JournalRecord:
    """Serialize a change as a single record, which makes it atomic."""
    identifier, memory_records = secrets.token_hex(8), [memory_to_json(memory) for memory in change.memories]
    if len(memory_records) == 1 and not change.deletions:
        return JournalRecord(id=identifier, type="memory", project=change.project, data=memory_records[0], at=0.0)
    data = {"memories": memory_records, "deletions": list(change.deletions)}
    return JournalRecord(id=identifier, type="change", project=change.project, data=data, at=0.0)


def deletion_to_record(identifier: str, project: str | None) -> JournalRecord:
    """Create the journal record for the deletion of a memory."""
    return JournalRecord(id=secrets.token_hex(8), type="forget", project=project, data={"id": identifier}, at=0.0)


def change_from_record(record: JournalRecord) -> MemoryChange | None:
    """Parse the change in a record.

    Returns None for other types of records.
    """
    match record.type:
        case "memory":
            return MemoryChange((memory_from_json(record.data),), project=record.project, silent=True)
        case "change":
            memories = tuple(memory_from_json(raw) for raw in record.data["memories"])
            return MemoryChange(memories, tuple(record.data["deletions"]), record.project)
        case "forget":
            return MemoryChange(deletions=(record.data["id"],), project=record.project, silent=True)
    return None


def contains_memory_text(record: JournalRecord, ids: Collection[str]) -> bool:
    """Return True if a record contains the text of one of the memories `ids`.

    That includes the text of their versions and of contradictions that quote them.
    """
    match record.type:
        case "memory":
            return is_in_any_family(str(record.data.get("id")), ids)
        case "change":
            return any(
                is_in_any_family(str(raw.get("id")), ids)
                or any(is_in_any_family(str(link.get("ref")), ids) for link in raw.get("links", ()))
                for raw in record.data.get("memories", ())
            )
    return False


def contains_any_memory(record: JournalRecord, ids: Collection[str]) -> bool:
    """Return True if a record contains at least one of these memories."""
    if record.type == "memory":
        return record.data.get("id") in ids
    return record.type == "change" and any(raw.get("id") in ids for raw in record.data.get("memories", ()))
