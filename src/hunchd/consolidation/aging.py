"""Ageing of memories: summarise, compress, retire, archive when unused, and erase at last."""

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

SHOWN_AS: Final = "shown_as"  # source field: the longest level that is shown without a request from now on
ARCHIVED: Final = "archived"  # source field: when and why it was archived
GOES_AFTER: Final = "goes_after"  # … and when it will be erased
# Only memories that were recorded automatically are forgotten automatically.
FORGETTABLE: Final = frozenset({Kind.EPISODE, Kind.ERROR, Kind.PATTERN, Kind.WORKFLOW})
SHORTENED: Final = frozenset({Kind.EPISODE})
# Important memories are kept longer: a release, a decision, a session with an outcome.
LASTING: Final = 0.7  # importance
# A summary of a text that is hardly longer adds nothing.
WORTH_SUMMARISING: Final = 1.3  # minimum length of the text, in lengths of its summary


def summarised(
    memories: Iterable[Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[Planned]:
    """Plan summaries of episodes older than `summarise_days`.

    From then on the summary is shown. Episodes older than `compress_days` are left to `plan_compression`, which writes
    a summary too.
    """
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
    """Plan one line for each episode older than `compress_days`.

    The line keeps the words that distinguish the episode within its project.
    """
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
    """Plan the end of replaced memories and of expired ones."""
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
    """Plan the archiving of unused memories, least useful first.

    At most the share `forget_share` of all active memories is archived in one run.
    """
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
    """Yield archived memories whose time to be restored has passed."""
    for memory in memories:
        if memory.status is Status.ARCHIVED and (goes := _goes_after(memory)) is not None and goes <= now:
            yield memory


def _goes_after(memory: Memory) -> datetime | None:
    """Return the time of erasure.

    Returns None if it is missing or, in imported data, malformed.
    """
    try:
        goes = datetime.fromisoformat(str(memory.source.get(GOES_AFTER)))
    except ValueError:
        return None
    return goes if goes.tzinfo is not None else None


def restored(memory: Memory) -> Memory | None:
    """Return an archived memory as it was.

    Returns None if it was not archived for lack of use.
    """
    if memory.status is not Status.ARCHIVED or GOES_AFTER not in memory.source:
        return None
    source = {name: told for name, told in memory.source.items() if name not in (ARCHIVED, GOES_AFTER)}
    return replace(memory, status=Status.SUPERSEDED if memory.superseded_by else Status.ACTIVE, source=source)


def is_unused(memory: Memory, settings: ConsolidationSettings, now: datetime) -> bool:
    """Return True if a memory may be forgotten.

    It was recorded automatically, never cited, and not used for `forget_days`.
    """
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
    """Return True if a memory was superseded more than `forget_days` ago.

    By then nobody undoes that. What the user said, and earlier values of facts, are kept.
    """
    return (
        memory.status is Status.SUPERSEDED
        and memory.superseded_by is not None
        and memory.kind in FORGETTABLE
        and memory.trust is not Trust.USER
        and memory.valid_to is not None
        and now - memory.valid_to >= timedelta(days=settings.forget_days)
    )


def last_use(memory: Memory) -> datetime:
    """Return when the memory was last stored, shown or used.

    A wrong clock makes no memory older than it is.
    """
    return max(memory.created, memory.at, memory.usage.last or memory.created)


def _needed_by_others(active: Sequence[Memory]) -> Iterator[str]:
    """Yield the ids to which kept memories link.

    Examples are the error of a fix and the fix of a recent error.
    """
    for memory in active:
        if memory.trust is Trust.USER or memory.usage.cited:
            yield from (link["ref"] for link in memory.links if "ref" in link)


def _written(memory: Memory, vocabulary: Vocabulary) -> Any:
    when = f"{memory.at:%Y-%m}"
    return levels_of(memory.title, _prose(memory), vocabulary, when=when, paths=paths_of(memory))


def _prose(memory: Memory) -> str:
    """Return an episode's text without title and list of files.

    The files are artifacts of the episode already.
    """
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
