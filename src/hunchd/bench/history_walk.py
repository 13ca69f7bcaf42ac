"""Replay of a history without looking ahead, one unit of work at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hunchd.bench.outlines import OutlineCache
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work, list_existing_paths, strip_issue_numbers
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git

BLOB_BATCH = 100  # units whose blobs are fetched at once


@dataclass(frozen=True, slots=True)
class ReplayWindows:
    """Positions of the development window and the test window in the list of units.

    The development window extends from `start` to `test`, and the test window from `test` to `end`.
    """

    start: int
    test: int
    end: int

    @classmethod
    def create(cls, total: int, test_units: int, development_units: int) -> ReplayWindows:
        """Split a history into windows; the last `test_units` units are the test window.

        In a short history, the test window contains at most 45 % of the units.
        """
        test = total - min(test_units, int(total * 0.45))
        return cls(max(test - development_units, 0), test, total)


@dataclass(frozen=True, slots=True)
class ReplayPoint:
    """State of a replay just before a unit of work.

    The predictor has learned all earlier units and their contents. `gold` are the files of the unit that can be
    predicted, under their current names; it is empty if the unit is not scored.
    """

    position: int
    unit: Unit
    gold: tuple[str, ...]
    unpredictable: int  # files the unit creates


def walk_history(
    git: Git,
    units: Sequence[Unit],
    predictor: Predictor,
    outlines: OutlineCache,
    start: int,
    *,
    learned_units: Sequence[Unit] | None = None,
) -> Iterator[ReplayPoint]:
    """Learn all units before `start`, then yield a point before each later unit.

    The contents that the files had at that time are learned too. As a control experiment, `learned_units` replaces
    what is learned from each unit; the queries stay the same.
    """
    lessons = units if learned_units is None else learned_units
    seen_titles: set[str] = set()
    for unit, lesson in zip(units[:start], lessons[:start], strict=True):
        predictor.learn_unit(lesson)
        seen_titles.add(strip_issue_numbers(unit.subject))
    if start:
        _index_tree(git, units[start - 1].sha, predictor, outlines)
    for position in range(start, len(units)):
        if (position - start) % BLOB_BATCH == 0:
            batch = units[position : position + BLOB_BATCH]
            outlines.prepare((change.path, change.new_blob) for unit in batch for change in unit.changes)
        unit = units[position]
        title = strip_issue_numbers(unit.subject)
        gold = _list_gold(unit, predictor) if is_work(unit) and title not in seen_titles else ()
        yield ReplayPoint(position, unit, gold, sum(change.status in "AC" for change in unit.changes))
        predictor.learn_unit(lessons[position])
        seen_titles.add(title)
        for change in unit.changes:
            if change.status != "D" and (outline := outlines.get_outline(change.path, change.new_blob)) is not None:
                predictor.update_content(outline)


def _list_gold(unit: Unit, predictor: Predictor) -> tuple[str, ...]:
    hubs = predictor.list_hubs()
    return tuple(path for path in list_existing_paths(unit) if path not in hubs and predictor.has_file(path))


def _index_tree(git: Git, sha: str, predictor: Predictor, outlines: OutlineCache) -> None:
    tree = git.list_tree(sha)
    outlines.prepare(tree.items())
    for path, blob in tree.items():
        outline = outlines.get_outline(path, blob)
        if outline is not None:
            predictor.update_content(outline)
