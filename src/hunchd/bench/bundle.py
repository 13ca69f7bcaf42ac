"""`hunch bench bundle`: how much of a real change the answer for one of its files names, and at what cost.

A change is a past unit of 2 to 8 files. Just before it, one of its files is opened and the daemon's own answer path is
asked at several budgets. Needed are the other files of the change that were there already, lock files and change logs
included. Named is what a reader can see: the whole path stands in the answer. Code patterns and episodes found by
words are not part of it, as they come from other processes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hunchd.bench import baselines, bundle_report
from hunchd.bench.bundle_report import Answered, Asked, Reviewed
from hunchd.bench.changed_symbols import changed_symbols
from hunchd.bench.past_project import PastProject, past_project, units_of
from hunchd.bench.replay import get_repository_name
from hunchd.domain.context import Bundle, Focus
from hunchd.domain.errors import HunchError
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work, list_existing_paths
from hunchd.prediction import weights
from hunchd.prediction.missing import missing_files
from hunchd.protocol.requests import ContextRequest
from hunchd.repository.git import Git

BUDGETS = (2_000, 4_000, 8_000)  # tokens
SMALLEST, LARGEST = 2, 8  # files of a change
DEPTH = 30  # places of predictions and baselines that are scored


@dataclass(frozen=True, slots=True)
class Question:
    """A unit that is about to be written, the file of it that is open, and the others that were there."""

    unit: Unit
    file: str
    gold: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench bundle`."""
    parser.add_argument("--repo", action="append", required=True, metavar="PATH", help="a git repository; repeatable")
    parser.add_argument("--units", type=int, default=60, help="the newest units, of which changes are asked about")
    parser.add_argument("--most", type=int, default=20, help="changes asked about at most, the newest first")
    parser.add_argument("--budget", action="append", type=int, help="tokens (default: 2000, 4000, 8000); repeatable")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep histories and parsed files between runs")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write the answers, for a reader to grade")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="another table than the shipped one")
    parser.add_argument("--seed", type=int, default=0, help="of the random draws")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Return 0 when all repositories were asked, 1 when one could not be."""
    budgets = tuple(sorted(set(options.budget or BUDGETS)))
    asked: dict[str, list[Asked]] = {}
    with ExitStack() as stack:
        graded = stack.enter_context(options.answers.open("w", encoding="utf-8")) if options.answers else None
        for path in options.repo:
            try:
                asked[get_repository_name(path)] = list(_replay(path, budgets, options, graded))
            except HunchError as error:
                print(f"hunch: {path}: {error.message}", file=sys.stderr)
                return 1
            if not options.json:
                print(
                    bundle_report.of_repository(get_repository_name(path), asked[get_repository_name(path)]), flush=True
                )
    if options.json:
        figures = {name: bundle_report.figures(rows) for name, rows in asked.items()}
        print(json.dumps(figures | {"all": bundle_report.figures_of_all(asked)}, indent=1))
    else:
        print(bundle_report.of_all(asked))
    return 0


def _replay(path: str, budgets: Sequence[int], options: argparse.Namespace, graded: IO[str] | None) -> Iterator[Asked]:
    if options.cache is not None:
        options.cache.mkdir(parents=True, exist_ok=True)
    git = Git(path)
    table = weights.load_weights(options.weights) if options.weights else weights.load_shipped()
    units = units_of(git, options.cache)
    start = max(len(units) - options.units, 1)
    chosen = {question.unit.sha: question for question in draw_questions(units[start:], options.most, options.seed)}
    with (
        tempfile.TemporaryDirectory(prefix="hunch-bundle-") as folder,
        past_project(git, units[:start], Path(folder), options.cache, table) as past,
    ):
        for unit in units[start:]:
            if (question := chosen.get(unit.sha)) is not None:
                past.prepare(unit)
                asked = ask(past, question, budgets, options.seed)
                if graded is not None:
                    _write_graded(graded, get_repository_name(path), question, asked)
                yield asked
            past.advance(unit)


def draw_questions(units: Sequence[Unit], most: int, seed: int) -> list[Question]:
    """The newest `most` changes of a usual size, each with one of its files drawn as the open one."""
    questions: list[Question] = []
    for unit in reversed(units):
        paths = list_existing_paths(unit)
        if not (SMALLEST <= len(unit.changes) <= LARGEST and len(paths) >= SMALLEST and is_work(unit)):
            continue
        file = random.Random(f"{seed}:{unit.sha}").choice(paths)
        questions.append(Question(unit, file, tuple(path for path in paths if path != file)))
    return questions[:most]


def ask(past: PastProject, question: Question, budgets: Sequence[int], seed: int = 0) -> Asked:
    """Ask for the open file at each budget, the predictor and co-change beside it, and for a review of its halves."""
    now = int(past.at.timestamp())
    focus = Focus(project=past.project.id, file=question.file, author=past.tree.user_email)
    ranked = past.predictor.predict(focus, now=now, k=DEPTH, explain=False).files
    together = baselines.compute_rankings(past.predictor.state, focus, depth=DEPTH).get("co-change", [])
    symbols = changed_symbols(past.git, question.unit, question.gold, past.code)
    answers = {budget: _answered(past, question, symbols, budget) for budget in budgets}
    return Asked(
        unit=question.unit.sha,
        gold=question.gold,
        symbols=sum(map(len, symbols.values())),
        predicted=tuple(file.path for file in ranked),
        together=tuple(together),
        answers=answers,
        reviewed=_reviewed(past, question, seed),
    )


def _reviewed(past: PastProject, question: Question, seed: int) -> Reviewed:
    """Review a drawn half of the change, and all of it."""
    paths = [question.file, *question.gold]
    random.Random(f"{seed}:{question.unit.sha}:half").shuffle(paths)
    half, rest = paths[: (len(paths) + 1) // 2], paths[(len(paths) + 1) // 2 :]
    created = [change.path for change in question.unit.changes if change.status in "AC"]
    focus, now = Focus(project=past.project.id, author=past.tree.user_email), int(past.at.timestamp())
    told = [one.path for one in missing_files(past.predictor, half, focus, now)]
    more = missing_files(past.predictor, [*paths, *created], focus, now)
    right = sum(path in rest or any(one.startswith(path) for one in created if path[-1] == "/") for path in told)
    return Reviewed(
        rest=len(rest), named=sum(path in told for path in rest), told=len(told), right=right, alarms=len(more)
    )


def _answered(past: PastProject, question: Question, symbols: dict[str, set[str]], budget: int) -> Answered:
    request = ContextRequest(project=past.project.id, file=question.file, budget=budget)
    began = time.perf_counter()
    bundle = past.answers.get_context(request, past.project, past.tree)
    took = (time.perf_counter() - began) * 1e3
    return Answered(
        context=bundle.context,
        tokens=bundle.token_count,
        milliseconds=took,
        named=tuple(path for path in question.gold if bundle_report.is_named(path, bundle.context)),
        symbols=_shown_symbols(bundle, symbols),
        probabilities=bundle_report.probabilities(bundle, frozenset(question.gold)),
    )


def _shown_symbols(bundle: Bundle, symbols: dict[str, set[str]]) -> int:
    """Count the changed symbols whose name stands in what the answer shows of their file."""
    texts: dict[str, str] = {}
    for item in bundle.items:
        path = str(item.source.get("path", ""))
        texts[path] = f"{texts.get(path, '')}\n{item.text}"
    return sum(bundle_report.is_word_of(name, texts.get(path, "")) for path, names in symbols.items() for name in names)


def _write_graded(file: IO[str], repository: str, question: Question, asked: Asked) -> None:
    """One answer as a reader grades it: what really changed, then the lines, each with room for a mark."""
    answer = asked.answers[max(asked.answers)]
    file.write(f"\n=== {repository} {question.unit.sha[:10]} {question.unit.subject}\nopen: {question.file}\n")
    for change in question.unit.changes:
        mark = "named " if change.path in answer.named else "      "
        file.write(f"  {mark}{change.status} {change.path}\n")
    file.write("".join(f"[ ] {line}\n" for line in answer.context.splitlines() if line.strip()))
