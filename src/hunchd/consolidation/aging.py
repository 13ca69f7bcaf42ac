"""Ageing of memories: summarise, compress, retire, archive when unused, and finally erase."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.extractive_summary import Vocabulary, build_levels
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.facts import is_over
from hunchd.domain.filters import paths_of
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.unit_classification import strip_issue_numbers

SHOWN_AS: Final = "shown_as"  # source field: the longest level that is still shown unprompted
ARCHIVE_REASON: Final = "archived"  # source field: why the memory was archived
ERASE_AFTER: Final = "goes_after"  # source field: when it will be erased
# Facts stated by others or derived from sources age as well; facts from files hold as long as the file states them.
_AGING_FACT_TRUST: Final = frozenset({Trust.DERIVED, Trust.UNTRUSTED})
USER_SUPERSEDED_DAYS: Final = 365  # days after which a replaced statement by the user is forgotten
# Important memories are kept longer: a release, a decision, a session with an outcome.
MIN_LASTING_IMPORTANCE: Final = 0.7  # importance
# If the text is hardly longer than its summary, the summary adds nothing.
MIN_SUMMARY_RATIO: Final = 1.3  # minimum ratio of the length of the text to that of its summary


def plan_summaries(
    memories: Iterable[Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[PlannedChange]:
    """Plan summaries of episodes older than `summarise_days`.

    Once an episode has a summary, it is shown instead of the full text. Episodes older than `compress_days` are
    left to `plan_compression`, which writes a summary as well.
    """
    compress_age = timedelta(days=settings.compress_days)
    for memory in _iter_older_episodes(memories, timedelta(days=settings.summarise_days), now):
        if memory.source.get(SHOWN_AS) in ("summary", "compressed") or now - memory.at >= compress_age:
            continue
        levels = memory.levels
        if not levels.summary:
            new_levels = _write_levels(memory, vocabulary)
            if len(memory.content) < MIN_SUMMARY_RATIO * len(new_levels.summary):
                new_levels = replace(new_levels, summary=" ".join(memory.content.split()))
            levels = replace(new_levels, compressed=levels.compressed or new_levels.compressed, index=new_levels.index)
        after = _set_shown_level(replace(memory, levels=levels), "summary")
        why = f"{_format_days(now - memory.at)} old"
        yield PlannedChange(
            ConsolidationStep.SUMMARISE, "summarised", f"summarise {memory.title!r}", why, (memory,), (after,)
        )


def plan_compression(
    memories: Iterable[Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[PlannedChange]:
    """Plan to compress each episode older than `compress_days` to one line.

    The line keeps the words that distinguish the episode within its project.
    """
    for memory in _iter_older_episodes(memories, timedelta(days=settings.compress_days), now):
        if memory.source.get(SHOWN_AS) == "compressed":
            continue
        new_levels = _write_levels(memory, vocabulary)
        levels = replace(
            memory.levels,
            summary=memory.levels.summary or new_levels.summary,
            compressed=new_levels.compressed,
            index=memory.levels.index or new_levels.index,
        )
        after = _set_shown_level(replace(memory, levels=levels), "compressed")
        why = f"{_format_days(now - memory.at)} old"
        yield PlannedChange(
            ConsolidationStep.COMPRESS, "compressed", f"compress {memory.title!r}", why, (memory,), (after,)
        )


def plan_retirement(memories: Mapping[str, Memory], now: datetime) -> Iterator[PlannedChange]:
    """Plan the retirement of memories that were replaced or have expired. Their status becomes superseded."""
    successors = {
        memory.supersedes: memory
        for memory in memories.values()
        if memory.supersedes and memory.status is Status.ACTIVE and "." not in memory.supersedes
    }
    for memory in memories.values():
        if memory.status is not Status.ACTIVE or describe(memory.kind).is_detected_only:
            continue
        newer = successors.get(memory.id)
        if newer is not None and newer.id != memory.id:
            after = replace(memory, status=Status.SUPERSEDED, superseded_by=newer.id, valid_to=memory.valid_to or now)
            why = f"replaced by {newer.title!r}"
        elif is_over(memory, now):
            after, why = replace(memory, status=Status.SUPERSEDED), f"it was valid until {memory.valid_to:%Y-%m-%d}"
        else:
            continue
        yield PlannedChange(ConsolidationStep.RETIRE, "retired", f"retire {memory.title!r}", why, (memory,), (after,))


def plan_forgetting(
    memories: Mapping[str, Memory], settings: ConsolidationSettings, now: datetime
) -> Iterator[PlannedChange]:
    """Plan to archive unused memories, least important first.

    Memories that were superseded long ago are archived too. `forget_share` limits how many memories one run
    archives, as a share of the active memories.
    """
    active = [memory for memory in memories.values() if memory.status is Status.ACTIVE]
    limit = int(len(active) * settings.forget_share)
    needed_ids = set(_iter_needed_ids(active))
    stale = [memory for memory in active if memory.id not in needed_ids and is_unused(memory, settings, now)]
    stale += [memory for memory in memories.values() if _is_long_superseded(memory, settings, now)]
    stale.sort(key=lambda memory: (memory.importance, get_last_use(memory), memory.id))
    until = now + timedelta(days=settings.restore_days)
    for memory in stale[:limit]:
        idle = _format_days(now - get_last_use(memory))
        source = {**memory.source, ARCHIVE_REASON: f"not used for {idle}", ERASE_AFTER: until.isoformat()}
        after = replace(memory, status=Status.ARCHIVED, source=source)
        why = f"not used for {idle}; can be restored until {until:%Y-%m-%d}"
        yield PlannedChange(
            ConsolidationStep.FORGET, "forgotten", f"archive {memory.title!r}", why, (memory,), (after,)
        )


def iter_erasable(memories: Iterable[Memory], now: datetime) -> Iterator[Memory]:
    """Yield the archived memories whose erase time has passed."""
    for memory in memories:
        if memory.status is Status.ARCHIVED and (erase_at := _parse_erase_time(memory)) is not None and erase_at <= now:
            yield memory


def _parse_erase_time(memory: Memory) -> datetime | None:
    """Return the time when an archived memory is erased.

    Returns None if the memory has no such time or, in imported data, a malformed one.
    """
    try:
        erase_at = datetime.fromisoformat(str(memory.source.get(ERASE_AFTER)))
    except ValueError:
        return None
    return erase_at if erase_at.tzinfo is not None else None


def restore(memory: Memory) -> Memory | None:
    """Return an archived memory as it was before archiving.

    Returns None if the memory is not archived, or was archived for a reason other than lack of use.
    """
    if memory.status is not Status.ARCHIVED or ERASE_AFTER not in memory.source:
        return None
    source = {name: value for name, value in memory.source.items() if name not in (ARCHIVE_REASON, ERASE_AFTER)}
    return replace(memory, status=Status.SUPERSEDED if memory.superseded_by else Status.ACTIVE, source=source)


def is_forgettable(memory: Memory) -> bool:
    """Return True if an unused memory of this kind and origin may be archived."""
    if memory.kind is Kind.FACT:
        return memory.trust in _AGING_FACT_TRUST and not memory.source.get("path")
    return describe(memory.kind).is_forgettable and memory.trust is not Trust.USER


def is_unused(memory: Memory, settings: ConsolidationSettings, now: datetime) -> bool:
    """Return True if a memory may be archived for lack of use.

    This applies to memories that were recorded automatically, were never cited, and have not been used for
    `forget_days`. Important memories, histories and conversations are excluded.
    """
    return (
        is_forgettable(memory)
        and not memory.usage.cited
        and not memory.usage.missed
        and memory.importance < MIN_LASTING_IMPORTANCE
        and memory.category != "history"
        and "conversation" not in memory.tags
        and now - get_last_use(memory) >= timedelta(days=settings.forget_days)
    )


def _is_long_superseded(memory: Memory, settings: ConsolidationSettings, now: datetime) -> bool:
    """Return True if a memory was superseded more than `forget_days` ago.

    After that time nobody is expected to undo the replacement. Superseded statements of the user are kept for
    USER_SUPERSEDED_DAYS.
    """
    by_user = memory.trust is Trust.USER
    return (
        memory.status is Status.SUPERSEDED
        and memory.superseded_by is not None
        and (memory.kind is Kind.FACT or (describe(memory.kind).is_forgettable and not by_user))
        and memory.valid_to is not None
        and now - memory.valid_to >= timedelta(days=USER_SUPERSEDED_DAYS if by_user else settings.forget_days)
    )


def get_last_use(memory: Memory) -> datetime:
    """Return the time when the memory was last stored, shown or used.

    The latest of these times is returned, so that a wrong clock cannot make a memory look older than it is.
    """
    return max(memory.created, memory.at, memory.usage.last or memory.created)


def _iter_needed_ids(active: Sequence[Memory]) -> Iterator[str]:
    """Yield the ids of memories that lasting memories link to.

    A lasting memory is the user's own or was cited. It may link, for example, to the error that a fix belongs to,
    or to the fix for a recent error.
    """
    for memory in active:
        if memory.trust is Trust.USER or memory.usage.cited:
            yield from (link["ref"] for link in memory.links if "ref" in link)


def _write_levels(memory: Memory, vocabulary: Vocabulary) -> Any:
    when = f"{memory.at:%Y-%m}"
    return build_levels(memory.title, _extract_prose(memory), vocabulary, when=when, paths=paths_of(memory))


def _extract_prose(memory: Memory) -> str:
    """Return the text of an episode without its title and its list of files.

    The files are already stored as artifacts of the episode.
    """
    first, _, rest = memory.content.partition("\n")
    starts_with_title = memory.title in (first.strip(), strip_issue_numbers(first))
    return _FILE_LINE.sub("", rest if starts_with_title else memory.content)


_FILE_LINE = re.compile(r"^[AMDRTC] \S.*$", re.MULTILINE)


def _iter_older_episodes(memories: Iterable[Memory], age: timedelta, now: datetime) -> Iterator[Memory]:
    for memory in memories:
        if (
            describe(memory.kind).is_shortened
            and memory.status is Status.ACTIVE
            and memory.category != "history"
            and "conversation" not in memory.tags
            and now - memory.at >= age
        ):
            yield memory


def _set_shown_level(memory: Memory, level: str) -> Memory:
    return replace(memory, source={**memory.source, SHOWN_AS: level})


def _format_days(age: timedelta) -> str:
    return f"{age.days} days" if age.days != 1 else "a day"
