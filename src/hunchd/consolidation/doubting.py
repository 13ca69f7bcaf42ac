"""Staleness of memories that rest on something changed.

They become suspect, and are trusted again when it is back. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.ground import Ground
from hunchd.consolidation.linking import ABOUT, ABOUT_SYMBOL, RESTING, RESTS_ON
from hunchd.consolidation.plan import Planned, Step
from hunchd.domain.facts import same_value
from hunchd.domain.memory import Memory, Status

DOUBT: Final = "suspect"  # source field: the reason in words
MOST_STEPS: Final = 10  # length of a chain of stale memories


def cascaded(memories: Mapping[str, Memory], ground: Ground, now: datetime) -> Iterator[Planned]:
    """Plan which memories become suspect and which are trusted again.

    Repeats, at most MAX_ROUNDS times, until no memory rests on a suspect one without being suspect itself.
    """
    held = dict(memories)
    for _ in range(MOST_STEPS):
        changed = [(memory, told) for memory in held.values() if (told := _judged(memory, held, ground)) is not None]
        if not changed:
            return
        for memory, (after, why) in changed:
            held[memory.id] = after
            doubts = after.status is Status.SUSPECT
            counts, verb = ("doubted", "doubt") if doubts else ("trusted_again", "trust again")
            yield Planned(Step.CASCADE, counts, f"{verb} {memory.title!r}", why, (memory,), (after,))


def _judged(memory: Memory, held: Mapping[str, Memory], ground: Ground) -> tuple[Memory, str] | None:
    """Return the memory with its new status, and the reason.

    Returns None if nothing changes. None if nothing changes.
    """
    if memory.status not in (Status.ACTIVE, Status.SUSPECT) or "." in memory.id:
        return None
    ours = DOUBT in memory.source
    if memory.status is Status.SUSPECT and not ours:  # marked by somebody else
        return None
    why = _shaken(memory, held, ground)
    if why and not ours:
        return replace(memory, status=Status.SUSPECT, source={**memory.source, DOUBT: why}), why
    if not why and ours:
        source = {name: told for name, told in memory.source.items() if name != DOUBT}
        return replace(memory, status=Status.ACTIVE, source=source), f"no longer: {memory.source[DOUBT]}"
    return None


def _shaken(memory: Memory, held: Mapping[str, Memory], ground: Ground) -> str:
    """Return the reason why a memory is stale, or "".

    "" also if nobody can tell. "" if it is not, or nobody can tell.
    """
    for link in memory.links:
        type_, ref = link.get("type"), link.get("ref", "")
        if type_ == RESTS_ON and (why := _changed(ref, memory, held)):
            return why
        if memory.kind not in RESTING or not ground.known:
            continue
        if type_ == ABOUT_SYMBOL:
            path, _, name = ref.rpartition("#")
            places = ground.defined_in(name)
            if not places:
                return f"`{name}` is defined nowhere any more (it was in {path})"
        elif type_ == ABOUT and not (ground.has_file(ref) or ground.has_folder(ref)) and _looks_like_a_file(ref):
            return f"{ref} is gone"
    return ""


def _changed(ref: str, memory: Memory, held: Mapping[str, Memory]) -> str:
    """Return how a memory that another rests on has changed, or ""."""
    ground = held.get(ref)
    if ground is None:
        return ""
    if ground.status is Status.SUSPECT:
        return f"it rests on {ground.title!r}, which is in doubt"
    if ground.status in (Status.SUPERSEDED, Status.ARCHIVED):
        return f"it rests on {ground.title!r}, which holds no more"
    before = held.get(ground.supersedes or "")
    if before is not None and memory.at < (ground.valid_from or ground.at) and not same_value(before, ground):
        return f"it rests on {before.title!r}, which is {ground.title!r} now"
    return ""


def _looks_like_a_file(ref: str) -> bool:
    return "." in ref.rpartition("/")[2] and " " not in ref and "://" not in ref
