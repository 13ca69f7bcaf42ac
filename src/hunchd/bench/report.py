"""Reports on a replay, as tables and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from hunchd.bench import metrics
from hunchd.bench.results import ReplayResults
from hunchd.prediction.calibration import DISPLAY_THRESHOLD

OUR_METHOD = "hunch"
TABLE_METRICS = ("hit@1", "hit@3", "hit@5", "hit@10", "recall@5", "recall@10", "MRR", "MAP")
WIDTH = 18


def format_repository(results: ReplayResults) -> str:
    """Format the results for one repository, with one table for each task."""
    lines = [
        "",
        f"{results.repository}: {results.units} units, {results.scored_units} scored; weights: {results.provenance};"
        f" {results.new_file_share:.0%} of a unit's files are new and cannot be predicted",
    ]
    for task, by_method in results.rows.items():
        units = len(metrics.average_by_unit(next(iter(by_method.values()))))
        lines.append(f"\n{task} ({units} units)".ljust(WIDTH + 1) + "".join(name.rjust(10) for name in TABLE_METRICS))
        for method, rows in by_method.items():
            lines.append(_format_row(method, metrics.average_by_unit(rows)))
        lines.extend(_format_margin(by_method))
        lines.extend(_format_next_in_ten([results], task))
    lines.extend(_format_silence(results))
    if results.milliseconds:
        p50, p95, p99 = np.quantile(results.milliseconds, [0.5, 0.95, 0.99])
        lines.append(f"\npredict: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms (wall)")
    return "\n".join(lines)


def format_all(results: list[ReplayResults]) -> str:
    """Format the means over all repositories.

    For each baseline, the report also says in how many repositories the predictor beats it.
    """
    lines = ["", f"macro mean over {len(results)} repositories"]
    tasks = dict.fromkeys(task for result in results for task in result.rows)
    for task in tasks:
        task_results = [result for result in results if task in result.rows]
        methods = list(dict.fromkeys(method for result in task_results for method in result.rows[task]))
        lines.append(
            f"\n{task} ({len(task_results)})".ljust(WIDTH + 1) + "".join(name.rjust(10) for name in TABLE_METRICS)
        )
        for method in methods:
            means = [
                metrics.average_by_unit(r.rows[task][method]).mean(axis=0)
                for r in task_results
                if method in r.rows[task]
            ]
            cells = "".join(f"{value:10.3f}" for value in np.mean(means, axis=0)[: len(TABLE_METRICS)])
            lines.append(method.ljust(WIDTH) + cells + _format_wins(task_results, task, method))
        lines.extend(_format_next_in_ten(task_results, task))
    return "\n".join(lines)


def results_to_json(results: ReplayResults) -> dict[str, Any]:
    """Convert the results for one repository to JSON values."""
    tasks: dict[str, Any] = {}
    for task, by_method in results.rows.items():
        tasks[task] = {}
        for method, rows in by_method.items():
            values = metrics.average_by_unit(rows)
            tasks[task][method] = dict(zip(metrics.METRIC_NAMES, values.mean(axis=0).round(4).tolist(), strict=True))
            tasks[task][method]["MAP interval"] = metrics.compute_interval(values[:, metrics.METRIC_NAMES.index("MAP")])
            tasks[task][method]["units"] = len(values)
    return {
        "repository": results.repository,
        "units": results.units,
        "scored": results.scored_units,
        "weights": results.provenance,
        "tasks": tasks,
        "next in ten": {task: compute_next_in_ten([results], task) for task in results.following},
        "silence": compute_silence(results),
        "created": results.new_file_share,
        "predict_ms": dict(
            zip(
                ("p50", "p95", "p99"), np.quantile(results.milliseconds or [0], [0.5, 0.95, 0.99]).tolist(), strict=True
            )
        ),
    }


def compute_next_in_ten(results: list[ReplayResults], task: str) -> dict[str, float]:
    """Return the mean of each metric in `NEXT_METRIC_NAMES` for a task.

    The values are averaged over visiting orders, units of work and repositories. Returns {} if there are none.
    """
    rows = [result.following[task] for result in results if task in result.following]
    means = [metrics.average_by_unit(some, metrics.NEXT_METRIC_NAMES).mean(axis=0) for some in rows]
    return dict(zip(metrics.NEXT_METRIC_NAMES, np.mean(means, axis=0).tolist(), strict=True)) if means else {}


def _format_next_in_ten(results: list[ReplayResults], task: str) -> list[str]:
    text = ", ".join(f"{name} {value:.3f}" for name, value in compute_next_in_ten(results, task).items())
    return [f"  next among the first ten: {text}"] if text else []


def compute_silence(results: ReplayResults) -> dict[str, float]:
    """Return the false alarms and the precision in the "silence" task.

    A false alarm is a suggestion for a unit of work that changed a single file; precision is measured on the
    suggestions for other units. Returns {} if either kind of unit is missing.
    """
    answers = results.confidences.get("silence", [])
    single_file_confidences = [confidence for confidence, _, gold in answers if not gold]
    multi_file_answers = [(confidence, right) for confidence, right, gold in answers if gold]
    if not single_file_confidences or not multi_file_answers:
        return {}
    by_confidence = sorted(multi_file_answers, key=lambda one: -one[0])  # ties stay in the order of the queries
    half = by_confidence[: max(len(by_confidence) // 2, 1)]
    shown_answers = [right for confidence, right in multi_file_answers if confidence >= DISPLAY_THRESHOLD]
    return {
        "single-file units with a suggestion": float(
            np.mean([confidence >= DISPLAY_THRESHOLD for confidence in single_file_confidences])
        ),
        "coverage": len(shown_answers) / len(multi_file_answers),
        "precision@1 of emitted": float(np.mean(shown_answers)) if shown_answers else float("nan"),
        "precision@1 at half coverage": float(np.mean([right for _, right in half])),
        "expected calibration error": metrics.compute_calibration_error(
            [(confidence, right) for confidence, right, _ in answers]
        ),
    }


def _format_silence(results: ReplayResults) -> list[str]:
    figures = compute_silence(results)
    return ["", "silence", *(f"  {name}: {value:.3f}" for name, value in figures.items())] if figures else []


def _format_row(method: str, values: Any) -> str:
    low, high = metrics.compute_interval(values[:, metrics.METRIC_NAMES.index("MAP")])
    cells = "".join(f"{value:10.3f}" for value in values.mean(axis=0)[: len(TABLE_METRICS)])
    return f"{method.ljust(WIDTH)}{cells}   MAP {low:.3f}–{high:.3f}"


def _format_margin(by_method: dict[str, list[tuple[str, tuple[float, ...]]]]) -> list[str]:
    """Compare the predictor with the best baseline, and return the lines to print.

    The comparison is by MAP (mean average precision), paired by unit of work. Returns [] if there is no baseline.
    """
    column = metrics.METRIC_NAMES.index("MAP")
    ours = metrics.average_by_unit(by_method[OUR_METHOD])[:, column]
    others = {name: metrics.average_by_unit(rows)[:, column] for name, rows in by_method.items() if name != OUR_METHOD}
    if not others:
        return []
    best = max(others, key=lambda name: float(others[name].mean()))
    lead, no_lead_share = metrics.compare_paired(ours, others[best])
    return [f"  ahead of {best} by {lead:+.3f} MAP (not ahead in {no_lead_share:.1%} of resamples)"]


def _format_wins(results: list[ReplayResults], task: str, method: str) -> str:
    if method == OUR_METHOD:
        return ""
    column = metrics.METRIC_NAMES.index("MAP")
    pairs = [
        (
            metrics.average_by_unit(r.rows[task][OUR_METHOD])[:, column].mean(),
            metrics.average_by_unit(r.rows[task][method])[:, column].mean(),
        )
        for r in results
        if method in r.rows[task]
    ]
    return f"   beaten in {sum(ours > theirs for ours, theirs in pairs)} of {len(pairs)}"
