"""Replay of histories beside methods that rank all files by a single signal, such as recency.

    python benchmarks/replay_baselines.py --repo CLONE --task first-file

The options are those of `hunch bench replay`. With `--shuffled`, the predictor learns shuffled messages or
changed files, as a control. The baselines are computed from the predictor's state.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hunchd.bench import replay
from hunchd.domain.context import Focus
from hunchd.domain.history import Unit
from hunchd.prediction import evidence
from hunchd.prediction.packed_arrays import Array, Scores, sum_by_number
from hunchd.prediction.query import PredictionQuery, build_query
from hunchd.prediction.state import PredictorState

MAX_RANKED = 20
FUSION_CONSTANT = 60  # reciprocal rank fusion's constant (Cormack et al., 2009)


def compute_rankings(state: PredictorState, focus: Focus, depth: int = MAX_RANKED) -> dict[str, list[str]]:
    """Return the ranking of each baseline applicable to this focus.

    The rankings are keyed by the name of the baseline and contain at most `depth` paths.
    """
    query = build_query(focus, state)
    usable = state.files.alive.view & ~state.mask_hubs()
    usable[list(query.seeds)] = False
    everything = np.flatnonzero(usable).astype("<i4")
    scores: dict[str, Scores] = {
        "recency": (everything, state.files.last.view[everything].astype("<f4")),
        "popularity": (everything, state.files.decayed_long_weights(everything, state.unit_count)),
    }
    if query.seeds:
        scores |= _score_by_seeds(state, query, everything)
    if query.keys:
        scores |= _score_by_text(state, query)
    order_by_name = {name: _order_files(state, usable, files, values) for name, (files, values) in scores.items()}
    fused_orders = [order_by_name[name] for name in _FUSED_NAMES if name in order_by_name]
    order_by_name["fusion (RRF)"] = _fuse_orders(fused_orders)
    return {name: [state.files.paths[file] for file in files[:depth].tolist()] for name, files in order_by_name.items()}


_FUSED_NAMES = ("co-change", "BM25 paths", "BM25 contents", "nearest messages", "same folder", "imports")


def _score_by_seeds(state: PredictorState, query: PredictionQuery, everything: Array) -> dict[str, Scores]:
    rows = [evidence.load_cochange(state, seed) for seed in query.seeds]
    counts = state.files.count.view
    folder = state.files.folder.view
    seed_folders = folder[list(query.seeds)]
    same = everything[np.isin(folder[everything], seed_folders)]
    link_scores = [evidence.score_imported(state, seed) for seed in query.seeds]
    link_scores += [evidence.score_importers(state, seed) for seed in query.seeds]
    return {
        "same folder": (same, state.files.last.view[same] + 2.0),
        "imports": _merge_scores(link_scores),
        "ROSE": _merge_scores([(row.row["file"], row.row["count"] / max(counts[row.seed], 1)) for row in rows]),
        "co-change": _merge_scores([(row.row["file"], row.long) for row in rows]),
    }


def _score_by_text(state: PredictorState, query: PredictionQuery) -> dict[str, Scores]:
    return {
        "BM25 paths": state.contents.paths.search(query.keys),
        "BM25 contents": state.contents.words.search(query.keys),
        "nearest messages": evidence.score_votes(
            state.messages.find_similar_units(state.messages.find_units_by_words(query.keys))
        )[0],
    }


def _merge_scores(scores: list[Scores]) -> Scores:
    return sum_by_number(
        np.concatenate([files for files, _ in scores]), np.concatenate([values for _, values in scores])
    )


def _order_files(state: PredictorState, usable: Array, files: Array, values: Array) -> Array:
    """Return the files in order of value, highest first.

    Ties are ordered by recency. Files without a positive value are left out.
    """
    is_ranked = usable[files] & (values > 0)
    files, values = files[is_ranked], values[is_ranked]
    result: Array = files[np.lexsort((-state.files.last.view[files], -values))]
    return result


def _fuse_orders(orders: list[Array]) -> Array:
    if not orders:
        return np.empty(0, "<i4")
    files = np.concatenate(orders)
    places = np.concatenate([1.0 / (FUSION_CONSTANT + 1 + np.arange(len(order))) for order in orders])
    unique, values = sum_by_number(files, places)
    return unique[np.argsort(-values, kind="stable")]


def shuffle_units(units: Sequence[Unit], what: str, seed: int) -> list[Unit]:
    """Return a shuffled copy of the history, as a control.

    If `what` is "messages", each unit gets the message and branch of another unit. Otherwise the modified files are
    shuffled among the units. Additions, deletions and renames are not shuffled, so that the set of files stays the
    same.
    """
    rng = random.Random(seed)
    if what == "messages":
        others = rng.sample(units, len(units))
        return [
            replace(unit, subject=other.subject, body=other.body, branch=other.branch)
            for unit, other in zip(units, others, strict=True)
        ]
    modified_changes = [change for unit in units for change in unit.changes if change.status == "M"]
    rng.shuffle(modified_changes)
    swapped_changes = iter(modified_changes)
    return [
        replace(
            unit, changes=tuple(next(swapped_changes) if change.status == "M" else change for change in unit.changes)
        )
        for unit in units
    ]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    replay.add_arguments(parser)
    parser.add_argument("--shuffled", choices=("messages", "history"))
    options = parser.parse_args(arguments)
    if options.shuffled is None:
        return replay.run(options, compute_rankings)
    return replay.run(options, shuffle=lambda units: shuffle_units(units, options.shuffled, options.seed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
