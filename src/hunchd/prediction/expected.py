"""Prediction of the hubs, such as lock files and change logs, that the current change needs.

Hubs are files that change with almost everything and therefore say nothing about the work, so the ranker leaves
them out. This module estimates their probability from counts: the mean of three shares, each smoothed towards how
often the file changes overall. Two are the decayed shares of co-change; the third comes from the newest changes to
the current file. The mean is multiplied by 0.75, because hubs changed only three quarters as often as it predicts
(ten histories, 233 of 12,355 pairs of a change and a hub; a logistic regression on the three was no better on
histories left out). For a hub that is younger than these newest changes, such as a lock file introduced last week,
only the changes since its introduction count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from hunchd.domain.context import ExpectedFile
from hunchd.prediction import evidence
from hunchd.prediction.file_table import is_log_entry
from hunchd.prediction.messages import MAX_UNITS_PER_FILE
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.query import PredictionQuery
from hunchd.prediction.state import PredictorState

NEWEST = 20  # newest changes to the current file
LATELY = 60  # newest changes in the project
SMOOTHING = 0.5  # number of changes for which the overall frequency of a file counts
SMOOTHING_OF_YOUNG = 1.0  # … for a hub with few changes: one change in common makes none likely
CAME_TRUE = 0.75  # share of the predictions that came true, by the mean of the three shares
LEAST = 0.05  # probability
FEWEST = 3  # changes to the current file from which its own counts are shown
MOST = 6  # files


def find_expected_files(state: PredictorState, query: PredictionQuery) -> tuple[ExpectedFile, ...]:
    """Return the hubs likely to change with the newest open file.

    The most likely one comes first.
    """
    if not query.seeds or not state.unit_count:
        return ()
    seed = query.seeds[-1]
    expected_files = state.get_or_compute(("expected", seed), partial(_compute_expected_files, state, seed))
    return tuple(one for one in expected_files if state.files.numbers.get(one.path, -1) not in query.visible_files)


def _compute_expected_files(state: PredictorState, seed: int) -> tuple[ExpectedFile, ...]:
    units = state.messages.list_units_of_file(seed, NEWEST)
    recent = np.arange(max(state.unit_count - LATELY, 0), state.unit_count)
    expected_files = [*_iterate_files(state, seed, units, recent), *_iterate_entries(state, units, recent)]
    return tuple(sorted(expected_files, key=lambda one: (-one.probability, one.path))[:MOST])


def _iterate_files(state: PredictorState, seed: int, units: Array, recent: Array) -> Iterator[ExpectedFile]:
    with_it, of_all = _count_changes(state, units), _count_changes(state, recent)
    first = evidence.load_cochange(state, seed)
    places = {file: place for place, file in enumerate(first.row["file"].tolist())}
    hubs = state.mask_hubs() & state.files.alive.view
    hubs[seed] = False
    for file in hubs.nonzero()[0].tolist():
        place = places.get(file)
        if place is None and not of_all[file]:
            continue
        first_unit = _find_first_unit(state, file)
        lately = recent[recent >= first_unit]
        base = of_all[file] / max(len(lately), 1)
        long, short = (0.0, 0.0) if place is None else (float(first.long[place]), float(first.short[place]))
        since = units[units >= first_unit]
        readings = [(float(with_it[file]), float(len(since)))]
        is_young = len(since) < len(units)
        readings += [] if is_young else [(long, first.own_long), (short, first.own_short)]
        smoothing = SMOOTHING_OF_YOUNG if is_young else SMOOTHING
        shares = [(value + smoothing * base) / (own + smoothing) for value, own in readings]
        path = state.files.paths[file]
        yield from _build_expected_files(
            path, CAME_TRUE * sum(shares) / len(shares), (with_it[file], since), (of_all[file], lately)
        )


def _iterate_entries(state: PredictorState, units: Array, recent: Array) -> Iterator[ExpectedFile]:
    """Yield folders where each change adds a new file."""
    here, lately = _list_folders(state, units), _list_folders(state, recent)
    for folder, path in _map_entry_folders(state, recent).items():
        times, of_all = (sum(folder in touched_folders for touched_folders in part) for part in (here, lately))
        share = (times + SMOOTHING * of_all / max(len(recent), 1)) / (len(units) + SMOOTHING)
        yield from _build_expected_files(f"{path}/", CAME_TRUE * share, (times, units), (of_all, recent))


def _build_expected_files(
    path: str, probability: float, of_file: tuple[int, Array], of_all: tuple[int, Array]
) -> Iterator[ExpectedFile]:
    """Yield the file with its counts, unless its probability is below LEAST.

    Each count is a pair of the number of changes that touched the hub and the changes considered. The counts for
    the current file (`of_file`) are used if that file changed at least FEWEST times, or twice and never without the
    hub; otherwise those for the whole project (`of_all`) are used.
    """
    if probability < LEAST:
        return
    own = of_file[0] > 0 and (len(of_file[1]) >= FEWEST or of_file[0] == len(of_file[1]) > 1)
    times, units = of_file if own else of_all
    yield ExpectedFile(path, round(min(probability, 1.0), 4), int(times), len(units), own)


def _find_first_unit(state: PredictorState, file: int) -> int:
    """Return the first unit that touched a file, if remembered."""
    units = state.messages.list_units_of_file(file, MAX_UNITS_PER_FILE)
    return int(units[-1]) if 0 < len(units) < MAX_UNITS_PER_FILE else 0


def _count_changes(state: PredictorState, units: Array) -> Array:
    """Count, for each file, the units of work that touched it."""
    files, _ = state.messages.flatten_files(units)
    counts: Array = np.bincount(files, minlength=len(state.files))
    return counts


def _list_folders(state: PredictorState, units: Array) -> list[set[int]]:
    """Return, for each unit of work, the keys of the folders that it touched."""
    folders = state.files.folder.view
    return [set(folders[state.messages.get_files(unit)].tolist()) for unit in units.tolist()]


def _map_entry_folders(state: PredictorState, recent: Array) -> dict[int, str]:
    """Map the keys of recently touched change log folders to paths."""
    files, _ = state.messages.flatten_files(recent)
    keys, paths = state.files.folder.view, state.files.paths
    entries = (file for file in np.unique(files).tolist() if is_log_entry(paths[file]))
    return {int(keys[file]): paths[file].rpartition("/")[0] for file in entries}
