"""Reports of results as tables and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from hunchd.bench import metrics
from hunchd.bench.results import Results
from hunchd.prediction.calibration import SILENCE

OURS = "hunch"
SHOWN = ("hit@1", "hit@3", "hit@5", "hit@10", "recall@5", "recall@10", "MRR", "MAP")
WIDTH = 18


def of_repository(results: Results) -> str:
    """Format the results of one repository, one table a task."""
    lines = [
        "",
        f"{results.repository}: {results.units} units, {results.scored} scored; weights: {results.provenance};"
        f" {results.created:.0%} of a unit's files are new and cannot be predicted",
    ]
    for task, by_method in results.rows.items():
        units = len(metrics.by_unit(next(iter(by_method.values()))))
        lines.append(f"\n{task} ({units} units)".ljust(WIDTH + 1) + "".join(name.rjust(10) for name in SHOWN))
        for method, rows in by_method.items():
            lines.append(_row(method, metrics.by_unit(rows)))
        lines.extend(_margin(by_method))
        lines.extend(_following([results], task))
    lines.extend(_silence(results))
    if results.milliseconds:
        p50, p95, p99 = np.quantile(results.milliseconds, [0.5, 0.95, 0.99])
        lines.append(f"\npredict: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms (wall)")
    return "\n".join(lines)


def of_all(results: list[Results]) -> str:
    """Format means over repositories, and the number of wins."""
    lines = ["", f"macro mean over {len(results)} repositories"]
    tasks = dict.fromkeys(task for result in results for task in result.rows)
    for task in tasks:
        having = [result for result in results if task in result.rows]
        methods = list(dict.fromkeys(method for result in having for method in result.rows[task]))
        lines.append(f"\n{task} ({len(having)})".ljust(WIDTH + 1) + "".join(name.rjust(10) for name in SHOWN))
        for method in methods:
            means = [metrics.by_unit(r.rows[task][method]).mean(axis=0) for r in having if method in r.rows[task]]
            cells = "".join(f"{value:10.3f}" for value in np.mean(means, axis=0)[: len(SHOWN)])
            lines.append(method.ljust(WIDTH) + cells + _wins(having, task, method))
        lines.extend(_following(having, task))
    return "\n".join(lines)


def as_json(results: Results) -> dict[str, Any]:
    """Return the results of one repository as JSON values."""
    tasks: dict[str, Any] = {}
    for task, by_method in results.rows.items():
        tasks[task] = {}
        for method, rows in by_method.items():
            values = metrics.by_unit(rows)
            tasks[task][method] = dict(zip(metrics.NAMES, values.mean(axis=0).round(4).tolist(), strict=True))
            tasks[task][method]["MAP interval"] = metrics.interval(values[:, metrics.NAMES.index("MAP")])
            tasks[task][method]["units"] = len(values)
    return {
        "repository": results.repository,
        "units": results.units,
        "scored": results.scored,
        "weights": results.provenance,
        "tasks": tasks,
        "next in ten": {task: next_in_ten([results], task) for task in results.following},
        "silence": silence(results),
        "created": results.created,
        "predict_ms": dict(
            zip(
                ("p50", "p95", "p99"), np.quantile(results.milliseconds or [0], [0.5, 0.95, 0.99]).tolist(), strict=True
            )
        ),
    }


def next_in_ten(results: list[Results], task: str) -> dict[str, float]:
    """Return both readings of "next in ten" as means.

    They are over orders, units and repositories.
    """
    rows = [result.following[task] for result in results if task in result.following]
    means = [metrics.by_unit(some, metrics.NEXT_NAMES).mean(axis=0) for some in rows]
    return dict(zip(metrics.NEXT_NAMES, np.mean(means, axis=0).tolist(), strict=True)) if means else {}


def _following(results: list[Results], task: str) -> list[str]:
    told = ", ".join(f"{name} {value:.3f}" for name, value in next_in_ten(results, task).items())
    return [f"  next among the first ten: {told}"] if told else []


def silence(results: Results) -> dict[str, float]:
    """Return false alarms and precision of the silence task.

    False alarms are on single-file units, precision is of suggestions for others.
    """
    asked = results.confidences.get("silence", [])
    single = [confidence for confidence, _, gold in asked if not gold]
    several = [(confidence, right) for confidence, right, gold in asked if gold]
    if not single or not several:
        return {}
    ordered = sorted(several, key=lambda one: -one[0])  # ties stay in the order of the queries
    half = ordered[: max(len(ordered) // 2, 1)]
    emitted = [right for confidence, right in several if confidence >= SILENCE]
    return {
        "single-file units with a suggestion": float(np.mean([confidence >= SILENCE for confidence in single])),
        "coverage": len(emitted) / len(several),
        "precision@1 of emitted": float(np.mean(emitted)) if emitted else float("nan"),
        "precision@1 at half coverage": float(np.mean([right for _, right in half])),
        "expected calibration error": _calibration_error(asked),
    }


def _silence(results: Results) -> list[str]:
    figures = silence(results)
    return ["", "silence", *(f"  {name}: {value:.3f}" for name, value in figures.items())] if figures else []


def _calibration_error(asked: list[tuple[float, bool, bool]], bins: int = 10) -> float:
    confidence = np.array([value for value, _, _ in asked])
    right = np.array([hit for _, hit, _ in asked], float)
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return float(
        sum(
            abs(confidence[place == b].mean() - right[place == b].mean()) * (place == b).mean()
            for b in np.unique(place)
        )
    )


def _row(method: str, values: Any) -> str:
    low, high = metrics.interval(values[:, metrics.NAMES.index("MAP")])
    cells = "".join(f"{value:10.3f}" for value in values.mean(axis=0)[: len(SHOWN)])
    return f"{method.ljust(WIDTH)}{cells}   MAP {low:.3f}–{high:.3f}"


def _margin(by_method: dict[str, list[tuple[str, tuple[float, ...]]]]) -> list[str]:
    """Compare with the best baseline by MAP, paired by unit."""
    column = metrics.NAMES.index("MAP")
    ours = metrics.by_unit(by_method[OURS])[:, column]
    others = {name: metrics.by_unit(rows)[:, column] for name, rows in by_method.items() if name != OURS}
    if not others:
        return []
    best = max(others, key=lambda name: float(others[name].mean()))
    ahead, doubt = metrics.compared(ours, others[best])
    return [f"  ahead of {best} by {ahead:+.3f} MAP (not ahead in {doubt:.1%} of resamples)"]


def _wins(results: list[Results], task: str, method: str) -> str:
    if method == OURS:
        return ""
    column = metrics.NAMES.index("MAP")
    pairs = [
        (metrics.by_unit(r.rows[task][OURS])[:, column].mean(), metrics.by_unit(r.rows[task][method])[:, column].mean())
        for r in results
        if method in r.rows[task]
    ]
    return f"   beaten in {sum(ours > theirs for ours, theirs in pairs)} of {len(pairs)}"
