"""Training of the low-rank changes that turn the embedding model into one that reads pairs of statements.

    python benchmarks/train_entailment.py --out src/hunchd/embedding/entailment.npz --tables FILE …
        [--start FILE] [--development FILE] [--live FILE] [--hold-out SET …] [--seconds 175]

Rounds over our pairs about software projects, some public pairs of sentences, pairs of neighbouring statements, and
those of them that the model misreads. `--live` names a JSON file of pairs (a, b, class) from real projects.
Unseen sets, and those behind `--hold-out`, are left out and measured after each round. Needs torch, and a graphics
processor to end within minutes; the package itself needs neither. The network is `entailment_network.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from contradiction_material import generate_pairs
from entailment_entries import generate_entry_pairs
from entailment_kinds import Kinds
from entailment_live import LiveStatements
from entailment_network import DEVICE, NAMES, Network, contradiction_logit, make_batch, make_key, tokenizer
from entailment_sources import (
    UNSEEN,
    Example,
    OwnPairs,
    load_development_pairs,
    load_general_pairs,
    load_subjects,
    load_written_pairs,
)
from entailment_templates import Templates
from torch.nn import functional as F

from hunchd.embedding.entailment import load_changes

BATCH, AT_ONCE = 256, 20  # pairs; batches that are sorted by length together
RATE, WARM = 6e-4, 200  # learning rate, and steps until it is reached; then it falls to nothing
CLIP, DROP = 1.0, 0.1  # norm of a gradient; dropout during training
STEADY, AVERAGED_EVERY = 0.998, 4  # decay of the weight average, over some hundred steps
ROUND = 40  # batches
# Relative numbers of pairs in a round, by their source.
SHARES = {
    "written": 34, "contradictions": 38, "paraphrases": 14, "compatible": 36, "stories": 34, "templates": 14,
    "kinds": 18, "entries": 8, "made": 6, "neighbours": 20, "frames": 3, "histories": 3, "live": 10, "general": 24,
    "hard": 16,
}  # fmt: skip
FROM_STORIES, FROM_TEMPLATES, FROM_KINDS, FROM_ENTRIES = 70_000, 45_000, 90_000, 40_000  # generated once
MINED_EVERY = 6  # rounds
HARDEST, HARD_SHARE = 0.008, 0.1  # the very first may be contradictions indeed
PARAPHRASE, NOT_CONTRADICTION, CONTRADICTION = 0, -1, 2
FIXED = ("embeddings_",)  # tensors that are not trained

Pair = tuple[str, str, int]  # two statements and their class


def classify(one: Example) -> int:
    if one.three_classes:
        return one.contradiction
    return CONTRADICTION if one.contradiction else PARAPHRASE if one.kind == "paraphrase" else NOT_CONTRADICTION


def turn(one: Example, chance: random.Random) -> Pair:
    """Return a pair, reversed in half of the cases: only a contradiction stays what it is."""
    target = classify(one)
    if chance.random() < 0.5:
        return one.a, one.b, target
    return one.b, one.a, CONTRADICTION if target == CONTRADICTION else NOT_CONTRADICTION


class Trainer:
    """AdamW with a rate that falls with the time that is left, and the average of the last weights."""

    def __init__(self, seconds: float) -> None:
        self.network = Network(drop=DROP).to(DEVICE)
        for name, learned in self.network.learned.items():
            learned.requires_grad_(not name.startswith(FIXED))
        self._weights = [one for one in self.network.learned.values() if one.requires_grad]
        self._average = [one.detach().clone() for one in self._weights]
        self._optimizer = torch.optim.AdamW(self._weights, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
        self._encode = tokenizer().encode
        self._began, self._seconds, self._step = time.monotonic(), seconds, 0

    @property
    def time_left(self) -> float:
        """Return the share of the time that is left."""
        return max(0.0, 1 - (time.monotonic() - self._began) / self._seconds)

    def run_round(self, pairs: Sequence[Pair], chance: random.Random) -> None:
        encoded = [(self._encode(a, b), target) for a, b, target in pairs]
        chance.shuffle(encoded)
        batches = []
        for at in range(0, len(encoded), BATCH * AT_ONCE):
            some = sorted(encoded[at : at + BATCH * AT_ONCE], key=lambda one: len(one[0].ids))
            batches += [some[i : i + BATCH] for i in range(0, len(some), BATCH)]
        chance.shuffle(batches)
        self.network.train()
        for batch in batches:
            if self.time_left:
                self._learn([one for one, _ in batch], torch.tensor([target for _, target in batch], device=DEVICE))

    def _learn(self, encoded: Sequence[object], targets: torch.Tensor) -> None:
        self._step += 1
        for group in self._optimizer.param_groups:
            group["lr"] = RATE * min(1.0, self._step / WARM) * max(0.01, self.time_left)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            logits = self.network(*make_batch(encoded))
        classes = F.log_softmax(logits.float(), dim=1)
        of_three = -classes.gather(1, targets.clamp(min=0)[:, None])[:, 0]
        loss = torch.where(targets >= 0, of_three, -torch.logsumexp(classes[:, :2], dim=1)).mean()
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._weights, CLIP)
        self._optimizer.step()
        if self._step % AVERAGED_EVERY == 0:
            decay = min(STEADY, 1 - 1 / (10 + self._step)) ** AVERAGED_EVERY
            for average, one in zip(self._average, self._weights, strict=True):
                average.mul_(decay).add_(one.detach(), alpha=1 - decay)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Use the average weights until the block ends."""
        for _ in range(2):
            for average, one in zip(self._average, self._weights, strict=True):
                now = one.data.clone()
                one.data.copy_(average)
                average.copy_(now)
            if _ == 0:
                yield

    def compute_logits(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Return the logit of a contradiction for each pair in one order."""
        self.network.eval()
        encoded = [self._encode(a, b) for a, b in pairs]
        order = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
        found = np.zeros(len(encoded))
        with torch.no_grad():
            for at in range(0, len(order), 512):
                chosen = order[at : at + 512]
                batch = make_batch([encoded[one] for one in chosen])
                found[chosen] = contradiction_logit(self.network(*batch)).float().cpu().numpy()
        return found


def find_hard(trainer: Trainer, pairs: Sequence[Example]) -> list[Example]:
    """Return the pairs that the model takes for contradictions most, without the first ones."""
    with trainer.averaged():
        logits = trainer.compute_logits([(one.a, one.b) for one in pairs])
    order = np.argsort(-logits)
    return [pairs[at] for at in order[int(len(order) * HARDEST) : int(len(order) * HARD_SHARE)]]


def report(title: str, examples: Sequence[Example], trainer: Trainer) -> None:
    both = [trainer.compute_logits([one[:2][::way] for one in examples]) for way in (1, -1)]  # type: ignore[misc]
    labels = np.array([one.contradiction for one in examples])[np.argsort(-(both[0] + both[1]))]
    precision = np.cumsum(labels) / np.arange(1, len(labels) + 1)
    print(
        f"{title}: average precision {(precision * labels).sum() / labels.sum():.3f} ({len(labels)} pairs)", flush=True
    )


def pack_tensor(name: str, tensor: np.ndarray) -> dict[str, np.ndarray]:
    """Return a matrix as signed bytes with a scale for each column or row, and anything else as floats."""
    axis = 1 if name.endswith(".b") else 0
    if not name.endswith((".a", ".b", "hidden.weight")):
        return {name: tensor.astype(np.float16)}
    scale = np.abs(tensor).max(axis=axis, keepdims=True) / 127
    return {name: np.rint(tensor / np.maximum(scale, 1e-12)).astype(np.int8), f"{name}.scale": scale}


def export(trainer: Trainer, out: Path) -> None:
    learned = trainer.network.learned
    names = [name for name in NAMES if not make_key(name).startswith(FIXED)]
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        arrays |= pack_tensor(name, learned[make_key(name)].detach().cpu().numpy())
    np.savez(out, **arrays, version=np.array(1))
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB, SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()}")


def load_pools(own: OwnPairs, options: argparse.Namespace, chance: random.Random) -> dict[str, list[Example]]:
    """Return all pairs by their source, under the names in SHARES."""
    sorts = [pair for subject in own.subjects.values() for pair in subject.pairs]
    rows = json.loads(options.live.read_text("utf-8")) if options.live else []
    generated = {
        "stories": LiveStatements(chance).generate(FROM_STORIES),
        "templates": Templates(chance).made(FROM_TEMPLATES),
        "kinds": Kinds(chance).made(FROM_KINDS),
        "entries": generate_entry_pairs(chance, FROM_ENTRIES),
    }
    return {
        "written": [pair for pairs in own.written.values() for pair in pairs],
        "contradictions": [pair for pair in sorts if pair.contradiction],
        "paraphrases": [pair for pair in sorts if pair.kind == "paraphrase"],
        "compatible": [pair for pair in sorts if not pair.contradiction and pair.kind != "paraphrase"],
        **{name: [Example(*pair) for pair in pairs if pair[0] != pair[1]] for name, pairs in generated.items()},
        "made": list(own.made(chance)),
        "neighbours": own.neighbours(chance),
        "frames": [Example(*pair[:4]) for pair in generate_pairs() if not pair.group.startswith("written")],
        "histories": load_development_pairs(options.development),
        "live": [Example(a, b, int(target == CONTRADICTION), "live") for a, b, target in rows],
        "general": load_general_pairs(options.tables, chance),
    }


def draw_round(pools: dict[str, list[Example]], chance: random.Random) -> list[Example]:
    """Return the pairs of a round, each source with its share."""
    filled = {name: share for name, share in SHARES.items() if pools.get(name)}
    unit = BATCH * ROUND / sum(filled.values())
    return [pair for name, share in filled.items() for pair in chance.choices(pools[name], k=round(unit * share))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="public pairs: .csv, .tsv, .txt or .jsonl")
    parser.add_argument("--development", type=Path, help="pairs from histories, as in contradictions.py")
    parser.add_argument("--live", type=Path, help="pairs of statements of real projects")
    parser.add_argument("--hold-out", nargs="*", default=[], metavar="SET")
    parser.add_argument("--without-writers", nargs="*", default=[], metavar="WRITER", help="of subjects")
    parser.add_argument("--start", type=Path, help="changes from which to go on, such as those shipped")
    parser.add_argument("--seconds", type=float, default=175.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    chance = random.Random(options.seed)
    written = load_written_pairs()
    held_out = {name: written.pop(name) for name in {*UNSEEN, *options.hold_out}}
    pools = load_pools(OwnPairs(written, load_subjects(options.without_writers)), options, chance)
    calm = [pair for name in ("neighbours", "live") for pair in pools[name] if not pair.contradiction]
    trainer, number = Trainer(options.seconds), 0
    if options.start:
        trainer.network.load(load_changes(options.start, hashlib.sha256(options.start.read_bytes()).hexdigest()))
    while trainer.time_left:
        trainer.run_round([turn(one, chance) for one in draw_round(pools, chance)], chance)
        number += 1
        if number % MINED_EVERY == 0:
            pools["hard"] = find_hard(trainer, calm)
        with trainer.averaged():
            for name, examples in held_out.items():
                report(f"round {number}, {name}", examples, trainer)
    with trainer.averaged():
        export(trainer, options.out)


if __name__ == "__main__":
    main()
