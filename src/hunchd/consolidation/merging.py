"""Merging of duplicate memories into one.

One memory is kept, and takes over the provenance and usage counts of the others. These are pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.memory import Memory, Status, Trust, Usage

MERGED_FROM: Final = "merged_from"  # type of the link from the memory that is kept to a duplicate that it replaces
MAX_LINKS: Final = 100


def plan_merges(
    memories: Mapping[str, Memory], groups: Sequence[Sequence[str]], now: datetime
) -> Iterator[PlannedChange]:
    """Plan one change for each group of memories that say the same.

    Each group is a sequence of memory ids.
    """
    for group in groups:
        present = [memories[one] for one in group if one in memories and memories[one].status is Status.ACTIVE]
        if len(present) < 2 or len({one.project for one in present}) > 1:
            continue
        keeper = max(present, key=_keeper_sort_key)
        others = [one for one in present if one is not keeper]
        after = _absorb_duplicates(keeper, others)
        superseded_memories = tuple(
            replace(one, status=Status.SUPERSEDED, superseded_by=keeper.id, valid_to=one.valid_to or now)
            for one in others
        )
        why = "another memory says the same" if len(others) == 1 else f"{len(others)} other memories say the same"
        what = f"merge {', '.join(one.title[:60] for one in others[:3])} into {keeper.title[:60]!r}"
        yield PlannedChange(
            ConsolidationStep.DUPLICATES, "deduped", what, why, (keeper, *others), (after, *superseded_memories)
        )


def _keeper_sort_key(memory: Memory) -> tuple[object, ...]:
    """Return the sort key that decides which memory of a group is kept.

    The criteria are, in order: trust, how often the memory was cited or missed, whether it has a key, importance,
    confidence and length of the text.
    """
    order = tuple(Trust)
    return (
        -order.index(memory.trust),
        memory.usage.cited + memory.usage.missed,
        memory.key is not None,
        memory.importance,
        memory.confidence,
        len("".join(memory.content.split())),
        memory.at,
        memory.id,
    )


def _absorb_duplicates(keeper: Memory, others: Sequence[Memory]) -> Memory:
    """Return `keeper` with the usage counts and provenance of its duplicates.

    Links, tags, artifacts and importance are taken over only from duplicates that are trusted at least as much as
    `keeper`, so that nothing from a less trusted source is shown.
    """
    usage, links = keeper.usage, list(keeper.links)
    order = tuple(Trust)
    peers = [other for other in others if order.index(other.trust) <= order.index(keeper.trust)]
    for other in others:
        usage = _add_usage(usage, other.usage)
        links.append({"type": MERGED_FROM, "ref": other.id})
    for other in peers:
        links += [dict(link) for link in other.links if link.get("ref") != keeper.id]
    unique = list({(link.get("type"), link.get("ref")): link for link in links}.values())
    origins = [*keeper.source.get("also", ()), *(_describe_origin(other) for other in others)]
    return replace(
        keeper,
        usage=usage,
        links=tuple(unique[:MAX_LINKS]),
        tags=tuple(dict.fromkeys((*keeper.tags, *(tag for other in peers for tag in other.tags)))),
        artifacts=tuple(dict.fromkeys((*keeper.artifacts, *(one for other in peers for one in other.artifacts)))),
        importance=max(one.importance for one in (keeper, *peers)),
        source={**keeper.source, "also": origins[-20:]},
    )


def _describe_origin(memory: Memory) -> dict[str, str]:
    fields = {name: str(memory.source[name]) for name in ("type", "path", "sha", "author") if memory.source.get(name)}
    return {"id": memory.id, "at": memory.at.isoformat(), **fields}


def _add_usage(one: Usage, other: Usage) -> Usage:
    last = max((each for each in (one.last, other.last) if each is not None), default=None)
    return Usage(
        one.retrieved + other.retrieved,
        one.cited + other.cited,
        one.ignored + other.ignored,
        one.wrong + other.wrong,
        one.missed + other.missed,
        last,
    )
