"""Histories of modules: old episodes condensed into one memory each.

An episode becomes a line; a summary names the most important ones. Automated updates go into one history for the
project: a line for each dependency or chore, however often it was done.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.bumps import Series, bumps_of, manifests_of, series_in, series_of
from hunchd.consolidation.condensing import INDEX, Vocabulary
from hunchd.consolidation.merging import MERGED_FROM
from hunchd.consolidation.plan import Planned, Step
from hunchd.domain.filters import paths_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.ingestion.prose import cut

HISTORY: Final = "history"  # category of a history
PART_OF: Final = "part_of"  # type of the link from an episode to the history that tells of it
# Lines of one history; older ones become a count for each year. With 400, one in twenty of the episodes that a busy
# project needed again after two years had no line left.
MOST_LINES: Final = 2_000
LINE: Final = 110  # characters
TOLD_AT_ONCE: Final = 32  # episodes added by one change, while a history is short
# Each change writes the whole history: into a long one, episodes worth this share of its lines are added at once.
TOLD_OF_LONG: Final = 1 / 16
DEEPEST: Final = 3  # folder levels that make a module
WHOLE: Final = "."  # module of episodes without a common folder
MOST_FILES: Final = 20  # an episode with more files belongs to no module
# Share of the time after which unused episodes are archived: by then they are in a history.
TOLD_WITHIN: Final = 2 / 3
NAMED: Final = 5  # episodes in the summary
UPDATES: Final = ":updates"  # stands in for a module, for automated updates; no folder has this name
UPDATES_TITLE: Final = "history of dependency bumps and automated updates"
MOST_MANIFESTS: Final = 20  # files listed as artifacts of the history of updates
OF_MACHINES: Final = 0.3  # importance: users search for it by name

# Returns a history extended by some episodes; the last argument is what its summary is made of.
Telling = Callable[[Memory | None, Sequence[Memory], Sequence[Memory]], Memory]


def histories(
    memories: Mapping[str, Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[Planned]:
    """Plan a new or updated history for each module with old episodes.

    Episodes of modules with too few for a history of their own go into that of the folder around them before they are
    old enough to be forgotten: everything forgotten has a line in some history.
    """
    old, late = (timedelta(days=days) for days in (settings.compress_days, settings.forget_days * TOLD_WITHIN))
    modules: dict[tuple[str | None, str], list[Memory]] = defaultdict(list)
    bumped: dict[str | None, list[Memory]] = defaultdict(list)
    for memory in memories.values():
        if now - memory.at >= old and _tells(memory, memories):
            if bumps_of(memory):
                bumped[memory.project].append(memory)
            else:
                modules[memory.project, module_of(memory)].append(memory)
    for project, episodes in sorted(bumped.items(), key=lambda one: one[0] or ""):
        if any(now - memory.at >= late for memory in episodes):  # not a few each night: each change rewrites one memory
            known = memories.get(history_id(project, UPDATES))
            yield from _chronicle("dependencies and chores", episodes, known, partial(_updates, project, now))
    for depth in range(DEEPEST, -1, -1):
        of_depth = sorted((one for one in modules if _depth(one[1]) == depth), key=lambda one: (one[0] or "", one[1]))
        for project, module in of_depth:
            episodes = modules.pop((project, module))
            known = memories.get(history_id(project, module))
            if known is None and len(episodes) < settings.history_from:
                episodes = [memory for memory in episodes if now - memory.at >= late]
                if module != WHOLE:
                    if episodes:
                        modules[project, _around(module)] += episodes
                    continue
            yield from _chronicle(module, episodes, known, partial(_module, project, module, vocabulary, now))


def history_id(project: str | None, module: str) -> str:
    told = f"{project or ''}:{HISTORY}:{module}".encode("utf-8", "surrogatepass")
    return "m" + blake2b(told, digest_size=10).hexdigest()


def module_of(memory: Memory) -> str:
    """Return the deepest folder with at least half of an episode's files.

    Returns WHOLE_PROJECT if there is none.
    """
    folders = [_folder(path) for path in paths_of(memory)]
    if not 0 < len(folders) <= MOST_FILES:
        return WHOLE
    for depth in range(DEEPEST, 0, -1):
        cut_off = ("/".join(folder.split("/")[:depth]) for folder in folders)
        folder, count = min(Counter(cut_off).items(), key=lambda one: (-one[1], one[0]))
        if count * 2 >= len(folders):
            return folder
    return WHOLE


def _depth(module: str) -> int:
    return 0 if module == WHOLE else module.count("/") + 1


def _around(module: str) -> str:
    return module.rpartition("/")[0] or WHOLE


def _chronicle(module: str, episodes: Sequence[Memory], known: Memory | None, telling: Telling) -> Iterator[Planned]:
    """Plan the addition of episodes to a history, a few at a time.

    A change is applied in one go, and nobody should wait for a long one.
    """
    told = _refs(known)
    fresh = sorted((one for one in episodes if one.id not in told), key=lambda one: (one.at, one.id))
    left = fresh
    while left:
        many = max(TOLD_AT_ONCE, int(len(_lines(known)) * TOLD_OF_LONG))
        some, left = left[:many], left[many:]
        after = telling(known, some, some if left else fresh)
        link = {"type": PART_OF, "ref": after.id}
        alone = (link,)  # shared by all without other links: a tuple for each takes a megabyte
        links = ((*(known for known in one.links if known != link), link) if one.links else alone for one in some)
        parts = tuple(replace(one, links=those) for one, those in zip(some, links, strict=True))
        what = f"tell {len(some)} episodes of {module} in one"
        why = f"older than a month, all in {module}"
        before = (*((known,) if known is not None else ()), *some)
        yield Planned(Step.HISTORY, "histories", what, why, before, (after, *parts))
        known = after


def _module(
    project: str | None,
    module: str,
    vocabulary: Vocabulary,
    now: datetime,
    known: Memory | None,
    fresh: Sequence[Memory],
    gist_of: Sequence[Memory],
) -> Memory:
    """Return a module's history extended by the episodes `fresh`, oldest first."""
    lines = _bounded([*_lines(known), *map(_line, fresh)])
    told = _told(project, module, f"history of {_named(module)}", lines, known, fresh, now)
    count = told.content.count("\n")
    gist = f"{_named(module)}, {_span(told)}, {count} changes: {_gist(gist_of, vocabulary)}"
    return replace(told, levels=_levels(told, gist))


