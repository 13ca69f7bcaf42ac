"""Trains the low-rank deltas that make a judge of contradictions out of the embedding model.

    python benchmarks/train_entailment.py general --out FILE.pt --snli FOLDER --tables FILE … [--pairs N]
    python benchmarks/train_entailment.py own --from FILE.pt --out FILE.pt --tables FILE … [--hold-out]
    python benchmarks/train_entailment.py export --from FILE.pt --out src/hunchd/embedding/entailment.npz --threshold X

`general` learns from public pairs of sentences what entailment is; `own` learns from our pairs about software projects.
With `--hold-out` the blind pairs and a quarter of the written ones, with all that speaks of the same, are kept out and
measured after each round. Needs torch, which the package itself does not: it merges the deltas into the model that is
installed anyway. The network is `entailment_network.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from entailment_network import NAMES, Network, contradiction, in_batch, key_of, tokenizer
from entailment_sources import Example, Own, development, general_pairs, of_subjects, written_pairs
from torch.nn import functional as F

BATCH = 16  # pairs
AT_ONCE = 20  # batches that are sorted by length together
CLIP = 1.0  # norm of a gradient
TARGET_OF = {"paraphrase": 0}  # which class a pair without a contradiction has; others have either of two
NOT_CONTRADICTION = -1
GENERAL, HISTORIES, NEIGHBOURS = 500, 120, 500  # pairs of these in a round of our own
PRECISION = 0.9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("general", "own", "export"))
    parser.add_argument("--from", dest="start", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--snli", type=Path, help="folder with s1.dev, s2.dev, labels.dev and the same of .test")
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="labelled pairs: .csv, .tsv, .txt or .jsonl")
    parser.add_argument("--pairs", type=int, default=40_000, help="general pairs to learn from")
    parser.add_argument("--development", type=Path, help="pairs from histories, as in contradictions.py")
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--threshold", type=float, default=0.0, help="logit from which a pair is a contradiction")
    parser.add_argument("--seed", type=int, default=3)
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)
    if asked.what == "general":
        learn_general(asked)
    elif asked.what == "own":
        learn_own(asked)
    else:
        export(asked.start, asked.out, asked.threshold)


def learn_general(asked: argparse.Namespace) -> None:
    chance = random.Random(asked.seed)
    pairs = general_pairs(asked.snli, asked.tables, chance)[: asked.pairs]
    learner = Learner(Network(drop=0.0), asked.rate or 1e-3, steps=len(pairs) // BATCH, warm=120)
    learner.round([_turned(one, chance, 0.35) for one in pairs], chance)
    torch.save(learner.network.state_dict(), asked.out)


def learn_own(asked: argparse.Namespace) -> None:
    chance = random.Random(asked.seed)
    network = Network(drop=0.05)
    network.load_state_dict(torch.load(asked.start))
    own, held = Own(written_pairs(), of_subjects()), {}
    if asked.hold_out:
        own, held = own.without_measured()
    general = general_pairs(None, asked.tables, chance)
    histories = development(asked.development)
    neighbours = own.neighbours(chance)
    learner: Learner | None = None
    for number in range(asked.rounds):
        pairs = [*own.round(chance), *own.made(chance)]
        for some, most in ((general, GENERAL), (histories, HISTORIES), (neighbours, NEIGHBOURS)):
            pairs += chance.sample(some, min(len(some), most))
        steps = asked.rounds * len(pairs) // BATCH
        learner = learner or Learner(network, asked.rate or 7e-4, steps=steps, warm=40)
        learner.round([_turned(one, chance, 0.5) for one in pairs], chance)
        torch.save(network.state_dict(), asked.out)
        for name, examples in held.items():
            report(f"round {number + 1}, {name}", examples, network)
    counts = {name: len(some) for name, some in own.written.items()} | {"subjects": len(own.subjects)}
    told = {"script": "benchmarks/train_entailment.py", "trained": datetime.now(UTC).date().isoformat()}
    print(json.dumps(told | counts | {"general": len(general), "histories": len(histories)}))


def _turned(one: Example, chance: random.Random, share: float) -> tuple[str, str, int]:
    """A pair with its class, now and then the other way round."""
    target = one.contradiction if one.three_classes else 2 if one.contradiction else TARGET_OF.get(one.kind, -1)
    if chance.random() >= share:
        return one.a, one.b, target
    return one.b, one.a, target if target == 2 or not one.three_classes else NOT_CONTRADICTION


class Learner:
    """AdamW with a rate that rises for `warm` steps and then falls to almost nothing at `steps`."""

    def __init__(self, network: Network, rate: float, *, steps: int, warm: int) -> None:
        self.network = network
        self._rate, self._steps, self._warm = rate, steps, warm
        self._optimizer = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
        self._step = 0
        self._encode = tokenizer().encode

    def round(self, pairs: Sequence[tuple[str, str, int]], chance: random.Random) -> None:
        """Each pair once."""
        self.network.train()
        encoded = [(self._encode(a, b), target) for a, b, target in pairs]
        chance.shuffle(encoded)
        batches = []
        for at in range(0, len(encoded), BATCH * AT_ONCE):
            some = sorted(encoded[at : at + BATCH * AT_ONCE], key=lambda one: len(one[0].ids))
            batches += [some[i : i + BATCH] for i in range(0, len(some), BATCH)]
        chance.shuffle(batches)
        began, lost = time.monotonic(), 0.0
        for number, batch in enumerate(batches, 1):
            lost += self._learn(batch)
            if number % 50 == 0:
                speed = number * BATCH / (time.monotonic() - began)
                print(f"{number} of {len(batches)}: loss {lost / 50:.3f}, {speed:.0f} pairs a second", flush=True)
                lost = 0.0

    def _learn(self, batch: Sequence[tuple[Any, int]]) -> float:
        self._step += 1
        falling = max(0.03, 1 - self._step / max(self._steps, 1))
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * min(1.0, self._step / self._warm) * falling
        classes = F.log_softmax(self.network(*in_batch([one for one, _ in batch])), dim=1)
        targets = torch.tensor([target for _, target in batch])
        of_three = -classes.gather(1, targets.clamp(min=0)[:, None])[:, 0]
        of_two = -torch.logsumexp(classes[:, :2], dim=1)
        loss = torch.where(targets >= 0, of_three, of_two).mean()
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self._optimizer.step()
        return loss.item()


def logits(examples: Sequence[Example], network: Network) -> list[float]:
    """For each pair the mean of both orders."""
    network.eval()
    encode = tokenizer().encode
    encoded = [encode(*pair) for one in examples for pair in ((one.a, one.b), (one.b, one.a))]
    order = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
    found = np.zeros(len(encoded))
    with torch.no_grad():
        for at in range(0, len(order), 32):
            chosen = order[at : at + 32]
            found[chosen] = contradiction(network(*in_batch([encoded[one] for one in chosen]))).numpy()
    return [float(one) for one in found.reshape(-1, 2).mean(axis=1)]


def report(title: str, examples: Sequence[Example], network: Network) -> None:
    """Average precision, and the best recall at a precision of nine in ten, with its threshold."""
    ranked = sorted(zip(logits(examples, network), (one.contradiction for one in examples), strict=True), reverse=True)
    total = sum(label for _, label in ranked)
    hits, area, best, threshold = 0, 0.0, 0.0, float("inf")
    for place, (logit, label) in enumerate(ranked, 1):
        hits += label
        area += label * hits / place / total
        if hits / place >= PRECISION and hits / total > best:
            best, threshold = hits / total, logit
    print(f"{title}: average precision {area:.3f}; recall {best:.3f} from {threshold:.2f} on ({len(examples)} pairs)")


def export(start: Path, out: Path, threshold: float) -> None:
    learned = torch.load(start)
    arrays = {name: learned[f"learned.{key_of(name)}"].numpy().astype(np.float16) for name in NAMES}
    np.savez(out, **arrays, threshold=np.array([threshold], np.float16), version=np.array(1))
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
