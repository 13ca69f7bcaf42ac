"""Histories: memories that condense old episodes.

A module has one history of its old episodes. It is a folder at most MAX_DEPTH levels deep, or the whole project.
The history has one line for each episode, and a summary that names the most important ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.extractive_summary import MAX_INDEX_CHARACTERS, Vocabulary
from hunchd.consolidation.merging import MERGED_FROM
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.filters import paths_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.ingestion.prose import shorten

HISTORY_CATEGORY: Final = "history"  # category of a history
PART_OF: Final = "part_of"  # type of the link from an episode to the history that includes it
# Maximum lines of one history; older lines become a count for each year. With a maximum of 400, one in twenty of the
# episodes that a busy project needed again after two years no longer had a line.
MAX_LINES: Final = 2_000
MAX_LINE_CHARACTERS: Final = 110  # characters
MIN_EPISODES: Final = 5  # minimum episodes of a module for which a history is worth reading
MIN_EPISODES_PER_CHANGE: Final = 32  # episodes added by one change, while a history is short
# Each change rewrites the whole history, so a long history gets more episodes at once: this share of its lines.
CHANGE_SHARE: Final = 1 / 16
MAX_DEPTH: Final = 3  # maximum folder levels of a module
WHOLE_PROJECT: Final = "."  # module for episodes without a common folder
MAX_FILES: Final = 20  # an episode with more files belongs to no module
# Share of `forget_days` after which even a few episodes are put into a history, before they are archived.
LATE_SHARE: Final = 2 / 3
SUMMARY_EPISODES: Final = 5  # episodes in the summary


def plan_histories(
    memories: Mapping[str, Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[PlannedChange]:
    """Plan a new or updated history for each module with old episodes.

    If a module has too few episodes for its own history, they are added to the history of its parent folder before
    they are old enough to be forgotten. Every episode that is forgotten therefore has a line in some history.
    """
    min_age, late_age = (timedelta(days=days) for days in (settings.compress_days, settings.forget_days * LATE_SHARE))
    modules: dict[tuple[str | None, str], list[Memory]] = defaultdict(list)
    for memory in memories.values():
        if now - memory.at >= min_age and _is_missing_from_history(memory, memories):
            modules[memory.project, find_module(memory)].append(memory)
    for depth in range(MAX_DEPTH, -1, -1):
        depth_modules = sorted(
            (one for one in modules if _count_levels(one[1]) == depth), key=lambda one: (one[0] or "", one[1])
        )
        for project, module in depth_modules:
            episodes = modules.pop((project, module))
            history = memories.get(make_history_id(project, module))
            if history is None and len(episodes) < MIN_EPISODES:
                episodes = [memory for memory in episodes if now - memory.at >= late_age]
                if module != WHOLE_PROJECT:
                    if episodes:
                        modules[project, _find_parent(module)] += episodes
                    continue
            yield from _plan_additions(project, module, episodes, history, vocabulary, now)


def make_history_id(project: str | None, module: str) -> str:
    identity = f"{project or ''}:{HISTORY_CATEGORY}:{module}".encode("utf-8", "surrogatepass")
    return "m" + blake2b(identity, digest_size=10).hexdigest()


def find_module(memory: Memory) -> str:
    """Return the deepest folder that contains at least half of an episode's files.

    Returns WHOLE_PROJECT if there is no such folder, or if the episode has no files or more than MAX_FILES.
    """
    folders = [_truncate_folder(path) for path in paths_of(memory)]
    if not 0 < len(folders) <= MAX_FILES:
        return WHOLE_PROJECT
    for depth in range(MAX_DEPTH, 0, -1):
        short_names = ("/".join(folder.split("/")[:depth]) for folder in folders)
        folder, count = min(Counter(short_names).items(), key=lambda one: (-one[1], one[0]))
        if count * 2 >= len(folders):
            return folder
    return WHOLE_PROJECT


def _count_levels(module: str) -> int:
    return 0 if module == WHOLE_PROJECT else module.count("/") + 1


def _find_parent(module: str) -> str:
    return module.rpartition("/")[0] or WHOLE_PROJECT


def _plan_additions(
    project: str | None,
    module: str,
    episodes: Sequence[Memory],
    history: Memory | None,
    vocabulary: Vocabulary,
    now: datetime,
) -> Iterator[PlannedChange]:
    """Plan to add the episodes to a history, in small batches.

    Each change is applied as a whole, and a change with too many episodes would keep other changes waiting.
    """
    known_ids = _list_episode_ids(history)
    new_episodes = sorted((one for one in episodes if one.id not in known_ids), key=lambda one: (one.at, one.id))
    remaining = new_episodes
    while remaining:
        batch_size = max(MIN_EPISODES_PER_CHANGE, int(len(_parse_lines(history)) * CHANGE_SHARE))
        batch, remaining = remaining[:batch_size], remaining[batch_size:]
        titles = _join_best_titles(batch if remaining else new_episodes, vocabulary)
        after = _extend_history(project, module, titles, history, batch, now)
        link = {"type": PART_OF, "ref": after.id}
        only_link = (link,)  # shared by all episodes without other links: a tuple for each would take a megabyte
        links = (
            (*(history for history in one.links if history != link), link) if one.links else only_link for one in batch
        )
        parts = tuple(replace(one, links=episode_links) for one, episode_links in zip(batch, links, strict=True))
        what = f"condense {len(batch)} episodes of {module} into one memory"
        why = f"older than a month, all in {module}"
        before = (*((history,) if history is not None else ()), *batch)
        yield PlannedChange(ConsolidationStep.HISTORY, "histories", what, why, before, (after, *parts))
        history = after


def _extend_history(
    project: str | None, module: str, titles: str, history: Memory | None, fresh: Sequence[Memory], now: datetime
) -> Memory:
    """Return the history of a module, extended with the episodes in `fresh`.

    `fresh` must be sorted, with the oldest episode first. `history` is None if the module has no history yet. `titles`
    are those in the summary.
    """
    title = f"history of {_format_module(module)}"
    base = history or Memory(
        id=make_history_id(project, module), kind=Kind.EPISODE, title=title, content="", at=fresh[-1].at, created=now,
        updated=now, project=project, category=HISTORY_CATEGORY, scope=Scope.PROJECT, importance=0.5,
        ref=f"history:{module}", artifacts=(Artifact("file", module),), valid_from=fresh[0].at,
    )  # fmt: skip
    lines = _limit_lines([*_parse_lines(history), *map(_format_line, fresh)])
    begin, end = min(base.valid_from or fresh[0].at, fresh[0].at), max(base.at, fresh[-1].at)
    summary = f"{_format_module(module)}, {begin:%Y-%m} to {end:%Y-%m}, {len(lines)} changes: {titles}"
    return replace(
        base,
        content="\n".join((f"{title}:", *lines)),
        at=end,
        valid_from=begin,
        trust=_find_lowest_trust([*((history.trust,) if history is not None else ()), *(one.trust for one in fresh)]),
        source={
            "type": "consolidation",
            "told": [*sorted(_list_episode_ids(history)), *(one.id for one in fresh)][-MAX_LINES:],
        },
        levels=Levels(summary, shorten(summary, 150), shorten(title, MAX_INDEX_CHARACTERS)),
    )


def _format_module(module: str) -> str:
    return "the whole project" if module == WHOLE_PROJECT else module


def list_quoted_ids(memory: Memory) -> tuple[str, ...]:
    """Return the ids of the memories that `memory` was made from or quotes.

    `memory` links to them with the type "merged_from" or "part_of". Forgetting `memory` means forgetting these
    memories too, as long as each still `repeats` it.
    """
    refs = (link["ref"] for link in memory.links if link.get("type") in (PART_OF, MERGED_FROM) and "ref" in link)
    return tuple(dict.fromkeys(refs))


def repeats(other: Memory, memory: Memory) -> bool:
    """Return True if `other` still repeats the content of `memory`.

    A memory that was merged into `memory` no longer counts once it has become active again.
    """
    is_merged = {"type": MERGED_FROM, "ref": other.id} in memory.links
    return not is_merged or other.status in (Status.SUPERSEDED, Status.ARCHIVED)


def _is_missing_from_history(memory: Memory, memories: Mapping[str, Memory]) -> bool:
    """Return True if `memory` is an active episode that no history includes yet."""
    return (
        memory.kind is Kind.EPISODE
        and memory.status is Status.ACTIVE
        and memory.category != HISTORY_CATEGORY
        and "conversation" not in memory.tags
        and not any(link.get("type") == PART_OF and link.get("ref") in memories for link in memory.links)
    )


def _parse_lines(history: Memory | None) -> list[str]:
    """Return the lines of a history, without its title.

    Returns [] if there is no history.
    """
    return history.content.splitlines()[1:] if history is not None else []


def _format_line(memory: Memory) -> str:
    sha = next((f" [{one.ref[:8]}]" for one in memory.artifacts if one.type == "commit"), "")
    return f"{memory.at:%Y-%m-%d} {shorten(memory.title, MAX_LINE_CHARACTERS)}{sha}"


def _limit_lines(lines: Sequence[str]) -> list[str]:
    """Keep the newest MAX_LINES lines of a history.

    The older ones are replaced with a count for each year.
    """
    year_counts, kept_lines = Counter[str](), list[str]()
    for line in dict.fromkeys(lines):
        if (year := _parse_year_count(line)) is not None:
            year_counts.update(dict([year]))
        else:
            kept_lines.append(line)
    kept_lines.sort(reverse=True)
    year_counts.update(line[:4] for line in kept_lines[MAX_LINES:])
    counts = [f"~{count} more changes in {year}" for year, count in sorted(year_counts.items())]
    return [*kept_lines[:MAX_LINES], *counts]


def _parse_year_count(line: str) -> tuple[str, int] | None:
    """Parse a line that counts a year's older changes.

    Returns the year and the count, or None for any other line.
    """
    count, _, year = line.partition(" more changes in ")
    return (year, int(count[1:])) if year and line.startswith("~") else None


def _join_best_titles(episodes: Iterable[Memory], vocabulary: Vocabulary) -> str:
    """Join the titles of the best episodes: those that are important, are cited, or contain rare words.

    At most SUMMARY_EPISODES titles are joined, oldest first.
    """

    def score(memory: Memory) -> float:
        words = vocabulary.pick_distinctive(memory.title, 4)
        return memory.importance + sum(vocabulary.weigh(word) for word in words) / 8 + memory.usage.cited

    best = sorted(episodes, key=lambda one: (-score(one), one.id))[:SUMMARY_EPISODES]
    return "; ".join(shorten(one.title, 70).rstrip(".") for one in sorted(best, key=lambda one: (one.at, one.id)))


def _list_episode_ids(history: Memory | None) -> set[str]:
    episode_ids = history.source.get("told") if history is not None else None
    return {str(one) for one in episode_ids} if isinstance(episode_ids, list | tuple) else set()


def _find_lowest_trust(trusts: Iterable[Trust]) -> Trust:
    order = tuple(Trust)
    return max((*trusts, Trust.DERIVED), key=order.index)


def _truncate_folder(path: str) -> str:
    parts = path.split("/")[:-1]
    return "/".join(parts[:MAX_DEPTH]) or WHOLE_PROJECT
