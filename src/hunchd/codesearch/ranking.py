"""Rank files for a question: words, names, what prediction knows and what is near in meaning, added by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hunchd.codesearch.index import Array, CodeIndex, Matches
from hunchd.codesearch.query import NAMED, CodeQuery
from hunchd.codesearch.roles import Role
from hunchd.codesearch.terms import term_of_name

# Weights of what speaks for a file, each between 0 and 1, by form of the question. Chosen on other repositories than
# those they were measured on: docs/decisions/0025.
_QUESTION: Final = {
    "chunks": 1.0,
    "best": 0.2,
    "whole": 0.1,
    "predicted": 1.3,
    "predicted_whole": 0.0,
    "meaning": 0.5,
    "named": 0.3,
    "abbreviated": 0.4,
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
        "named": 0.0,
        "abbreviated": 0.1,
    },
}
NEAREST: Final = 50  # files among which nearness is told from the rest
FULL_WORTH: Final = 4.0  # of a definition: a type's; a function's is half of it, a field's a quarter
MOST_DEFINERS: Final = 20  # files that define a name: more tell nothing


@dataclass(frozen=True, slots=True)
class Predicted:
    """Scores by path of what history expects for the gist of a question, and for the whole of a report."""

    gist: Mapping[str, float] = field(default_factory=dict)
    whole: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankedFile:
    """`score` is 1.0 for a file that everything speaks for. `covered`: the share of what was asked that it says."""

    path: str
    number: int
    score: float
    covered: float
    defines: tuple[str, ...]
    role: Role
    mentioned: bool
    traced: bool
    cosine: float = 0.0  # with the question, where files have vectors


@dataclass(frozen=True, slots=True)
class Ranking:
    files: tuple[RankedFile, ...]
    matches: Matches


def rank(
    index: CodeIndex,
    query: CodeQuery,
    predicted: Predicted,
    meaning: Array | None = None,
    *,
    most: int = 20,
    kept: Array | None = None,
) -> Ranking:
    """Rank the files of `index`.

    `meaning` is by file the cosine with the question, `kept` by file whether it may be shown.
    """
    matches = index.match(query.terms, tests=query.factors.get(Role.TEST, 1.0))
    names, defines = _definitions(index, query)
    signals = _signals(index, query, matches, defines, predicted, meaning)
    weights = WEIGHTS[query.form]
    total = np.zeros(len(index.paths), "<f4")
    for name, values in signals.items():
        total += np.float32(weights[name]) * values
    asked = sum(weights[name] for name, values in signals.items() if values.any())
    named = np.maximum(signals["mentioned"], signals["traced"]) > 0
    factors = np.array([query.factors.get(role, 1.0) for role in Role], "<f4")[index.roles]
    total = total * np.where(named, np.maximum(factors, 1.0), factors) / max(asked, 1e-6)
    total[~index.alive if kept is None else ~(index.alive & kept)] = 0.0
    order = np.argsort(-total, kind="stable")[:most]
    files = [
        RankedFile(
            path=index.paths[at],
            number=at,
            score=float(total[at]),
            covered=float(matches.covered[at]),
            defines=tuple(names.get(at, ())),
            role=Role(int(index.roles[at])),
            mentioned=bool(signals["mentioned"][at]),
            traced=bool(signals["traced"][at]),
            cosine=float(meaning[at]) if meaning is not None else 0.0,
        )
        for at in order.tolist()
        if total[at] > 0
    ]
    return Ranking(tuple(files), matches)


def _signals(
    index: CodeIndex,
    query: CodeQuery,
    matches: Matches,
    defines: Array,
    predicted: Predicted,
    meaning: Array | None,
) -> dict[str, Array]:
    """What speaks for each file, between 0 and 1, by name of its weight."""
    nothing = np.zeros(len(index.paths), "<f4")
    exact = query.form == "symbol" and bool(defines.any())
    return {
        "chunks": _relative(matches.chunks),
        "best": _relative(matches.best),
        "whole": _relative(matches.whole),
        "predicted": _spread(index, predicted.gist),
        "predicted_whole": _spread(index, predicted.whole),
        "meaning": nothing if meaning is None or exact else _nearness(meaning),
        "named": index.named(query.terms),
        "abbreviated": index.abbreviated(query.words),
        "defines": np.minimum(defines / np.float32(FULL_WORTH), 1.0),
        "mentioned": _mentioned(index, query),
        "traced": _traced(index, query),
        "role": _of_named_role(index, query),
    }


def _of_named_role(index: CodeIndex, query: CodeQuery) -> Array:
    """1 for the change logs of a project that is asked about its change log, whatever words they use."""
    if query.factors.get(Role.CHANGELOG, 0.0) < NAMED:
        return np.zeros(len(index.paths), "<f4")
    near = np.array([path.count("/") < 2 for path in index.paths], "?")
    wanted: Array = ((index.roles == Role.CHANGELOG) & near).astype("<f4")
    return wanted


def _definitions(index: CodeIndex, query: CodeQuery) -> tuple[dict[int, list[str]], Array]:
    """By file the names in the question that it defines, and what that is worth: rare names more."""
    names: dict[int, list[str]] = {}
    worth = np.zeros(len(index.paths), "<f4")
    for symbol, weight in query.symbols.items():
        files, values = index.definers(term_of_name(symbol))
        if not 0 < len(files) <= MOST_DEFINERS:
            continue
        worth[files] += weight * values / np.sqrt(len(files))
        for file in files.tolist():
            names.setdefault(file, []).append(symbol)
    return names, worth


def _mentioned(index: CodeIndex, query: CodeQuery) -> Array:
    """1 for files whose path ends as the question says, if few do."""
    hits = np.zeros(len(index.paths), "<f4")
    for named in query.paths:
        files = files_ending(index, named)
        if len(files) <= 3:
            hits[list(files)] = 1.0
    return hits


def _traced(index: CodeIndex, query: CodeQuery) -> Array:
    """The files of a traceback: 1 at the raise site, less further from it. Frames of other packages have no file."""
    hits = np.zeros(len(index.paths), "<f4")
    place = 0
    for frame in query.frames:
        files = files_ending(index, frame.path)
        if len(files) == 1:
            place += 1
            hits[files[0]] = max(hits[files[0]], 1.0 / place)
    return hits


def files_ending(index: CodeIndex, named: str) -> Sequence[int]:
    """The living files with the longest ending in common with a path; none where not even the name is."""
    parts = [part for part in named.split("/") if part not in ("", ".", "..")]
    if not parts:
        return ()
    longest = 0
    found: list[int] = []
    for path, file in index.by_name.get(parts[-1], ()):
        own = path.split("/")
        common = 0
        while common < min(len(own), len(parts)) and own[-1 - common] == parts[-1 - common]:
            common += 1
        if common > longest:
            longest, found = common, []
        if common == longest:
            found.append(file)
    return found


def _spread(index: CodeIndex, predicted: Mapping[str, float]) -> Array:
    """Predicted scores between 0 and 1 of the candidates; 0 for the others."""
    values = np.zeros(len(index.paths), "<f4")
    if predicted:
        low, high = min(predicted.values()), max(predicted.values())
        for path, score in predicted.items():
            if (file := index.numbers.get(path)) is not None:
                values[file] = (score - low) / max(high - low, 1e-6)
    return values


def _nearness(cosines: Array) -> Array:
    """Cosines between 0 and 1, from that of the file at NEAREST to the nearest."""
    if not len(cosines):
        return cosines
    nearest = np.partition(cosines, -min(NEAREST, len(cosines)))[-NEAREST:]
    low, high = float(nearest.min()), float(nearest.max())
    spread: Array = np.clip((cosines - low) / max(high - low, 1e-6), 0.0, 1.0).astype("<f4")
    return spread


def _relative(values: Array) -> Array:
    highest = float(values.max()) if len(values) else 0.0
    return values / np.float32(highest) if highest > 0 else values
