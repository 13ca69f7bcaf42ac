"""Training of the prediction weights that are shipped with the package, from public histories.

    python benchmarks/train_weights.py collect --cache FOLDER REPOSITORY…
    python benchmarks/train_weights.py fit --cache FOLDER --out src/hunchd/prediction/weights.json
    python benchmarks/train_weights.py fit --cache FOLDER --out FOLDER/without-x.json --without x

`collect` walks each history as `hunch bench replay` does and stores the features of all candidates for the
questions of
its development window (the 700 units before the newest 600); the test window is never used. `fit` trains a few small
networks for each kind of question with torch (needed here only, the package runs them with numpy). Their mean score
ranks; it becomes a probability by an isotonic map, fitted on repositories left out of the training.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from isotonic import fit_isotonic
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from hunchd.bench.history_walk import ReplayWindows, walk_history
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.replay import get_repository_name
from hunchd.bench.tasks import generate_queries
from hunchd.ingestion import history
from hunchd.prediction.calibration import Isotonic
from hunchd.prediction.features import FEATURES
from hunchd.prediction.online_correction import HEADS
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.query import build_query
from hunchd.prediction.ranking import Linear, Model, Network
from hunchd.prediction.weights import VERSION, RankerWeights, create_default
from hunchd.repository.git import Git

Array = NDArray[Any]

TEST_UNITS, DEVELOPMENT_UNITS = 600, 700
TASKS = ("first-file", "growing", "title", "both", "silence")
MOST_OF_UNIT = {"first-file": 2, "silence": 2, "growing": 2, "title": 1, "both": 2}
OF_REPOSITORY = 400  # questions for calibration, from its whole window
MEMBERS = 3  # networks whose scores are averaged
UNITS = (96, 48)
EPOCHS = 6
BATCH = 64  # questions
RATE, DECAY = 3e-3, 0.02
DROP = 0.15  # dropout of a layer's units during training
FAR = 5  # standard deviations from the mean to which features are clipped
LOGISTIC = 0.1  # weight of the logistic loss of each candidate, relative to the listwise one
# Scores are rescaled to this mean and spread over the ten best of each question: the weights of sessions and tracebacks
# are in that unit.
BEST = 10
UNIT = {"seed": (-2.32, 1.95), "text": (-2.31, 2.52), "both": (-2.0, 2.44)}


def collect(path: str, cache: Path) -> None:
    """Write features, truth and sizes of a development window's questions as one .npz file."""
    git = Git(path)
    units = list(history.iter_units(git))
    windows = ReplayWindows.create(len(units), TEST_UNITS, DEVELOPMENT_UNITS)
    predictor = Predictor(create_default())
    matrices: list[Array] = []
    truths: list[Array] = []
    heads: list[str] = []
    with OutlineCache(git, cache) as outlines:
        for moment in walk_history(git, units[: windows.test], predictor, outlines, windows.start):
            for task in TASKS if moment.gold else ():
                if task == "silence" and len(moment.gold) > 1:
                    continue  # asked as first-file already
                window_questions = [
                    one for one in generate_queries(moment.unit, moment.gold, task) if one.task != "growing-1"
                ]
                for question in window_questions[: MOST_OF_UNIT[task]]:
                    query = build_query(question.focus, predictor.state)
                    ranked = predictor.rank_candidates(query, moment.unit.at)
                    paths = predictor.state.files.paths
                    matrices.append(ranked.matrix)
                    truths.append(
                        np.array([paths[file] in question.gold for file in ranked.evidence.files.tolist()], "?")
                    )
                    heads.append(query.head)
    np.savez(
        cache / f"{get_repository_name(path)}.npz",
        features=np.array(FEATURES),
        matrix=np.concatenate(matrices),
        truth=np.concatenate(truths),
        sizes=np.array([len(truth) for truth in truths]),
        heads=np.array(heads),
    )


def iter_questions(collected: dict[str, Array], head: str) -> Iterator[tuple[Array, Array]]:
    ends = np.cumsum(collected["sizes"])
    for end, size, of_head in zip(ends.tolist(), collected["sizes"].tolist(), collected["heads"].tolist(), strict=True):
        if of_head == head and size:
            yield collected["matrix"][end - size : end], collected["truth"][end - size : end]


