"""Trains the table of weights that is shipped with the package, from public histories.

    python benchmarks/train_weights.py collect --cache FOLDER REPOSITORY…
    python benchmarks/train_weights.py fit --cache FOLDER --out src/hunchd/prediction/weights.json
    python benchmarks/train_weights.py fit --cache FOLDER --out FOLDER/without-x.json --without x
    python benchmarks/train_weights.py fit … --head text --head both --rest src/hunchd/prediction/weights.json
    python benchmarks/train_weights.py calibrate --cache FOLDER --out src/hunchd/prediction/weights.json

`collect` walks each history as `hunch bench replay` does and keeps the features of all candidates for the questions of
its development window (the 700 units before the newest 600); the test window is never looked at. `fit` grows two
sets of boosted trees for each kind of question with LightGBM (needed here only, the package reads the table with its
own code): one by LambdaRank, for the order, one by logistic loss, for the chance of use. Files are ranked by their
sum, which becomes a probability by an isotonic map, fitted on repositories left out of the trees; `calibrate` fits only
that map anew, to a table as it is. Where a change of features concerns some kinds of question only, the heads of the
others are taken over from an earlier table, whose provenance the new one keeps.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from hunchd.bench.outlines import Outlines
from hunchd.bench.replay import name_of
from hunchd.bench.tasks import questions
from hunchd.bench.walk import Windows, walk
from hunchd.ingestion import history
from hunchd.prediction import calibration
from hunchd.prediction.adaptation import HEADS
from hunchd.prediction.features import FEATURES
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.query import query_of
from hunchd.prediction.ranking import Head, Model, Trees
from hunchd.prediction.weights import VERSION, Weights, by_hand, loaded, written
from hunchd.repository.git import Git

Array = NDArray[Any]

TEST_UNITS, DEVELOPMENT_UNITS = 600, 700
TASKS = ("first-file", "growing", "title", "both", "silence")
MOST_OF_UNIT = {"first-file": 2, "silence": 2, "growing": 2, "title": 1, "both": 2}
ROWS_OF_QUESTION = (
    40  # used files and the strongest and some random others: enough to learn from, and to hold in memory
)
OF_REPOSITORY = 400  # questions to calibrate by, from all of its window
DEPTH = 6
ORDER = {"objective": "lambdarank", "lambdarank_truncation_level": 20}
CHANCE = {"objective": "binary"}
GROWING = {
    "num_leaves": 24,
    "max_depth": DEPTH,
    "learning_rate": 0.1,
    "min_data_in_leaf": 80,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "seed": 1,
    "verbose": -1,
}
TREES = {"order": 60, "chance": 60}


def collect(path: str, cache: Path) -> None:
    """Features, truth and sizes of the questions of one repository's development window, as one .npz file."""
    git = Git(path)
    units = list(history.units(git))
    windows = Windows.of(len(units), TEST_UNITS, DEVELOPMENT_UNITS)
    predictor = Predictor(by_hand())
    matrices: list[Array] = []
    truths: list[Array] = []
    heads: list[str] = []
    with Outlines(git, cache) as outlines:
        for moment in walk(git, units[: windows.test], predictor, outlines, windows.start):
            for task in TASKS if moment.gold else ():
                if task == "silence" and len(moment.gold) > 1:
                    continue  # asked as first-file already
                asked = [one for one in questions(moment.unit, moment.gold, task) if one.task != "growing-1"]
                for question in asked[: MOST_OF_UNIT[task]]:
                    query = query_of(question.focus, predictor.state)
                    ranked = predictor.ranked(query, moment.unit.at)
                    paths = predictor.state.files.paths
                    matrices.append(ranked.matrix)
                    truths.append(np.array([paths[file] in question.gold for file in ranked.found.files.tolist()], "?"))
                    heads.append(query.head)
    np.savez(
        cache / f"{name_of(path)}.npz",
        features=np.array(FEATURES),
        matrix=np.concatenate(matrices),
        truth=np.concatenate(truths),
        sizes=np.array([len(truth) for truth in truths]),
        heads=np.array(heads),
    )


