"""Two years of a project, replayed day by day with a virtual clock, beside a store that never forgets.

    python benchmarks/years.py REPOSITORY… [--days 730] [--svg docs/years.svg]

Each day the real commits of that day become episodes, and each piece of work leaves a note of the session. In the
morning every piece of work that will be done asks with the words of its commit; what it needs are the earlier episodes
that touched at least a third of the same files. The answers are ranked as `/search` ranks them, by words, over the tier
that lies in memory; what is needed and found is used, and counts. Each night runs the steps of a nightly run, in their
order, over the same memories.

What is measured is what is kept (memories, bytes as stored), the time of a question, what it costs to show the answers,
how much of what was needed is among the first five, in both stores, and what had been forgotten of it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hunchd.assembly.tokens import count
from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import SHOWN_AS
from hunchd.consolidation.chronicling import PART_OF
from hunchd.consolidation.plan import Step
from hunchd.consolidation.planner import PLANNED, Planner
from hunchd.domain.filters import Filters
from hunchd.domain.history import Unit
from hunchd.domain.memory import Levels, Memory, Status
from hunchd.domain.work import is_work
from hunchd.engine.usage import Usage
from hunchd.ingestion import history
from hunchd.ingestion.episodes import episode
from hunchd.repository.git import Git
from hunchd.retrieval.ranking import ranking
from hunchd.store.hits import Hit
from hunchd.store.hot import HotTier
from hunchd.store.tables import plain, stored

DAY = timedelta(days=1)
BEFORE = 400  # units that are known on the first day
FIRST = 5  # answers that are looked at
LIKE = 1 / 3  # share of files that two units must have in common for one to need the other
NEEDED = 5  # of earlier episodes at most, the newest
MOST_FILES = 12  # a unit of more files needs nothing in particular
LINKED_EVERY = 7  # nights: reading all texts for links is most of a night's work


@dataclass
class Kept:
    """One store: its memories and the index over them."""

    index: HotTier = field(default_factory=lambda: HotTier(max_count=10**9, max_bytes=10**12))
    memories: dict[str, Memory] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def put(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            self.memories[memory.id] = memory
            self.index.upsert(memory)
            self.sizes[memory.id] = len(stored(plain(memory))["body"])

    def remove(self, identifiers: Iterable[str]) -> None:
        for identifier in identifiers:
            self.index.tombstone(identifier)
            self.memories.pop(identifier, None)
            self.sizes.pop(identifier, None)

    def ask(self, query: str, now: datetime) -> list[Memory]:
        filters = Filters(project="p", statuses=(Status.ACTIVE, Status.SUSPECT))
        found = [(self.memories[hit.memory_id], hit.score) for hit in self.index.search(query, filters, 40)]
        hits = [Hit(memory=memory, lexical=score, similarity=None) for memory, score in found]
        return [one.memory for one in ranking(query, hits, depth="shallow", k=FIRST, now=now)]

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


@dataclass
class Day:
    """What one day was like, of our store and of the one that never forgets."""

    memories: tuple[int, int]
    kilobytes: tuple[float, float]
    milliseconds: list[tuple[float, float]] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    found: list[tuple[bool, bool]] = field(default_factory=list)
    forgotten: int = 0  # of what was needed: archived or erased, and told by no history either


def session_of(unit: Unit, told: Memory, now: datetime) -> Memory:
    """What the session left that ended in `unit`."""
    where = ", ".join(change.path for change in unit.changes[:4])
    text = f"Session on {told.title}. Looked at {where}. {unit.body.strip() or 'Done.'} The tests pass."
    return replace(told, id=f"s{told.id}", title=f"Session: {told.title}", content=text, ref=None, levels=Levels(),
                   tags=(), artifacts=told.artifacts[1:], source={"type": "session"}, importance=0.35)  # fmt: skip


def shown(memory: Memory) -> str:
    """As a bundle shows it."""
    level = memory.source.get(SHOWN_AS)
    if level == "compressed" and memory.levels.compressed:
        return memory.levels.compressed
    if level is None and len(memory.content) < 2_000:
        return memory.content
    return (memory.levels.summary or memory.content)[:400]


class Years:
    def __init__(self, settings: ConsolidationSettings) -> None:
        self.ours, self.never = Kept(), Kept()
        self.usage = Usage()
        self.planner = Planner("p", settings, datetime.now(UTC))
        self.past: deque[tuple[str, frozenset[str]]] = deque(maxlen=5_000)
        self.days: list[Day] = []
        self.nights: list[float] = []
        self.counts: dict[str, int] = defaultdict(int)

    def happened(self, units: Sequence[Unit], now: datetime) -> None:
        for unit in units:
            told = replace(episode(unit, "p", now=now), at=now)
            new = [told, session_of(unit, told, now)] if is_work(unit) else [told]
            self.ours.put(new)
            self.never.put(new)
            self.planner.take(new)
            self.past.append((told.id, frozenset(change.path for change in unit.changes)))

    def asked(self, unit: Unit, day: Day, now: datetime) -> None:
        paths = {change.path for change in unit.changes}
        if not is_work(unit) or len(paths) > MOST_FILES or len(unit.subject) < 15:
            return
        like = (name for name, files in reversed(self.past) if len(paths & files) >= LIKE * len(paths | files))
        needed = [name for name, _ in zip(like, range(NEEDED), strict=False)]
        if not needed:
            return
        query = " ".join((unit.subject, *(path.rpartition("/")[2].partition(".")[0] for path in sorted(paths)[:3])))
        took, answers = [], []
        for store in (self.ours, self.never):
            began = time.perf_counter()
            answers.append(store.ask(query, now))
            took.append((time.perf_counter() - began) * 1e3)
        day.milliseconds.append((took[0], took[1]))
        day.tokens.append((sum(count(shown(one)) for one in answers[0]), sum(count(shown(one)) for one in answers[1])))
        found = [{one.id for one in answer} for answer in answers]
        for name in needed:
            day.found.append((self._says(name, found[0]), name in found[1] or f"s{name}" in found[1]))
            day.forgotten += not self._is_told(name)
        self.usage.asked(query, "p", [one.id for one in answers[0]], now)
        for name in found[0] & {*needed, *(f"s{one}" for one in needed)}:
            self.usage.used(name, now)

    def night(self, number: int, now: datetime) -> None:
        began = time.perf_counter()
        self.planner.now = now
        tallies = self.usage.tallies()
        for step in PLANNED:
            if step is Step.LINKS and number % LINKED_EVERY:
                continue
            for entry in self.planner.plan(step, tallies if step is Step.USE else {}):
                self.counts[entry.counts] += 1
        self.usage.counted(tallies)
        changed = self.planner.memories
        self.ours.put(one for one in changed.values() if self.ours.memories.get(one.id) is not one)
        gone = self.planner.erasable()
        self.planner.leave(gone)
        self.ours.remove(gone)
        self.counts["erased"] += len(gone)
        self.nights.append(time.perf_counter() - began)

    def _says(self, name: str, found: set[str]) -> bool:
        return bool({name, f"s{name}", *self._heirs(name)} & found)

    def _heirs(self, name: str) -> set[str]:
        """What was merged from a memory, or tells of it."""
        heirs = set()
        for one in (name, f"s{name}"):
            memory = self.ours.memories.get(one)
            if memory is not None:
                heirs |= {memory.superseded_by or one}
                heirs |= {link["ref"] for link in memory.links if link.get("type") == PART_OF}
        return heirs

    def _is_told(self, name: str) -> bool:
        """Whether what is needed is still there: itself, what it was merged into, or its module's history."""
        present = (self.ours.memories.get(one) for one in {name, f"s{name}", *self._heirs(name)})
        return any(one is not None and one.status in (Status.ACTIVE, Status.SUSPECT) for one in present)