class Learner(nn.Module):
    """Perceptron with a linear part."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        first, second = UNITS
        self.first, self.second = nn.Linear(inputs, first), nn.Linear(first, second)
        self.last, self.straight = nn.Linear(second, 1), nn.Linear(inputs, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = F.dropout(F.relu(self.first(inputs)), DROP, self.training)
        hidden = F.dropout(F.relu(self.second(hidden)), DROP, self.training)
        scored: Tensor = (self.last(hidden) + self.straight(inputs)).squeeze(-1)
        return scored


class TrainingData:
    """Questions of several repositories as arrays.

    `inputs` (questions, candidates, features) is standardised; `right` marks right candidates and `there` present
    ones. Each
    repository weighs the square root of its number of questions.
    """

    def __init__(self, repositories: Sequence[dict[str, Array]], head: str) -> None:
        questions_by_repository = [list(iter_questions(one, head)) for one in repositories]
        flat = [question for one in questions_by_repository for question in one]
        everything = np.concatenate([matrix for matrix, _ in flat])
        self.mean, self.scale = everything.mean(axis=0), everything.std(axis=0) + 1e-3
        self.low = np.maximum(everything.min(axis=0), self.mean - FAR * self.scale)
        self.high = np.minimum(everything.max(axis=0), self.mean + FAR * self.scale)
        shape = len(flat), max(len(truth) for _, truth in flat)
        self.inputs = torch.zeros(*shape, len(self.mean))
        self.right, self.there = torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)
        for place, (matrix, truth) in enumerate(flat):
            standard = (np.clip(matrix, self.low, self.high) - self.mean) / self.scale
            self.inputs[place, : len(truth)] = torch.from_numpy(standard)
            self.right[place, : len(truth)] = torch.from_numpy(truth)
            self.there[place, : len(truth)] = True
        weights = np.concatenate([np.full(len(one), len(one) ** -0.5) for one in questions_by_repository if one])
        self.weights = torch.from_numpy((weights / weights.mean()).astype("<f4"))

    def __len__(self) -> int:
        return len(self.weights)


def train(repositories: Sequence[dict[str, Array]], head: str) -> Network:
    """Train MEMBERS perceptrons from as many seeds."""
    lessons = TrainingData(repositories, head)
    members = [_train_one(lessons, seed) for seed in range(MEMBERS)]

    def stacked(read: str, share: float = 1.0) -> Array:
        return np.stack([member.state_dict()[read].numpy().T * share for member in members])

    network = Network(
        low=lessons.low,
        high=lessons.high,
        mean=lessons.mean,
        scale=lessons.scale,
        first=stacked("first.weight"),
        first_bias=stacked("first.bias")[:, None],
        second=stacked("second.weight"),
        second_bias=stacked("second.bias")[:, None],
        last=stacked("last.weight", 1 / MEMBERS),
        straight=stacked("straight.weight", 1 / MEMBERS).sum(axis=0)[:, 0],
        bias=(stacked("last.bias", 1 / MEMBERS) + stacked("straight.bias", 1 / MEMBERS)).sum(axis=0),
    )
    best = [
        np.sort(network.compute_scores(matrix))[-BEST:]
        for one in repositories
        for matrix, _ in iter_questions(one, head)
    ]
    return rescale(network, np.concatenate(best), *UNIT[head])


def rescale(network: Network, scores: Array, mean: float, spread: float) -> Network:
    """Shift and scale the scores to the standard mean and standard deviation."""
    stretch = np.float32(spread / scores.std())
    moved = mean - scores.mean() * stretch
    return replace(
        network,
        last=network.last * stretch,
        straight=network.straight * stretch,
        bias=network.bias * stretch + np.float32(moved),
    )


def _train_one(lessons: TrainingData, seed: int) -> Learner:
    torch.manual_seed(seed)
    learner = Learner(lessons.inputs.shape[-1])
    optimizer = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * math.ceil(len(lessons) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1)
    learner.train()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(lessons)).split(BATCH):
            loss = _loss(learner(lessons.inputs[chosen]), lessons, chosen)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return learner


def _loss(scores: Tensor, lessons: TrainingData, chosen: Tensor) -> Tensor:
    """Return the listwise loss where a candidate is right, plus the logistic loss everywhere."""
    right, there = lessons.right[chosen], lessons.there[chosen]
    shares = scores.masked_fill(~there, -1e4).log_softmax(1)
    listwise = -(shares * right).sum(1) / right.sum(1).clamp(min=1)
    logistic = (F.binary_cross_entropy_with_logits(scores, right, reduction="none") * there).sum(1)
    return ((listwise + LOGISTIC * logistic) * lessons.weights[chosen]).mean()


def calibrate(repositories: Sequence[dict[str, Array]], head: str) -> Isotonic:
    """Calibrate each half of the repositories with networks from the other half.

    The first ten candidates of each question count.
    """
    shuffled = random.Random(0).sample(repositories, len(repositories))
    halves = shuffled[::2], shuffled[1::2]
    sure, used = [], []
    for ours, theirs in (halves, halves[::-1]):
        if not ours or not theirs:
            continue
        halved = train(theirs, head)
        for collected in ours:
            repository_questions = list(iter_questions(collected, head))
            for matrix, truth in repository_questions[:: math.ceil(len(repository_questions) / OF_REPOSITORY)]:
                scores = halved.compute_scores(matrix)
                best = np.argsort(-scores)[:BEST]
                sure.append(scores[best])
                used.append(truth[best])
    return fit_isotonic(np.concatenate(sure), np.concatenate(used))


def load_collected(cache: Path, without: list[str]) -> dict[str, dict[str, Array]]:
    """Return the data by repository, with the features in their current order."""
    names = sorted(path.stem for path in cache.glob("*.npz") if path.stem not in without)
    repositories = {name: dict(np.load(cache / f"{name}.npz")) for name in names}
    for name, collected in repositories.items():
        features = collected["features"].tolist()
        if missing := set(FEATURES) - set(features):
            raise SystemExit(f"{name} was collected without {', '.join(sorted(missing))}: collect it again")
        collected["matrix"] = collected["matrix"][:, [features.index(feature) for feature in FEATURES]]
    return repositories


def fit(cache: Path, out: Path, without: list[str]) -> None:
    found = load_collected(cache, without)
    repositories = list(found.values())
    heads, curves = {}, {}
    for head in HEADS:
        heads[head], curves[head] = train(repositories, head), calibrate(repositories, head)
        print(head, flush=True)
    provenance = {
        "trained": f"on the development windows of {len(found)} public histories"
        + (f", without {', '.join(without)}" if without else ""),
        "repositories": list(found),
        "date": date.today().isoformat(),  # noqa: DTZ011 – a label
        "script": "benchmarks/train_weights.py",
        "options": {"members": MEMBERS, "units": UNITS, "epochs": EPOCHS, "rate": RATE, "drop": DROP},
    }
    save_weights(RankerWeights(heads, curves, provenance), out)


def save_weights(weights: RankerWeights, path: Path) -> None:
    """Save weights as JSON."""
    table = {
        "version": VERSION,
        "provenance": weights.provenance,
        "features": list(FEATURES),
        "heads": {name: _encode_model(model) for name, model in weights.heads.items()},
        "calibrations": {
            name: {"scores": curve.scores.round(4).tolist(), "probabilities": curve.probabilities.round(4).tolist()}
            for name, curve in weights.calibrations.items()
        },
    }
    path.write_text(json.dumps(table, separators=(",", ":")) + "\n", "utf-8")


def _encode_model(model: Model) -> dict[str, Any]:
    kind = "linear" if isinstance(model, Linear) else "network"
    arrays = {part.name: _encode_array(getattr(model, part.name).astype("<f2")) for part in fields(model)}
    return {"kind": kind, **arrays}


def _encode_array(array: Array) -> list[Any]:
    return [array.dtype.str, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    collecting = kinds.add_parser("collect")
    collecting.add_argument("repositories", nargs="+")
    fitting = kinds.add_parser("fit")
    fitting.add_argument("--out", type=Path, required=True)
    fitting.add_argument("--without", action="append", default=[], help="leave this repository out; repeatable")
    fitting.add_argument("--threads", type=int, default=1)
    for kind in (collecting, fitting):
        kind.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    if options.kind == "collect":
        options.cache.mkdir(parents=True, exist_ok=True)
        for repository in options.repositories:
            collect(repository, options.cache)
            print(get_repository_name(repository), flush=True)
    else:
        torch.set_num_threads(options.threads)
        fit(options.cache, options.out, options.without)


if __name__ == "__main__":
    main()
