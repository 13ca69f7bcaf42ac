"""`hunch bench replay`: replays a history and scores the daemon's predictor on it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from hunchd.bench import metrics, report
from hunchd.bench.history_walk import ReplayPoint, ReplayWindows, walk_history
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.results import ReplayResults
from hunchd.bench.tasks import TASKS, ReplayQuery, generate_queries
from hunchd.domain.context import Focus, Prediction
from hunchd.domain.errors import HunchError
from hunchd.domain.history import Unit
from hunchd.ingestion import history
from hunchd.prediction import weights
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.state import PredictorState
from hunchd.repository.git import Git

OUR_METHOD = "hunch"
MAX_RANKED = 20
# Returns the rankings by other methods to compare with, by name.
RankOthers = Callable[[PredictorState, Focus], dict[str, list[str]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench replay`."""
    parser.add_argument("--repo", action="append", required=True, metavar="PATH", help="a git repository; repeatable")
    parser.add_argument(
        "--task", action="append", choices=(*TASKS, "all"), help="task to run (default: all); repeatable"
    )
    parser.add_argument(
        "--test-units", type=int, default=600, help="number of newest units to score (at most 45 %% of the history)"
    )
    parser.add_argument(
        "--development-units",
        type=int,
        default=700,
        help="number of units before these for which file contents are read",
    )
    parser.add_argument("--dump", type=Path, metavar="FILE", help="write one JSON line for each query")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="cache parsed outlines here between runs")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="weights to use instead of the shipped ones")
    parser.add_argument("--seed", type=int, default=0, help="seed for the random draws")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(
    options: argparse.Namespace,
    rank_others: RankOthers | None = None,
    shuffle: Callable[[Sequence[Unit]], list[Unit]] | None = None,
) -> int:
    """Run the benchmark and return the exit code.

    The exit code is 0 on success and 1 if a repository could not be replayed. `benchmarks/replay_baselines.py` gives
    other methods to compare with, and shuffles what is learned.
    """
    tasks = TASKS if not options.task or "all" in options.task else tuple(dict.fromkeys(options.task))
    results = []
    with ExitStack() as open_files:
        dump = None
        if options.dump is not None:
            dump = open_files.enter_context(options.dump.open("w", encoding="utf-8"))
        for path in options.repo:
            try:
                results.append(replay_repository(path, tasks, options, dump, rank_others, shuffle))
            except HunchError as error:
                print(f"hunch: {path}: {error.message}", file=sys.stderr)
                return 1
            if not options.json:
                print(report.format_repository(results[-1]), flush=True)
    if options.json:
        print(json.dumps([report.results_to_json(result) for result in results], indent=1))
    elif len(results) > 1:
        print(report.format_all(results))
    return 0


def replay_repository(
    path: str,
    tasks: Sequence[str],
    options: argparse.Namespace,
    dump: IO[str] | None,
    rank_others: RankOthers | None,
    shuffle: Callable[[Sequence[Unit]], list[Unit]] | None,
) -> ReplayResults:
    """Replay the history of one repository and score its test window."""
    git = Git(path)
    units = list(history.iter_units(git))
    windows = ReplayWindows.create(len(units), options.test_units, options.development_units)
    table = weights.load_weights(options.weights) if options.weights else weights.load_shipped()
    results = ReplayResults(
        get_repository_name(path), units=len(units), provenance=str(table.provenance.get("trained", ""))
    )
    predictor = Predictor(table)
    new_file_shares = []
    with OutlineCache(git, options.cache) as outlines:
        learned_units = shuffle(units) if shuffle is not None else None
        for moment in walk_history(git, units, predictor, outlines, windows.start, learned_units=learned_units):
            if moment.gold and moment.position >= windows.test:
                results.scored_units += 1
                new_file_shares.append(moment.unpredictable / len(moment.unit.changes))
                for question in _iterate_queries(moment, tasks, options.seed):
                    _score_query(predictor, question, moment.unit, results, dump, rank_others)
    results.new_file_share = sum(new_file_shares) / max(len(new_file_shares), 1)
    return results


def get_repository_name(path: str) -> str:
    """Return a short name for a repository, from its path.

    The name is the last part of the path that is informative, unlike "repo" or ".git".
    """
    parts = [part for part in Path(path).resolve().parts if part not in {"repo", ".git", "repo.git"}]
    return parts[-1].removesuffix(".git") if parts else path


def _iterate_queries(moment: ReplayPoint, tasks: Sequence[str], seed: int) -> Iterator[ReplayQuery]:
    for task in tasks:
        yield from generate_queries(moment.unit, moment.gold, task, seed)


def _score_query(
    predictor: Predictor,
    question: ReplayQuery,
    unit: Unit,
    results: ReplayResults,
    dump: IO[str] | None,
    rank_others: RankOthers | None,
) -> None:
    start_time = time.perf_counter()
    prediction = predictor.predict(question.focus, now=unit.at, k=MAX_RANKED, explain=False)
    results.milliseconds.append((time.perf_counter() - start_time) * 1e3)
    ranking = [file.path for file in prediction.files]
    is_first_right = bool(ranking) and ranking[0] in question.gold
    results.confidences.setdefault(question.task, []).append(
        (prediction.confidence, is_first_right, bool(question.gold))
    )
    if question.next_file:
        values = metrics.compute_next_in_ten(ranking, question.gold, question.next_file)
        results.following.setdefault(question.task, []).append((question.unit, values))
    if dump is not None:
        dump.write(json.dumps(_build_dump_line(question, prediction), ensure_ascii=False) + "\n")
    if not question.gold or question.task == "silence":
        return
    by_method = results.rows.setdefault(question.task, {})
    by_method.setdefault(OUR_METHOD, []).append((question.unit, metrics.compute_metrics(ranking, question.gold)))
    if rank_others is not None:
        for name, others in rank_others(predictor.state, question.focus).items():
            by_method.setdefault(name, []).append((question.unit, metrics.compute_metrics(others, question.gold)))


def _build_dump_line(question: ReplayQuery, prediction: Prediction) -> dict[str, Any]:
    focus = question.focus
    line: dict[str, Any] = {"unit": question.unit, "task": question.task}
    if focus.file:
        line["seed"] = focus.file
    if focus.open_files:
        line["seeds"] = list(focus.open_files)
    if focus.query or focus.branch:
        line["query"] = focus.query or focus.branch
    if question.next_file:
        line["next"] = question.next_file
    return line | {
        "gold": list(question.gold),
        "ranked": [file.path for file in prediction.files],
        "confidence": prediction.confidence,
    }
