"""Ranking of files for a query by a weighted sum of signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from hunchd.codesearch.chunks import ChunkClass
from hunchd.codesearch.definitions import RankedChunk, find_best_cosines, rank_chunks
from hunchd.codesearch.index import Array, CodeIndex, Matches
from hunchd.codesearch.query import NAMED_ROLE_WEIGHT, CodeQuery
from hunchd.codesearch.roles import Role
from hunchd.codesearch.terms import hash_name

# Weights of the signals, whose values are between 0 and 1, by form of the question. Chosen on other repositories than
# those on which they were measured: docs/decisions/0025.
_QUESTION: Final = {
    "chunks": 1.0,
    "whole": 0.1,
    "predicted": 1.3,
    "predicted_whole": 0.0,
    "meaning": 0.5,
    "defines": 0.3,
    "mentioned": 1.5,
    "traced": 1.5,
    "role": 1.0,
}
WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "question": _QUESTION,
    "symbol": _QUESTION | {"defines": 2.0},
    "report": _QUESTION
    | {
        "chunks": 1.5,
        "whole": 0.5,
        "predicted": 0.7,
        "predicted_whole": 0.8,
        "meaning": 0.8,
    },
}
NEAREST: Final = 50  # number of nearest files that get a value above 0
# Weight of the definition of a type; that of a function is half of it, and that of a field a quarter.
FULL_WORTH: Final = 4.0
MOST_DEFINERS: Final = 20  # files that define a name: a name with more definers is not informative


@dataclass(frozen=True, slots=True)
class PredictionScores:
    """Scores of files by history, keyed by path: for the gist of a question, and the whole of an error report."""

    gist: Mapping[str, float] = field(default_factory=dict)
    whole: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankedFile:
    """File with its score, which is at most 1.0."""

    path: str
    number: int
    score: float
    coverage: float
    defines: tuple[str, ...]
    role: Role
    is_mentioned: bool
    is_traced: bool
    cosine: float = 0.0  # with the question: of the nearest chunk, or of the chunk that is shown


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranked files, and for a question the ranked chunks."""

    files: tuple[RankedFile, ...]
    matches: Matches
    chunks: tuple[tuple[RankedFile, RankedChunk], ...] = ()


def rank(
    index: CodeIndex,
    query: CodeQuery,
    prediction: PredictionScores,
    cosines: Array | None = None,
    *,
    most: int = 20,
    eligible_files: Array | None = None,
) -> Ranking:
    """Rank the files in `index`, and return at most `most` of them.

    `cosines` contains, for each chunk, the cosine of its vector with the vector of the question, and
    `eligible_files` says whether a file may be shown.
    """
    meaning = None if cosines is None or not cosines.any() else find_best_cosines(index, cosines)
    matches = index.match(query.terms, {ChunkClass.TEST: query.factors.get(Role.TEST, 1.0)})
    names, defines = _score_definitions(index, query)
    signals = _compute_signals(index, query, matches, defines, prediction, meaning)
    weights = WEIGHTS[query.form]
    total = np.zeros(len(index.paths), "<f4")
    for name, values in signals.items():
        total += np.float32(weights[name]) * values
    active_weight = sum(weights[name] for name, values in signals.items() if values.any())
    is_named = np.maximum(signals["mentioned"], signals["traced"]) > 0
    factors = np.array([query.factors.get(role, 1.0) for role in Role], "<f4")[index.roles]
    total = total * np.where(is_named, np.maximum(factors, 1.0), factors) / max(active_weight, 1e-6)
    total[~index.alive if eligible_files is None else ~(index.alive & eligible_files)] = -1.0
    order = np.argsort(-total, kind="stable")[:most]

    def describe(at: int) -> RankedFile:
        return RankedFile(
            path=index.paths[at],
            number=at,
            score=float(total[at]),
            coverage=float(matches.coverage[at]),
            defines=tuple(names.get(at, ())),
            role=Role(int(index.roles[at])),
            is_mentioned=bool(signals["mentioned"][at]),
            is_traced=bool(signals["traced"][at]),
            cosine=float(meaning[at]) if meaning is not None else 0.0,
        )

    files = tuple(describe(at) for at in order.tolist() if total[at] > 0)
    if not query.is_sentence:
        return Ranking(files, matches)
    chunks = rank_chunks(index, query, matches, total, cosines, meaning, most=most)
    return Ranking(
        files, matches, tuple((replace(describe(chunk.file), cosine=chunk.cosine), chunk) for chunk in chunks)
    )


