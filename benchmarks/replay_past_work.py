"""Memory task: predict the past units that wrote the lines a unit changes, according to git blame."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from replay_scores import create_parser, score_repositories

from hunchd.bench import metrics
from hunchd.bench.history_walk import ReplayWindows
from hunchd.bench.results import ReplayResults
from hunchd.bench.tasks import PROJECT_NAME, is_branch_informative
from hunchd.domain.context import Focus
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import PathChange, Unit
from hunchd.domain.unit_classification import is_work, strip_issue_numbers
from hunchd.prediction.line_blame import build_blame_result
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git
from hunchd.repository.line_blame import blame_lines

MAX_UNITS = 120  # newest of the test window: blame is slow
MAX_FILES = 3  # of a unit
MAX_HUNKS = 12  # of a file
MAX_GOLD = 10  # units

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)
_BLAME_LINE = re.compile(rb"^([0-9a-f]{40,64}) \d+ \d+ \d+$", re.MULTILINE)


def score_memory_task(
    git: Git,
    units: Sequence[Unit],
    windows: ReplayWindows,
    results: ReplayResults,
    dump: IO[str] | None,
) -> None:
    """Replay the history with line authorship, and add rows to the results.

    File contents are not read. Each unit is queried by its files ("memory"), with its branch if that is informative
    ("memory-branch"), and with its title ("memory-title").
    """
    predictor = Predictor()
    first = max(windows.test, windows.end - 3 * MAX_UNITS)
    query_count = 0
    for position, unit in enumerate(units):
        if position >= first and query_count < MAX_UNITS and is_work(unit):
            gold = _find_gold(git, unit, predictor)
            if 1 <= len(gold) <= MAX_GOLD:
                query_count += 1
                _read_authorship(git, predictor, unit)
                _score_unit(predictor, unit, gold, results, dump)
        predictor.learn_unit(unit)


def _read_authorship(git: Git, predictor: Predictor, unit: Unit) -> None:
    """Read the blame of the unit's files as they were before it.

    The daemon reads open files in the same way.
    """
    for path in _list_paths(unit):
        if predictor.has_file(path):
            try:
                predictor.set_authorship(path, build_blame_result(blame_lines(git, path, unit.parents[0])))
            except RepositoryError:  # a shallow history
                continue


def _score_unit(predictor: Predictor, unit: Unit, gold: set[str], results: ReplayResults, dump: IO[str] | None) -> None:
    paths = _list_paths(unit)
    recent_ids = _list_recent_units(predictor, paths)
    base_focus = Focus(project=PROJECT_NAME, file=paths[-1], open_files=paths, author=unit.email)
    focus_by_task = {"memory": base_focus, "memory-title": replace(base_focus, query=strip_issue_numbers(unit.subject))}
    if is_branch_informative(unit.branch):
        focus_by_task["memory-branch"] = replace(base_focus, branch=unit.branch)
    for task, focus in focus_by_task.items():
        prediction = predictor.predict(focus, now=unit.at, k=1)
        ranked_ids = [past.sha for past in prediction.units]
        by_method = results.rows.setdefault(task, {})
        by_method.setdefault("hunch", []).append((unit.sha, metrics.compute_metrics(ranked_ids, gold)))
        by_method.setdefault("newest of the files", []).append((unit.sha, metrics.compute_metrics(recent_ids, gold)))
        if dump is not None:
            line = {
                "unit": unit.sha,
                "task": task,
                "seeds": list(paths),
                "query": focus.query or focus.branch,
                "gold": sorted(gold),
                "ranked": ranked_ids,
                "confidence": prediction.units[0].confidence if prediction.units else 0.0,
            }
            dump.write(json.dumps(line, ensure_ascii=False) + "\n")


def _list_paths(unit: Unit) -> tuple[str, ...]:
    return tuple(change.old_path or change.path for change in _list_changed(unit))


def _list_recent_units(predictor: Predictor, paths: tuple[str, ...]) -> list[str]:
    state = predictor.state
    touching_units = [
        state.messages.list_units_of_file(file, metrics.DEPTH) for file in state.files.find_numbers(paths)
    ]
    if not touching_units:
        return []
    newest = np.unique(np.concatenate(touching_units))[::-1]
    return [state.messages.get_unit_id(int(unit)) for unit in newest[: metrics.DEPTH].tolist()]


def _list_changed(unit: Unit) -> list[PathChange]:
    return [change for change in unit.changes if change.status in "MR" and change.old_blob][:MAX_FILES]


def _find_gold(git: Git, unit: Unit, predictor: Predictor) -> set[str]:
    """Return the learned units that wrote the lines that the unit changed."""
    unit_ids: set[str] = set()
    for change in _list_changed(unit):
        if (
            not predictor.has_file(change.old_path or change.path)
            or (change.old_path or change.path) in predictor.list_hubs()
        ):
            continue
        ranges = list(_iterate_ranges(git, change))
        if not ranges:
            continue
        try:
            blame_output = git.run(
                "blame",
                "--first-parent",
                "--porcelain",
                *(f"-L{start},{end}" for start, end in ranges),
                unit.parents[0],
                "--",
                change.old_path or change.path,
            )
        except (RepositoryError, IndexError):  # a shallow history, or a file too large to blame in time
            continue
        unit_ids.update(sha.decode() for sha in _BLAME_LINE.findall(blame_output))
    return {sha for sha in unit_ids if predictor.has_unit(sha)}


def _iterate_ranges(git: Git, change: PathChange) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of the old file that were modified or deleted.

    Pure insertions are left out, because nobody wrote these lines before.
    """
    if not change.new_blob:
        return
    hunks = git.run("diff", "--unified=0", "--no-color", change.old_blob, change.new_blob)
    for start, count in _HUNK.findall(hunks)[:MAX_HUNKS]:
        length = int(count) if count else 1
        if length:
            yield int(start), int(start) + length - 1


def main() -> int:
    parser = create_parser(__doc__, "query")
    parser.add_argument("--test-units", type=int, default=600, help="number of newest units that may be scored")
    options = parser.parse_args()

    def score(git: Git, units: Sequence[Unit], results: ReplayResults, dump: IO[str] | None) -> None:
        score_memory_task(git, units, ReplayWindows.create(len(units), options.test_units, 0), results, dump)

    score_repositories(options, score, lines=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
