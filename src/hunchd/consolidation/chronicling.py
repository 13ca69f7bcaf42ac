"""Old episodes of one module → one memory that tells its history: a line each, and the gist of all. What machines did
is told in one for the project: a line for each dependency or chore, however often it was bumped or done."""

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

HISTORY: Final = "history"  # the category of such a memory
PART_OF: Final = "part_of"  # type of the link from an episode to the history that tells of it
# Of one history; the oldest of more are told by the year. With 400, one in twenty of what a busy project of two years
# needed again had no line left.
MOST_LINES: Final = 2_000
LINE: Final = 110  # characters
TOLD_AT_ONCE: Final = 32  # episodes in one change, where a history is short
# The whole history is written with each change: of a long one, this share of its lines is told at once.
TOLD_OF_LONG: Final = 1 / 16
DEEPEST: Final = 3  # folders that make a module
WHOLE: Final = "."  # the module of what has none
MOST_FILES: Final = 20  # an episode of more is of no module
# Of the time after which what nobody used is archived: then it is told somewhere.
TOLD_WITHIN: Final = 2 / 3
NAMED: Final = 5  # episodes in the summary
UPDATES: Final = ":updates"  # in place of a module, for what machines did; no folder is called so
UPDATES_TITLE: Final = "history of dependency bumps and automated updates"
MOST_MANIFESTS: Final = 20  # files that the history of updates is about
OF_MACHINES: Final = 0.3  # importance: it is asked for by name

# What a history says with some more episodes, the last argument, in it.
Telling = Callable[[Memory | None, Sequence[Memory], Sequence[Memory]], Memory]


def histories(
    memories: Mapping[str, Memory], vocabulary: Vocabulary, settings: ConsolidationSettings, now: datetime
) -> Iterator[Planned]:
    """A history for each module that has old episodes, made or brought up to date.

    Episodes of modules that get no history of their own are told with the folder around them before they are so old
    that nobody would miss them: what is forgotten at last has a line somewhere.
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
        if any(now - memory.at >= late for memory in episodes):  # not a few every night: they all change one memory
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
    """The folder that most of an episode happened in, as deep as can be said; the whole where that is nowhere in
    particular."""
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
    """What is not told yet, some episodes at a time: a change is made in one go, and nobody should wait for it."""
    told = _refs(known)
    fresh = sorted((one for one in episodes if one.id not in told), key=lambda one: (one.at, one.id))
    left = fresh
    while left:
        many = max(TOLD_AT_ONCE, int(len(_lines(known)) * TOLD_OF_LONG))
        some, left = left[:many], left[many:]
        after = telling(known, some, some if left else fresh)
        link = {"type": PART_OF, "ref": after.id}
        alone = (link,)  # of all that have no other: each a tuple of its own is a megabyte
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
    """The history of a module with `fresh`, the oldest of them first, in it."""
    lines = _bounded([*_lines(known), *map(_line, fresh)])
    told = _told(project, module, f"history of {_named(module)}", lines, known, fresh, now)
    count = told.content.count("\n")
    gist = f"{_named(module)}, {_span(told)}, {count} changes: {_gist(gist_of, vocabulary)}"
    return replace(told, levels=_levels(told, gist))


def _updates(
    project: str | None, now: datetime, known: Memory | None, fresh: Sequence[Memory], _: Sequence[Memory]
) -> Memory:
    """The history of what machines did with `fresh` in it: a line for each series, what was done last first."""
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
    """The memories that say what `memory` says, made or put away by a run: who forgets it means them too, where each
    still `says_it`."""
    refs = (link["ref"] for link in memory.links if link.get("type") in (PART_OF, MERGED_FROM) and "ref" in link)
    return tuple(dict.fromkeys(refs))


def says_it(other: Memory, memory: Memory) -> bool:
    """Whether `other` still quotes `memory`, or was merged into it and says nothing of its own again since."""
    merged = {"type": MERGED_FROM, "ref": other.id} in memory.links
    return not merged or other.status in (Status.SUPERSEDED, Status.ARCHIVED)


def _tells(memory: Memory, memories: Mapping[str, Memory]) -> bool:
    """Whether an episode is one that its module's history should tell of, and does not."""
    return (
        memory.kind is Kind.EPISODE
        and memory.status is Status.ACTIVE
        and memory.category != HISTORY
        and "conversation" not in memory.tags
        and not any(link.get("type") == PART_OF and link.get("ref") in memories for link in memory.links)
    )


def _lines(known: Memory | None) -> list[str]:
    """What a history tells so far."""
    return known.content.splitlines()[1:] if known is not None else []


def _line(memory: Memory) -> str:
    sha = next((f" [{one.ref[:8]}]" for one in memory.artifacts if one.type == "commit"), "")
    return f"{memory.at:%Y-%m-%d} {cut(memory.title, LINE)}{sha}"


def _bounded(lines: Sequence[str]) -> list[str]:
    """The newest lines, the newest first, for a question looks there; of the years before, how much there was."""
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
    """The year and the count of a line of what was bounded before."""
    count, _, year = line.partition(" more changes in ")
    return (year, int(count[1:])) if year and line.startswith("~") else None


def _gist(episodes: Iterable[Memory], vocabulary: Vocabulary) -> str:
    """The titles that tell most: important, explained, and about something that is not everywhere."""

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