def replay(repository: Path, days: int) -> Years:
    all_units = list(history.units(Git(repository)))
    last = max(unit.at for unit in all_units)
    begin = datetime.fromtimestamp(last, UTC).replace(hour=0, minute=0, second=0) - days * DAY
    years = Years(ConsolidationSettings())
    older = [unit for unit in all_units if unit.at < begin.timestamp()]
    years.happened(older[-BEFORE:], begin)
    by_day: dict[int, list[Unit]] = defaultdict(list)
    for unit in all_units:
        by_day[int((unit.at - begin.timestamp()) // 86_400)].append(unit)
    for number in range(days):
        now = begin + number * DAY
        day = Day((0, 0), (0, 0))
        for unit in by_day[number]:
            years.asked(unit, day, now + timedelta(hours=10))
        years.happened(by_day[number], now + timedelta(hours=18))
        years.night(number, now + timedelta(hours=27))
        active = sum(one.status is Status.ACTIVE for one in years.ours.memories.values())
        day.memories = (active, len(years.never.memories))
        day.kilobytes = (years.ours.bytes / 1e3, years.never.bytes / 1e3)
        years.days.append(day)
    return years


def told(name: str, years: Years) -> str:
    found = [one for day in years.days for one in day.found]
    share = [sum(one[side] for one in found) / max(len(found), 1) for side in (0, 1)]
    lost = sum(day.forgotten for day in years.days)
    end = years.days[-1]
    took = [one for day in years.days for one in day.milliseconds]
    tokens = [one for day in years.days for one in day.tokens]
    kept = f"{end.memories[0]:,} active of {end.memories[1]:,}; kB {end.kilobytes[0]:,.0f} of {end.kilobytes[1]:,.0f}"
    lines = [
        f"{name}: {len(years.days)} nights, {len(found):,} needed",
        f"  memories {kept}",
        f"  recall@5 {share[0]:.3f}, never forgetting {share[1]:.3f}",
        f"  forgotten of what was needed {lost} ({lost / max(len(found), 1):.2%})",
        f"  tokens an answer {_pair(tokens, statistics.mean, 0)}",
        f"  ms a question {_pair(took, statistics.median, 2)}",
        f"  the last hundred questions {_pair(took[-100:], statistics.median, 2)}",
        f"  ms a night {statistics.median(years.nights) * 1e3:.0f}, slowest {max(years.nights) * 1e3:.0f}",
        f"  changes {dict(years.counts)}",
    ]
    return "\n".join(lines)


def _pair(pairs: Sequence[tuple[float, float]], figure: Callable[[list[float]], float], digits: int) -> str:
    ours, never = (figure([one[side] for one in pairs]) for side in (0, 1))
    return f"{ours:.{digits}f} (never forgetting {never:.{digits}f})"


PANELS = (
    ("memories", lambda day: day.memories),
    ("kB as stored", lambda day: day.kilobytes),
    ("ms a question", lambda day: _mean(day.milliseconds)),
    ("tokens an answer", lambda day: _mean(day.tokens)),
    ("recall@5", lambda day: _mean(day.found)),
)
WIDTH, HEIGHT, LEFT = 240, 110, 46  # pixels of a panel
SMOOTH = 30  # days


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    return (statistics.mean(one[0] for one in pairs), statistics.mean(one[1] for one in pairs)) if pairs else None


def drawing(results: Sequence[tuple[str, Years]]) -> str:
    """A row a repository, a panel a figure; blue is ours, grey the store that never forgets."""
    parts = []
    for row, (name, years) in enumerate(results):
        for column, (title, figure) in enumerate(PANELS):
            x, y = column * (WIDTH + 16) + LEFT, row * (HEIGHT + 58) + 44
            values = [figure(day) for day in years.days]
            parts += _panel(f"{name}: {title}" if column == 0 else title, values, x, y)
    width, height = len(PANELS) * (WIDTH + 16) + LEFT, len(results) * (HEIGHT + 58) + 20
    style = "text{font:11px system-ui;fill:#57606a}polyline{fill:none;stroke-width:1.5}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<style>{style}</style><rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _panel(title: str, values: Sequence[tuple[float, float] | None], x: int, y: int) -> list[str]:
    smooth: list[tuple[float, float] | None] = []
    for at in range(len(values)):
        window = [one for one in values[max(0, at - SMOOTH) : at + 1] if one is not None]
        smooth.append(_mean(window))
    most = max((max(one) for one in smooth if one is not None), default=1.0) or 1.0
    parts = [f'<text x="{x}" y="{y - 10}">{title}</text>', f'<text x="{x - 42}" y="{y + 8}">{most:,.4g}</text>']
    parts.append(f'<line x1="{x}" y1="{y + HEIGHT}" x2="{x + WIDTH}" y2="{y + HEIGHT}" stroke="#d0d7de"/>')
    for side, colour in ((1, "#afb8c1"), (0, "#0969da")):
        points = " ".join(
            f"{x + at * WIDTH / max(len(smooth) - 1, 1):.1f},{y + HEIGHT - one[side] / most * HEIGHT:.1f}"
            for at, one in enumerate(smooth)
            if one is not None and at % 3 == 0
        )
        parts.append(f'<polyline points="{points}" stroke="{colour}"/>')
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--svg", type=Path, help="draw the course of the days here")
    asked = parser.parse_args()
    results = []
    for repository in asked.repositories:
        name = repository.resolve().parent.name if repository.name == "repo" else repository.resolve().name
        years = replay(repository, asked.days)
        print(told(name, years), flush=True)
        results.append((name.rpartition("+")[2], years))
        if asked.svg:
            asked.svg.write_text(drawing(results), encoding="utf-8")


if __name__ == "__main__":
    main()
