"""What time does to memories: summarised, compressed, retired, archived when nobody needed them, at last erased."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.condensing import Vocabulary, levels_of
from hunchd.consolidation.plan import Planned, Step
from hunchd.domain.facts import is_over
from hunchd.domain.filters import paths_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.work import plain_title

SHOWN_AS: Final = "shown_as"  # source field: the longest level that is shown unasked from now on
ARCHIVED: Final = "archived"  # source field: when and why it went
GOES_AFTER: Final = "goes_after"  # … and when it will be erased
# Only what the machine noted by itself is forgotten by itself.
FORGETTABLE: Final = frozenset({Kind.EPISODE, Kind.ERROR, Kind.PATTERN, Kind.WORKFLOW})
SHORTENED: Final = frozenset({Kind.EPISODE})
# What was important enough to be kept longer is: a release, a decision, a session with an outcome.
LASTING: Final = 0.7  # importance
# A summary of a text that is hardly longer says nothing that the text does not.
WORTH_SUMMARISING: Final = 1.3  # times as long as its summary


def summarised(
    memories: Iterable[Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[Planned]:
    """Episodes of last week: their summary is written, and stands for them from now on. What is older than that is
    compressed, which writes a summary too."""
    older = timedelta(days=settings.compress_days)
    for memory in _episodes_older(memories, timedelta(days=settings.summarise_days), now):
        if memory.source.get(SHOWN_AS) in ("summary", "compressed") or now - memory.at >= older:
            continue
        levels = memory.levels
        if not levels.summary:
            written = _written(memory, vocabulary)
            if len(memory.content) < WORTH_SUMMARISING * len(written.summary):
                written = replace(written, summary=" ".join(memory.content.split()))
            levels = replace(written, compressed=levels.compressed or written.compressed, index=written.index)
        after = _shown_as(replace(memory, levels=levels), "summary")
        why = f"{_days(now - memory.at)} old"
        yield Planned(Step.SUMMARISE, "summarised", f"summarise {memory.title!r}", why, (memory,), (after,))


def compressed(
    memories: Iterable[Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[Planned]:
    """Episodes of last month: one line stands for them, with what distinguishes them in this project."""
    for memory in _episodes_older(memories, timedelta(days=settings.compress_days), now):
        if memory.source.get(SHOWN_AS) == "compressed":
            continue
        written = _written(memory, vocabulary)
        levels = replace(
            memory.levels,
            summary=memory.levels.summary or written.summary,
            compressed=written.compressed,
            index=memory.levels.index or written.index,
        )
        after = _shown_as(replace(memory, levels=levels), "compressed")
        why = f"{_days(now - memory.at)} old"
        yield Planned(Step.COMPRESS, "compressed", f"compress {memory.title!r}", why, (memory,), (after,))


def retired(memories: Mapping[str, Memory], now: datetime) -> Iterator[Planned]:
    """What something newer has taken the place of, or what was true until a day that has passed, holds no more."""
    successors = {
        memory.supersedes: memory
        for memory in memories.values()
        if memory.supersedes and memory.status is Status.ACTIVE and "." not in memory.supersedes
    }
    for memory in memories.values():
        if memory.status is not Status.ACTIVE or memory.kind is Kind.CONTRADICTION:
            continue
        newer = successors.get(memory.id)
        if newer is not None and newer.id != memory.id:
            after = replace(memory, status=Status.SUPERSEDED, superseded_by=newer.id, valid_to=memory.valid_to or now)
            why = f"{newer.title!r} takes its place"
        elif is_over(memory, now):
            after, why = replace(memory, status=Status.SUPERSEDED), f"it was valid until {memory.valid_to:%Y-%m-%d}"
        else:
            continue
        yield Planned(Step.RETIRE, "retired", f"retire {memory.title!r}", why, (memory,), (after,))


def forgotten(memories: Mapping[str, Memory], settings: ConsolidationSettings, now: datetime) -> Iterator[Planned]:
    """What nobody used for so long is archived, the least useful first, and no more than a share of all at once."""
    active = [memory for memory in memories.values() if memory.status is Status.ACTIVE]
    most = int(len(active) * settings.forget_share)
    kept = set(_needed_by_others(active))
    stale = [memory for memory in active if memory.id not in kept and is_unused(memory, settings, now)]
    stale += [memory for memory in memories.values() if _is_replaced_for_good(memory, settings, now)]
    stale.sort(key=lambda memory: (memory.importance, last_use(memory), memory.id))
    until = now + timedelta(days=settings.restore_days)
    for memory in stale[:most]:
        idle = _days(now - last_use(memory))
        source = {**memory.source, ARCHIVED: f"not used for {idle}", GOES_AFTER: until.isoformat()}
        after = replace(memory, status=Status.ARCHIVED, source=source)
        why = f"not used for {idle}; comes back until {until:%Y-%m-%d}"
        yield Planned(Step.FORGET, "forgotten", f"archive {memory.title!r}", why, (memory,), (after,))


def erasable(memories: Iterable[Memory], now: datetime) -> Iterator[Memory]:
    """What was archived so long ago that nobody will ask for it back."""
    for memory in memories:
        if memory.status is Status.ARCHIVED and (goes := _goes_after(memory)) is not None and goes <= now:
            yield memory


def _goes_after(memory: Memory) -> datetime | None:
    """When it will be erased; None where that is not said, or, in what was imported, not as we say it."""
    try:
        goes = datetime.fromisoformat(str(memory.source.get(GOES_AFTER)))
    except ValueError:
        return None
    return goes if goes.tzinfo is not None else None


def restored(memory: Memory) -> Memory | None:
    """An archived memory as it was; None for what was not archived for want of use."""
    if memory.status is not Status.ARCHIVED or GOES_AFTER not in memory.source:
        return None
    source = {name: told for name, told in memory.source.items() if name not in (ARCHIVED, GOES_AFTER)}
    return replace(memory, status=Status.SUPERSEDED if memory.superseded_by else Status.ACTIVE, source=source)


def is_unused(memory: Memory, settings: ConsolidationSettings, now: datetime) -> bool:
    """Whether a memory may be forgotten: noted by the machine, never cited, and not needed for long."""
    return (
        memory.kind in FORGETTABLE
        and memory.trust is not Trust.USER
        and not memory.usage.cited
        and not memory.usage.missed
        and memory.importance < LASTING
        and memory.category != "history"
        and "conversation" not in memory.tags
        and now - last_use(memory) >= timedelta(days=settings.forget_days)
    )


def _is_replaced_for_good(memory: Memory, settings: ConsolidationSettings, now: datetime) -> bool:
    """Whether something else has said it, or what came after it, for so long that nobody will take that back. What the
    user said, and how facts were before, is kept."""
    return (
        memory.status is Status.SUPERSEDED
        and memory.superseded_by is not None
        and memory.kind in FORGETTABLE
        and memory.trust is not Trust.USER
        and memory.valid_to is not None
        and now - memory.valid_to >= timedelta(days=settings.forget_days)
    )


def last_use(memory: Memory) -> datetime:
    """When it was stored, shown or used last; a clock that was wrong makes nothing older than it is."""
    return max(memory.created, memory.at, memory.usage.last or memory.created)


def _needed_by_others(active: Sequence[Memory]) -> Iterator[str]:
    """What something that is kept rests on: the error of a fix, the fix of an error that was seen lately."""
    for memory in active:
        if memory.trust is Trust.USER or memory.usage.cited:
            yield from (link["ref"] for link in memory.links if "ref" in link)


def _written(memory: Memory, vocabulary: Vocabulary) -> Any:
    when = f"{memory.at:%Y-%m}"
    return levels_of(memory.title, _prose(memory), vocabulary, when=when, paths=paths_of(memory))


def _prose(memory: Memory) -> str:
    """The text of an episode without its title and without the list of files, which it has as artifacts."""
    first, _, rest = memory.content.partition("\n")
    named = memory.title in (first.strip(), plain_title(first))
    return _FILES.sub("", rest if named else memory.content)


_FILES = re.compile(r"^[AMDRTC] \S.*$", re.MULTILINE)


def _episodes_older(memories: Iterable[Memory], age: timedelta, now: datetime) -> Iterator[Memory]:
    for memory in memories:
        if (
            memory.kind in SHORTENED
            and memory.status is Status.ACTIVE
            and memory.category != "history"
            and "conversation" not in memory.tags
            and now - memory.at >= age
        ):
            yield memory


def _shown_as(memory: Memory, level: str) -> Memory:
    return replace(memory, source={**memory.source, SHOWN_AS: level})


def _days(age: timedelta) -> str:
    return f"{age.days} days" if age.days != 1 else "a day"
