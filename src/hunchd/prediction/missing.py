"""Prediction of the files that a change in progress still lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hunchd.domain.context import ExpectedFile, Focus, MissingFile, PredictedFile
from hunchd.prediction import evidence
from hunchd.prediction.expected import find_expected_files
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.query import MAX_SEEDS, PredictionQuery, build_query
from hunchd.prediction.state import PredictorState

# Logistic regression on half and whole changes (1,908 questions from ten histories): how far the predictor's
# probability, the share of a changed file's past changes that included the missing file, and the size of the change
# count. On histories left out, .65 of the files named at LIKELY were part of the change, and for one complete change
# in seven a file is named (decision 0020).
OF_PROBABILITY, OF_SHARE, OF_SIZE, INTERCEPT = 0.96, 2.34, -1.09, -1.02
LIKELY = 0.25  # probability from which a file is reported as missing
LIKELY_HUB = 0.5  # … for a lock file or a change log, which many changes do not need
LOOKED_AT = 12  # predicted files
MOST = 5  # files that are reported: nobody would check a longer list


def find_missing_files(
    predictor: Predictor, changed_paths: Sequence[str], focus: Focus, now: int
) -> tuple[MissingFile, ...]:
    """Return the files that a change most likely still needs.

    The most likely one comes first. `changed_paths` are the files changed so far, newest last; `focus` provides the
    author and the branch. Returns an empty tuple if the change looks complete.
    """
    review_focus = replace(focus, file=None, open_files=tuple(changed_paths[-MAX_SEEDS:]))
    query = build_query(review_focus, predictor.state)
    if not query.seeds:
        return ()
    files = predictor.predict(review_focus, now=now, k=LOOKED_AT).files
    missing_candidates = [
        _build_predicted(predictor.state, query, one) for one in files if one.path not in changed_paths
    ]
    likely = [one for one in missing_candidates if one.probability >= LIKELY]
    likely += _list_expected_hubs(predictor.state, query, changed_paths)
    return tuple(sorted(likely, key=lambda one: (-one.probability, one.path))[:MOST])


def _build_predicted(state: PredictorState, query: PredictionQuery, one: PredictedFile) -> MissingFile:
    likely = min(max(one.confidence, 1e-3), 1 - 1e-3)
    score = INTERCEPT + OF_PROBABILITY * math.log(likely / (1 - likely)) + OF_SIZE * math.log(len(query.seeds))
    score += OF_SHARE * max(_compute_share(state, seed, state.files.numbers[one.path]) for seed in query.seeds)
    return MissingFile(one.path, 1 / (1 + math.exp(-score)), one.reasons)


def _compute_share(state: PredictorState, seed: int, file: int) -> float:
    """Return P(file | seed), the share of a seed's changes that included the file.

    The share is estimated from the co-change of the two files.
    """
    first = evidence.load_cochange(state, seed)
    place = (first.row["file"] == file).nonzero()[0]
    return float(first.shares[place[0]]) if len(place) else 0.0


def _list_expected_hubs(
    state: PredictorState, query: PredictionQuery, changed_paths: Sequence[str]
) -> list[MissingFile]:
    """Return the hubs that are likely to change.

    Hubs are lock files, change logs and folders of entries. The reason given for each hub is the changed file that
    makes it most probable.
    """
    best: dict[str, tuple[ExpectedFile, str]] = {}
    for seed in query.seeds:
        for one in find_expected_files(state, replace(query, seeds=(seed,))):
            if one.path not in best or one.probability > best[one.path][0].probability:
                best[one.path] = (one, state.files.paths[seed])
    likely = (pair for pair in best.values() if pair[0].probability >= LIKELY_HUB)
    return [_build_expected(one, seed) for one, seed in likely if not _is_touched(one.path, changed_paths)]


def _is_touched(path: str, changed_paths: Iterable[str]) -> bool:
    return any(one == path or (path.endswith("/") and one.startswith(path)) for one in changed_paths)


def _build_expected(one: ExpectedFile, seed: str) -> MissingFile:
    whose = f"of {seed}" if one.of_file else "of the project"
    return MissingFile(one.path, one.probability, (f"in {one.times} of the last {one.of} changes {whose}",))
