"""Figures of the benchmark `bench bundle`: computation and rendering."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from hunchd.bench.metrics import compute_calibration_error
from hunchd.domain.context import Bundle

DEPTHS = (10, 20, 30)
WIDTH = 24  # column width of a repository's name


@dataclass(frozen=True, slots=True)
class BundleAnswer:
    """Context bundle that was built for one token budget, and its figures.

    `named_files` are the needed files that the bundle names.
    `probabilities` contains, for each file listed, the probability shown and True if the change touched the file.
    """

    context: str
    tokens: int
    milliseconds: float
    named_files: tuple[str, ...]
    probabilities: tuple[tuple[float, bool], ...]


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Counts of files that a review named when given half of a change, and when given all of it."""

    rest: int  # files of the change that are not in the half
    correct_count: int  # files of the rest that were reported
    reported_count: int  # files reported as missing from the half
    right: int  # reported files that the change really touched or created
    alarms: int  # files reported as missing from the whole change


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """Outcome for one change.

    It consists of the files that the change needed, the bundle for each token budget, and other rankings for
    comparison.
    """

    unit: str
    gold: tuple[str, ...]
    predicted_files: tuple[str, ...]
    together: tuple[str, ...]
    answers: Mapping[int, BundleAnswer]
    review_counts: ReviewCounts


def is_named(path: str, text: str) -> bool:
    """Return True if the whole path occurs in `text`."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", text) is not None


def list_probabilities(bundle: Bundle, gold: Set[str]) -> tuple[tuple[float, bool], ...]:
    """Return two values for each file that the bundle lists with a probability.

    They are the probability shown, and True if the change touched the file.
    """
    return tuple((probability, path in gold) for path, probability in bundle.list_files())


def compute_figures(rows: Sequence[QuestionOutcome]) -> dict[str, float]:
    """Return the figures for one repository, keyed by name.

    Shares are averages over all needed files, not over changes.
    """
    if not rows:
        return {"changes": 0.0}
    budgets = sorted(rows[0].answers)
    measures = {"changes": float(len(rows)), "needed files": float(sum(len(row.gold) for row in rows))}
    for budget in budgets:
        measures[f"named at {budget}"] = (
            sum(len(row.answers[budget].named_files) for row in rows) / measures["needed files"]
        )
    for depth in DEPTHS:
        predicted_hits = sum(len(set(row.gold) & set(row.predicted_files[:depth])) for row in rows)
        together_hits = sum(len(set(row.gold) & set(row.together[:depth])) for row in rows)
        measures[f"predicted@{depth}"] = predicted_hits / measures["needed files"]
        measures[f"together@{depth}"] = together_hits / measures["needed files"]
    for budget in budgets:
        measures[f"tokens at {budget}"] = float(np.mean([row.answers[budget].tokens for row in rows]))
    last = budgets[-1]
    measures["calibration error"] = compute_calibration_error(
        [pair for row in rows for pair in row.answers[last].probabilities]
    )
    measures["none named"] = float(np.mean([not row.answers[last].named_files for row in rows]))
    reviews = [row.review_counts for row in rows]
    measures["review: rest named"] = sum(one.correct_count for one in reviews) / max(
        sum(one.rest for one in reviews), 1
    )
    measures["review: any named"] = float(np.mean([one.correct_count > 0 for one in reviews]))
    measures["review: precision"] = sum(one.right for one in reviews) / max(
        sum(one.reported_count for one in reviews), 1
    )
    measures["review: false alarms"] = float(np.mean([one.alarms > 0 for one in reviews]))
    measures["milliseconds p95"] = float(np.quantile([row.answers[budgets[0]].milliseconds for row in rows], 0.95))
    return measures


def render_repository(name: str, rows: Sequence[QuestionOutcome]) -> str:
    return f"\n{name}\n" + "\n".join(f"  {what:<24}{value:10.3f}" for what, value in compute_figures(rows).items())


def render_report(rows_by_repository: Mapping[str, Sequence[QuestionOutcome]]) -> str:
    """Render one line for each repository, then the overall figures."""
    lines = ["", f"{'':<{WIDTH}}{'changes':>9}{'named':>8}{'pred@30':>9}{'co@20':>8}{'tokens':>8}{'ECE':>7}"]
    for name, rows in rows_by_repository.items():
        measures = compute_figures(rows)
        if measures["changes"]:
            budget = max(rows[0].answers)
            lines.append(
                f"{name:<{WIDTH}}{measures['changes']:>9.0f}{measures[f'named at {budget}']:>8.2f}"
                f"{measures['predicted@30']:>9.2f}{measures['together@20']:>8.2f}"
                f"{measures[f'tokens at {budget}']:>8.0f}{measures['calibration error']:>7.3f}"
            )
    every = [row for rows in rows_by_repository.values() for row in rows]
    lines += ["", *(f"  {what:<24}{value:10.3f}" for what, value in compute_figures(every).items())]
    return "\n".join(lines)
