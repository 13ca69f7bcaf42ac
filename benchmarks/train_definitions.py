"""Training of the weights by which code search ranks chunks for a question in words.

    python benchmarks/train_definitions.py QUESTIONS.jsonl --repos FOLDER [--write]

A line of the questions is {repo, question, accept: [{path, lines: [first, last]}, …]}; `repo` is a folder in `--repos`.
Prints how often the first result, and one of the first three, overlaps an accepted place, for repositories that the
weights were not learned on (six folds), and with `--write` replaces the shipped weights.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.bench.code import _iterate_outlines
from hunchd.codesearch import definitions, ranking, records, segment, vectors
from hunchd.codesearch.chunks import build_chunks
from hunchd.codesearch.index import BASE, CodeIndex
from hunchd.codesearch.query import parse_query
from hunchd.codesearch.ranking import PredictionScores
from hunchd.domain.context import Focus
from hunchd.embedding import fastembed_backend
from hunchd.ingestion.history import iter_units
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git

FOLDS, SHOWN = 6, 10
STEPS, RATE, DECAY = 300, 0.06, 0.01  # Adam with weight decay
MOST_LINES = 40  # a chunk counts if it is not much longer than the accepted place
NOW = 1_790_000_000


class Example:
    """Candidates of one question: features, places, and which are accepted."""

    def __init__(self, index: CodeIndex, accept: Sequence[dict[str, Any]], inputs: tuple[Any, ...]) -> None:
        query, matches, totals, near, best = inputs
        chosen = definitions._select_candidates(matches, near, totals[index.chunk_files] > 0)
        found = definitions.compute_features(index, query, matches, totals, near, best, chosen)
        self.names, self.features = tuple(found), np.stack(list(found.values()), axis=1)
        self.places = [
            (index.paths[index.chunk_files[at]], *map(int, index.chunk_lines[at, :2])) for at in chosen.tolist()
        ]
        self.accepted = np.array([any(_overlaps(place, one) for one in accept) for place in self.places], "?")

    def find_rank(self, weights: np.ndarray) -> int:
        shown: list[tuple[str, int, int]] = []
        for at in np.argsort(-(self.features @ weights), kind="stable").tolist():
            path, start, end = self.places[at]
            own = [one for one in shown if one[0] == path]
            if len(own) < definitions.PER_FILE and all(end < one[1] or one[2] < start for one in own):
                if self.accepted[at]:
                    return len(shown)
                shown.append(self.places[at])
        return len(self.places)


def _overlaps(place: tuple[str, int, int], accepted: dict[str, Any]) -> bool:
    path, start, end = place
    first, last = accepted["lines"]
    return (
        path == accepted["path"] and start <= last and first <= end and end - start <= 3 * (last - first) + MOST_LINES
    )


def collect(root: Path, questions: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """Yield the examples of one repository."""
    model, predictor, files, cards = fastembed_backend.load_embedder(), Predictor(), [], dict[int, str]()
    for unit in iter_units(Git(root), newest=2_000):
        predictor.learn_unit(unit)
    for outline, text in _iterate_outlines(root):
        predictor.update_content(outline)
        if chunks := build_chunks(outline, text):
            record = records.unpack(records.pack(chunks))
            files.append((outline.path, outline.language, len(files) + 1, record))
            cards |= zip(record.keys.tolist(), record.unpack_cards(), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        segment.write(segment.build(files), Path(folder) / BASE, {"serial": len(files)})
        index = CodeIndex(Path(folder))
        index.refresh()
        stored = zip(cards, map(vectors.quantize_vector, model.embed(list(cards.values()))), strict=True)
        vectors.write(Path(folder) / vectors.NAME, dict(stored))
        aligned = vectors.align_vectors(Path(folder) / vectors.NAME, index.get_card_keys())
        for question in questions:
            query = parse_query(question["question"])
            predicted = predictor.score_files(Focus(project="", query=query.gist), now=NOW, k=64)
            cosines = vectors.compute_cosines(aligned, model.embed([query.gist])[0])
            inputs: list[tuple[Any, ...]] = []
            ranking.rank_chunks = lambda _, *given, most, to=inputs: to.append(given) or []  # type: ignore[assignment]
            ranking.rank(index, query, PredictionScores(predicted), cosines)
            if inputs:
                yield Example(index, [one for one in question["accept"] if "path" in one], inputs[0])


def fit(examples: Sequence[Example]) -> np.ndarray:
    """Maximise the likelihood that a candidate drawn by its score is accepted."""
    used = [one for one in examples if one.accepted.any()]
    weights = np.zeros(len(used[0].names))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = DECAY * weights
        for one in used:
            scores = one.features @ weights
            odds = np.exp(scores - scores.max())
            right = odds * one.accepted
            slope = slope + one.features.T @ (odds / odds.sum() - right / right.sum()) / len(used)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weights -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    by_repo: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in options.questions.read_text("utf-8").splitlines():
        by_repo[json.loads(line)["repo"]].append(json.loads(line))
    examples = {repo: list(collect(options.repos / repo, some)) for repo, some in by_repo.items()}
    repos, ranks = sorted(examples), list[int]()
    random.Random(1).shuffle(repos)
    for fold in range(FOLDS):
        held = repos[fold::FOLDS]
        weights = fit([one for repo in repos if repo not in held for one in examples[repo]])
        ranks += [one.find_rank(weights) for repo in held for one in examples[repo]]
    for most in (1, 3, SHOWN):
        print(f"one of the first {most}: {np.mean(np.array(ranks) < most):.3f} of {len(ranks)}")
    if options.write:
        everything = [one for some in examples.values() for one in some]
        rounded = {name: round(float(one), 2) for name, one in zip(everything[0].names, fit(everything), strict=True)}
        file = Path(definitions.__file__).with_name("definition_weights.json")
        file.write_text(json.dumps({name: one for name, one in rounded.items() if one}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
