"""`hunch bench replay`: replays a history with the daemon's predictor."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from hunchd.bench import baselines, episodes, metrics, plot, recurrence, report, tracebacks
from hunchd.bench.outlines import Outlines
from hunchd.bench.results import Results
from hunchd.bench.tasks import TASKS, Question, questions
from hunchd.bench.walk import Moment, Windows, walk
from hunchd.domain.context import Prediction
from hunchd.domain.errors import HunchError, InvalidInput
from hunchd.domain.history import Unit
from hunchd.ingestion import history
from hunchd.prediction import weights
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git

OURS = "hunch"
K = 20
OF_CASES = ("error", "recurrence")  # tasks that need cases beside a history
ALL_TASKS = (*TASKS, *OF_CASES, "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench replay`."""
    parser.add_argument("--repo", action="append", default=[], metavar="PATH", help="a git repository; repeatable")
    parser.add_argument("--task", action="append", choices=ALL_TASKS, help="task to run (default: all); repeatable")
    parser.add_argument(
        "--test-units", type=int, default=600, help="the newest units, which are scored (at most 45 %%)"
    )
    parser.add_argument(
        "--development-units", type=int, default=700, help="units before them, from which contents are read"
    )
    parser.add_argument("--cases", type=Path, metavar="FILE", help="tracebacks, for the tasks error and recurrence")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="write one JSON line a query")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a chart of the results: .svg, or .html")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="cache parsed outlines here between runs")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="weights to use instead of the shipped ones")
    parser.add_argument("--no-baselines", action="store_true", help="evaluate only our predictor")
    parser.add_argument(
        "--shuffled", choices=("messages", "history"), help="control: shuffle messages or changed files"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random draws")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark and return the exit code.

    0 on success, 1 if a repository could not be replayed, 2 for invalid options.
    """
    tasks = TASKS if not options.task or "all" in options.task else tuple(dict.fromkeys(options.task))
    cases = []
    try:
        if (options.cases is None) == bool(set(tasks) & set(OF_CASES)):
            raise InvalidInput("--cases is required for the tasks error and recurrence, and not allowed for others")
        if not options.repo and set(tasks) != {"recurrence"}:
            raise InvalidInput("--repo is required: the repository to replay")
        cases = tracebacks.cases_in(options.cases) if options.cases else []
    except HunchError as error:
        print(f"hunch: {error.message}", file=sys.stderr)
        return 2
    if "recurrence" in tasks:
        print(recurrence.told(cases, as_json=options.json))
    results = []
    with ExitStack() as open_files:
        dump = None
        if options.dump is not None:
            dump = open_files.enter_context(options.dump.open("w", encoding="utf-8"))
        for path in options.repo:
            try:
                results.append(replayed(path, tasks, options, dump, cases))
            except HunchError as error:
                print(f"hunch: {path}: {error.message}", file=sys.stderr)
                return 1
            if not options.json:
                print(report.of_repository(results[-1]), flush=True)
    if options.plot is not None:
        plot.write(results, options.plot)
    if options.json:
        print(json.dumps([report.as_json(result) for result in results], indent=1))
    elif len(results) > 1:
        print(report.of_all(results))
    return 0


def replayed(
    path: str,
    tasks: Sequence[str],
    options: argparse.Namespace,
    dump: IO[str] | None,
    cases: Sequence[tracebacks.Case] = (),
) -> Results:
    """Replay one repository and score its test window."""
    git = Git(path)
    units = list(history.units(git, lines="memory" in tasks))
    windows = Windows.of(len(units), options.test_units, options.development_units)
    table = weights.loaded(options.weights) if options.weights else weights.shipped()
    results = Results(name_of(path), units=len(units), provenance=str(table.provenance.get("trained", "")))
    with Outlines(git, options.cache) as outlines:
        if set(tasks) - {"memory", *OF_CASES}:
            _replay_window(git, units, windows, outlines, tasks, options, dump, results, table)
        if "error" in tasks:
            tracebacks.score(git, units, Predictor(table), outlines, cases, results, dump)
    if "memory" in tasks:
        episodes.score(git, units, windows, results, options, table, dump)
    return results


def _replay_window(
    git: Git,
    units: Sequence[Unit],
    windows: Windows,
    outlines: Outlines,
    tasks: Sequence[str],
    options: argparse.Namespace,
    dump: IO[str] | None,
    results: Results,
    table: weights.Weights,
) -> None:
    predictor = Predictor(table)
    learned = None if options.shuffled is None else shuffled(units, options.shuffled, options.seed)
    created = []
    for moment in walk(git, units, predictor, outlines, windows.start, learned=learned):
        if moment.gold and moment.position >= windows.test:
            results.scored += 1
            created.append(moment.unpredictable / len(moment.unit.changes))
            for question in _asked(moment, tasks, options.seed):
                _score(predictor, question, moment.unit, results, dump, with_baselines=not options.no_baselines)
    results.created = sum(created) / max(len(created), 1)


def shuffled(units: Sequence[Unit], what: str, seed: int) -> list[Unit]:
    """Shuffle the history as a control.

    Each unit is learned with the words of another one, or with each changed file swapped for another. Additions,
    deletions and renames stay in place: the project keeps its shape.
    """
    drawn = random.Random(seed)
    if what == "messages":
        others = drawn.sample(units, len(units))
        return [
            replace(unit, subject=other.subject, body=other.body, branch=other.branch)
            for unit, other in zip(units, others, strict=True)
        ]
    modified = [change for unit in units for change in unit.changes if change.status == "M"]
    drawn.shuffle(modified)
    swapped = iter(modified)
    return [
        replace(unit, changes=tuple(next(swapped) if change.status == "M" else change for change in unit.changes))
        for unit in units
    ]


def name_of(path: str) -> str:
    """Return a short name for a repository's folder: its last informative part."""
    parts = [part for part in Path(path).resolve().parts if part not in {"repo", ".git", "repo.git"}]
    return parts[-1].removesuffix(".git") if parts else path


def _asked(moment: Moment, tasks: Sequence[str], seed: int) -> Iterator[Question]:
    for task in tasks:
        if task in TASKS and task != "memory":
            yield from questions(moment.unit, moment.gold, task, seed)


def _score(
    predictor: Predictor,
    question: Question,
    unit: Unit,
    results: Results,
    dump: IO[str] | None,
    *,
    with_baselines: bool,
) -> None:
    started = time.perf_counter()
    prediction = predictor.predict(question.focus, now=unit.at, k=K, explain=False)
    results.milliseconds.append((time.perf_counter() - started) * 1e3)
    ranked = [file.path for file in prediction.files]
    right = bool(ranked) and ranked[0] in question.gold
    results.confidences.setdefault(question.task, []).append((prediction.confidence, right, bool(question.gold)))
    if question.following:
        values = metrics.next_in_ten(ranked, question.gold, question.following)
        results.following.setdefault(question.task, []).append((question.unit, values))
    if dump is not None:
        dump.write(json.dumps(_line(question, prediction), ensure_ascii=False) + "\n")
    if not question.gold or question.task == "silence":
        return
    by_method = results.rows.setdefault(question.task, {})
    by_method.setdefault(OURS, []).append((question.unit, metrics.measured(ranked, question.gold)))
    if with_baselines:
        for name, others in baselines.rankings(predictor.state, question.focus).items():
            by_method.setdefault(name, []).append((question.unit, metrics.measured(others, question.gold)))


def _line(question: Question, prediction: Prediction) -> dict[str, Any]:
    focus = question.focus
    line: dict[str, Any] = {"unit": question.unit, "task": question.task}
    if focus.file:
        line["seed"] = focus.file
    if focus.open_files:
        line["seeds"] = list(focus.open_files)
    if focus.query or focus.branch:
        line["query"] = focus.query or focus.branch
    if question.following:
        line["next"] = question.following
    return line | {
        "gold": list(question.gold),
        "ranked": [file.path for file in prediction.files],
        "confidence": prediction.confidence,
    }
