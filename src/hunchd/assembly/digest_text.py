"""A digest as a prompt or a memory shows it: by schema, in the order in which it was said, within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from hunchd.assembly.fencing import single_line
from hunchd.assembly.tokens import count
from hunchd.domain.session import Digest, Point, PointKind

HEADINGS: tuple[tuple[PointKind, str], ...] = (
    ("decision", "Decisions"),
    ("instruction", "Instructions"),
    ("preference", "Preferences"),
    ("action", "Actions"),
    ("insight", "Insights"),
    ("question", "Open questions"),
)
LONGEST_POINT = 240  # characters
HEADING_TOKENS = 4
STATED: tuple[PointKind, ...] = ("decision", "instruction", "preference")
MOST_STATED = 0.65  # of the budget, as long as something else was said


def digest_text(digest: Digest, *, budget: int, note: str = "") -> str:
    """The weightiest points within `budget` tokens, under a line that says which turns they stand for."""
    head = f"[Turns {digest.first}-{digest.last}{note}]"
    chosen = balanced(digest.points, budget - count(head))
    lines = [head]
    for kind, heading in HEADINGS:
        said = [point for point in chosen if point.kind == kind]
        if said:
            lines.append(f"{heading}:")
            lines += [_line(point) for point in said]
    return "\n".join(lines)


def balanced(points: Sequence[Point], budget: int) -> list[Point]:
    """What was stated first, but so that it leaves room for what was done and found."""
    stated = weightiest([point for point in points if point.kind in STATED], int(MOST_STATED * budget))
    left = budget - sum(_cost(point) for point in stated) - HEADING_TOKENS * len({point.kind for point in stated})
    seen = {_wording(point) for point in stated}
    others = weightiest([point for point in points if _wording(point) not in seen], left)
    chosen = [*stated, *others]
    return sorted(chosen, key=lambda point: (point.turn, points.index(point)))


def weightiest(points: Sequence[Point], budget: int) -> list[Point]:
    """As many of the weightiest points as `budget` tokens hold, each said once, in the order in which they were
    said."""
    chosen: list[Point] = []
    kinds: set[PointKind] = set()
    seen: set[str] = set()
    # Of equal weight the newer counts: it may have replaced the older.
    for point in sorted(points, key=lambda point: (-point.weight, -point.turn)):
        wording = _wording(point)
        if wording in seen:
            continue
        cost = _cost(point) + (0 if point.kind in kinds else HEADING_TOKENS)
        if cost > budget:
            continue
        budget -= cost
        kinds.add(point.kind)
        seen.add(wording)
        chosen.append(point)
    return sorted(chosen, key=lambda point: (point.turn, points.index(point)))


def _wording(point: Point) -> str:
    return " ".join(point.text.lower().split())


def _cost(point: Point) -> int:
    return count(f"\n{_line(point)}")


def _line(point: Point) -> str:
    return f"- {single_line(point.text, LONGEST_POINT)} (turn {point.turn})"
