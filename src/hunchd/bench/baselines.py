"""Baselines that rank all files by one signal each.

They use the predictor's state.
"""

from __future__ import annotations

import numpy as np

from hunchd.domain.context import Focus
from hunchd.prediction import evidence
from hunchd.prediction.packed import Array, Scores, summed
from hunchd.prediction.query import Query, query_of
from hunchd.prediction.state import State

DEPTH = 20
FUSION = 60  # reciprocal rank fusion's constant (Cormack et al., 2009)


def rankings(state: State, focus: Focus, depth: int = DEPTH) -> dict[str, list[str]]:
    """Return the rankings of all baselines that apply to this focus, by name."""
    query = query_of(focus, state)
    usable = state.files.alive.view & ~state.hubs()
    usable[list(query.seeds)] = False
    everything = np.flatnonzero(usable).astype("<i4")
    scores: dict[str, Scores] = {
        "recency": (everything, state.files.last.view[everything].astype("<f4")),
        "popularity": (everything, state.files.faded_slowly(everything, state.now)),
    }
    if query.seeds:
        scores |= _by_seeds(state, query, everything)
    if query.keys:
        scores |= _by_text(state, query)
    ordered = {name: _ordered(state, usable, files, values) for name, (files, values) in scores.items()}
    fused = [ordered[name] for name in _FUSED if name in ordered]
    ordered["fusion (RRF)"] = _fused(fused)
    return {name: [state.files.paths[file] for file in files[:depth].tolist()] for name, files in ordered.items()}


_FUSED = ("co-change", "BM25 paths", "BM25 contents", "nearest messages", "same folder", "imports")


def _by_seeds(state: State, query: Query, everything: Array) -> dict[str, Scores]:
    rows = [evidence.together(state, seed) for seed in query.seeds]
    counts = state.files.count.view
    folder = state.files.folder.view
    seed_folders = folder[list(query.seeds)]
    same = everything[np.isin(folder[everything], seed_folders)]
    linked = [evidence.imported(state, seed) for seed in query.seeds]
    linked += [evidence.importers(state, seed) for seed in query.seeds]
    return {
        "same folder": (same, state.files.last.view[same] + 2.0),
        "imports": _merged(linked),
        "ROSE": _merged([(row.row["file"], row.row["count"] / max(counts[row.seed], 1)) for row in rows]),
        "co-change": _merged([(row.row["file"], row.long) for row in rows]),
    }


def _by_text(state: State, query: Query) -> dict[str, Scores]:
    return {
        "BM25 paths": state.contents.paths.search(query.keys),
        "BM25 contents": state.contents.words.search(query.keys),
        "nearest messages": evidence.voted(state.messages.nearest(state.messages.saying(query.keys)))[0],
    }


def _merged(scores: list[Scores]) -> Scores:
    return summed(np.concatenate([files for files, _ in scores]), np.concatenate([values for _, values in scores]))


def _ordered(state: State, usable: Array, files: Array, values: Array) -> Array:
    """Return the files best first, ties by recency.

    Files without a value are left out.
    """
    kept = usable[files] & (values > 0)
    files, values = files[kept], values[kept]
    ordered: Array = files[np.lexsort((-state.files.last.view[files], -values))]
    return ordered


def _fused(orders: list[Array]) -> Array:
    if not orders:
        return np.empty(0, "<i4")
    files = np.concatenate(orders)
    places = np.concatenate([1.0 / (FUSION + 1 + np.arange(len(order))) for order in orders])
    unique, values = summed(files, places)
    return unique[np.argsort(-values, kind="stable")]
