"""Prediction of the files that a change in progress still lacks."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from hunchd.domain.context import NAME_ROLES, ChangedName, Focus, MissingFile
from hunchd.prediction import evidence
from hunchd.prediction.expected import find_expected_files
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.query import MAX_SEEDS, PredictionQuery, build_query
from hunchd.prediction.ranking import Linear
from hunchd.prediction.state import PredictorState

# The weights of a logistic regression; `benchmarks/train_review.py` trains it (decision 0077).
WEIGHTS_FILE = Path(__file__).with_name("missing_weights.json")
FEATURES = (
    "probability",  # log odds of the predictor's probability
    "share",  # largest share of a changed file's past changes that included the file
    "size",  # log of the number of changed files
    *(f"{how}_{role}" for how in ("sum", "best") for role in ("removed", "added", "changed", "nearby")),
    "expected",  # probability of a lock file, a change log or a folder of entries
    "is_hub",
    "mostly",  # by how much the share exceeds MOSTLY
)
MOSTLY = 0.4
UNLIKELY = 1e-3  # probability of a file that the predictor does not rank
LOOKED_AT = 40  # predicted files
BY_NAMES = 10  # further files that have names of the change
MOST = 5  # files that are reported: nobody would check a longer list
MAX_QUOTED = 2  # names in a reason


def find_missing_files(
    predictor: Predictor, changed_paths: Sequence[str], focus: Focus, now: int, names: Sequence[ChangedName] = ()
) -> tuple[MissingFile, ...]:
    """Return the files that a change most likely still needs.

    `changed_paths` are the files changed so far, newest last, `names` those in the changed lines; `focus` has the
    author and branch. The most likely file comes first; nothing is returned if the change looks complete.
    """
    candidates, matrix = gather_missing_candidates(predictor, changed_paths, focus, now, names)
    weights, bias, least = _load_weights()
    probabilities = 1 / (1 + np.exp(-weights.compute_scores(matrix) - bias))
    order = np.argsort(-probabilities, kind="stable")[:MOST].tolist()
    return tuple(
        replace(candidates[row], probability=float(probabilities[row])) for row in order if probabilities[row] >= least
    )


def gather_missing_candidates(
    predictor: Predictor, changed_paths: Sequence[str], focus: Focus, now: int, names: Sequence[ChangedName]
) -> tuple[list[MissingFile], Array]:
    """Return the files that a change may lack, without probabilities, and a row of FEATURES for each."""
    review_focus = replace(focus, file=None, open_files=tuple(changed_paths[-MAX_SEEDS:]))
    query = build_query(review_focus, predictor.state)
    if not query.seeds:
        return [], np.zeros((0, len(FEATURES)))
    predicted_files = {one.path: one for one in predictor.predict(review_focus, now=now, k=LOOKED_AT).files}
    hubs = _find_hubs(predictor.state, query)
    evidence_by_path = _weigh_names(names, frozenset(changed_paths))
    by_names = sorted(evidence_by_path, key=lambda path: -evidence_by_path[path][:3].sum())[:BY_NAMES]
    shares = _compute_shares(predictor.state, query)
    candidates: list[MissingFile] = []
    rows: list[list[float]] = []
    for path in dict.fromkeys([*predicted_files, *hubs, *by_names]):
        if _is_touched(path, changed_paths):
            continue
        likely = min(max(predicted_files[path].confidence if path in predicted_files else 0.0, UNLIKELY), 1 - UNLIKELY)
        hub = hubs.get(path)
        reasons = (*(predicted_files[path].reasons if path in predicted_files else ()), *_explain_names(names, path))
        candidates.append(MissingFile(path, 0.0, (hub[1], *reasons) if hub else reasons))
        rows.append(
            [
                math.log(likely / (1 - likely)),
                shares.get(path, 0.0),
                math.log(len(changed_paths)),
                *np.log1p(10 * evidence_by_path[path]),
                hub[0] if hub else 0.0,
                float(hub is not None),
                max(shares.get(path, 0.0) - MOSTLY, 0.0),
            ]
        )
    return candidates, np.array(rows).reshape(-1, len(FEATURES))


@cache
def _load_weights() -> tuple[Linear, float, float]:
    """Return the weights, their intercept, and the probability from which a file is reported."""
    table = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    return Linear(*(np.array(table[name]) for name in ("mean", "scale", "weights"))), table["bias"], table["least"]


def _compute_shares(state: PredictorState, query: PredictionQuery) -> dict[str, float]:
    """Map each file to its largest share of the changes of a changed file."""
    shares: dict[str, float] = {}
    for seed in query.seeds:
        first = evidence.load_cochange(state, seed)
        for file, share in zip(first.row["file"].tolist(), first.shares.tolist(), strict=True):
            path = state.files.paths[file]
            shares[path] = max(share, shares.get(path, 0.0))
    return shares


def _weigh_names(names: Iterable[ChangedName], changed_paths: frozenset[str]) -> defaultdict[str, Array]:
    """Map each file outside the change to the evidence of the names that it shares with the changed lines.

    A name counts the more, the fewer files have it. Of each role, the sum and the largest weight are returned.
    """
    weights = defaultdict[str, Array](lambda: np.zeros(2 * len(NAME_ROLES)))
    for name in names:
        outside = [path for path in name.files if path not in changed_paths]
        for path in outside:
            row, best = weights[path], len(NAME_ROLES) + name.role
            row[name.role] += 1 / len(outside)
            row[best] = max(row[best], 1 / len(outside))
    return weights


def _explain_names(names: Iterable[ChangedName], path: str) -> tuple[str, ...]:
    """Return a reason that quotes the rarest names of the change that the file at `path` has, but no plain words."""
    coined = (name for name in names if not (name.name.isalpha() and name.name[1:].islower()))
    shared_names = [name for name in coined if path in name.files and name.role < len(NAME_ROLES) - 1]
    if not shared_names:
        return ()
    rarest = sorted(shared_names, key=lambda name: (name.role, len(name.files), name.name))
    quotes = [f"`{name.name}`" for name in rarest if name.role == rarest[0].role][:MAX_QUOTED]
    return (f"has {' and '.join(quotes)}, which the change {NAME_ROLES[rarest[0].role]}",)


def _find_hubs(state: PredictorState, query: PredictionQuery) -> dict[str, tuple[float, str]]:
    """Map each lock file, change log or folder of entries to its probability and the reason for it."""
    best: dict[str, tuple[float, str]] = {}
    for seed in query.seeds:
        for one in find_expected_files(state, replace(query, seeds=(seed,))):
            whose = f"of {state.files.paths[seed]}" if one.of_file else "of the project"
            reason = f"in {one.times} of the last {one.of} changes {whose}"
            best[one.path] = max(best.get(one.path, (0.0, "")), (one.probability, reason))
    return best


def _is_touched(path: str, changed_paths: Iterable[str]) -> bool:
    return any(one == path or (path.endswith("/") and one.startswith(path)) for one in changed_paths)
