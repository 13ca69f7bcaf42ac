"""Rules for sharing memories through the repository, and their folders in it.

No I/O.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from hunchd.domain.facts import is_over
from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust

FOLDER: Final = ".hunch"  # at the root of the repository
SHARED: Final = "shared"  # source type of what was read there
KINDS: Final = (Kind.FACT, Kind.WORKFLOW)
# A folder below `FOLDER` for each category of a fact, and for workflows.
FOLDERS: Final[dict[str, str | None]] = {
    "decisions": "decision",
    "conventions": "convention",
    "constraints": "constraint",
    "instructions": "instruction",
    "facts": None,
}
WORKFLOWS: Final = "workflows"
_PERSONAL: Final = ("identity", "preference")  # categories that speak of a person


def is_shared(memory: Memory) -> bool:
    """Return True if a memory was read from the repository's shared files."""
    return memory.source.get("type") == SHARED


def why_not(memory: Memory, *, project: str, branch: str | None, now: datetime) -> str:
    """Return the reason why a memory is not shared with `project`, or ""."""
    source = memory.source
    if memory.kind not in KINDS:
        return f"it is of the kind {memory.kind}; shared are facts, decisions and workflows"
    if memory.project is None or memory.scope is not Scope.PROJECT:
        return "it is yours, not the project's"
    if memory.project != project:
        return "it belongs to another project"
    if memory.category in _PERSONAL:
        return f"it is filed as {memory.category}, which is about a person"
    if memory.status is not Status.ACTIVE or "." in memory.id or is_over(memory, now):
        return "it holds no more"
    if is_shared(memory):
        return f"it is shared already: {source.get('path')}"
    if source.get("sha"):
        return f"everybody has it: commit {str(source['sha'])[:8]} says so"
    if source.get("path"):
        return f"everybody has it: {source['path']} says so"
    if memory.trust is Trust.UNTRUSTED:
        return "nobody vouches for it"
    if memory.branch not in (None, branch):
        return f"it holds on the branch {memory.branch} only: check that out first"
    return ""