def _updates(
    project: str | None, now: datetime, known: Memory | None, fresh: Sequence[Memory], _: Sequence[Memory]
) -> Memory:
    """Return the history of automated updates with `fresh` added.

    It has one line for each series, the most recent first.
    """
    counted, every = Counter[str](), dict[str, Series]()
    for line in _lines(known):
        if (year := _counted(line)) is not None:
            counted.update(dict([year]))
        elif (series := series_in(line)) is not None:
            every[series.key] = series
    for one in (step for memory in fresh for step in series_of(memory)):
        every[one.key] = every[one.key].followed_by(one) if one.key in every else one
    newest = sorted(every.values(), key=lambda one: (one.last, one.key), reverse=True)
    for one in newest[MOST_LINES:]:
        counted[one.last[:4]] += one.count
    lines = [*(one.line for one in newest[:MOST_LINES]), *_years(counted)]
    told = _told(project, UPDATES, UPDATES_TITLE, lines, known, fresh, now)
    files = (one for memory in fresh for one in manifests_of(memory))
    most = sorted(newest, key=lambda one: (-one.count, one.key))[:NAMED]
    gist = f"dependencies, {_span(told)}, {len(newest)} of them; most often {', '.join(one.what for one in most)}"
    return replace(
        told,
        artifacts=tuple(dict.fromkeys((*(known.artifacts if known else ()), *files)))[:MOST_MANIFESTS],
        importance=known.importance if known is not None else OF_MACHINES,
        levels=_levels(told, gist),
    )


def _told(
    project: str | None,
    module: str,
    title: str,
    lines: Sequence[str],
    known: Memory | None,
    fresh: Sequence[Memory],
    now: datetime,
) -> Memory:
    base = known or Memory(
        id=history_id(project, module), kind=Kind.EPISODE, title=title, content="", at=fresh[-1].at, created=now,
        updated=now, project=project, category=HISTORY, scope=Scope.PROJECT, importance=0.5,
        ref=f"history:{module}", artifacts=(Artifact("file", module),), valid_from=fresh[0].at,
    )  # fmt: skip
    return replace(
        base,
        content="\n".join((f"{title}:", *lines)),
        at=max(base.at, fresh[-1].at),
        valid_from=min(base.valid_from or fresh[0].at, fresh[0].at),
        trust=_least([*((known.trust,) if known is not None else ()), *(one.trust for one in fresh)]),
        source={"type": "consolidation", "told": [*sorted(_refs(known)), *(one.id for one in fresh)][-MOST_LINES:]},
    )


