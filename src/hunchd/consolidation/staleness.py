"""Staleness: a memory becomes suspect when code that it is about disappears.

A suspect memory is trusted again when the code is back. These are pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from hunchd.consolidation.code_presence import CodePresence
from hunchd.consolidation.linking import ABOUT, ABOUT_SYMBOL
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Memory, Status

STALE_REASON: Final = "suspect"  # source field: the reason, in words, why the memory is suspect


def plan_staleness(memories: Iterable[Memory], code: CodePresence) -> Iterator[PlannedChange]:
    """Plan which memories become suspect and which are trusted again."""
    for memory in memories:
        if (update := _update_status(memory, code)) is None:
            continue
        after, why = update
        is_suspect = after.status is Status.SUSPECT
        counter = "doubted" if is_suspect else "trusted_again"
        what = f"mark {memory.title!r} as suspect" if is_suspect else f"trust {memory.title!r} again"
        yield PlannedChange(ConsolidationStep.CASCADE, counter, what, why, (memory,), (after,))


def _update_status(memory: Memory, code: CodePresence) -> tuple[Memory, str] | None:
    """Return the memory with its new status, and the reason for the change.

    Returns None if the status does not change.
    """
    if memory.status not in (Status.ACTIVE, Status.SUSPECT) or "." in memory.id:
        return None
    is_marked = STALE_REASON in memory.source
    if memory.status is Status.SUSPECT and not is_marked:  # marked by somebody else
        return None
    why = _find_stale_reason(memory, code)
    if why and not is_marked:
        return replace(memory, status=Status.SUSPECT, source={**memory.source, STALE_REASON: why}), why
    if not why and is_marked:
        source = {name: value for name, value in memory.source.items() if name != STALE_REASON}
        return replace(
            memory, status=Status.ACTIVE, source=source
        ), f"this no longer applies: {memory.source[STALE_REASON]}"
    return None


def _find_stale_reason(memory: Memory, code: CodePresence) -> str:
    """Return the reason why a memory is stale.

    Returns "" if the memory is not stale, or if the index does not show whether it is.
    """
    if not describe(memory.kind).rests_on_code or not code.is_complete:
        return ""
    for link in memory.links:
        type_, ref = link.get("type"), link.get("ref", "")
        if type_ == ABOUT_SYMBOL:
            path, _, name = ref.rpartition("#")
            places = code.find_definitions(name)
            if not places:
                return f"`{name}` is defined nowhere any more (it was in {path})"
        elif type_ == ABOUT and not code.has_path(ref) and _looks_like_file(ref):
            return f"{ref} is gone"
    return ""


def _looks_like_file(ref: str) -> bool:
    return "." in ref.rpartition("/")[2] and " " not in ref and "://" not in ref
