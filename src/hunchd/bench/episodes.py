"""Memory task: predict the authors of changed lines.

The authors are the past units that wrote the lines a unit changes, by blame.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from hunchd.bench import metrics
from hunchd.bench.results import Results
from hunchd.bench.tasks import PROJECT, telling
from hunchd.bench.walk import Windows
from hunchd.domain.context import Focus
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import Change, Unit
from hunchd.domain.work import is_work, plain_title
from hunchd.prediction.pages import reading
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.weights import Weights
from hunchd.repository.authorship import written
from hunchd.repository.git import Git

MOST_UNITS = 120  # newest of the test window: blame is slow
MOST_FILES = 3  # of a unit
MOST_HUNKS = 12  # of a file
LARGEST_GOLD = 10  # units

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)
_BLAMED = re.compile(rb"^([0-9a-f]{40,64}) \d+ \d+ \d+$", re.MULTILINE)


def score(
    git: Git,
    units: Sequence[Unit],
    windows: Windows,
    results: Results,
    options: argparse.Namespace,
    table: Weights,
    dump: IO[str] | None,
) -> None:
    """Replay with line authorship and add rows to the results.

    Contents are not read. Each unit is queried by its files ("memory"), with its branch if that is informative
    ("memory-branch"), and with its title ("memory-title").
    """
    predictor = Predictor(table)
    first = max(windows.test, windows.end - 3 * MOST_UNITS)
    asked = 0
    for position, unit in enumerate(units):
        if position >= first and asked < MOST_UNITS and is_work(unit):
            gold = _needed(git, unit, predictor)
            if 1 <= len(gold) <= LARGEST_GOLD:
                asked += 1
                _read(git, predictor, unit)
                _ask(predictor, unit, gold, results, dump)
        predictor.learn(unit)


def _read(git: Git, predictor: Predictor, unit: Unit) -> None:
    """Read the unit's files as they were before it.

    The daemon reads open files in this way.
    """
    for path in _paths(unit):
        if predictor.has(path):
            try:
                predictor.read(path, reading(written(git, path, unit.parents[0])))
            except RepositoryError:  # a shallow history
                continue


def _ask(predictor: Predictor, unit: Unit, gold: set[str], results: Results, dump: IO[str] | None) -> None:
    paths = _paths(unit)
    recent = _recent(predictor, paths)
    plain = Focus(project=PROJECT, file=paths[-1], open_files=paths, author=unit.email)
    asked = {"memory": plain, "memory-title": replace(plain, query=plain_title(unit.subject))}
    if telling(unit.branch):
        asked["memory-branch"] = replace(plain, branch=unit.branch)
    for task, focus in asked.items():
        prediction = predictor.predict(focus, now=unit.at, k=1)
        ranked = [past.sha for past in prediction.units]
        by_method = results.rows.setdefault(task, {})
        by_method.setdefault("hunch", []).append((unit.sha, metrics.measured(ranked, gold)))
        by_method.setdefault("newest of the files", []).append((unit.sha, metrics.measured(recent, gold)))
        if dump is not None:
            line = {
                "unit": unit.sha,
                "task": task,
                "seeds": list(paths),
                "query": focus.query or focus.branch,
                "gold": sorted(gold),
                "ranked": ranked,
                "confidence": prediction.units[0].confidence if prediction.units else 0.0,
            }
            dump.write(json.dumps(line, ensure_ascii=False) + "\n")


def _paths(unit: Unit) -> tuple[str, ...]:
    return tuple(change.old_path or change.path for change in _changed(unit))


def _recent(predictor: Predictor, paths: tuple[str, ...]) -> list[str]:
    state = predictor.state
    touched = [state.messages.units_of_file(file, metrics.DEPTH) for file in state.files.known(paths)]
    if not touched:
        return []
    newest = np.unique(np.concatenate(touched))[::-1]
    return [state.messages.sha(int(past)) for past in newest[: metrics.DEPTH].tolist()]


def _changed(unit: Unit) -> list[Change]:
    return [change for change in unit.changes if change.status in "MR" and change.old_blob][:MOST_FILES]


def _needed(git: Git, unit: Unit, predictor: Predictor) -> set[str]:
    """Return the learned units that wrote the changed lines."""
    found: set[str] = set()
    for change in _changed(unit):
        if not predictor.has(change.old_path or change.path) or (change.old_path or change.path) in predictor.hubs():
            continue
        ranges = list(_ranges(git, change))
        if not ranges:
            continue
        try:
            blamed = git.run(
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
        found.update(sha.decode() for sha in _BLAMED.findall(blamed))
    return {sha for sha in found if predictor.knows(sha)}


def _ranges(git: Git, change: Change) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of the old file that change.

    They are modified or deleted. Pure insertions need no memory.
    """
    if not change.new_blob:
        return
    hunks = git.run("diff", "--unified=0", "--no-color", change.old_blob, change.new_blob)
    for start, count in _HUNK.findall(hunks)[:MOST_HUNKS]:
        length = int(count) if count else 1
        if length:
            yield int(start), int(start) + length - 1
