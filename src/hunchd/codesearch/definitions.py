"""Ranking of the chunks that may answer a question, by a linear model.

`benchmarks/train_definitions.py` learns the weights from questions with the lines that answer them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from hunchd.codesearch.chunks import ChunkClass
from hunchd.codesearch.index import Array, CodeIndex, Matches
from hunchd.codesearch.query import CodeQuery
from hunchd.codesearch.relations import find_targets, rate_relations
from hunchd.codesearch.roles import Role

CANDIDATES: Final = 150  # best chunks by each signal
NEAREST: Final = 30  # chunks by which cosines are scaled
SMALL: Final = 6  # lines; what is shorter seldom decides anything
PER_FILE: Final = 2  # results
WEIGHTS: Final[Mapping[str, float]] = json.loads(Path(__file__).with_name("definition_weights.json").read_text("utf-8"))


class RankedChunk(NamedTuple):
    """Chunk with its file, its number in the whole index, and its score."""

    file: int
    number: int
    score: float
    cosine: float
    related_name: str = ""  # name that it uses, tests or describes, if that was asked


def rank_chunks(
    index: CodeIndex,
    query: CodeQuery,
    matches: Matches,
    totals: Array,
    cosines: Array | None,
    best_cosines: Array | None,
    *,
    most: int,
) -> list[RankedChunk]:
    """Rank chunks for a question; `totals` are the scores of their files.

    `cosines` contains the cosine of each chunk with the question, and `best_cosines` the highest of each file. Chunks
    of files that score 0 are left out unless they are related to what is asked, those of files that score less always.
    """
    files = index.chunk_files
    near = np.zeros(len(files), "<f4") if cosines is None else cosines
    best = np.zeros(len(index.paths), "<f4") if best_cosines is None else best_cosines
    candidates = _select_candidates(matches, near, totals[files] > 0)
    if not len(candidates):
        return []

    def score(numbers: Array) -> Array:
        features = compute_features(index, query, matches, totals, near, best, numbers)
        return np.asarray(sum(np.float32(WEIGHTS.get(name, 0.0)) * values for name, values in features.items()))

    scores, names = score(candidates), dict[int, str]()
    if query.relation is not None:
        targets = find_targets(index, query, candidates, scores)
        gains, names = rate_relations(index, query.relation, targets)
        candidates = np.union1d(candidates, [chunk for chunk in names if totals[files[chunk]] >= 0]).astype("<i8")
        scores = score(candidates) + gains[candidates]
    chunks: list[RankedChunk] = []
    spans: dict[int, list[tuple[int, int]]] = {}
    for at in np.argsort(-scores, kind="stable").tolist():
        number = int(candidates[at])
        file, (start, end) = int(files[number]), index.chunk_lines[number, :2].tolist()
        own = spans.setdefault(file, [])
        if len(own) < PER_FILE and all(end < first or last < start for first, last in own):
            own.append((start, end))
            chunks.append(RankedChunk(file, number, float(scores[at]), float(near[number]), names.get(number, "")))
            if len(chunks) == most:
                break
    return chunks


def compute_features(
    index: CodeIndex, query: CodeQuery, matches: Matches, totals: Array, near: Array, best: Array, candidates: Array
) -> dict[str, Array]:
    """Return the features of `candidates` by name."""
    files = index.chunk_files[candidates]
    roles, classes = index.roles[files], index.chunk_classes[candidates]
    size = index.chunk_lines[candidates, 1].astype("<f4") - index.chunk_lines[candidates, 2] + 1
    words, shares = matches.words, matches.shares
    nearest = np.partition(near, -min(NEAREST, len(near)))[-NEAREST:]
    factors = np.log(np.array([query.factors.get(role, 1.0) for role in Role], "<f4"))
    features = {
        "file": _scale(totals, files),
        "whole": _scale(matches.whole, files),
        "words": _scale(words, candidates),
        "covered words": _scale(words * shares, candidates),
        "covered": shares[candidates],
        "cosine": near[candidates],
        "nearest": np.clip((near[candidates] - nearest.min()) / max(float(np.ptp(nearest)), 1e-3), -0.5, 1.0),
        "best cosine": best[files],
        "size": np.log(np.maximum(size, 1)) / 4,
        "small": size < SMALL,
        "list": classes == ChunkClass.LIST,
        "list asked for": (classes == ChunkClass.LIST) & query.asks_list,
        "nameless": classes == ChunkClass.NAMELESS,
        "test in source": classes == ChunkClass.TEST,
        "role": factors[roles],
    }
    features |= {role.name.lower(): roles == role for role in Role if role is not Role.SOURCE}
    return {name: np.asarray(values, "<f4") for name, values in features.items()}


def find_best_cosines(index: CodeIndex, cosines: Array) -> Array:
    """Return the cosine of the nearest chunk of each file."""
    best: Array = np.zeros(len(index.paths), "<f4")
    np.maximum.at(best, index.chunk_files, cosines)
    return best


def _select_candidates(matches: Matches, near: Array, eligible: Array) -> Array:
    chosen = np.zeros(len(near), "?")
    for signal in (matches.words, matches.words * matches.shares, near):
        most = min(CANDIDATES, len(signal))
        best = np.argpartition(-signal, most - 1)[:most] if most else np.zeros(0, "<i8")
        chosen[best[signal[best] > 0]] = True
    candidates: Array = np.flatnonzero(chosen & eligible)
    return candidates


def _scale(values: Array, chosen: Array) -> Array:
    shares: Array = values[chosen] / np.float32(max(float(values.max()), 1e-6))
    return shares
