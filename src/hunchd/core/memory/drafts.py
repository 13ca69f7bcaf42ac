"""Conversion of drafts to memories that have an id and contain no secrets.

A draft is a memory as a client sends it.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import astuple, fields, replace
from datetime import datetime

from hunchd.domain.facts import slot_of
from hunchd.domain.memory import Artifact, Levels, Memory
from hunchd.ingestion.redaction import redact, redact_name, redact_values
from hunchd.protocol.memories import MemoryDraft, derive_title


def draft_to_memory(draft: MemoryDraft, project: str | None, now: datetime) -> Memory:
    """Convert a draft to a memory, adding an id and redacting secrets.

    The id of a fact with a key is derived from its key, scope and branch. The id of any other draft is derived from
    its ref, or is random if it has no ref.
    """
    values = {each.name: getattr(draft, each.name) for each in fields(draft) if each.name != "number"}
    memory = Memory(
        **values
        | {
            "id": "",
            "at": draft.at or now,
            "created": now,
            "updated": now,
            "project": project,
            "source": dict(draft.source) or {"type": "client"},
        }
    )
    memory = redact_memory(memory)
    slot = slot_of(memory)
    if slot is not None:
        return replace(memory, id=slot)
    return replace(memory, id=memory_id(project, draft.ref) if draft.ref is not None else "m" + secrets.token_hex(10))


def redact_memory(memory: Memory) -> Memory:
    """Redact secrets in a memory.

    The id is kept: it is either generated or an irreversible hash of a ref.
    """
    redacted_fields, _ = redact_values({memory.key or "": memory.value})  # a value is checked together with its key
    [(key, value)] = redacted_fields.items()

    def redact_text(text: str) -> str:
        """Redact the secrets in a text.

        If the memory's key marks its value as secret, the value is redacted in the text as well.
        """
        return redact(text.replace(memory.value, str(value)) if memory.value else text).text

    content = redact_text(memory.content)
    # A title cut from the content may end in part of a secret, which would not be detected.
    cut_from_content = memory.title == derive_title(memory.content)
    return replace(
        memory,
        title=derive_title(content) if cut_from_content else redact_text(memory.title),
        content=content,
        levels=Levels(*map(redact_text, astuple(memory.levels))),
        key=key if memory.key is not None else None,
        value=value,
        tags=tuple(dict.fromkeys(map(redact_name, memory.tags))),
        artifacts=tuple(Artifact(one.type, redact_name(one.ref)) for one in memory.artifacts),
        links=tuple(redact_values(dict(link))[0] for link in memory.links),
        source=redact_values(dict(memory.source))[0],
        ref=redact_name(memory.ref) if memory.ref is not None else None,
        category=redact_name(memory.category) if memory.category is not None else None,
        branch=redact_name(memory.branch) if memory.branch is not None else None,
        supersedes=redact_name(memory.supersedes) if memory.supersedes is not None else None,
    )


def memory_id(project: str | None, ref: str) -> str:
    """Return the memory id for a caller's project ref.

    If the same request is sent twice, both copies get the same id, so that the memory is stored only once.
    """
    return "m" + hashlib.blake2b(f"{project or ''}:{ref}".encode(), digest_size=10).hexdigest()
