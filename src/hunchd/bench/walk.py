"""Replay of a history, unit by unit, without look-ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hunchd.bench.outlines import Outlines
from hunchd.domain.history import Unit
from hunchd.domain.work import existing_paths, is_work, plain_title
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git

STRETCH = 100  # units whose blobs are fetched at once


@dataclass(frozen=True, slots=True)
class Windows:
    """Positions of units.

    Development is `start` to `test`, the test window `test` to `end`.
    """

    start: int
    test: int
    end: int

    @classmethod
    def of(cls, total: int, test_units: int, development_units: int) -> Windows:
        """Return windows with the last `test_units` for testing.

        These are at most 45 % of a short history.
        """
        test = total - min(test_units, int(total * 0.45))
        return cls(max(test - development_units, 0), test, total)


@dataclass(frozen=True, slots=True)
class Moment:
    """State just before a unit.

    The predictor has learned all earlier units and their contents. `gold` are the unit's predictable files by their
    current names; empty if the unit is not scored.
    """

    position: int
    unit: Unit
    gold: tuple[str, ...]
    unpredictable: int  # files the unit creates


def walk(
    git: Git,
    units: Sequence[Unit],
    predictor: Predictor,
    outlines: Outlines,
    start: int,
    *,
    learned: Sequence[Unit] | None = None,
) -> Iterator[Moment]:
    """Learn everything before `start`, then yield before each unit.

    The files of that time are read too. `learned` replaces what is learned of each unit, for controls; the queries
    stay.
    """
    lessons = units if learned is None else learned
    seen: set[str] = set()
    for unit, lesson in zip(units[:start], lessons[:start], strict=True):
        predictor.learn(lesson)
        seen.add(plain_title(unit.subject))
    if start:
        _place_tree(git, units[start - 1].sha, predictor, outlines)
    for position in range(start, len(units)):
        if (position - start) % STRETCH == 0:
            stretch = units[position : position + STRETCH]
            outlines.prepare((change.path, change.new_blob) for unit in stretch for change in unit.changes)
        unit = units[position]
        title = plain_title(unit.subject)
        gold = _gold(unit, predictor) if is_work(unit) and title not in seen else ()
        yield Moment(position, unit, gold, sum(change.status in "AC" for change in unit.changes))
        predictor.learn(lessons[position])
        seen.add(title)
        for change in unit.changes:
            if change.status != "D" and (outline := outlines.of(change.path, change.new_blob)) is not None:
                predictor.place(outline)


def _gold(unit: Unit, predictor: Predictor) -> tuple[str, ...]:
    hubs = predictor.hubs()
    return tuple(path for path in existing_paths(unit) if path not in hubs and predictor.has(path))


def _place_tree(git: Git, sha: str, predictor: Predictor, outlines: Outlines) -> None:
    tree = git.tree(sha)
    outlines.prepare(tree.items())
    for path, blob in tree.items():
        outline = outlines.of(path, blob)
        if outline is not None:
            predictor.place(outline)
