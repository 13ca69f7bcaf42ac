"""Training of the weights by which a review decides what a change lacks.

    python benchmarks/train_review.py collect --out FOLDER --cache FOLDER CLONE…
    python benchmarks/train_review.py fit --out FOLDER [--held-out NAME…] [--write]

`collect` replays the newest units of each history. Half of the files of a change (2 to 8 files) is reviewed, then all
of it; of changes to a single file, the file is. The features of the candidates, and which of them the change went on to
touch, are written as one .npz file for each history. `fit` maximises the likelihood, prints the curve over thresholds
for histories left out, one after the other or those that are named, and with `--write` replaces the shipped weights.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hunchd.bench.bundle import BundleQuestion, draw_questions, find_names
from hunchd.bench.past_project import PastProject, build_past_project, read_units
from hunchd.bench.replay import get_repository_name
from hunchd.domain.context import Focus
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work
from hunchd.prediction import weights
from hunchd.prediction.missing import FEATURES, MOST, WEIGHTS_FILE, gather_missing_candidates
from hunchd.repository.git import Git

UNITS, CHANGES, SINGLES = 160, 40, 15  # newest units of a history, and questions about them
RIDGE = 3.0  # penalty on squared weights
FAR = 5.0  # standard deviations from the mean to which features are clipped
LEAST = 0.30  # probability from which a file is reported; decision 77 has the curve
KINDS = ("half", "whole", "single")


@dataclass(frozen=True, slots=True)
class Question:
    """Candidates of one review; `rest` counts the files that the change went on to touch."""

    repository: str
    kind: str
    matrix: np.ndarray
    truth: np.ndarray
    rest: int


def collect(clone: str, cache: Path) -> Iterator[Question]:
    """Yield the questions of one history."""
    git = Git(clone)
    units = read_units(git, cache)
    start = max(len(units) - UNITS, 1)
    of_files = {one.unit.sha: one for one in draw_questions(units[start:], CHANGES, 0)}
    singles = [unit for unit in units[start:] if [one.status for one in unit.changes] == ["M"] and is_work(unit)]
    of_files |= {unit.sha: BundleQuestion(unit, unit.changes[0].path, ()) for unit in singles[-SINGLES:]}
    with (
        tempfile.TemporaryDirectory() as folder,
        build_past_project(git, units[:start], Path(folder), cache, weights.load_shipped()) as past,
    ):
        for unit in units[start:]:
            if unit.sha in of_files:
                yield from _ask(past, of_files[unit.sha], get_repository_name(clone))
            past.advance(unit)


def _ask(past: PastProject, question: BundleQuestion, repository: str) -> Iterator[Question]:
    unit, paths = question.unit, [question.file, *question.gold]
    random.Random(f"0:{unit.sha}:half").shuffle(paths)
    middle, created = (len(paths) + 1) // 2, [change.path for change in unit.changes if change.status in "AC"]
    if not question.gold:
        yield _gather(past, unit, repository, "single", paths, [])
        return
    yield _gather(past, unit, repository, "half", paths[:middle], paths[middle:], created)
    yield _gather(past, unit, repository, "whole", [*paths, *created], [])


def _gather(
    past: PastProject, unit: Unit, name: str, kind: str, paths: list[str], rest: list[str], created: Sequence[str] = ()
) -> Question:
    focus, names = Focus(project=past.project.id, author=unit.email), find_names(past, unit, paths)
    candidates, matrix = gather_missing_candidates(past.predictor, paths, focus, unit.at, names)
    folders = tuple(one.path for one in candidates if one.path.endswith("/"))
    right = {*rest, *(folder for folder in folders if any(path.startswith(folder) for path in created))}
    return Question(name, kind, matrix, np.array([one.path in right for one in candidates], "?"), len(rest))


def fit(questions: Sequence[Question]) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return (mean, scale, weights, intercept) of a logistic regression, by Newton's method."""
    matrix = np.vstack([one.matrix for one in questions])
    truth = np.concatenate([one.truth for one in questions]).astype(float)
    mean, scale = matrix.mean(axis=0), matrix.std(axis=0) + 1e-9
    inputs = np.c_[np.clip((matrix - mean) / scale, -FAR, FAR), np.ones(len(matrix))]
    penalty = np.diag([RIDGE] * len(FEATURES) + [1e-6])
    learned = np.zeros(len(FEATURES) + 1)
    for _ in range(40):
        likely = 1 / (1 + np.exp(-inputs @ learned))
        slope = inputs.T @ (likely - truth) + penalty @ learned
        learned -= np.linalg.solve((inputs * (likely * (1 - likely))[:, None]).T @ inputs + penalty, slope)
    return mean, scale, learned[:-1], float(learned[-1])


