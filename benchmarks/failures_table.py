"""Table of the results of benchmarks/real_failures.py: one line for each folder, one for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEADS = ("repository", "faults", "kinds", "recognised", "fix kept", "again first", "false alarms", "of one type")


def format_table(folders: Sequence[Path]) -> str:
    rows, total = [], [0] * 11
    for folder in folders:
        found = count_results(folder)
        total = [a + b for a, b in zip(total, found, strict=True)]
        rows.append(_row(folder.name, found))
    rows.append(_row("all", total))
    widths = [max(len(row[place]) for row in (HEADS, *rows)) for place in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (HEADS, *rows)
    )


def _row(name: str, found: Sequence[int]) -> tuple[str, ...]:
    faults, kinds, recognised, mended, stored, came, first, alarms, strangers, pairs, wrong = found
    return (
        name, str(faults), str(kinds), _share(recognised, mended), _share(stored, mended), _share(first, came),
        _share(alarms, strangers), f"{wrong} of {pairs} pairs",
    )  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} {100 * part / whole:.0f} %" if whole else "-"


def count_results(folder: Path) -> list[int]:
    """Count the results of a folder.

    Faults, their kinds, recognised, fixed (of all that failed and passed), fixes stored; recurred, fix shown first;
    false
    alarms among faults with a known one of the same type; pairs of one type, those of them that are confused.
    """
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]
    faults = {line["fault"]: line for line in lines if line["stage"] == "plant"}
    mends = [line for line in lines if line["stage"] == "mend" and line["failed"] and line["passed"]]
    agains = [line for line in lines if line["stage"] == "again" and line["failed"]]
    kinds = len({fault["operator"] for fault in faults.values()})
    alarms = strangers = pairs = wrong = 0
    known_faults: list[dict[str, Any]] = []
    for line in mends:
        shown = line["seen"] or {}
        alike = [other for other in known_faults if other["seen"] and other["seen"]["type"] == shown.get("type")]
        strangers += bool(alike)
        alarms += bool(alike) and bool(shown.get("told"))
        pairs += len(alike)
        wrong += sum(other["seen"]["id"] == shown["id"] for other in alike)
        known_faults.append(line)
    return [
        len(faults), kinds,
        sum(is_recognised(line, faults[line["fault"]]) for line in mends), len(mends),
        sum(is_fix_stored(line, faults[line["fault"]]) for line in mends),
        len(agains), sum(is_shown_first(line, faults[line["fault"]]) for line in agains),
        alarms, strangers, pairs, wrong,
    ]  # fmt: skip


def is_recognised(line: dict[str, Any], fault: dict[str, Any]) -> bool:
    """Return True if a shown error is one of the true failures."""
    headline = _plain((line["seen"] or {}).get("headline", ""))
    return any(_plain(one)[:30] in headline or headline[:60] in _plain(one) for one in fault["truth"]) and bool(
        headline
    )


def is_fix_stored(line: dict[str, Any], fault: dict[str, Any]) -> bool:
    return (
        line["fix"] is not None
        and fault["path"] in line["fix"]["paths"]
        and _restores_line(line["fix"]["content"], fault)
    )


def is_shown_first(line: dict[str, Any], fault: dict[str, Any]) -> bool:
    """Return True if the first shown error is this one, with the change that fixes it.

    Rarely changing items, such as a decision, may precede it.
    """
    shown = line["seen"]
    return bool(shown and shown["told"] and line["shown"]) and _restores_line(line["shown"], fault)


def _restores_line(content: str, fault: dict[str, Any]) -> bool:
    """Return True if a diff restores the broken line."""
    added = [_plain(line[1:]) for line in content.splitlines() if line.startswith("+")]
    removed = [_plain(line[1:]) for line in content.splitlines() if line.startswith("-")]
    return _plain(fault["old"]) in added or (not added and bool(removed))


def _plain(text: str) -> str:
    return " ".join(text.split())
