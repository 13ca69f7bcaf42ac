"""Replay of past units through the real daemon, file by file over HTTP, beside the offline replay.

    python benchmarks/through_daemon.py --repo PATH --units 100

A clone is at the parent of the first unit when the daemon adds it. For each unit, oldest first, the clone is moved to
the unit's parent, the daemon is given time to notice, and the unit's files are opened in a random order with the same
seed as the replay's: signal, context at once, a pause, the next file. Then they are closed. Units are those the replay
would score, of 2 to 15 files. HEAD is moved in the name of the unit's author, so that the daemon knows whose work it
is. The offline replay answers the very same questions, with the author known and without.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
from daemon import add, daemon, format_quantiles, open_session

from hunchd.bench import metrics
from hunchd.bench.history_walk import ReplayWindows, walk_history
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.tasks import ReplayQuery, generate_queries
from hunchd.domain.context import Focus
from hunchd.domain.history import Unit
from hunchd.ingestion import history
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git

MAX_OPENED = 6  # files of a unit
LEARN_TIMEOUT = 120.0  # seconds for the daemon to learn the new commits of a checkout
NAMES = ("hit@1", "hit@5", "hit@10", "recall@10", "MAP")


@dataclass
class UnitQuestion:
    """Unit to repeat, the order of its files, and the replay's answer to the first one."""

    unit: Unit
    position: int
    order: tuple[str, ...]
    gold: tuple[str, ...]
    offline: dict[str, tuple[float, ...]]


@dataclass
class DaemonAnswers:
    """The daemon's answers for a unit."""

    rows: list[tuple[float, ...]] = field(default_factory=list)  # first file given, as in the replay
    following: list[bool] = field(default_factory=list)  # next file among the ten in the previous bundle
    warm: list[bool] = field(default_factory=list)  # bundle prefetched when opened, from the second file on
    first: list[bool] = field(default_factory=list)  # the same for first files: only the branch announces them
    latencies: list[float] = field(default_factory=list)  # ms, of the context requested right after an open


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", required=True, help="a git repository; it is cloned")
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two files: a quick person (1)")
    parser.add_argument("--cache", type=Path, help="keep parsed outlines here between runs")
    options = parser.parse_args()
    work = draw_questions(Git(options.repo), options.units, options.cache)
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        clone = Path(folder) / "clone"
        git(Path(folder), "clone", "-q", "--no-checkout", options.repo, str(clone))
        git(clone, "checkout", "-q", "-B", "main", work[0].unit.parents[0])
        with daemon(Path(folder) / "home") as (rendezvous, _):
            answers, prefetch = asyncio.run(work_on_all(rendezvous, clone, work, options.pause))
    report(work, answers, prefetch)
    return 0


def draw_questions(git: Git, most: int, cache: Path | None) -> list[UnitQuestion]:
    """Return the newest units with a first-file question, and the offline answers."""
    units = list(history.iter_units(git))
    found: list[UnitQuestion] = []
    predictor = Predictor()
    with OutlineCache(git, cache) as outlines:
        for moment in walk_history(
            git, units, predictor, outlines, ReplayWindows.create(len(units), 5 * most, 100).test
        ):
            first = next(iter(generate_queries(moment.unit, moment.gold, "growing")), None)
            if first is None or not first.focus.file:
                continue
            offline = {}
            for name, author in (("offline", moment.unit.email), ("offline, author unknown", "")):
                focus = Focus(project="", file=first.focus.file, author=author)
                ranked = predictor.predict(focus, now=moment.unit.at, k=20, explain=False).files
                offline[name] = metrics.compute_metrics([file.path for file in ranked], first.gold)
            found.append(UnitQuestion(moment.unit, moment.position, shuffle_files(first), first.gold, offline))
    return found[-most:]


def shuffle_files(first: ReplayQuery) -> tuple[str, ...]:
    assert first.focus.file
    return (first.focus.file, *first.gold)[:MAX_OPENED]


