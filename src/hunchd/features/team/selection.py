"""Selection and redaction of the memories that are sent to a team.

Only memories that the user stated, or marked with the tag `team`, are sent: facts, decisions, conventions and
workflows of the project, fixes for errors, and marked documents. Private or personal memories and commands are
never sent. All functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final

from hunchd.core.memory.drafts import redact_memory
from hunchd.domain.facts import is_over, normalize_key, slot_of
from hunchd.domain.memory import CHUNK, Artifact, Kind, Memory, Scope, Status, Trust
from hunchd.domain.sharing import SHARED_KINDS, explain_not_shared
from hunchd.ingestion.fixes import PAST_TAG, is_fix
from hunchd.ingestion.local_paths import remove_local_paths
from hunchd.ingestion.personal_data import holds_personal_data
from hunchd.ingestion.redaction import find_new_redactions
from hunchd.protocol.shared_files import MAX_IMPORTANCE, MAX_TEXT_CHARACTERS, strip_invisible, strip_invisible_line
from hunchd.protocol.team_records import Statement

TEAM_TAG: Final = "team"  # marks documents, and memories that the user did not state, as meant for the team
TEAM_KINDS: Final = (*SHARED_KINDS, Kind.ERROR, Kind.DOCUMENT)
DOCUMENT_ROOTS: Final = ("/projects/", "/reference/")
MAX_FILES: Final = 50  # in one statement
MAX_TAGS: Final = 50
MAX_LINE: Final = 2_000  # characters of keys, values and titles


@dataclass(frozen=True, slots=True)
class SharingScope:
    """Project whose memories are selected: its local id and its name."""

    project: str
    name: str
    root: Path
    branch: str | None = None


def is_from_team(memory: Memory) -> bool:
    """Return True if a memory is a statement by another member."""
    return memory.trust is Trust.TEAM and "member" in memory.source


def explain_not_sent(memory: Memory, scope: SharingScope, now: datetime) -> str:
    """Return the reason why a memory is not sent, or "" if it is sent.

    This check does not redact the text; the text is redacted when the memory is sent.
    """
    if memory.kind not in TEAM_KINDS or memory.category == CHUNK:
        return f"its kind is {memory.kind}, which is never sent"
    if memory.status is not Status.ACTIVE or "." in memory.id or is_over(memory, now):
        return "it is no longer valid"
    if is_from_team(memory):
        return f"{memory.source.get('by')} stated it"
    reason = {Kind.DOCUMENT: _explain_document, Kind.ERROR: _explain_fix}.get(memory.kind, _explain_statement)(
        memory, scope, now
    )
    return reason or _explain_text(memory)


def _explain_statement(memory: Memory, scope: SharingScope, now: datetime) -> str:
    if reason := explain_not_shared(memory, project=scope.project, branch=scope.branch, now=now):
        return reason
    if memory.branch is not None:
        return f"it is valid on branch {memory.branch} only"
    if memory.trust is not Trust.USER and TEAM_TAG not in memory.tags:
        return f"you did not state it yourself; the tag '{TEAM_TAG}' sends it"
    return ""


def _explain_fix(memory: Memory, scope: SharingScope, _: datetime) -> str:
    if memory.project != scope.project or memory.scope is not Scope.PROJECT:
        return "it belongs to another project"
    if not is_fix(memory):
        return "errors are not sent, only their fixes"
    return "it comes from a commit, which everybody has" if PAST_TAG in memory.tags else ""


def _explain_document(memory: Memory, scope: SharingScope, _: datetime) -> str:
    path = memory.key or ""
    if not path.startswith(DOCUMENT_ROOTS):
        return f"only documents below {' and '.join(DOCUMENT_ROOTS)} are sent"
    if memory.project not in (None, scope.project):
        return "it belongs to another project"
    tags = {f"{TEAM_TAG}:{scope.name}"} if memory.project is None else {TEAM_TAG, f"{TEAM_TAG}:{scope.name}"}
    if not tags & set(memory.tags):
        return f"it is not marked with the tag '{min(tags, key=len)}'"
    return ""


def _explain_text(memory: Memory) -> str:
    if len(memory.content) > MAX_TEXT_CHARACTERS:
        return f"it is longer than {MAX_TEXT_CHARACTERS:,} characters"
    if find_new_redactions("", redact_memory(memory).value or ""):
        return "its value was a secret, which is not stored"
    if holds_personal_data(" ".join((memory.title, memory.content, memory.value or "", memory.key or ""))):
        return "it seems to contain personal data, such as a person's address or number"
    return ""


def build_statement(memory: Memory, scope: SharingScope, error: str | None = None) -> Statement:
    """Return the statement that is sent for a memory.

    Secrets are redacted, paths are made relative to the project, and the origin of the memory is left out. `error`
    is the fingerprint of the error that a fix is for.
    """
    # Redacted twice: removing a path may join two parts of a secret.
    memory = redact_memory(remove_local_paths(redact_memory(memory), scope.root))
    source = memory.source
    return Statement(
        kind=memory.kind,
        title=strip_invisible_line(memory.title)[:MAX_LINE],
        content=strip_invisible(memory.content).strip(),
        at=memory.at,
        category=memory.category if memory.kind is not Kind.ERROR else None,
        key=strip_invisible_line(memory.key or "")[:MAX_LINE] or None if memory.kind is not Kind.ERROR else None,
        value=strip_invisible_line(memory.value or "")[:MAX_LINE] or None if memory.kind is not Kind.ERROR else None,
        confidence=memory.confidence,
        importance=min(memory.importance, MAX_IMPORTANCE),
        tags=tuple(sorted(filter(None, map(strip_invisible_line, memory.tags))))[:MAX_TAGS],
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        files=_list_files(memory.artifacts),
        error=error,
        helped=int(source.get("helped", 0)) if memory.kind is Kind.ERROR else 0,
        tried=int(source.get("tried", 0)) if memory.kind is Kind.ERROR else 0,
    )


def _list_files(artifacts: tuple[Artifact, ...]) -> tuple[str, ...]:
    """Return the paths of the artifacts that are files inside the project."""
    paths = (one.ref for one in artifacts if one.type == "file")
    return tuple(sorted(one for one in paths if not one.startswith(("/", "~", "..")) and ":" not in one))[:MAX_FILES]


def compute_subject(memory: Memory, team: str) -> str:
    """Return the subject for a memory.

    For a fact with a key, the subject is the same for all members. It is a hash keyed with the team's id, so that
    an erased key can neither be read from it nor be compared with the keys of a different team.
    """
    is_key = slot_of(memory) is not None
    identity = ("slot", memory.category or "", normalize_key(memory.key or "")) if is_key else ("memory", memory.id)
    return blake2b(
        "\x1f".join(identity).encode("utf-8", "surrogatepass"), key=team.encode(), digest_size=12
    ).hexdigest()