def _levels(history: Memory, summary: str) -> Levels:
    return Levels(summary, cut(summary, 150), cut(history.title, INDEX))


def _span(history: Memory) -> str:
    return f"{history.valid_from:%Y-%m} to {history.at:%Y-%m}"


def _named(module: str) -> str:
    return "the whole project" if module == WHOLE else module


def quoting(memory: Memory) -> tuple[str, ...]:
    """Return the ids of memories merged into `memory` or part of it.

    Whoever forgets the memory means them too, as far as each still `repeats` it.
    """
    refs = (link["ref"] for link in memory.links if link.get("type") in (PART_OF, MERGED_FROM) and "ref" in link)
    return tuple(dict.fromkeys(refs))


def says_it(other: Memory, memory: Memory) -> bool:
    """Return True if `other` still repeats `memory`.

    That includes a memory that was merged into it and has not been active again since.
    """
    merged = {"type": MERGED_FROM, "ref": other.id} in memory.links
    return not merged or other.status in (Status.SUPERSEDED, Status.ARCHIVED)


def _tells(memory: Memory, memories: Mapping[str, Memory]) -> bool:
    """Return True if an episode is missing from its module's history."""
    return (
        memory.kind is Kind.EPISODE
        and memory.status is Status.ACTIVE
        and memory.category != HISTORY
        and "conversation" not in memory.tags
        and not any(link.get("type") == PART_OF and link.get("ref") in memories for link in memory.links)
    )


def _lines(known: Memory | None) -> list[str]:
    """Return the lines of a history without its title."""
    return known.content.splitlines()[1:] if known is not None else []


def _line(memory: Memory) -> str:
    sha = next((f" [{one.ref[:8]}]" for one in memory.artifacts if one.type == "commit"), "")
    return f"{memory.at:%Y-%m-%d} {cut(memory.title, LINE)}{sha}"


def _bounded(lines: Sequence[str]) -> list[str]:
    """Keep the newest MAX_LINES lines and count the others by year."""
    counted, told = Counter[str](), list[str]()
    for line in dict.fromkeys(lines):
        if (year := _counted(line)) is not None:
            counted.update(dict([year]))
        else:
            told.append(line)
    told.sort(reverse=True)
    counted.update(line[:4] for line in told[MOST_LINES:])
    return [*told[:MOST_LINES], *_years(counted)]


def _years(counted: Mapping[str, int]) -> list[str]:
    return [f"~{count} more changes in {year}" for year, count in sorted(counted.items())]


def _counted(line: str) -> tuple[str, int] | None:
    """Parse the year and the count from a summary line, or None."""
    count, _, year = line.partition(" more changes in ")
    return (year, int(count[1:])) if year and line.startswith("~") else None


def _gist(episodes: Iterable[Memory], vocabulary: Vocabulary) -> str:
    """Join the most informative titles: important, cited, and with rare words."""

    def worth(memory: Memory) -> float:
        words = vocabulary.telling(memory.title, 4)
        return memory.importance + sum(vocabulary.weight(word) for word in words) / 8 + memory.usage.cited

    best = sorted(episodes, key=lambda one: (-worth(one), one.id))[:NAMED]
    return "; ".join(cut(one.title, 70).rstrip(".") for one in sorted(best, key=lambda one: (one.at, one.id)))


def _refs(known: Memory | None) -> set[str]:
    told = known.source.get("told") if known is not None else None
    return {str(one) for one in told} if isinstance(told, list | tuple) else set()


def _least(trusts: Iterable[Trust]) -> Trust:
    order = tuple(Trust)
    return max((*trusts, Trust.DERIVED), key=order.index)


def _folder(path: str) -> str:
    parts = path.split("/")[:-1]
    return "/".join(parts[:DEEPEST]) or WHOLE
