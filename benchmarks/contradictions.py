"""Training and evaluation of the contradiction classifier, with its speed.

    python benchmarks/contradictions.py train [--development FILE] [--out TABLE]
    python benchmarks/contradictions.py evaluate [--development FILE]     repositories and frames held out in turn
    python benchmarks/contradictions.py blind                             pairs labelled by somebody else
    python benchmarks/contradictions.py blind --judge                     the same, with a language model as well

`--development` names a JSON Lines file of fact pairs with `a`, `b`, `contradiction`, `relation` and `repo`; without it
only the pairs of `contradiction_material.py` are used. Pairs are judged like in the daemon: an entailment model reads
what the rules leave open; `--rules` leaves it out. `--judge` needs ANTHROPIC_API_KEY and costs money, at most `--usd`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from contradiction_material import Pair, generate_pairs
from contradictions_judge import judge_all
from numpy.typing import NDArray

from hunchd.config.settings import LanguageSettings
from hunchd.consolidation.contradictions.classification import (
    MIN_PROBABILITY,
    Judgement,
    combine_with_model,
    compare_statements,
    judge_statements,
)
from hunchd.consolidation.contradictions.features import FEATURES
from hunchd.consolidation.contradictions.weights import SHIPPED_PATH, ContradictionWeights, save_weights
from hunchd.embedding import fastembed_backend
from hunchd.embedding.embedder import ContradictionModel

Array = NDArray[Any]
BLIND = Path(__file__).with_name("data") / "contradictions_blind.jsonl"

RIDGE = 1e-3  # L2 penalty on each weight, relative to the mean loss
STEPS = 30  # iterations of Newton's method
ROUNDS = 3  # iterations of choosing the clauses that a label refers to
MATERIAL_SHARE = 0.8  # share of our own pairs in the total weight, against those from histories
FOLDS = 5
WRITTEN_WEIGHT = 4.0  # weight of a hand-written pair, against one made from a frame


def load_development_pairs(path: Path | None) -> list[Pair]:
    """Return the pairs of a development file, grouped by repository."""
    if path is None:
        return []
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Pair(row["a"], row["b"], row["contradiction"], row["relation"], row["repo"]) for row in rows]


def train_weights(pairs: Sequence[Pair], own: Sequence[Pair], provenance: dict[str, Any]) -> ContradictionWeights:
    """Fit a logistic regression on the clause pair that decides each statement pair."""
    both = [*pairs, *own]
    compared = [[one.features for one in compare_statements(pair.a, pair.b) if one.kind] for pair in both]
    labelled = [
        (features, pair, index >= len(pairs))
        for index, (features, pair) in enumerate(zip(compared, both, strict=True))
        if features
    ]
    labels = np.array([float(pair.contradiction) for _, pair, _ in labelled])
    mine = np.array([is_own for *_, is_own in labelled])
    share = _weigh_pairs([pair for _, pair, _ in labelled], mine)
    chosen = [max(features) for features, *_ in labelled]
    weights = ContradictionWeights(0.0, (0.0,) * len(FEATURES), provenance)
    for _ in range(ROUNDS):
        weights = _fit(np.array(chosen), labels, share / share.sum(), provenance)
        chosen = [max(features, key=weights.estimate_probability) for features, *_ in labelled]
    return weights


def _weigh_pairs(pairs: Sequence[Pair], mine: Array) -> Array:
    """Return the weight of each pair; rare kinds count more than their number."""
    count = Counter((pair.kind, pair.contradiction) for pair in pairs)
    share = np.array(
        [
            WRITTEN_WEIGHT ** pair.group.startswith("written") * count[pair.kind, pair.contradiction] ** -0.5
            for pair in pairs
        ]
    )
    for chosen, part in ((mine, MATERIAL_SHARE), (~mine, 1 - MATERIAL_SHARE)):
        share[chosen] *= part / max(share[chosen].sum(), 1e-9)
    return share


def _fit(features: Array, labels: Array, share: Array, provenance: dict[str, Any]) -> ContradictionWeights:
    rows = np.hstack([np.ones((len(features), 1)), features])
    ridge = np.diag([1e-6] + [RIDGE] * features.shape[1])
    found = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (share * (chance - labels)) + ridge @ found
        curve = (rows * (share * np.maximum(chance * (1 - chance), 1e-6))[:, None]).T @ rows + ridge
        found = found - np.linalg.solve(curve, slope)
    return ContradictionWeights(float(found[0]), tuple(float(one) for one in found[1:]), provenance)


def count_outcomes(pairs: Iterable[Pair], verdict: Callable[[Pair], bool]) -> dict[str, dict[str, int]]:
    """Count right and wrong answers by kind; kinds without contradictions count false alarms."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: {"hit": 0, "missed": 0, "false": 0, "right": 0})
    for pair in pairs:
        is_reported = verdict(pair)
        name = ("hit" if is_reported else "missed") if pair.contradiction else ("false" if is_reported else "right")
        found[pair.kind][name] += 1
    return dict(found)


