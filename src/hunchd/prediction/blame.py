"""Adjustment of scores for an error.

Features of its traceback are weighed as log odds.
"""

from __future__ import annotations

import numpy as np

from hunchd.prediction import evidence
from hunchd.prediction.files import DOCUMENT, TEST
from hunchd.prediction.packed import Array
from hunchd.prediction.state import State
from hunchd.prediction.traces import Trace

SIGNS = (
    "raised",  # the source nearest to the raise site
    "second",
    "third",
    "further",
    "blamed",  # file of a module that the message complains about
    "spoken",  # defines names of the message
    "shown",  # defines names of the lines that the trace quotes
    "spoken_best",
    "shown_best",
    "together",  # changes with the sources of the trace
    "with_tests",  # changes with the tests of the trace
    "stem",  # named after the test
    "test",
    "document",
)
DEFINED_ONCE = 8  # files: names that more of them define are not informative
MOST_SOURCES = 3


# Log odds added for each sign.
WEIGHTS = np.array([1.5, 0.8, 0.5, 0.2, 1.0, 0.5, 0.3, 0.8, 0.8, 1.0, 0.5, 0.5, -1.5, -1.5], "<f4")


def swing(state: State, trace: Trace, files: Array) -> Array:
    """Return the change of each file's log odds because of the error."""
    changed: Array = signs(state, trace, files) @ WEIGHTS
    return changed


def signs(state: State, trace: Trace, files: Array) -> Array:
    """Return the feature matrix of the error (files, signs)."""
    traits, size = state.files.traits.view, len(state.files)
    columns = np.zeros((len(files), len(SIGNS)), "<f4")
    place = {name: number for number, name in enumerate(SIGNS)}
    for rank, file in enumerate(trace.files):
        columns[files == file, place[("raised", "second", "third")[rank] if rank < 3 else "further"]] = 1.0
    columns[:, place["blamed"]] = np.isin(files, trace.blamed)
    for name, names in (("spoken", trace.spoken), ("shown", trace.shown)):
        scores = _defining(state, names, size)[files]
        best = float(scores.max()) if len(scores) else 0.0
        columns[:, place[name]] = np.minimum(scores, 4.0)
        columns[:, place[f"{name}_best"]] = scores / best if best > 0 else 0.0
    for name, seeds in (("together", trace.files[:MOST_SOURCES]), ("with_tests", trace.tests[:MOST_SOURCES])):
        columns[:, place[name]] = _together(state, seeds, size)[files]
    stems = state.files.stem.view
    columns[:, place["stem"]] = np.isin(stems[files], stems[list(trace.tests)]) & ((traits[files] & TEST) == 0)
    columns[:, place["test"]] = (traits[files] & TEST) > 0
    columns[:, place["document"]] = (traits[files] & DOCUMENT) > 0
    return columns


def candidates(state: State, trace: Trace) -> Array:
    """Return the files worth ranking because of the error alone."""
    scores = _defining(state, (*trace.spoken, *trace.shown), len(state.files))
    defining = np.flatnonzero(scores)
    defining = defining[np.argsort(-scores[defining], kind="stable")][:30]
    rows = [evidence.together(state, file) for file in (*trace.files[:MOST_SOURCES], *trace.tests[:MOST_SOURCES])]
    near = [row.row["file"][np.argsort(-row.long, kind="stable")[:30]] for row in rows]
    found = [np.array([*trace.files, *trace.tests, *trace.blamed], "<i4"), defining.astype("<i4"), *near]
    return np.unique(np.concatenate(found)).astype("<i4")


def _defining(state: State, keys: tuple[int, ...], size: int) -> Array:
    """Return for each file the number of the names it defines.

    Each name counts one, shared among the files that define it; common names are skipped.
    """
    scores = np.zeros(size, "<f4")
    traits = state.files.traits.view
    for key in keys:
        files, _ = state.contents.definitions.holders(key)
        files = files[(traits[files] & TEST) == 0]
        if 0 < len(files) <= DEFINED_ONCE:
            scores[files] += 1.0 / len(files)
    return scores


def _together(state: State, seeds: tuple[int, ...], size: int) -> Array:
    shares = np.zeros(size, "<f4")
    for seed in seeds:
        row = evidence.together(state, seed)
        if len(row.row):
            shares[row.row["file"]] += row.shares / len(seeds)
    return shares
