"""Benchmark of recalled similar work: how often it touched files of the titled unit.

    python benchmarks/similar_work.py REPOSITORY… [--cache FOLDER]

The questions are the titles of units of the development windows, before these are learned, to the predictor that the
daemon runs. By tenths of similarity: how many past units were recalled, and the share that touched one of the files.
Then what a bundle shows of them: units for each question, the share of these that touched one of the files, and of the
first.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hunchd.assembly.selection import MINIMUM_VALUE
from hunchd.bench.history_walk import ReplayWindows, walk_history
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.replay import get_repository_name
from hunchd.bench.tasks import generate_queries
from hunchd.domain.context import PredictedUnit
from hunchd.features.context.candidates import get_unit_value, select_informative_units
from hunchd.features.context.context_service import MAX_PAST_UNITS
from hunchd.ingestion import history
from hunchd.prediction import weights
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.related_units import WORD_WEIGHT
from hunchd.repository.git import Git


@dataclass(frozen=True, slots=True)
class Question:
    units: tuple[PredictedUnit, ...]
    gold: frozenset[str]

    def touched(self, unit: PredictedUnit) -> bool:
        return not self.gold.isdisjoint(unit.paths)


def iter_questions(path: str, cache: Path | None) -> Iterator[Question]:
    """Yield what each title of the development window recalls."""
    git = Git(path)
    units = list(history.iter_units(git))
    windows = ReplayWindows.create(len(units), 600, 700)
    predictor = Predictor(weights.load_shipped())
    with OutlineCache(git, cache) as outlines:
        for moment in walk_history(git, units, predictor, outlines, windows.start):
            if moment.position >= windows.test:
                return
            for question in generate_queries(moment.unit, moment.gold, "title", 0) if moment.gold else ():
                recalled = predictor.predict(question.focus, now=moment.unit.at).units
                yield Question(recalled, frozenset(question.gold))


def select_shown(units: tuple[PredictedUnit, ...]) -> list[PredictedUnit]:
    """Return the units that a bundle shows if there is room."""
    return [unit for unit in select_informative_units(units, MAX_PAST_UNITS) if get_unit_value(unit) >= MINIMUM_VALUE]


def format_share(flags: list[bool]) -> str:
    return f"{sum(flags) / len(flags):.2f} of {len(flags)}" if flags else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--cache", type=Path, help="keep parsed outlines here between runs")
    options = parser.parse_args()
    for path in options.repositories:
        every = list(iter_questions(path, options.cache))
        tenths: list[list[bool]] = [[] for _ in range(11)]
        for one in every:
            for unit in one.units:
                tenths[min(int(unit.score / WORD_WEIGHT * 10), 10)].append(one.touched(unit))
        print(f"\n{get_repository_name(path)}: {len(every)} titles")
        for tenth, found in enumerate(tenths):
            print(
                f"  alike from .{tenth} on: {format_share(found)}"
                if tenth < 10
                else f"  all alike: {format_share(found)}"
            )
        shown = [(one, select_shown(one.units)) for one in every]
        count = sum(len(units) for _, units in shown) / max(len(shown), 1)
        right = [one.touched(unit) for one, units in shown for unit in units]
        first = [one.touched(units[0]) for one, units in shown if units]
        print(f"  shown: {count:.2f} a title, touched a file {format_share(right)}; the first {format_share(first)}")


if __name__ == "__main__":
    main()