def report(title: str, found: dict[str, dict[str, int]]) -> None:
    total = {name: sum(one[name] for one in found.values()) for name in ("hit", "missed", "false", "right")}
    precision = total["hit"] / max(total["hit"] + total["false"], 1)
    recall = total["hit"] / max(total["hit"] + total["missed"], 1)
    print(f"{title}: precision {precision:.3f}, recall {recall:.3f} ({sum(total.values())} pairs)")
    for kind, one in sorted(found.items()):
        if one["hit"] + one["missed"]:
            all_of_it = one["hit"] + one["missed"]
            print(f"  {kind:26} recall {one['hit'] / all_of_it:.3f}  ({one['hit']} of {all_of_it})")
        if called := one["hit"] + one["false"]:
            print(f"  {kind:26} precision {one['hit'] / called:.3f}  ({one['hit']} of {called})")
        if one["false"] + one["right"]:
            print(f"  {kind:26} false alarms {one['false']} of {one['false'] + one['right']}")


class PairJudge:
    """Classifier of pairs as in the daemon; each pair is read once."""

    def __init__(self, reader: ContradictionModel | None) -> None:
        self._reader = reader
        self._read: dict[Pair, float] = {}

    def verdict(self, pair: Pair, weights: ContradictionWeights | None = None) -> Judgement:
        rules = judge_statements(pair.a, pair.b, weights)
        return combine_with_model(rules, self.read(pair)) if rules.is_open else rules

    def read(self, pair: Pair) -> float | None:
        """Return the probability that both cannot hold; None without a model."""
        if self._reader is None:
            return None
        if pair not in self._read:
            [self._read[pair]] = self._reader.rate_pairs([(pair.a, pair.b)])
        return self._read[pair]


