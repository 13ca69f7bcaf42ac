"""Rules and folders for sharing memories through the repository, without I/O."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from hunchd.domain.facts import is_over
from hunchd.domain.kinds import KINDS, select_kinds
from hunchd.domain.memory import Memory, Scope, Status, Trust

SHARED_FOLDER: Final = ".hunch"  # folder at the root of the repository
SHARED_SOURCE: Final = "shared"  # source type of memories read from there
SHARED_KINDS: Final = select_kinds(lambda one: one.is_shared)
# Subfolder of `SHARED_FOLDER` → category of its facts.
CATEGORY_FOLDERS: Final[dict[str, str | None]] = {
    "decisions": "decision",
    "conventions": "convention",
    "constraints": "constraint",
    "instructions": "instruction",
    "facts": None,
}
# Subfolder → kind; all memories of that kind are there.
KIND_FOLDERS: Final = {folder: kind for kind, one in KINDS.items() if (folder := one.shared_folder) is not None}
SUBFOLDERS: Final = (*CATEGORY_FOLDERS, *KIND_FOLDERS)
_PERSONAL_CATEGORIES: Final = ("identity", "preference")  # categories about a person


def is_shared(memory: Memory) -> bool:
    """Return True if a memory was read from the repository's shared files."""
    return memory.source.get("type") == SHARED_SOURCE


def is_from_colleague(memory: Memory) -> bool:
    """Return True if a memory comes from a colleague.

    Such a memory was read from the repository's shared files or from the team's dataset.
    """
    return is_shared(memory) or memory.trust is Trust.TEAM


def explain_not_shared(memory: Memory, *, project: str, branch: str | None, now: datetime) -> str:
    """Return the reason why a memory cannot be shared with `project`.

    Returns "" if it can be shared. `branch` is the checked-out branch.
    """
    source = memory.source
    if memory.kind not in SHARED_KINDS:
        return f"its kind is {memory.kind}; only facts, decisions and workflows are shared"
    if memory.project is None or memory.scope is not Scope.PROJECT:
        return "it belongs to you, not to the project"
    if memory.project != project:
        return "it belongs to another project"
    if memory.category in _PERSONAL_CATEGORIES:
        return f"its category is {memory.category}, which is personal"
    if memory.status is not Status.ACTIVE or "." in memory.id or is_over(memory, now):
        return "it is no longer valid"
    if is_shared(memory):
        return f"it is shared already: {source.get('path')}"
    if source.get("sha"):
        return f"everybody has it: commit {str(source['sha'])[:8]} states it"
    if source.get("path"):
        return f"everybody has it: {source['path']} states it"
    if memory.trust is Trust.TEAM:
        return f"{source.get('by') or 'a member of the team'} states it"
    if memory.trust is Trust.UNTRUSTED:
        return "its source is untrusted"
    if memory.branch not in (None, branch):
        return f"it is valid on branch {memory.branch} only: check out that branch first"
    return ""