def _compute_signals(
    index: CodeIndex,
    query: CodeQuery,
    matches: Matches,
    defines: Array,
    prediction: PredictionScores,
    meaning: Array | None,
) -> dict[str, Array]:
    """Return the signals by name, each from 0 to 1."""
    nothing = np.zeros(len(index.paths), "<f4")
    exact = query.form == "symbol" and bool(defines.any())
    return {
        "chunks": _scale_to_maximum(matches.chunks),
        "whole": _scale_to_maximum(matches.whole),
        "predicted": _scale_prediction(index, prediction.gist),
        "predicted_whole": _scale_prediction(index, prediction.whole),
        "meaning": nothing if meaning is None or exact else _scale_cosines(meaning),
        "defines": np.minimum(defines / np.float32(FULL_WORTH), 1.0),
        "mentioned": _score_mentions(index, query),
        "traced": _score_trace_frames(index, query),
        "role": _score_named_role(index, query),
    }


def _score_named_role(index: CodeIndex, query: CodeQuery) -> Array:
    """Return 1 for change logs that the question asks about."""
    if query.factors.get(Role.CHANGELOG, 0.0) < NAMED_ROLE_WEIGHT:
        return np.zeros(len(index.paths), "<f4")
    near = np.array([path.count("/") < 2 for path in index.paths], "?")
    role_scores: Array = ((index.roles == Role.CHANGELOG) & near).astype("<f4")
    return role_scores


def _score_definitions(index: CodeIndex, query: CodeQuery) -> tuple[dict[int, list[str]], Array]:
    """Map each file to the names in the question that it defines, and score the files; rare names add more."""
    names: dict[int, list[str]] = {}
    worth = np.zeros(len(index.paths), "<f4")
    for symbol, weight in query.symbols.items():
        files, values = index.find_definers(hash_name(symbol))
        if not 0 < len(files) <= MOST_DEFINERS:
            continue
        worth[files] += weight * values / np.sqrt(len(files))
        for file in files.tolist():
            names.setdefault(file, []).append(symbol)
    return names, worth


def _score_mentions(index: CodeIndex, query: CodeQuery) -> Array:
    """Return 1 for files whose paths, or the ends of these, the question mentions, and 0 for other files."""
    hits = np.zeros(len(index.paths), "<f4")
    for path in query.paths:
        files = find_files_ending(index, path)
        if len(files) <= 3:
            hits[list(files)] = 1.0
    return hits


def _score_trace_frames(index: CodeIndex, query: CodeQuery) -> Array:
    """Score the files in a traceback: 1 at the raise site, less for each further frame that the index has."""
    hits = np.zeros(len(index.paths), "<f4")
    place = 0
    for frame in query.frames:
        files = find_files_ending(index, frame.path)
        if len(files) == 1:
            place += 1
            hits[files[0]] = max(hits[files[0]], 1.0 / place)
    return hits


def find_files_ending(index: CodeIndex, partial_path: str) -> Sequence[int]:
    """Return the existing files with the name and the most trailing parts of a partial path, or none."""
    parts = [part for part in partial_path.split("/") if part not in ("", ".", "..")]
    if not parts:
        return ()
    longest = 0
    file_numbers: list[int] = []
    for path, file in index.by_name.get(parts[-1], ()):
        own = path.split("/")
        common = 0
        while common < min(len(own), len(parts)) and own[-1 - common] == parts[-1 - common]:
            common += 1
        if common > longest:
            longest, file_numbers = common, []
        if common == longest:
            file_numbers.append(file)
    return file_numbers


def _scale_prediction(index: CodeIndex, prediction_scores: Mapping[str, float]) -> Array:
    """Scale the predicted scores to between 0 and 1."""
    values = np.zeros(len(index.paths), "<f4")
    if prediction_scores:
        low, high = min(prediction_scores.values()), max(prediction_scores.values())
        for path, score in prediction_scores.items():
            if (file := index.numbers.get(path)) is not None:
                values[file] = (score - low) / max(high - low, 1e-6)
    return values


def _scale_cosines(cosines: Array) -> Array:
    """Scale the cosines of the NEAREST files to 1."""
    if not len(cosines):
        return cosines
    nearest = np.partition(cosines, -min(NEAREST, len(cosines)))[-NEAREST:]
    low, high = float(nearest.min()), float(nearest.max())
    spread: Array = np.clip((cosines - low) / max(high - low, 1e-6), 0.0, 1.0).astype("<f4")
    return spread


def _scale_to_maximum(values: Array) -> Array:
    highest = float(values.max()) if len(values) else 0.0
    return values / np.float32(highest) if highest > 0 else values
