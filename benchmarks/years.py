"""Replay of two years of a project, day by day with a virtual clock, beside a store that never forgets.

    python benchmarks/years.py --state FOLDER REPOSITORY… [--days 730] [--minutes 7] [--svg docs/years.svg]

Each day the real commits of that day become episodes, and each piece of work leaves a note of the session. In the
morning every piece of work that will be done asks with the words of its commit; it needs the newest earlier episodes
that touched at least a third of the same files. Each question goes to two real store processes, without vectors,
and is
ranked as `/search` ranks it; needed memories that are found count as used. Each night the steps of a nightly run plan
over one of the stores and are written to it; the other one forgets nothing. Every thirtieth night the gate asks its
questions before and after.

A run ends by itself after `--minutes` and continues from there when it is started again, until all days are done. The
database's versions are pruned after a second instead of a minute, because the clock runs that much faster.
"""

from __future__ import annotations

import argparse
import asyncio
import pickle
import re
import statistics
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from years_drawing import Figures, draw

from hunchd.assembly.token_counter import count_tokens
from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import SHOWN_AS
from hunchd.consolidation.module_history import HISTORY_CATEGORY, PART_OF
from hunchd.consolidation.plan import ConsolidationStep
from hunchd.consolidation.planner import PLANNED_STEPS, Planner
from hunchd.consolidation.regression_gate import MAX_RANK_AFTER, MAX_RANK_BEFORE
from hunchd.core.status import measure_process_memory
from hunchd.domain.history import Unit
from hunchd.domain.memory import Levels, Memory, Status
from hunchd.domain.unit_classification import is_work
from hunchd.features.consolidation.plan_executor import MAX_PROBE_LOSS, MAX_PROBES
from hunchd.features.consolidation.usage import UsageTracker
from hunchd.features.search.search_service import SearchService
from hunchd.ingestion import history
from hunchd.ingestion.episodes import build_episode
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.requests import SearchRequest
from hunchd.repository.git import Git
from hunchd.store.client import PROCESS_LIMITS, StoreClient
from hunchd.store.memory_cache import MemoryCache

PROJECT = "p0"
DAY = timedelta(days=1)
BEFORE = 400  # units known on the first day
FIRST = 5  # answers evaluated
LIKE = 1 / 3  # share of common files from which one unit needs another
NEEDED = 5  # maximum of needed earlier episodes, the newest
MOST_FILES = 12  # a unit with more files needs nothing in particular
GATE_EVERY = 30  # nights
WEIGHED_EVERY = 10  # nights: stores are compacted, then measured
PUT_AT_ONCE = 256
PROCESS = """
import sys
from datetime import timedelta
from hunchd.store.database import collection
from hunchd.daemon.store_process import main
collection.KEEP_VERSIONS = timedelta(seconds=1)
sys.exit(main(sys.argv[1:]))
"""


