"""Rendering of a digest by kind, within a budget."""

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
MOST_STATED = 0.65  # of the budget, while there are other points


def digest_text(digest: Digest, *, budget: int, note: str = "") -> str:
    """Render the heaviest points within `budget` tokens.

    The first line names the turns.
    """
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
    """Select points: statements first, but with room left for actions and insights."""
    stated = weightiest([point for point in points if point.kind in STATED], int(MOST_STATED * budget))
    left = budget - sum(_cost(point) for point in stated) - HEADING_TOKENS * len({point.kind for point in stated})
    seen = {_wording(point) for point in stated}
    others = weightiest([point for point in points if _wording(point) not in seen], left)
    chosen = [*stated, *others]
    return sorted(chosen, key=lambda point: (point.turn, points.index(point)))


def weightiest(points: Sequence[Point], budget: int) -> list[Point]:
    """Select the heaviest points that fit, in original order.

    Duplicates are skipped.
    """
    chosen: list[Point] = []
    kinds: set[PointKind] = set()
    seen: set[str] = set()
    # Of equal weight the newer point counts: it may have replaced the older one.
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
