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


def digest_text(digest: Digest, *, budget: int) -> str:
    """The weightiest points within `budget` tokens, under a line that says which turns they stand for."""
    head = f"[Turns {digest.first}-{digest.last}, condensed; every word is kept and can be searched]"
    chosen = weightiest(digest.points, budget - count(head))
    lines = [head]
    for kind, heading in HEADINGS:
        said = [point for point in chosen if point.kind == kind]
        if said:
            lines.append(f"{heading}:")
            lines += [_line(point) for point in said]
    return "\n".join(lines)


def weightiest(points: Sequence[Point], budget: int) -> list[Point]:
    """As many of the weightiest points as `budget` tokens hold, each said once, in the order in which they were
    said."""
    chosen: list[Point] = []
    kinds: set[PointKind] = set()
    seen: set[str] = set()
    # Of equal weight the newer counts: it may have replaced the older.
    for point in sorted(points, key=lambda point: (-point.weight, -point.turn)):
        wording = " ".join(point.text.lower().split())
        if wording in seen:
            continue
        cost = count(f"\n{_line(point)}") + (0 if point.kind in kinds else HEADING_TOKENS)
        if cost > budget:
            continue
        budget -= cost
        kinds.add(point.kind)
        seen.add(wording)
        chosen.append(point)
    return sorted(chosen, key=lambda point: (point.turn, points.index(point)))


def _line(point: Point) -> str:
    return f"- {single_line(point.text, LONGEST_POINT)} (turn {point.turn})"
