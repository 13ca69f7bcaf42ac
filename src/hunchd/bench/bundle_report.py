"""What `bench bundle` measured, as figures and as a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from hunchd.domain.context import Bundle

DEPTHS = (10, 20, 30)
EVERYWHERE = 0.9  # of a repository's answers: a line in so many of them is the same for all files
FEWEST = 3  # answers from which on lines are compared
BINS = 10
WIDTH = 24  # of a repository's name


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer: `named` are needed files, `symbols` a count, `probabilities` (shown, came true) of listed files."""

    context: str
    tokens: int
    milliseconds: float
    named: tuple[str, ...]
    symbols: int
    probabilities: tuple[tuple[float, bool], ...]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Reviews of half of a change and of all of it, as counts of files."""

    rest: int  # of the change that the half lacks
    named: int  # of the rest
    told: int  # to be missing in the half
    right: int  # of those told
    alarms: int  # told to be missing in the whole change


@dataclass(frozen=True, slots=True)
class Asked:
    """One change: what it needed, the rankings beside the answers, and the answers by budget."""

    unit: str
    gold: tuple[str, ...]
    symbols: int
    predicted: tuple[str, ...]
    together: tuple[str, ...]
    answers: Mapping[int, Answered]
    reviewed: Reviewed


def is_named(path: str, text: str) -> bool:
    """Whether the whole path stands in a text, not as a part of another one."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", text) is not None


def is_word_of(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def probabilities(bundle: Bundle, gold: Set[str]) -> tuple[tuple[float, bool], ...]:
    """The probability that each listed file was shown with, and whether the change touched it."""
    shown = [(str(item.source.get("path")), item.score) for item in bundle.items if item.kind == "file"]
    for item in bundle.items:
        shown += item.source.get("probabilities", {}).items()
    return tuple((probability, path in gold) for path, probability in shown)


def figures(rows: Sequence[Asked]) -> dict[str, float]:
    """The figures of one repository; shares are micro averages over needed files."""
    if not rows:
        return {"changes": 0.0}
    budgets = sorted(rows[0].answers)
    found = {"changes": float(len(rows)), "needed files": float(sum(len(row.gold) for row in rows))}
    for budget in budgets:
        found[f"named at {budget}"] = sum(len(row.answers[budget].named) for row in rows) / found["needed files"]
    for name in ("predicted", "together"):
        for depth in DEPTHS:
            hits = sum(len(set(row.gold) & set(getattr(row, name)[:depth])) for row in rows)
            found[f"{name}@{depth}"] = hits / found["needed files"]
    symbols = sum(row.symbols for row in rows)
    for budget in budgets:
        if symbols:
            found[f"symbols at {budget}"] = sum(row.answers[budget].symbols for row in rows) / symbols
        found[f"tokens at {budget}"] = float(np.mean([row.answers[budget].tokens for row in rows]))
    last = budgets[-1]
    found["same lines"] = same_lines([row.answers[last].context for row in rows])
    found["calibration error"] = calibration_error([pair for row in rows for pair in row.answers[last].probabilities])
    found["none named"] = float(np.mean([not row.answers[last].named for row in rows]))
    reviews = [row.reviewed for row in rows]
    found["review: rest named"] = sum(one.named for one in reviews) / max(sum(one.rest for one in reviews), 1)
    found["review: any named"] = float(np.mean([one.named > 0 for one in reviews]))
    found["review: precision"] = sum(one.right for one in reviews) / max(sum(one.told for one in reviews), 1)
    found["review: false alarms"] = float(np.mean([one.alarms > 0 for one in reviews]))
    found["milliseconds p95"] = float(np.quantile([row.answers[budgets[0]].milliseconds for row in rows], 0.95))
    return found


def figures_of_all(asked: Mapping[str, Sequence[Asked]]) -> dict[str, float]:
    """The figures over all repositories; equal lines are compared within each."""
    rows = [row for one in asked.values() for row in one]
    found = figures(rows)
    shares = [same_lines([row.answers[max(row.answers)].context for row in one]) for one in asked.values() if one]
    return found | ({"same lines": float(np.mean(shares))} if shares else {})


def same_lines(contexts: Sequence[str]) -> float:
    """The mean share of an answer's lines that nearly all answers of the repository hold; 0 of too few answers."""
    told = [{line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"} for text in contexts]
    if len(told) < FEWEST:
        return 0.0
    times = Counter(line for lines in told for line in lines)
    everywhere = {line for line, count in times.items() if count >= EVERYWHERE * len(told)}
    return float(np.mean([len(lines & everywhere) / max(len(lines), 1) for lines in told]))


def calibration_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error of probabilities over equally wide bins."""
    if not pairs:
        return 0.0
    said, true = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], float)
    place = np.minimum((said * BINS).astype(int), BINS - 1)
    return float(
        sum(abs(said[place == b].mean() - true[place == b].mean()) * (place == b).mean() for b in np.unique(place))
    )


def of_repository(name: str, rows: Sequence[Asked]) -> str:
    return f"\n{name}\n" + "\n".join(f"  {what:<24}{value:10.3f}" for what, value in figures(rows).items())


def of_all(asked: Mapping[str, Sequence[Asked]]) -> str:
    """One line a repository, then the figures over all of them."""
    lines = ["", f"{'':<{WIDTH}}{'changes':>9}{'named':>8}{'pred@30':>9}{'co@20':>8}{'tokens':>8}{'ECE':>7}"]
    for name, rows in asked.items():
        told = figures(rows)
        if told["changes"]:
            budget = max(rows[0].answers)
            lines.append(
                f"{name:<{WIDTH}}{told['changes']:>9.0f}{told[f'named at {budget}']:>8.2f}{told['predicted@30']:>9.2f}"
                f"{told['together@20']:>8.2f}{told[f'tokens at {budget}']:>8.0f}{told['calibration error']:>7.3f}"
            )
    lines += ["", *(f"  {what:<24}{value:10.3f}" for what, value in figures_of_all(asked).items())]
    return "\n".join(lines)