def rate(questions: Sequence[Question], model: tuple[np.ndarray, np.ndarray, np.ndarray, float]) -> list[np.ndarray]:
    """Return the probabilities of the candidates of each question."""
    mean, scale, learned, bias = model
    return [1 / (1 + np.exp(-((one.matrix - mean) / scale) @ learned - bias)) for one in questions]


def describe(questions: Sequence[Question], probabilities: Sequence[np.ndarray], least: float) -> str:
    """Return one line of the curve: what is named from the probability `least` on."""
    named = dict.fromkeys(KINDS, 0)
    correct = reported = 0
    for one, likely in zip(questions, probabilities, strict=True):
        order = [row for row in np.argsort(-likely, kind="stable")[:MOST] if likely[row] >= least]
        named[one.kind] += bool(order)
        if one.kind == "half":
            correct += int(one.truth[order].sum())
            reported += len(order)
    of_kind = {kind: max(sum(one.kind == kind for one in questions), 1) for kind in KINDS}
    rest = sum(one.rest for one in questions)
    alarms, of_single = (named[kind] / of_kind[kind] for kind in ("whole", "single"))
    return (
        f"{least:.2f}  rest named {correct / rest:.3f}  precision {correct / max(reported, 1):.3f}"
        f"  false alarms {alarms:.3f}  single files {of_single:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("collect", "fit"))
    parser.add_argument("clones", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--held-out", nargs="*", default=())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.command == "collect":
        for clone in options.clones:
            save(list(collect(clone, options.cache)), options.out)
        return
    questions = load(options.out)
    names = sorted({one.repository for one in questions})
    rated: list[tuple[Question, np.ndarray]] = []
    for group in [options.held_out] if options.held_out else [[name] for name in names]:
        model = fit([one for one in questions if one.repository not in group])
        asked = [one for one in questions if one.repository in group]
        rated += zip(asked, rate(asked, model), strict=True)
    for least in [*np.arange(0.1, 0.65, 0.05).tolist(), LEAST]:
        print(describe([one for one, _ in rated], [likely for _, likely in rated], least))
    if options.write:
        mean, scale, learned, bias = fit([one for one in questions if one.repository not in options.held_out])
        arrays = {"mean": mean, "scale": scale, "weights": learned}
        table: dict[str, object] = {name: np.round(array, 5).tolist() for name, array in arrays.items()}
        trained_on = [name for name in names if name not in options.held_out]
        table |= {"features": FEATURES, "bias": round(bias, 5), "least": LEAST, "repositories": trained_on}
        WEIGHTS_FILE.write_text(json.dumps(table, indent=1) + "\n")


def save(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of one history as an .npz file."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / f"{questions[0].repository}.npz",
        matrix=np.vstack([one.matrix for one in questions]),
        truth=np.concatenate([one.truth for one in questions]),
        sizes=np.array([len(one.truth) for one in questions]),
        rest=np.array([one.rest for one in questions]),
        kinds=np.array([one.kind for one in questions]),
    )


def load(folder: Path) -> list[Question]:
    """Read the questions of all histories."""
    questions: list[Question] = []
    for path in sorted(folder.glob("*.npz")):
        table = np.load(path)
        ends = np.cumsum(table["sizes"])[:-1]
        parts = zip(np.split(table["matrix"], ends), np.split(table["truth"], ends), strict=True)
        for (matrix, truth), kind, rest in zip(parts, table["kinds"].tolist(), table["rest"].tolist(), strict=True):
            questions.append(Question(path.stem, kind, matrix, truth, rest))
    return questions


if __name__ == "__main__":
    main()
