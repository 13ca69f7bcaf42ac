"""Training of the low-rank deltas that turn the embedding model into an entailment model.

    python benchmarks/train_entailment.py learn --out FILE.pt --tables FILE … [--pairs N] [--hold-out [WRITER …]]
        [--from FILE.pt]
    python benchmarks/train_entailment.py export --from FILE.pt --out src/hunchd/embedding/entailment.npz

`learn` repeats rounds over our pairs about software projects, together with some public pairs of sentences, until it
has used `--pairs` pairs. With `--hold-out` four sets of freely worded pairs, with all pairs about the same, and the
subjects of the named writers are left out and measured after each round. Needs torch, which the package itself does
not: it merges the deltas into the model that is installed anyway. The network is `entailment_network.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from entailment_network import NAMES, Network, contradiction_logit, make_batch, make_key, tokenizer
from entailment_sources import (
    Example,
    OwnPairs,
    load_development_pairs,
    load_general_pairs,
    load_subjects,
    load_written_pairs,
)
from torch import Tensor
from torch.nn import functional as F

BATCH = 16  # pairs
AT_ONCE = 20  # batches that are sorted by length together
CLIP = 1.0  # norm of a gradient
TARGET_OF = {"paraphrase": 0}  # class of a pair without a contradiction; others have either of two
NOT_CONTRADICTION = -1
GENERAL_AT_FIRST, GENERAL, HISTORIES, NEIGHBOURS = 1_500, 1_100, 60, 350  # pairs of these in a round
DROP = 0.05  # dropout of a layer's output during training
STEADY, AVERAGED_EVERY = 0.998, 4  # decay of the weight average, over some hundred steps
PRECISION = 0.9
FIXED = ("embeddings_",)  # tensors that are not trained


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("learn", "export"))
    parser.add_argument("--from", dest="start", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="public pairs: .csv, .tsv, .txt or .jsonl")
    parser.add_argument("--development", type=Path, help="pairs from histories, as in contradictions.py")
    parser.add_argument("--hold-out", nargs="*", metavar="WRITER")
    parser.add_argument("--pairs", type=int, default=30_000, help="pairs to learn from, those of later rounds again")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    if options.what == "learn":
        learn(options)
    else:
        export(options.start, options.out)


def learn(options: argparse.Namespace) -> None:
    chance = random.Random(options.seed)
    network = Network(drop=DROP)
    if options.start is not None:
        network.load_state_dict(torch.load(options.start))
    own, held_out = OwnPairs(load_written_pairs(), load_subjects()), {}
    if options.hold_out is not None:
        own, held_out = own.without_measured(options.hold_out)
    general = load_general_pairs(options.tables, chance)
    histories = load_development_pairs(options.development)
    neighbours = own.neighbours(chance)
    learner = Learner(network, options.rate, steps=options.pairs // BATCH, warm=60, lost=own.lost)
    pairs_seen, at_first = 0, options.start is None
    while pairs_seen < options.pairs:
        pairs = [*own.round(chance), *own.made(chance)]
        most_general = GENERAL_AT_FIRST if at_first and not pairs_seen else GENERAL
        for some, most in ((general, most_general), (histories, HISTORIES), (neighbours, NEIGHBOURS)):
            pairs += chance.sample(some, min(len(some), most))
        chance.shuffle(pairs)
        pairs = pairs[: options.pairs - pairs_seen]
        learner.round([_turn(one, chance, 0.5) for one in pairs], chance)
        pairs_seen += len(pairs)
        with learner.averaged():
            torch.save(network.state_dict(), options.out)
            for name, examples in held_out.items():
                report(f"after {pairs_seen} pairs, {name}", examples, network)
    counts = {name: len(some) for name, some in own.written.items()} | {"subjects": len(own.subjects)}
    provenance = {
        "script": "benchmarks/train_entailment.py",
        "trained": datetime.now(UTC).date().isoformat(),
        "seen": pairs_seen,
    }
    print(json.dumps(provenance | counts | {"general": len(general), "histories": len(histories)}))


def _turn(one: Example, chance: random.Random, share: float) -> tuple[str, str, int]:
    """Return a pair with its class, sometimes reversed."""
    target = one.contradiction if one.three_classes else 2 if one.contradiction else TARGET_OF.get(one.kind, -1)
    if chance.random() >= share:
        return one.a, one.b, target
    return one.b, one.a, target if target == 2 or not one.three_classes else NOT_CONTRADICTION


class Learner:
    """AdamW with a rate that rises for `warm` steps and then falls to almost nothing at `steps`."""

    def __init__(
        self, network: Network, rate: float, *, steps: int, warm: int, lost: dict[tuple[str, str], float]
    ) -> None:
        self.network = network
        self._lost = lost
        self._rate, self._steps, self._warm = rate, steps, warm
        for name, learned in network.learned.items():
            learned.requires_grad_(not name.startswith(FIXED))
        self._optimizer = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
        self._step = 0
        self._average = {name: one.detach().clone() for name, one in network.learned.items()}
        self._encode = tokenizer().encode

    def round(self, pairs: Sequence[tuple[str, str, int]], chance: random.Random) -> None:
        """Train on each pair once."""
        self.network.train()
        encoded = [(self._encode(a, b), target, (a, b)) for a, b, target in pairs]
        chance.shuffle(encoded)
        batches = []
        for at in range(0, len(encoded), BATCH * AT_ONCE):
            some = sorted(encoded[at : at + BATCH * AT_ONCE], key=lambda one: len(one[0].ids))
            batches += [some[i : i + BATCH] for i in range(0, len(some), BATCH)]
        chance.shuffle(batches)
        began, total_loss = time.monotonic(), 0.0
        for number, batch in enumerate(batches, 1):
            total_loss += self._learn(batch)
            if number % 50 == 0:
                speed = number * BATCH / (time.monotonic() - began)
                print(f"{number} of {len(batches)}: loss {total_loss / 50:.3f}, {speed:.0f} pairs a second", flush=True)
                total_loss = 0.0

    def _learn(self, batch: Sequence[tuple[Any, int, tuple[str, str]]]) -> float:
        self._step += 1
        falling = max(0.03, 1 - self._step / max(self._steps, 1))
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * min(1.0, self._step / self._warm) * falling
        classes = F.log_softmax(self.network(*make_batch([one for one, *_ in batch])), dim=1)
        targets = torch.tensor([target for _, target, _ in batch])
        of_three = -classes.gather(1, targets.clamp(min=0)[:, None])[:, 0]
        of_two = -torch.logsumexp(classes[:, :2], dim=1)
        for (*_, (a, b)), lost in zip(batch, torch.where(targets == 2, of_three, of_two).tolist(), strict=True):
            self._lost[a, b] = self._lost[b, a] = lost
        loss = torch.where(targets >= 0, of_three, of_two).mean()
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self._optimizer.step()
        if self._step % AVERAGED_EVERY == 0:
            decay = min(STEADY, 1 - 1 / (10 + self._step)) ** AVERAGED_EVERY
            for name, one in self._average.items():
                one.mul_(decay).add_(self.network.learned[name].detach(), alpha=1 - decay)
        return loss.item()

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Use the average weights of the last steps until the block ends."""
        now = {name: one.detach().clone() for name, one in self.network.learned.items()}
        self._set(self._average)
        yield
        self._set(now)

    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, one in self.network.learned.items():
            one.data.copy_(values[name])