def evaluate(pairs: Sequence[Pair], judging: PairJudge, shown: int) -> None:
    own = generate_pairs()
    everything: list[Pair] = []
    verdicts: dict[Pair, bool] = {}
    for repository in sorted({pair.group for pair in pairs}):
        held_out = [pair for pair in pairs if pair.group == repository]
        weights = train_weights([pair for pair in pairs if pair.group != repository], own, {})
        found = {pair: judging.verdict(pair, weights).contradicts for pair in held_out}
        report(f"held out: {repository}", count_outcomes(held_out, found.__getitem__))
        verdicts |= found
        everything += held_out
    if everything:
        report("all repositories, each held out", count_outcomes(everything, verdicts.__getitem__))
    groups = sorted({pair.group for pair in own})
    fold_of = {group: index % FOLDS for index, group in enumerate(np.random.default_rng(1).permutation(groups))}
    verdicts = {}
    for fold in range(FOLDS):
        weights = train_weights(pairs, [pair for pair in own if fold_of[pair.group] != fold], {})
        verdicts |= {pair: judging.verdict(pair, weights).contradicts for pair in own if fold_of[pair.group] == fold}
    report("our own frames, each held out", count_outcomes(own, verdicts.__getitem__))
    wrong = [pair for pair in own if verdicts[pair] != bool(pair.contradiction)]
    for pair in wrong[:: max(len(wrong) // shown, 1)] if shown else ():
        print(f"  {pair.contradiction} {pair.kind}: {pair.a} | {pair.b}")


def load_agreed_pairs(path: Path) -> list[Pair]:
    """Return the pairs whose independent label agrees with the author's.

    The second labeller did not know the author's intention; where both differ, a pair says nothing.
    """
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    alike = [row for row in rows if row["label"] == row["meant"]]
    print(f"{len(rows) - len(alike)} of {len(rows)} labels are not what the author had meant: left out")
    return [Pair(row["a"], row["b"], row["label"], row["kind"], row["id"]) for row in alike]


def blind(pairs: Sequence[Pair], judging: PairJudge) -> None:
    verdicts = {pair: judging.verdict(pair) for pair in pairs}
    report("labelled blind", count_outcomes(pairs, lambda pair: verdicts[pair].contradicts))
    for pair in pairs:
        if verdicts[pair].contradicts != bool(pair.contradiction):
            show(pair, verdicts[pair])


def blind_with_judge(pairs: Sequence[Pair], judging: PairJudge, settings: LanguageSettings) -> None:
    """Print the results with and without a language model, as for a new memory in the daemon."""
    all_of_them, spent = asyncio.run(judge_all(pairs, judging.read, settings))
    found = dict(zip(pairs, all_of_them, strict=True))
    report("without the language model", count_outcomes(pairs, lambda pair: bool(found[pair].before)))
    report("with the language model", count_outcomes(pairs, lambda pair: bool(found[pair].after)))
    asked_count, answered = sum(one.is_free for one in all_of_them), sum(one.is_answered for one in all_of_them)
    print(f"{asked_count} pairs are put before the language model, {answered} answered; {spent.usd:.3f} US dollars")
    for pair in pairs:
        if bool(found[pair].after) != bool(pair.contradiction):
            show(pair, *(one.judgement for one in found[pair].after))


def show(pair: Pair, *said: Judgement) -> None:
    verdicts = ", ".join(f"{one.kind or 'nothing'} {one.probability:.2f}" for one in said) or "nothing"
    print(f"  {pair.group} {pair.contradiction} {pair.kind} ({verdicts}): {pair.a} | {pair.b}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("train", "evaluate", "blind"))
    parser.add_argument("--development", type=Path)
    parser.add_argument("--out", type=Path, default=SHIPPED_PATH)
    parser.add_argument("--pairs", type=Path, default=BLIND)
    parser.add_argument("--rules", action="store_true", help="without the model that reads")
    parser.add_argument("--show", type=int, default=0, help="so many of the mistakes")
    parser.add_argument("--judge", action="store_true", help="a language model judges as well")
    parser.add_argument("--base-url", default=LanguageSettings().base_url, help="where it is asked")
    parser.add_argument("--usd", type=float, default=1.0, help="US dollars that it may cost")
    options = parser.parse_args()
    if options.what == "blind":
        judging = PairJudge(None if options.rules else fastembed_backend.load_contradiction_model())
        settings = replace(
            LanguageSettings(),
            enabled=True,
            base_url=options.base_url,
            daily_limit_usd=options.usd,
            contradictions=True,
        )
        labelled = load_agreed_pairs(options.pairs)
        return blind_with_judge(labelled, judging, settings) if options.judge else blind(labelled, judging)
    pairs = load_development_pairs(options.development)
    if options.what == "evaluate":
        return evaluate(
            pairs, PairJudge(None if options.rules else fastembed_backend.load_contradiction_model()), options.show
        )
    own = generate_pairs()
    provenance = {
        "script": "benchmarks/contradictions.py train",
        "trained": datetime.now(UTC).date().isoformat(),
        "pairs from histories": len(pairs),
        "repositories": sorted({pair.group for pair in pairs}),
        "our own pairs": len(own),
        "threshold": MIN_PROBABILITY,
    }
    weights = train_weights(pairs, own, provenance)
    save_weights(weights, options.out)
    for name, value in zip(FEATURES, weights.weights, strict=True):
        print(f"{name:20} {value:+.2f}")
    return None


if __name__ == "__main__":
    main()