async def work_on_all(
    rendezvous: Any, clone: Path, work: Sequence[UnitQuestion], pause: float
) -> tuple[DaemonAnswers, dict[str, Any]]:
    answers = DaemonAnswers()
    async with open_session(rendezvous) as client:
        await add(client, clone)
        start = await count_learned_units(client)
        for number, question in enumerate(work):
            git(clone, "merge", "-q", "--ff-only", question.unit.parents[0], email=question.unit.email)
            await wait_for_units(client, start + question.position - work[0].position)
            await asyncio.sleep(pause)
            await work_on_unit(client, clone, question, answers, pause)
            if number % 10 == 9:
                print(f"{number + 1} units", file=sys.stderr, flush=True)
        async with client.get("/status") as response:
            return answers, (await response.json())["prefetch"]


async def work_on_unit(
    client: aiohttp.ClientSession, clone: Path, asked: UnitQuestion, answers: DaemonAnswers, pause: float
) -> None:
    """Open a unit's files in turn; the first question is asked as in the replay."""
    expected: list[str] | None = None
    for number, path in enumerate(asked.order):
        await signal(client, clone, "file_opened", path)
        began = time.perf_counter()
        async with client.get("/context", params={"project": str(clone), "file": path}) as response:
            bundle = await response.json()
        answers.latencies.append((time.perf_counter() - began) * 1_000)
        (answers.first if number == 0 else answers.warm).append(bool(bundle.get("prefetched")))
        if expected is not None:
            answers.following.append(path in expected)
        if number == 0:
            question = {"project": str(clone), "file_opened": path, "k": 20}
            async with client.post("/context/predict", json=question) as response:
                ranked = [file["path"] for file in (await response.json())["predicted_files"]]
            answers.rows.append(metrics.compute_metrics(ranked, asked.gold))
        expected = [item["source"]["path"] for item in bundle["items"] if item["kind"] == "file"][:10]
        await asyncio.sleep(pause)
    for path in asked.order:
        await signal(client, clone, "file_closed", path)


async def signal(client: aiohttp.ClientSession, clone: Path, kind: str, path: str) -> None:
    signals = {"signals": [{"kind": kind, "project": str(clone), "path": path}]}
    async with client.post("/signals", json=signals) as response:
        assert response.status == 202, await response.text()


async def count_learned_units(client: aiohttp.ClientSession) -> int:
    async with client.get("/projects") as response:
        [project] = (await response.json())["items"]
    return int(project["progress"]["commits"]["done"])


async def wait_for_units(client: aiohttp.ClientSession, units: int) -> None:
    deadline = time.monotonic() + LEARN_TIMEOUT
    while await count_learned_units(client) < units:
        if time.monotonic() > deadline:
            raise SystemExit(f"the daemon knows {await count_learned_units(client)} of {units} units")
        await asyncio.sleep(0.1)


def git(folder: Path, *command: str, email: str = "nobody@example.org") -> None:
    """Run git as the unit's author; the daemon takes who moves HEAD for the user."""
    settings = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    settings |= {"GIT_COMMITTER_NAME": "Somebody", "GIT_COMMITTER_EMAIL": email}
    subprocess.run(["git", *command], cwd=folder, check=True, env=settings, stdout=subprocess.DEVNULL)


def report(work: Sequence[UnitQuestion], answers: DaemonAnswers, prefetch: dict[str, Any]) -> None:
    places = [metrics.METRIC_NAMES.index(name) for name in NAMES]
    print(f"{len(work)} units, {len(answers.latencies)} files opened")
    print("one file given".ljust(28) + "".join(name.rjust(11) for name in NAMES))
    print(_row("through the daemon", np.mean(answers.rows, axis=0)[places]))
    for name in work[0].offline:
        print(_row(name, np.mean([asked.offline[name] for asked in work], axis=0)[places]))
    print(f"the next file among the ten of the bundle before: {np.mean(answers.following):.3f}")
    print(
        f"bundle ready when the file opened: {np.mean(answers.warm):.3f}; of first files {np.mean(answers.first):.3f}"
    )
    print("context, asked right after the open:", format_quantiles(answers.latencies))
    day = prefetch["day"]
    print(f"bundles built ahead: {prefetch['built_ahead']}, depth at the end: {prefetch['depth']}")
    print(f"bytes built ahead: {day['ahead_bytes']:,}, wasted: {day['wasted_bytes']:,}")
    print("the daemon's own scoreboard:", day)


def _row(name: str, values: Any) -> str:
    return name.ljust(28) + "".join(f"{value:11.3f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
