"""Rendering of a session's digest within a token budget.

A digest consists of points, which are grouped by kind, such as decisions or open questions.
"""

from __future__ import annotations

from collections.abc import Sequence

from hunchd.assembly.fencing import to_single_line
from hunchd.assembly.token_counter import count_tokens
from hunchd.domain.session import Digest, Point, PointKind

HEADINGS: tuple[tuple[PointKind, str], ...] = (
    ("decision", "Decisions"),
    ("instruction", "Instructions"),
    ("preference", "Preferences"),
    ("action", "Actions"),
    ("insight", "Insights"),
    ("question", "Open questions"),
)
MAX_POINT = 240  # characters
HEADING_TOKENS = 4
STATEMENT_KINDS: tuple[PointKind, ...] = ("decision", "instruction", "preference")
MAX_STATEMENT_SHARE = 0.65  # of the budget, while there are other points


def render_digest(digest: Digest, *, budget: int, note: str = "") -> str:
    """Render the points with the greatest weight within `budget` tokens.

    The first line names the turns that the digest covers.
    """
    head = f"[Turns {digest.first}-{digest.last}{note}]"
    selection = select_balanced(digest.points, budget - count_tokens(head))
    lines = [head]
    for kind, heading in HEADINGS:
        points_of_kind = [point for point in selection if point.kind == kind]
        if points_of_kind:
            lines.append(f"{heading}:")
            lines += [_render_point(point) for point in points_of_kind]
    return "\n".join(lines)


def select_balanced(points: Sequence[Point], budget: int) -> list[Point]:
    """Select points that fit into `budget`, statements first.

    Statements (decisions, instructions and preferences) may take only part of the budget, so that there is room for
    actions and insights.
    """
    statements = select_heaviest(
        [point for point in points if point.kind in STATEMENT_KINDS], int(MAX_STATEMENT_SHARE * budget)
    )
    remaining = (
        budget
        - sum(_count_point(point) for point in statements)
        - HEADING_TOKENS * len({point.kind for point in statements})
    )
    stated_wordings = {_normalize(point) for point in statements}
    other_points = select_heaviest([point for point in points if _normalize(point) not in stated_wordings], remaining)
    candidate_points = [*statements, *other_points]
    return sorted(candidate_points, key=lambda point: (point.turn, points.index(point)))


def select_heaviest(points: Sequence[Point], budget: int) -> list[Point]:
    """Select the points of greatest weight that fit into `budget`.

    They are returned in their original order. Points with the same wording are included once.
    """
    heaviest_points: list[Point] = []
    kinds: set[PointKind] = set()
    wordings: set[str] = set()
    # Of two points with equal weight the newer one counts, because it may have replaced the older one.
    for point in sorted(points, key=lambda point: (-point.weight, -point.turn)):
        wording = _normalize(point)
        if wording in wordings:
            continue
        cost = _count_point(point) + (0 if point.kind in kinds else HEADING_TOKENS)
        if cost > budget:
            continue
        budget -= cost
        kinds.add(point.kind)
        wordings.add(wording)
        heaviest_points.append(point)
    return sorted(heaviest_points, key=lambda point: (point.turn, points.index(point)))


def _normalize(point: Point) -> str:
    return " ".join(point.text.lower().split())


def _count_point(point: Point) -> int:
    return count_tokens(f"\n{_render_point(point)}")


def _render_point(point: Point) -> str:
    return f"- {to_single_line(point.text, MAX_POINT)} (turn {point.turn})"
