"""Staleness: a memory becomes suspect when something that it depends on changes.

A suspect memory is trusted again when that change is undone. These are pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.code_presence import CodePresence
from hunchd.consolidation.linking import ABOUT, ABOUT_SYMBOL, RESTS_ON
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.facts import is_same_value
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Memory, Status

STALE_REASON: Final = "suspect"  # source field: the reason, in words, why the memory is suspect
MAX_ROUNDS: Final = 10  # maximum length of a chain of memories that depend on each other


def plan_staleness(memories: Mapping[str, Memory], code: CodePresence, now: datetime) -> Iterator[PlannedChange]:
    """Plan which memories become suspect and which are trusted again.

    A memory that depends on a suspect one becomes suspect too. This is repeated until nothing changes, at most
    MAX_ROUNDS times.
    """
    current = dict(memories)
    for _ in range(MAX_ROUNDS):
        updates = [
            (memory, update)
            for memory in current.values()
            if (update := _update_status(memory, current, code)) is not None
        ]
        if not updates:
            return
        for memory, (after, why) in updates:
            current[memory.id] = after
            is_suspect = after.status is Status.SUSPECT
            counter = "doubted" if is_suspect else "trusted_again"
            what = f"mark {memory.title!r} as suspect" if is_suspect else f"trust {memory.title!r} again"
            yield PlannedChange(ConsolidationStep.CASCADE, counter, what, why, (memory,), (after,))


def _update_status(memory: Memory, current: Mapping[str, Memory], code: CodePresence) -> tuple[Memory, str] | None:
    """Return the memory with its new status, and the reason for the change.

    Returns None if the status does not change.
    """
    if memory.status not in (Status.ACTIVE, Status.SUSPECT) or "." in memory.id:
        return None
    is_marked = STALE_REASON in memory.source
    if memory.status is Status.SUSPECT and not is_marked:  # marked by somebody else
        return None
    why = _find_stale_reason(memory, current, code)
    if why and not is_marked:
        return replace(memory, status=Status.SUSPECT, source={**memory.source, STALE_REASON: why}), why
    if not why and is_marked:
        source = {name: value for name, value in memory.source.items() if name != STALE_REASON}
        return replace(
            memory, status=Status.ACTIVE, source=source
        ), f"this no longer applies: {memory.source[STALE_REASON]}"
    return None


def _find_stale_reason(memory: Memory, current: Mapping[str, Memory], code: CodePresence) -> str:
    """Return the reason why a memory is stale.

    Returns "" if it is not stale, or if the index does not show whether it is.
    """
    for link in memory.links:
        type_, ref = link.get("type"), link.get("ref", "")
        if type_ == RESTS_ON and (why := _describe_change(ref, memory, current)):
            return why
        if not describe(memory.kind).rests_on_code or not code.is_complete:
            continue
        if type_ == ABOUT_SYMBOL:
            path, _, name = ref.rpartition("#")
            places = code.find_definitions(name)
            if not places:
                return f"`{name}` is defined nowhere any more (it was in {path})"
        elif type_ == ABOUT and not (code.has_file(ref) or code.has_folder(ref)) and _looks_like_file(ref):
            return f"{ref} is gone"
    return ""


def _describe_change(ref: str, memory: Memory, current: Mapping[str, Memory]) -> str:
    """Describe how a memory on which `memory` depends has changed.

    `ref` is the id of that memory. Returns "" if it has not changed or does not exist.
    """
    base = current.get(ref)
    if base is None:
        return ""
    if base.status is Status.SUSPECT:
        return f"it rests on {base.title!r}, which is suspect"
    if base.status in (Status.SUPERSEDED, Status.ARCHIVED):
        return f"it rests on {base.title!r}, which is no longer valid"
    previous = current.get(base.supersedes or "")
    if previous is not None and memory.at < (base.valid_from or base.at) and not is_same_value(previous, base):
        return f"it rests on {previous.title!r}, which is now {base.title!r}"
    return ""


def _looks_like_file(ref: str) -> bool:
    return "." in ref.rpartition("/")[2] and " " not in ref and "://" not in ref