class StoreUnderTest:
    """Store in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        argv = [sys.executable, "-c", PROCESS, str(folder), "--no-embedding", "--idle-after", "100000"]
        self.process = HelperProcess(
            argv, name="the store process", env=dict(PROCESS_LIMITS) | {"PYTHONPATH": ":".join(sys.path)}
        )
        self.store = StoreClient(self.process)
        self._now = datetime.now(UTC)
        self._searching = SearchService(MemoryCache(), self.store, now=lambda: self._now)

    async def put(self, memories: Sequence[Memory]) -> None:
        for begin in range(0, len(memories), PUT_AT_ONCE):
            await self.store.put(memories[begin : begin + PUT_AT_ONCE])

    async def ask(self, query: str, now: datetime, k: int = FIRST) -> list[tuple[str, str]]:
        """Return the ids of the first answers, each with the lines quoted from it."""
        self._now = now
        answer = await self._searching.search(SearchRequest(query=query, project=PROJECT, k=k), PROJECT)
        return [(result.id, result.snippet) for result in answer.results]

    async def weighed(self) -> tuple[float, float]:
        """Return MB on disk and in memory."""
        await self.store.optimise()
        stats = await self.store.fetch_stats()
        return (stats.bytes or 0) / 1e6, measure_process_memory(self.process.pid or 0) / 1e6


@dataclass(frozen=True, slots=True)
class Need:
    """Earlier episode that a piece of work needed."""

    name: str
    of_work: bool  # deliberate work: no bot, no version update, no merge
    found: tuple[bool, bool]  # by our store, by the other one
    gone: bool  # archived or erased, and in no history either
    only_told: bool  # a line in a history is all that is left

    @property
    def missed(self) -> bool:
        """Return True if only the other store found it, because it was forgotten here."""
        return self.found == (False, True) and (self.gone or self.only_told)


@dataclass
class Day:
    """Figures of one day, of our store and of the one that never forgets."""

    memories: tuple[int, int] = (0, 0)
    active: int = 0
    megabytes: tuple[float, float] | None = None  # on the disk
    resident: tuple[float, float] | None = None  # MB
    milliseconds: list[tuple[float, float]] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    night: float = 0.0  # seconds


class PastUnit(NamedTuple):
    """Unit that may be needed again."""

    name: str  # id of its episode
    files: frozenset[str]
    is_work: bool


@dataclass
class ReplayState:
    """State that lasts from one day to the next."""

    planner: Planner
    usage: UsageTracker = field(default_factory=UsageTracker)
    past: deque[PastUnit] = field(default_factory=lambda: deque(maxlen=5_000))
    every: dict[str, Memory] = field(default_factory=dict)  # content of the store that never forgets
    heirs: dict[str, str] = field(default_factory=dict)  # id of the memory that replaces it now
    new: list[Memory] = field(default_factory=list)  # of the day
    days: list[Day] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    probes: list[int] = field(default_factory=lambda: [0, 0, 0])  # queries, losses, nights that would be rolled back


def make_session_note(unit: Unit, memory: Memory) -> Memory:
    """Return the note of the session that ended in `unit`."""
    where = ", ".join(change.path for change in unit.changes[:4])
    text = f"Session on {memory.title}. Looked at {where}. {unit.body.strip() or 'Done.'} The tests pass."
    title, artifacts = f"Session: {memory.title}", memory.artifacts[1:]
    return replace(memory, id=f"s{memory.id}", title=title, content=text, ref=None, levels=Levels(), tags=(),
                   artifacts=artifacts, source={"type": "session"}, importance=0.35)  # fmt: skip


def format_shown(memory: Memory, quoted: str) -> str:
    """Return a memory as a bundle shows it."""
    level = memory.source.get(SHOWN_AS)
    if memory.category == HISTORY_CATEGORY:
        return quoted
    if level == "compressed" and memory.levels.compressed:
        return memory.levels.compressed
    if level is None and len(memory.content) < 2_000:
        return memory.content
    return (memory.levels.summary or memory.content)[:400]


class Replay:
    def __init__(self, years: ReplayState, ours: StoreUnderTest, never: StoreUnderTest) -> None:
        self.years, self.ours, self.never = years, ours, never

    def happened(self, units: Sequence[Unit], now: datetime) -> None:
        for unit in units:
            memory = replace(build_episode(unit, PROJECT, now=now), at=now)
            new = [memory, make_session_note(unit, memory)] if is_work(unit) else [memory]
            self.years.new += new
            self.years.every.update({one.id: one for one in new})
            self.years.planner.load(new)
            files = frozenset(change.path for change in unit.changes)
            self.years.past.append(PastUnit(memory.id, files, is_work(unit)))

    async def asked(self, unit: Unit, day: Day, now: datetime) -> None:
        paths = {change.path for change in unit.changes}
        if not is_work(unit) or len(paths) > MOST_FILES or len(unit.subject) < 15:
            return
        newest_first = reversed(self.years.past)
        needed = list(islice((o for o in newest_first if len(paths & o.files) >= LIKE * len(paths | o.files)), NEEDED))
        if not needed:
            return
        query = " ".join((unit.subject, *(path.rpartition("/")[2].partition(".")[0] for path in sorted(paths)[:3])))
        took, answers = [], []
        for store in (self.ours, self.never):
            began = time.perf_counter()
            answers.append(await store.ask(query, now))
            took.append((time.perf_counter() - began) * 1e3)
        day.milliseconds.append((took[0], took[1]))
        memories = self.years.planner.memories
        ours = sum(count_tokens(format_shown(memories[one], quoted)) for one, quoted in answers[0])
        day.tokens.append(
            (ours, sum(count_tokens(format_shown(self.years.every[one], quoted)) for one, quoted in answers[1]))
        )
        self._judge(needed, [{one for one, _ in answer} for answer in answers], day, now)
        self.years.usage.record_query(query, PROJECT, [one for one, _ in answers[0]], now)

    def _judge(self, needed: Sequence[PastUnit], found: Sequence[set[str]], day: Day, now: datetime) -> None:
        for name, _, of_work in needed:
            saying = self._saying(name)
            itself = [one for one in saying if self.years.planner.memories[one].category != HISTORY_CATEGORY]
            both = bool(saying & found[0]), bool({name, f"s{name}"} & found[1])
            day.needs.append(Need(name, of_work, both, gone=not saying, only_told=bool(saying) and not itself))
            for one in saying & found[0]:
                if self.years.planner.memories[one].category != HISTORY_CATEGORY:
                    self.years.usage.record_use(one, now)

    def _saying(self, name: str) -> set[str]:
        """Return what still mentions an episode.

        That is the episode, its session's note, what they were merged into, or a line of history.
        """
        sources: set[str] = set()
        for one in (name, f"s{name}"):
            visited: set[str] = set()
            heir: str | None = one
            while heir is not None and heir not in visited:
                visited.add(heir)
                memory = self.years.planner.memories.get(heir)
                if memory is not None and self._tells_of(memory, one):
                    sources.add(heir)
                heir = self.years.heirs.get(heir)
        return sources

    def _tells_of(self, memory: Memory, name: str) -> bool:
        active = memory.status in (Status.ACTIVE, Status.SUSPECT)
        return active and (memory.category != HISTORY_CATEGORY or self._has_a_line(memory, name))

    def _has_a_line(self, history: Memory, name: str) -> bool:
        memory = self.years.every[name]
        sha = next((one.ref for one in memory.artifacts if one.type == "commit"), "")
        if not sha:
            return memory.title[:60] in history.content
        # A line ends in its commits in brackets.
        return re.search(rf"[\[ ]{sha[:8]}[\] ]", history.content) is not None

    async def night(self, number: int, day: Day, now: datetime) -> None:
        planner, years = self.years.planner, self.years
        await self.never.put(years.new)
        await self.ours.put(years.new)
        years.new = []
        began = time.perf_counter()
        planner.now = now
        gate = number % GATE_EVERY == GATE_EVERY - 1
        probes = await self._probes(f"night {number}", now) if gate else []
        tallies = years.usage.get_tallies()
        before = dict(planner.memories)
        for step in PLANNED_STEPS:
            for entry in planner.plan(step, tallies if step is ConsolidationStep.USE else {}):
                years.counts[entry.counter] += 1
        planner.compared_keys = frozenset(planner.iter_comparison_keys())
        years.usage.subtract_tallies(tallies)
        after = planner.memories
        changed = [one for one in after.values() if before.get(one.id) is not one]
        self._inherit(changed)
        await self.ours.put(changed)
        if gate:
            await self._compare(probes, now)
        erased = planner.list_erasable_ids()
        if erased:
            await self.ours.store.delete(erased, PROJECT)
            planner.remove(erased)
            years.usage.forget(erased)
            years.counts["erased"] += len(erased)
        day.night = time.perf_counter() - began

    def _inherit(self, changed: Iterable[Memory]) -> None:
        for memory in changed:
            if memory.superseded_by:
                self.years.heirs[memory.id] = memory.superseded_by
            for link in memory.links:
                if link.get("type") == PART_OF:
                    self.years.heirs.setdefault(memory.id, link["ref"])

    async def _probes(self, seed: str, now: datetime) -> list[tuple[str, str]]:
        """Return questions that find their memory before the night."""
        queries = self.years.planner.draw_probes(MAX_PROBES, seed)
        return [
            one for one in queries if one[1] in {name for name, _ in await self.ours.ask(one[0], now, MAX_RANK_BEFORE)}
        ]

    async def _compare(self, probes: Sequence[tuple[str, str]], now: datetime) -> None:
        lost_count = 0
        for query, wanted in probes:
            found = {name for name, _ in await self.ours.ask(query, now, MAX_RANK_AFTER)}
            lost_count += not {wanted, self.years.heirs.get(wanted)} & found
        probe_counts = self.years.probes
        probe_counts[0], probe_counts[1] = probe_counts[0] + len(probes), probe_counts[1] + lost_count
        probe_counts[2] += lost_count > MAX_PROBE_LOSS * len(probes)

    async def weigh(self, day: Day) -> None:
        disk, memory = zip(await self.ours.weighed(), await self.never.weighed(), strict=True)
        day.megabytes, day.resident = (disk[0], disk[1]), (memory[0], memory[1])


def _units_of(repository: Path, cache: Path) -> list[Unit]:
    """Return the whole history, cached for later runs."""
    if not cache.exists():
        cache.write_bytes(pickle.dumps(list(history.iter_units(Git(repository)))))
    units: list[Unit] = pickle.loads(cache.read_bytes())
    return units


async def replay(repository: Path, state: Path, days: int, until: float) -> ReplayState | None:
    """Replay until the time is over; return None if there is more to do."""
    all_units = _units_of(repository, state / "units")
    last = max(unit.at for unit in all_units)
    begin = datetime.fromtimestamp(last, UTC).replace(hour=0, minute=0, second=0) - days * DAY
    by_day: dict[int, list[Unit]] = defaultdict(list)
    for unit in all_units:
        by_day[int((unit.at - begin.timestamp()) // 86_400)].append(unit)
    state_file = state / "state"
    exists = state_file.exists()
    years = (
        pickle.loads(state_file.read_bytes())
        if exists
        else ReplayState(Planner(PROJECT, ConsolidationSettings(), begin))
    )
    async with AsyncExitStack() as stack:
        stores = [StoreUnderTest(state / name) for name in ("ours", "never")]
        for store in stores:
            stack.push_async_callback(store.process.stop)
        work = Replay(years, *stores)
        if not exists:
            work.happened([unit for unit in all_units if unit.at < begin.timestamp()][-BEFORE:], begin)
        for number in range(len(years.days), days):
            if time.monotonic() > until:
                break
            now, day = begin + number * DAY, Day()
            for unit in by_day[number]:
                await work.asked(unit, day, now + timedelta(hours=10))
            work.happened(by_day[number], now + timedelta(hours=18))
            await work.night(number, day, now + timedelta(hours=27))
            if number % WEIGHED_EVERY == 0 or number == days - 1:
                await work.weigh(day)
            remaining = years.planner.memories
            day.active = sum(one.status is Status.ACTIVE for one in remaining.values())
            day.memories = (len(remaining), len(years.every))
            years.days.append(day)
    state_file.write_bytes(pickle.dumps(years))
    return years if len(years.days) == days else None


def format_report(name: str, years: ReplayState) -> str:
    needs = [one for day in years.days for one in day.needs]
    end = years.days[-1]
    took = [one for day in years.days for one in day.milliseconds]
    tokens = [one for day in years.days for one in day.tokens]
    nights = [day.night * 1e3 for day in years.days]
    last = next(day for day in reversed(years.days) if day.megabytes is not None and day.resident is not None)
    assert last.megabytes is not None
    assert last.resident is not None
    most = max(day.memories[0] for day in years.days)
    lines = [
        f"{name}: {len(years.days)} nights, {len(took)} questions, {len(needs):,} needed",
        f"  memories {end.memories[0]:,} ({end.active:,} active, at most {most:,} kept) of {end.memories[1]:,}",
        f"  MB on the disk {last.megabytes[0]:.1f} of {last.megabytes[1]:.1f}",
        f"  MB of the store process {last.resident[0]:.0f} of {last.resident[1]:.0f}",
        *_describe_fates("all that was needed", needs),
        *_describe_fates("what people meant", [one for one in needs if one.of_work]),
        f"  tokens an answer {_format_pair(tokens, statistics.mean, 0)}",
        f"  ms a question {_format_pair(took, statistics.median, 2)}",
        f"  of the last hundred questions {_format_pair(took[-100:], statistics.median, 2)}",
        f"  ms a night {statistics.median(nights):.0f}, slowest {max(nights):.0f}",
        f"  gate: {years.probes[0]} questions, {years.probes[1]} lost, {years.probes[2]} nights to be taken back",
        f"  changes {dict(years.counts)}",
    ]
    return "\n".join(lines)


def _describe_fates(whose: str, needs: Sequence[Need]) -> list[str]:
    """Return what became of these, one line each."""
    recall = [sum(one.found[side] for one in needs) / max(len(needs), 1) for side in (0, 1)]
    forgotten, only_line, missed = (
        sum(getattr(one, name) for one in needs) for name in ("gone", "only_told", "missed")
    )
    return [
        f"  {whose}: {len(needs):,}, recall@{FIRST} {recall[0]:.3f}, never forgetting {recall[1]:.3f}",
        f"    gone {forgotten} ({forgotten / max(len(needs), 1):.2%}), a line of history left {only_line}",
        f"    found by the other store, not here for it was forgotten {missed} ({missed / max(len(needs), 1):.2%})",
    ]


def _format_pair(pairs: Sequence[tuple[float, float]], figure: Callable[[list[float]], float], digits: int) -> str:
    ours, never = (figure([one[side] for one in pairs] or [0.0]) for side in (0, 1))
    return f"{ours:.{digits}f} (never forgetting {never:.{digits}f})"


PANELS: Sequence[tuple[str, Callable[[Day], tuple[float, float] | None]]] = (
    ("memories", lambda day: day.memories),
    ("MB on the disk", lambda day: day.megabytes),
    ("MB of memory", lambda day: day.resident),
    ("ms a question", lambda day: _mean(day.milliseconds)),
    ("tokens an answer", lambda day: _mean(day.tokens)),
    (f"recall@{FIRST}", lambda day: _mean([need.found for need in day.needs])),
)


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    return (statistics.mean(one[0] for one in pairs), statistics.mean(one[1] for one in pairs)) if pairs else None


def get_name(repository: Path) -> str:
    name = repository.parent.name if repository.name == "repo" else repository.name
    return name.rpartition("+")[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--state", type=Path, required=True, help="where the stores lie, and how far it is")
    parser.add_argument("--minutes", type=float, default=7.0, help="to stop after; started again, it goes on")
    parser.add_argument("--svg", type=Path, help="draw the course of the days here, when all is done")
    options = parser.parse_args()
    until = time.monotonic() + options.minutes * 60
    results: list[tuple[str, list[Figures]]] = []
    for repository in options.repositories:
        name = get_name(repository.resolve())
        state = options.state / name
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        years = asyncio.run(replay(repository, state, options.days, until))
        if years is None:
            raise SystemExit(f"{name}: there is more to do; start it again")
        print(format_report(name, years), flush=True)
        results.append((name, [(title, [figure(day) for day in years.days]) for title, figure in PANELS]))
    if options.svg:
        options.svg.write_text(draw(results), encoding="utf-8")


if __name__ == "__main__":
    main()
