"""Plot of two stores over the days as SVG: a row for each repository, a panel for each figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

Figures = tuple[str, list[tuple[float, float] | None]]  # title; by day, ours and the store that never forgets
WIDTH, HEIGHT, LEFT = 200, 100, 50  # pixels of a panel
SMOOTH = 30  # days
DRAWN_EVERY = 5  # days
OURS, NEVER = "#0969da", "#afb8c1"


def draw(results: Sequence[tuple[str, list[Figures]]]) -> str:
    """Return the SVG; blue is ours, grey the store that never forgets."""
    parts = [f'<text x="{LEFT}" y="18">blue: consolidated each night; grey: nothing is ever forgotten</text>']
    for row, (name, panels) in enumerate(results):
        for column, (title, values) in enumerate(panels):
            x, y = column * (WIDTH + LEFT + 12) + LEFT, row * (HEIGHT + 52) + 56
            parts += _panel(f"{name}: {title}" if column == 0 else title, values, x, y)
    width = max(len(panels) for _, panels in results) * (WIDTH + LEFT + 12) + 12
    height = len(results) * (HEIGHT + 52) + 30
    style = "text{font:11px system-ui,sans-serif;fill:#57606a}polyline{fill:none;stroke-width:1.5}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<style>{style}</style><rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _panel(title: str, values: Sequence[tuple[float, float] | None], x: int, y: int) -> list[str]:
    smooth = [_mean(values[max(0, at - SMOOTH) : at + 1]) for at in range(len(values))]
    most = max((max(one) for one in smooth if one is not None), default=1.0) or 1.0
    parts = [f'<text x="{x}" y="{y - 10}">{title}</text>', f'<text x="{x - 44}" y="{y + 8}">{most:,.4g}</text>']
    parts.append(f'<text x="{x - 44}" y="{y + HEIGHT}">0</text>')
    parts.append(f'<line x1="{x}" y1="{y + HEIGHT}" x2="{x + WIDTH}" y2="{y + HEIGHT}" stroke="#d0d7de"/>')
    for side, colour in ((1, NEVER), (0, OURS)):
        points = " ".join(
            f"{x + at * WIDTH / max(len(smooth) - 1, 1):.0f},{y + HEIGHT - one[side] / most * HEIGHT:.1f}"
            for at, one in enumerate(smooth)
            if one is not None and at % DRAWN_EVERY == 0
        )
        parts.append(f'<polyline points="{points}" stroke="{colour}"/>')
    return parts


def _mean(pairs: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    there = [one for one in pairs if one is not None]
    return (statistics.mean(one[0] for one in there), statistics.mean(one[1] for one in there)) if there else None