def questions_of(collected: dict[str, Array], head: str) -> Iterator[tuple[Array, Array]]:
    ends = np.cumsum(collected["sizes"])
    for end, size, of_head in zip(ends.tolist(), collected["sizes"].tolist(), collected["heads"].tolist(), strict=True):
        if of_head == head and size:
            yield collected["matrix"][end - size : end], collected["truth"][end - size : end]


def sampled(matrix: Array, truth: Array, drawn: np.random.Generator) -> tuple[Array, Array]:
    """The used files, the strongest others and some random ones of the rest."""
    if len(truth) - truth.sum() <= ROWS_OF_QUESTION:
        return matrix, truth
    used, others = np.flatnonzero(truth), np.flatnonzero(~truth)
    strongest = others[np.argsort(-by_hand().heads["seed"].order.scores(matrix[others]))]
    hard = strongest[: ROWS_OF_QUESTION // 2]
    easy = drawn.choice(strongest[ROWS_OF_QUESTION // 2 :], ROWS_OF_QUESTION // 2, replace=False)
    kept = np.concatenate([used, hard, easy])
    return matrix[kept], truth[kept]


def grown(repositories: list[dict[str, Array]], head: str, kind: str, threads: int) -> Trees:
    """One set of trees. Each repository weighs as the root of its number of questions."""
    drawn = np.random.default_rng(0)
    matrices, truths, groups, weights = [], [], [], []
    for collected in repositories:
        asked = [sampled(*question, drawn) for question in questions_of(collected, head)]
        if kind == "order":
            asked = [question for question in asked if question[1].any()]
        for matrix, truth in asked:
            matrices.append(matrix)
            truths.append(truth)
            groups.append(len(truth))
            weights.append(np.full(len(truth), len(asked) ** -0.5))
    weight = np.concatenate(weights)
    data = lightgbm.Dataset(
        np.concatenate(matrices),
        np.concatenate(truths).astype(np.int32),
        weight=weight / weight.mean(),
        group=groups if kind == "order" else None,
    )
    options = GROWING | (ORDER if kind == "order" else CHANCE) | {"num_threads": threads}
    return packed(lightgbm.train(options, data, TREES[kind]))


def packed(model: lightgbm.Booster) -> Trees:
    """The trees grown out to full depth: a leaf above the bottom is repeated below itself."""
    trees = model.dump_model()["tree_info"]
    inner, leaves = 2**DEPTH - 1, 2**DEPTH
    feature = np.zeros((len(trees), inner), np.intp)
    threshold = np.zeros((len(trees), inner), "<f4")
    value = np.zeros((len(trees), leaves), "<f4")

    def fill(tree: int, node: dict[str, Any], place: int) -> None:
        if place >= inner:
            value[tree, place - inner] = node["leaf_value"]
            return
        if "split_feature" in node:
            feature[tree, place], threshold[tree, place] = node["split_feature"], node["threshold"]
        fill(tree, node.get("left_child", node), 2 * place + 1)
        fill(tree, node.get("right_child", node), 2 * place + 2)

    for tree, described in enumerate(trees):
        fill(tree, described["tree_structure"], 0)
    return Trees(feature, threshold, value)


def calibrated(repositories: list[dict[str, Array]], head: str, threads: int) -> calibration.Isotonic:
    """On each half of the repositories with trees grown on the other half; of each question its first ten."""
    shuffled = random.Random(0).sample(repositories, len(repositories))
    halves = shuffled[::2], shuffled[1::2]
    sure, used = [], []
    for ours, theirs in (halves, halves[::-1]):
        if not ours or not theirs:
            continue
        halved = Head(grown(theirs, head, "order", threads), grown(theirs, head, "chance", threads))
        for collected in ours:
            asked = list(questions_of(collected, head))
            for matrix, truth in asked[:: math.ceil(len(asked) / OF_REPOSITORY)]:
                scores = halved.scores(matrix)
                best = np.argsort(-scores)[:10]
                sure.append(scores[best])
                used.append(truth[best])
    return calibration.fitted(np.concatenate(sure), np.concatenate(used))


def taken_over(path: Path, heads: list[str]) -> tuple[Weights, dict[str, Any]]:
    """These heads of an earlier table, its features found again by name; and where they come from."""
    table = json.loads(path.read_text("utf-8"))
    places = np.array([FEATURES.index(feature) for feature in table["features"]], np.intp)
    with tempfile.TemporaryDirectory() as folder:
        renamed = Path(folder) / "weights.json"
        renamed.write_text(json.dumps(table | {"features": FEATURES, "version": VERSION}), "utf-8")
        earlier = loaded(renamed)
    return (
        Weights(
            {
                head: Head(_moved(earlier.heads[head].order, places), _moved(earlier.heads[head].chance, places))
                for head in heads
            },
            {head: earlier.calibrations[head] for head in heads},
        ),
        earlier.provenance,
    )


def _moved(model: Model, places: Array) -> Trees:
    if not isinstance(model, Trees):
        raise SystemExit("only trees are taken over")
    return Trees(places[model.feature], model.threshold, model.value)


def all_collected(cache: Path, without: list[str]) -> dict[str, dict[str, Array]]:
    """By repository, with the features in their order of today."""
    names = sorted(path.stem for path in cache.glob("*.npz") if path.stem not in without)
    repositories = {name: dict(np.load(cache / f"{name}.npz")) for name in names}
    for name, collected in repositories.items():
        features = collected["features"].tolist()
        if missing := set(FEATURES) - set(features):
            raise SystemExit(f"{name} was collected without {', '.join(sorted(missing))}: collect it again")
        collected["matrix"] = collected["matrix"][:, [features.index(feature) for feature in FEATURES]]
    return repositories


def calibrate(cache: Path, table: Path, threads: int) -> None:
    """The probabilities of a table fitted anew; its trees, and so every order, stay."""
    repositories = all_collected(cache, [])
    known, provenance = taken_over(table, list(HEADS))
    curves = {head: calibrated(list(repositories.values()), head, threads) for head in HEADS}
    written(Weights(known.heads, curves, provenance | {"calibrated": date.today().isoformat()}), table)  # noqa: DTZ011


def fit(cache: Path, out: Path, without: list[str], threads: int, anew: list[str], rest: Path | None) -> None:
    found = all_collected(cache, without)
    names, repositories = list(found), list(found.values())
    heads, curves, kept = {}, {}, {}
    if rest is not None:
        others = [head for head in HEADS if head not in anew]
        earlier, origin = taken_over(rest, others)
        heads, curves, kept = dict(earlier.heads), dict(earlier.calibrations), dict.fromkeys(others, origin)
    for head in anew:
        heads[head] = Head(grown(repositories, head, "order", threads), grown(repositories, head, "chance", threads))
        curves[head] = calibrated(repositories, head, threads)
    provenance = {
        "trained": f"on the development windows of {len(names)} public histories"
        + (f", without {', '.join(without)}" if without else ""),
        "repositories": names,
        "date": date.today().isoformat(),  # noqa: DTZ011 – a label
        "script": "benchmarks/train_weights.py",
        "options": {**GROWING, "trees": TREES},
        **({"taken over": kept} if kept else {}),
    }
    written(Weights(heads, curves, provenance), out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    collecting = kinds.add_parser("collect")
    collecting.add_argument("repositories", nargs="+")
    fitting = kinds.add_parser("fit")
    fitting.add_argument("--out", type=Path, required=True)
    fitting.add_argument("--without", action="append", default=[], help="leave this repository out; repeatable")
    fitting.add_argument("--head", action="append", choices=HEADS, help="grow this one anew; repeatable (default: all)")
    fitting.add_argument("--rest", type=Path, metavar="TABLE", help="take the other heads from this table")
    calibrating = kinds.add_parser("calibrate")
    calibrating.add_argument("--out", type=Path, required=True, metavar="TABLE", help="this one, in its place")
    for kind in (fitting, calibrating):
        kind.add_argument("--threads", type=int, default=1)
    for kind in (collecting, fitting, calibrating):
        kind.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    if options.kind == "collect":
        options.cache.mkdir(parents=True, exist_ok=True)
        for repository in options.repositories:
            collect(repository, options.cache)
            print(name_of(repository), flush=True)
    elif options.kind == "calibrate":
        calibrate(options.cache, options.out, options.threads)
    else:
        anew = options.head or list(HEADS)
        if (options.rest is None) != (set(anew) == set(HEADS)):
            parser.error("--head says which heads are grown anew, --rest where the others come from")
        fit(options.cache, options.out, options.without, options.threads, anew, options.rest)


if __name__ == "__main__":
    main()
