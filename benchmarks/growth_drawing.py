"""Plot of figures over the size of what is kept as SVG: a panel for each figure, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, TOP = 220, 120, 70, 40  # pixels of a panel, and around it


def draw(found: Sequence[Mapping[str, float]], size: str, panels: Mapping[str, str]) -> str:
    """Return the SVG; `panels` maps titles to figures, and `size` is the figure on the horizontal axis."""
    parts = [
        part
        for column, (title, name) in enumerate(panels.items())
        for part in _panel(title, [(one[size], one[name]) for one in found], column * (WIDTH + LEFT) + LEFT)
    ]
    width, height = len(panels) * (WIDTH + LEFT) + 30, TOP + HEIGHT + 30
    style = "text{font:11px system-ui,sans-serif;fill:#57606a}polyline{fill:none;stroke-width:1.5;stroke:#0969da}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<style>{style}</style><rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _panel(title: str, points: Sequence[tuple[float, float]], left: int) -> list[str]:
    logs = [(math.log10(size), math.log10(value)) for size, value in points]
    first, last = logs[0][0], logs[-1][0]
    low = math.floor(min(value for _, value in logs))
    high = max(math.ceil(max(value for _, value in logs)), low + 1)

    def place(at: float, value: float) -> tuple[float, float]:
        return left + (at - first) / ((last - first) or 1) * WIDTH, TOP + (high - value) / (high - low) * HEIGHT

    parts = [f'<text x="{left}" y="{TOP - 14}">{title}</text>']
    for decade in range(low, high + 1):
        _, y = place(first, decade)
        parts.append(f'<line x1="{left}" y1="{y:.0f}" x2="{left + WIDTH}" y2="{y:.0f}" stroke="#d0d7de"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{10.0**decade:,.4g}</text>')
    placed = [place(*one) for one in logs]
    for (x, y), (size, _) in zip(placed, points, strict=True):
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.1f}" r="3" fill="#0969da"/>')
        label = f"{size / 1e6:g} M" if size >= 1e6 else f"{size / 1e3:g} k"
        parts.append(f'<text x="{x:.0f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{label}</text>')
    return [*parts, f'<polyline points="{" ".join(f"{x:.0f},{y:.1f}" for x, y in placed)}"/>']