def compute_logits(examples: Sequence[Example], network: Network) -> list[float]:
    """Return the mean of both orders for each pair."""
    network.eval()
    encode = tokenizer().encode
    encoded = [encode(*pair) for one in examples for pair in ((one.a, one.b), (one.b, one.a))]
    order = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
    found = np.zeros(len(encoded))
    with torch.no_grad():
        for at in range(0, len(order), 32):
            chosen = order[at : at + 32]
            found[chosen] = contradiction_logit(network(*make_batch([encoded[one] for one in chosen]))).numpy()
    return [float(one) for one in found.reshape(-1, 2).mean(axis=1)]


def report(title: str, examples: Sequence[Example], network: Network) -> None:
    """Print average precision, and the best recall at a precision of .9 with its threshold."""
    ranked = sorted(
        zip(compute_logits(examples, network), (one.contradiction for one in examples), strict=True), reverse=True
    )
    total = sum(label for _, label in ranked)
    hits, area, best, threshold = 0, 0.0, 0.0, float("inf")
    for place, (logit, label) in enumerate(ranked, 1):
        hits += label
        area += label * hits / place / total
        if hits / place >= PRECISION and hits / total > best:
            best, threshold = hits / total, logit
    print(f"{title}: average precision {area:.3f}; recall {best:.3f} from {threshold:.2f} on ({len(examples)} pairs)")


def export(start: Path, out: Path) -> None:
    learned = torch.load(start)
    names = [name for name in NAMES if not make_key(name).startswith(FIXED)]
    arrays = {name: learned[f"learned.{make_key(name)}"].numpy().astype(np.float16) for name in names}
    np.savez(out, **arrays, version=np.array(1))
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB, SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
