"""Adjustment of scores when the query contains an error.

A file's features that come from the error's traceback are called signs here. They are added up as log odds.
"""

from __future__ import annotations

import numpy as np

from hunchd.prediction import evidence
from hunchd.prediction.file_table import DOCUMENT, TEST
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.state import PredictorState
from hunchd.prediction.traces import MAX_DEFINERS, ErrorTrace

SIGN_NAMES = (
    "raised",  # the source nearest to the raise site
    "second",
    "third",
    "further",
    "blamed",  # file of a module that the message complains about
    "spoken",  # defines names in the message
    "shown",  # defines names in the lines that the trace quotes
    "spoken_best",
    "shown_best",
    "together",  # changes with the sources of the trace
    "with_tests",  # changes with the tests of the trace
    "stem",  # named after the test
    "test",
    "document",
)
MAX_SOURCES = 3


# Log odds added for each sign.
SIGN_WEIGHTS = np.array([1.5, 0.8, 0.5, 0.2, 1.0, 0.5, 0.3, 0.8, 0.8, 1.0, 0.5, 0.5, -1.5, -1.5], "<f4")


def compute_swing(state: PredictorState, trace: ErrorTrace, files: Array) -> Array:
    """Return how much the error changes each file's log odds."""
    change: Array = compute_signs(state, trace, files) @ SIGN_WEIGHTS
    return change


def compute_signs(state: PredictorState, trace: ErrorTrace, files: Array) -> Array:
    """Return the signs of `files` in the error, with shape (files, features)."""
    traits, size = state.files.traits.view, len(state.files)
    columns = np.zeros((len(files), len(SIGN_NAMES)), "<f4")
    place = {name: number for number, name in enumerate(SIGN_NAMES)}
    for rank, file in enumerate(trace.files):
        columns[files == file, place[("raised", "second", "third")[rank] if rank < 3 else "further"]] = 1.0
    columns[:, place["blamed"]] = np.isin(files, trace.blamed_files)
    for name, names in (("spoken", trace.message_names), ("shown", trace.quoted_names)):
        scores = _score_definitions(state, names, size)[files]
        best = float(scores.max()) if len(scores) else 0.0
        columns[:, place[name]] = np.minimum(scores, 4.0)
        columns[:, place[f"{name}_best"]] = scores / best if best > 0 else 0.0
    for name, seeds in (("together", trace.files[:MAX_SOURCES]), ("with_tests", trace.tests[:MAX_SOURCES])):
        columns[:, place[name]] = _share_of_cochange(state, seeds, size)[files]
    stems = state.files.stem.view
    columns[:, place["stem"]] = np.isin(stems[files], stems[list(trace.tests)]) & ((traits[files] & TEST) == 0)
    columns[:, place["test"]] = (traits[files] & TEST) > 0
    columns[:, place["document"]] = (traits[files] & DOCUMENT) > 0
    return columns


def list_candidates(state: PredictorState, trace: ErrorTrace) -> Array:
    """Return the files that are worth ranking because of the error alone."""
    scores = _score_definitions(state, (*trace.message_names, *trace.quoted_names), len(state.files))
    defining = np.flatnonzero(scores)
    defining = defining[np.argsort(-scores[defining], kind="stable")][:30]
    rows = [evidence.load_cochange(state, file) for file in (*trace.files[:MAX_SOURCES], *trace.tests[:MAX_SOURCES])]
    near_files = [row.row["file"][np.argsort(-row.long, kind="stable")[:30]] for row in rows]
    parts = [np.array([*trace.files, *trace.tests, *trace.blamed_files], "<i4"), defining.astype("<i4"), *near_files]
    return np.unique(np.concatenate(parts)).astype("<i4")


def _score_definitions(state: PredictorState, keys: tuple[int, ...], size: int) -> Array:
    """Score each file by how many of the names it defines.

    Each name adds 1 divided by the number of files that define it. Test files are ignored, and names defined in
    many files are skipped.
    """
    scores = np.zeros(size, "<f4")
    traits = state.files.traits.view
    for key in keys:
        files, _ = state.contents.definitions.find_holders(key)
        files = files[(traits[files] & TEST) == 0]
        if 0 < len(files) <= MAX_DEFINERS:
            scores[files] += 1.0 / len(files)
    return scores


def _share_of_cochange(state: PredictorState, seeds: tuple[int, ...], size: int) -> Array:
    shares = np.zeros(size, "<f4")
    for seed in seeds:
        row = evidence.load_cochange(state, seed)
        if len(row.row):
            shares[row.row["file"]] += row.shares / len(seeds)
    return shares
