"""Standalone SVG chart of a replay: `hunch bench replay … --json | python benchmarks/replay_chart.py FILE.svg`.

There is one panel for each task and one row for each method. Each dot is a repository; the bar is their mean.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

Replay = dict[str, Any]  # of one repository, as --json prints it
OUR_METHOD = "hunch"
METRIC = "MAP"
WIDTH, LABELS, RIGHT = 760, 190, 70  # pixels: the whole, the names, the numbers
ROW, HEAD, GAP = 22, 62, 24
_PAGE = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>hunch bench replay</title>'
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; } .note { font-size: 11px; fill: #59636e; }
.line { stroke: #d1d9e0; } .bar { fill: #b6c2cf; } .bar.ours { fill: #0969da; }
.dot { fill: #1f2328; fill-opacity: .45; }
.ours-name { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .note { fill: #9198a1; } .line { stroke: #3d444d; } .bar { fill: #4b5563; }
  .bar.ours { fill: #4493f8; } .dot { fill: #e6edf3; fill-opacity: .5; } .paper { fill: #0d1117; }
}
"""


def write_chart(results: Sequence[Replay], path: Path) -> None:
    """Write the chart as an SVG file, or as an HTML page if the suffix is .html."""
    drawing = draw_chart(results)
    if path.suffix.lower() in {".html", ".htm"}:
        drawing = f"{_PAGE}\n{drawing}</html>\n"
    path.write_text(drawing, encoding="utf-8")


def draw_chart(results: Sequence[Replay]) -> str:
    """Return the chart of all tasks, with the methods ordered from best to worst."""
    tasks = list(dict.fromkeys(task for result in results for task in result["tasks"]))
    panels, top = [], 12
    for task in tasks:
        panel, height = _draw_panel(task, results, top)
        panels.append(panel)
        top += height + GAP
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    paper = f'<rect class="paper" width="{WIDTH}" height="{top}" fill="#fff"/>'
    return "\n".join((head, f"<style>{_STYLE}</style>", paper, *panels, "</svg>", ""))


def _draw_panel(task: str, results: Sequence[Replay], top: int) -> tuple[str, int]:
    task_results = [result for result in results if task in result["tasks"]]
    values: dict[str, list[float]] = {}
    units = 0
    for result in task_results:
        units += next(iter(result["tasks"][task].values()))["units"]
        for method, figures in result["tasks"][task].items():
            values.setdefault(method, []).append(figures[METRIC])
    methods = sorted(values, key=lambda method: -float(np.mean(values[method])))
    height = HEAD + ROW * len(methods)
    source = (
        f"a dot for each of {len(task_results)} repositories"
        if len(task_results) > 1
        else task_results[0]["repository"]
    )
    lines = [
        f'<g transform="translate(0 {top})">',
        f'<text class="title" x="12" y="16">{escape(task)}: {METRIC}</text>',
        f'<text class="note" x="12" y="34">{units} units, {escape(source)}; bar: mean</text>',
    ]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _scale_x(tick)
        lines.append(f'<line class="line" x1="{x:.1f}" y1="{HEAD - 4}" x2="{x:.1f}" y2="{height}"/>')
        lines.append(f'<text class="note" x="{x:.1f}" y="{HEAD - 8}" text-anchor="middle">{tick:g}</text>')
    for place, method in enumerate(methods):
        lines.extend(_draw_row(method, values[method], HEAD + ROW * place))
    return "\n".join((*lines, "</g>")), height


def _draw_row(method: str, values: list[float], top: int) -> list[str]:
    mean, ours = float(np.mean(values)), method == OUR_METHOD
    middle = top + ROW / 2
    dots = values if len(values) > 1 else []
    return [
        f'<text class="{"ours-name" if ours else "name"}" x="{LABELS - 8}" y="{middle + 4:.1f}"'
        f' text-anchor="end">{escape(method)}</text>',
        f'<rect class="bar{" ours" if ours else ""}" x="{LABELS}" y="{top + 4}" width="{_scale_x(mean) - LABELS:.1f}"'
        f' height="{ROW - 8}" rx="2"/>',
        *(f'<circle class="dot" cx="{_scale_x(value):.1f}" cy="{middle:.1f}" r="3"/>' for value in dots),
        f'<text x="{WIDTH - RIGHT + 12}" y="{middle + 4:.1f}">{mean:.3f}</text>',
    ]


def _scale_x(value: float) -> float:
    return LABELS + value * (WIDTH - RIGHT - LABELS)


if __name__ == "__main__":
    write_chart(json.load(sys.stdin), Path(sys.argv[1]))
