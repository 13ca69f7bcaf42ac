"""Evaluation of contradictions: labelled pairs, and pairs of neighbouring statements.

    python benchmarks/contradictions.py --pairs FILE …       precision and recall by kind; `--show N` mistakes
    python benchmarks/contradictions.py --pairs FILE … --neighbours 3      statements of other pairs about near things

A file has JSON Lines with `a`, `b` and a label: `label` (with `meant`, what the author intended; only pairs on which
both agree count), or `contradiction`. Pairs are judged like in the daemon: requirements exactly, all others by the
model on this machine. `--changes` names another file of the model's changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hunchd.consolidation.contradictions.candidate_search import MIN_PROBABILITY
from hunchd.consolidation.contradictions.requirements import compare_requirements
from hunchd.embedding import entailment, fastembed_backend


class Pair(NamedTuple):
    a: str
    b: str
    is_contradiction: bool
    kind: str


def load_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a file on whose label author and labeller agree."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    labels = [row["contradiction"] if "contradiction" in row else row["label"] for row in rows]
    return [
        Pair(row["a"], row["b"], bool(label), row.get("kind") or row.get("relation", ""))
        for row, label in zip(rows, labels, strict=True)
        if row.get("meant", label) == label
    ]


class Judge:
    """Judge of pairs as in the daemon."""

    def __init__(self, changes: Path) -> None:
        entailment.ENTAILMENT_DIGEST = hashlib.sha256(changes.read_bytes()).hexdigest()  # type: ignore[misc]
        self.embed = fastembed_backend.load_embedder().embed
        self._model = fastembed_backend.load_contradiction_model(self.embed, changes)

    def rate(self, a: str, b: str) -> float:
        """Return the probability that both cannot hold."""
        differ = compare_requirements(a, b)
        return self._model.rate_pairs([(a, b)])[0] if differ is None else float(differ)


def report(title: str, pairs: Iterable[tuple[Pair, float]], threshold: float) -> None:
    counts = Counter((pair.is_contradiction, probability >= threshold) for pair, probability in pairs)
    hits, missed, false = counts[True, True], counts[True, False], counts[False, True]
    precision, recall = hits / max(hits + false, 1), hits / max(hits + missed, 1)
    print(f"{title}: precision {precision:.3f}, recall {recall:.3f}; {hits} found, {missed} missed, {false} false")


def find_neighbours(pairs: Sequence[Pair], judge: Judge, count: int) -> list[tuple[str, str]]:
    """Return for each statement the nearest `count` of other pairs."""
    texts = [pair.a for pair in pairs] + [pair.b for pair in pairs]
    vectors = np.array([np.frombuffer(vector, "<f4") for vector in judge.embed(texts)])
    found: set[tuple[int, int]] = set()
    for at, likeness in enumerate(vectors @ vectors.T):
        others = [other for other in np.argsort(-likeness) if (other - at) % len(pairs)]
        found |= {(min(at, int(other)), max(at, int(other))) for other in others[:count]}
    return [(texts[one], texts[other]) for one, other in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, nargs="+", required=True)
    parser.add_argument("--changes", type=Path, default=entailment.CHANGES_FILE)
    parser.add_argument("--threshold", type=float, default=MIN_PROBABILITY)
    parser.add_argument("--neighbours", type=int, default=0, help="so many for each statement")
    parser.add_argument("--show", type=int, default=0, help="so many of the mistakes")
    options = parser.parse_args()
    judge = Judge(options.changes)
    for path in options.pairs:
        rated = [(pair, judge.rate(pair.a, pair.b)) for pair in load_pairs(path)]
        report(path.stem, rated, options.threshold)
        for kind in sorted({pair.kind for pair, _ in rated}):
            report(f"  {kind}", (one for one in rated if one[0].kind == kind), options.threshold)
        wrong = [one for one in rated if (one[1] >= options.threshold) != one[0].is_contradiction]
        for pair, probability in wrong[: options.show]:
            print(f"  {pair.is_contradiction} {probability:.2f} {pair.kind}: {pair.a} | {pair.b}")
        if options.neighbours:
            near = find_neighbours([pair for pair, _ in rated], judge, options.neighbours)
            false = [(probability, *one) for one in near if (probability := judge.rate(*one)) >= options.threshold]
            print(f"  neighbours: {len(false)} of {len(near)} called contradictions")
            for probability, a, b in sorted(false, reverse=True)[: options.show]:
                print(f"  {probability:.2f}: {a} | {b}")


if __name__ == "__main__":
    main()
