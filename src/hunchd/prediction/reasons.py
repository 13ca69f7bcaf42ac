"""Why a file is suggested, in words a developer would use."""

from __future__ import annotations

import numpy as np

from hunchd.prediction.candidates import Evidence
from hunchd.prediction.features import INDEX
from hunchd.prediction.files import TEST
from hunchd.prediction.packed import Array
from hunchd.prediction.state import State

MOST_REASONS = 3
DAY = 86_400  # seconds


def reasons_for(state: State, found: Evidence, place: int, row: Array, now: int) -> tuple[str, ...]:
    """The strongest few, the most telling first."""
    file = int(found.files[place])

    def value(name: str) -> float:
        return float(row[INDEX[name]])

    said: list[tuple[float, str]] = []
    if value("traced"):
        said.append((9.0, "raised the error" if value("traced") == 1.0 else "in the traceback"))
    if value("mentioned"):
        said.append((8.0, "named in the question"))
    said.extend(_together(state, found, file, now))
    if value("same_stem") and found.query.seeds:
        said.append((2.5, _kinship(state, found.query.seeds[-1], file)))
    if value("voted") >= 0.3 and (unit := _supporting_unit(state, found, file)) is not None:
        said.append((2.0 + value("voted"), f"past work on '{_short(state.messages.subjects[unit])}' touched it"))
    said.extend((weight, text) for name, weight, text in _LINKS if value(name) > 0)
    if max(value("name_words"), value("content_words")) >= 0.8:
        said.append((1.2, "its contents match the words"))
    elif value("path_words") >= 0.8:
        said.append((1.2, "its path matches the words"))
    if value("opened_next") > 0.15:
        said.append((1.5, "often opened next"))
    if value("interest") > 0.5:
        said.append((1.0, "used in this session"))
    if not said:
        said.extend(_faint(row))
    said.sort(key=lambda reason: -reason[0])
    return tuple(text for _, text in said[:MOST_REASONS])


_LINKS = (
    ("importers", 1.4, "imports it"),
    ("imports", 1.3, "imported by it"),
    ("uses", 1.1, "uses what it defines"),
    ("defines", 1.1, "defines what it uses"),
)


def _together(state: State, found: Evidence, file: int, now: int) -> list[tuple[float, str]]:
    said = []
    for first in found.together:
        hits = np.flatnonzero(first.row["file"] == file)
        if not len(hits):
            continue
        entry = first.row[hits[0]]
        times, changes = int(entry["count"]), max(int(state.files.count.view[first.seed]), int(entry["count"]))
        with_whom = "" if len(found.together) == 1 else f" with {state.files.paths[first.seed].rsplit('/', 1)[-1]}"
        when = ago(now - int(state.messages.at.view[int(entry["last"])]))
        said.append(
            (
                3.0 * float(first.shares[hits[0]]) + 1.0,
                f"changed together{with_whom} {times} of {changes} times, last {when}",
            )
        )
    return sorted(said, reverse=True)[:1]


def _kinship(state: State, seed: int, file: int) -> str:
    traits = state.files.traits.view
    if traits[file] & TEST and not traits[seed] & TEST:
        return "tests this file"
    if traits[seed] & TEST and not traits[file] & TEST:
        return "tested by this file"
    return "named alike"


def _supporting_unit(state: State, found: Evidence, file: int) -> int | None:
    for unit in found.nearest.units.tolist():
        if file in state.messages.files_of(unit):
            return int(unit)
    return None


def _faint(row: Array) -> list[tuple[float, str]]:
    if row[INDEX["author"]] > 0:
        return [(0.5, "among your latest changes")]
    if row[INDEX["likeness"]] > 0.3:
        return [(0.5, "similar contents")]
    if row[INDEX["same_folder"]]:
        return [(0.4, "same folder")]
    return [(0.3, "changed lately")]


def _short(subject: str, most: int = 60) -> str:
    return subject if len(subject) <= most else subject[: most - 1].rstrip() + "…"


def ago(seconds: int) -> str:
    days = max(seconds, 0) // DAY
    if days < 1:
        return "today"
    if days < 60:
        return f"{days} day{'s' if days > 1 else ''} ago"
    if days < 730:
        return f"{days // 30} months ago"
    return f"{days // 365} years ago"
