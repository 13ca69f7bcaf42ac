"""`hunch bench bundle`: measures how many files of a change a context bundle names.

It also measures how many tokens that takes. A change is a past commit (or merge) that touched 2 to 8 files. Starting
from the state just before it, the benchmark opens one of its files and asks the daemon's own code for a bundle, once
for each token budget. Needed files are the other files of the change that already existed, including lock files and
change logs. A file is named if a reader can see it, that is, if its whole path occurs in the bundle. Code patterns,
and episodes found by text search, are not measured, because other processes produce them.
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

import numpy as np

from hunchd.bench import bundle_report
from hunchd.bench.bundle_report import BundleAnswer, QuestionOutcome, ReviewCounts
from hunchd.bench.past_project import PastProject, build_past_project, read_units
from hunchd.bench.replay import get_repository_name
from hunchd.domain.context import ChangedName, Focus
from hunchd.domain.errors import HunchError
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work, list_existing_paths
from hunchd.prediction import evidence, weights
from hunchd.prediction.missing import find_missing_files
from hunchd.prediction.packed_arrays import sum_by_number
from hunchd.prediction.query import build_query
from hunchd.prediction.state import PredictorState
from hunchd.protocol.requests import ContextRequest
from hunchd.repository.changed_names import find_changed_names
from hunchd.repository.git import Git

BUDGETS = (2_000, 4_000, 8_000)  # tokens
SMALLEST, LARGEST = 2, 8  # files of a change
DEPTH = 30  # ranks of predictions and baselines that are scored


@dataclass(frozen=True, slots=True)
class BundleQuestion:
    """Past change to be predicted, and the one of its files that is open.

    `gold` are the other files of the change that already existed; the bundle should name them.
    """

    unit: Unit
    file: str
    gold: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench bundle`."""
    parser.add_argument("--repo", action="append", required=True, metavar="PATH", help="a git repository; repeatable")
    parser.add_argument("--units", type=int, default=60, help="number of newest units from which changes are chosen")
    parser.add_argument("--most", type=int, default=20, help="maximum number of changes to ask about, newest first")
    parser.add_argument(
        "--budget", action="append", type=int, help="budget in tokens (default: 2000, 4000, 8000); repeatable"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="cache histories and parsed files here between runs"
    )
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="write the answers to this file, for a reader to grade"
    )
    parser.add_argument("--weights", type=Path, metavar="FILE", help="weights to use instead of the shipped ones")
    parser.add_argument("--seed", type=int, default=0, help="seed for the random draws")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark; return 0 if every repository was measured, else 1."""
    budgets = tuple(sorted(set(options.budget or BUDGETS)))
    rows_by_repository: dict[str, list[QuestionOutcome]] = {}
    with ExitStack() as stack:
        answers_file = stack.enter_context(options.answers.open("w", encoding="utf-8")) if options.answers else None
        for path in options.repo:
            try:
                rows_by_repository[get_repository_name(path)] = list(_replay(path, budgets, options, answers_file))
            except HunchError as error:
                print(f"hunch: {path}: {error.message}", file=sys.stderr)
                return 1
            if not options.json:
                print(
                    bundle_report.render_repository(
                        get_repository_name(path), rows_by_repository[get_repository_name(path)]
                    ),
                    flush=True,
                )
    if options.json:
        figures = {name: bundle_report.compute_figures(rows) for name, rows in rows_by_repository.items()}
        every = [row for rows in rows_by_repository.values() for row in rows]
        print(json.dumps(figures | {"all": bundle_report.compute_figures(every)}, indent=1))
    else:
        print(bundle_report.render_report(rows_by_repository))
    return 0


def _replay(
    path: str, budgets: Sequence[int], options: argparse.Namespace, answers_file: IO[str] | None
) -> Iterator[QuestionOutcome]:
    if options.cache is not None:
        options.cache.mkdir(parents=True, exist_ok=True)
    git = Git(path)
    table = weights.load_weights(options.weights) if options.weights else weights.load_shipped()
    units = read_units(git, options.cache)
    start = max(len(units) - options.units, 1)
    questions_by_sha = {
        question.unit.sha: question for question in draw_questions(units[start:], options.most, options.seed)
    }
    with (
        tempfile.TemporaryDirectory(prefix="hunch-bundle-") as folder,
        build_past_project(git, units[:start], Path(folder), options.cache, table) as past,
    ):
        for unit in units[start:]:
            if (question := questions_by_sha.get(unit.sha)) is not None:
                past.prepare(unit)
                outcome = measure_question(past, question, budgets, options.seed)
                if answers_file is not None:
                    _write_grading_sheet(answers_file, get_repository_name(path), question, outcome)
                yield outcome
            past.advance(unit)


def draw_questions(units: Sequence[Unit], most: int, seed: int) -> list[BundleQuestion]:
    """Return questions about the newest `most` changes of the usual size.

    For each change, one of its files is drawn at random as the open one.
    """
    questions: list[BundleQuestion] = []
    for unit in reversed(units):
        paths = list_existing_paths(unit)
        if not (SMALLEST <= len(unit.changes) <= LARGEST and len(paths) >= SMALLEST and is_work(unit)):
            continue
        file = random.Random(f"{seed}:{unit.sha}").choice(paths)
        questions.append(BundleQuestion(unit, file, tuple(path for path in paths if path != file)))
    return questions[:most]


def measure_question(
    past: PastProject, question: BundleQuestion, budgets: Sequence[int], seed: int = 0
) -> QuestionOutcome:
    """Measure the context bundles for the open file, and the reviews of the change.

    One bundle is measured for each token budget. For comparison, the rankings by the predictor and by co-change are
    recorded too.
    """
    now = int(past.at.timestamp())
    focus = Focus(project=past.project.id, file=question.file, author=past.tree.user_email)
    ranked_files = past.predictor.predict(focus, now=now, k=DEPTH, explain=False).files
    together = _rank_by_cochange(past.predictor.state, focus)
    answers = {budget: measure_answer(past, question, budget) for budget in budgets}
    return QuestionOutcome(
        unit=question.unit.sha,
        gold=question.gold,
        predicted_files=tuple(file.path for file in ranked_files),
        together=tuple(together),
        answers=answers,
        review_counts=measure_review(past, question, seed),
    )


def measure_review(past: PastProject, question: BundleQuestion, seed: int) -> ReviewCounts:
    """Review a random half of the change, and then all of it.

    The review of the half should name the files of the other half; the review of the whole change should name none.
    """
    paths = [question.file, *question.gold]
    random.Random(f"{seed}:{question.unit.sha}:half").shuffle(paths)
    half, rest = paths[: (len(paths) + 1) // 2], paths[(len(paths) + 1) // 2 :]
    created_paths = [change.path for change in question.unit.changes if change.status in "AC"]
    focus, now = Focus(project=past.project.id, author=past.tree.user_email), int(past.at.timestamp())
    missing_paths, more = (
        [
            one.path
            for one in find_missing_files(past.predictor, part, focus, now, find_names(past, question.unit, part))
        ]
        for part in (half, [*paths, *created_paths])
    )
    right = sum(
        path in rest or any(one.startswith(path) for one in created_paths if path[-1] == "/") for path in missing_paths
    )
    return ReviewCounts(
        rest=len(rest),
        correct_count=sum(path in missing_paths for path in rest),
        reported_count=len(missing_paths),
        right=right,
        alarms=len(more),
    )


def find_names(past: PastProject, unit: Unit, paths: Sequence[str]) -> tuple[ChangedName, ...]:
    """Return the names in what a unit changes in `paths`."""
    new_paths = [change.path for change in unit.changes if change.status == "R" and change.old_path in paths]
    return find_changed_names(past.git, unit.parents[0], unit.sha, [*paths, *new_paths])


def measure_answer(past: PastProject, question: BundleQuestion, budget: int) -> BundleAnswer:
    request = ContextRequest(project=past.project.id, file=question.file, budget=budget)
    began = time.perf_counter()
    bundle = past.answers.get_context(request, past.project, past.tree)
    took = (time.perf_counter() - began) * 1e3
    return BundleAnswer(
        context=bundle.context,
        tokens=bundle.token_count,
        milliseconds=took,
        named_files=tuple(path for path in question.gold if bundle_report.is_named(path, bundle.context)),
        probabilities=bundle_report.list_probabilities(bundle, frozenset(question.gold)),
    )


def _write_grading_sheet(file: IO[str], repository: str, question: BundleQuestion, outcome: QuestionOutcome) -> None:
    """Write one bundle in a form for grading.

    The files that really changed come first, followed by the lines of the bundle, each with room for a mark.
    """
    answer = outcome.answers[max(outcome.answers)]
    file.write(f"\n=== {repository} {question.unit.sha[:10]} {question.unit.subject}\nopen: {question.file}\n")
    for change in question.unit.changes:
        mark = "named " if change.path in answer.named_files else "      "
        file.write(f"  {mark}{change.status} {change.path}\n")
    file.write("".join(f"[ ] {line}\n" for line in answer.context.splitlines() if line.strip()))


def _rank_by_cochange(state: PredictorState, focus: Focus) -> list[str]:
    """Return the files that changed most often together with those of the focus, as a baseline."""
    query = build_query(focus, state)
    rows = [evidence.load_cochange(state, seed) for seed in query.seeds]
    if not rows:
        return []
    files, values = sum_by_number(
        np.concatenate([row.row["file"] for row in rows]), np.concatenate([row.long for row in rows])
    )
    usable = state.files.alive.view & ~state.mask_hubs()
    usable[list(query.seeds)] = False
    files, values = files[usable[files]], values[usable[files]]
    order = np.lexsort((-state.files.last.view[files], -values))[:DEPTH]
    return [state.files.paths[file] for file in files[order].tolist()]
