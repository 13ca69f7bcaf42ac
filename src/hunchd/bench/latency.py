"""`hunch bench latency`: measures predicting and learning in a large synthetic project."""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from hunchd.domain.code import FileOutline, Symbol
from hunchd.domain.context import Focus
from hunchd.domain.history import Change, Unit
from hunchd.prediction.predictor import Predictor

WORDS = 20_000  # distinct words of the synthetic project
MINUTE = 60  # seconds between two units


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--predictions", type=int, default=400)
    parser.add_argument("--placed", type=int, default=50_000, help="files whose contents are known")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    figures = measured(options)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        print("\n".join(f"{name}: {value:.3f}" for name, value in figures.items()))
    return 0


def measured(options: argparse.Namespace) -> dict[str, float]:
    """Measure wall time in milliseconds and memory in megabytes."""
    drawn = random.Random(options.seed)
    paths = [f"src/part{n // 500}/folder{n // 25}/module_{n}.py" for n in range(options.files)]
    before = _memory()
    predictor = Predictor()
    learning = [_timed(partial(predictor.learn, unit)) for unit in _units(drawn, paths, options.units)]
    for path in paths[: options.placed]:
        predictor.place(_outline(drawn, path))
    figures = {f"learn a unit, {name}": value for name, value in _quantiles(learning).items()}
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "predictor"
        figures["save"] = _timed(lambda: predictor.save(saved))
        figures["saved megabytes"] = saved.stat().st_size / 1e6
        loaded: list[Predictor] = []
        figures["load"] = _timed(lambda: loaded.append(Predictor.load(saved)))
    figures["megabytes in all"] = _memory() - before
    now = options.units * MINUTE
    for kind, focus in (("file", _by_file), ("text", _by_text), ("both", _by_both)):
        times = [_timed(partial(loaded[0].predict, focus(drawn, paths), now=now)) for _ in range(options.predictions)]
        figures |= {f"predict by {kind}, {name}": value for name, value in _quantiles(times).items()}
    saves = [_timed(partial(loaded[0].place, _outline(drawn, drawn.choice(paths)))) for _ in range(200)]
    return figures | {f"place a file, {name}": value for name, value in _quantiles(saves).items()}


def _units(drawn: random.Random, paths: list[str], total: int) -> list[Unit]:
    """Generate units of a few neighbouring files each.

    Some files are touched far more often than others.
    """
    units = []
    for number in range(total):
        around = int(len(paths) * drawn.random() ** 2)
        size = min(1 + int(drawn.expovariate(0.35)), 30)
        touched = {paths[min(around + int(drawn.expovariate(0.2)), len(paths) - 1)] for _ in range(size)}
        units.append(
            Unit(
                sha=f"{number:040x}",
                parents=(),
                author=f"author {number % 50}",
                email=f"author{number % 50}@example.org",
                at=number * MINUTE,
                subject=" ".join(_word(drawn) for _ in range(7)),
                changes=tuple(Change("M", path) for path in touched),
            )
        )
    return units


def _outline(drawn: random.Random, path: str) -> FileOutline:
    words = {_word(drawn): 1 + drawn.randrange(9) for _ in range(120)}
    names = [f"{_word(drawn)}_{_word(drawn)}" for _ in range(12)]
    return FileOutline(
        path,
        f"{drawn.getrandbits(160):040x}",
        "python",
        4_000,
        120,
        tuple(Symbol(name, "function", 1, 2, "") for name in names),
        (f"part{drawn.randrange(100)}.module_{drawn.randrange(1000)}",),
        tuple(words),
        words,
    )


def _word(drawn: random.Random) -> str:
    """Draw a word from a Zipf-like distribution."""
    number = int(WORDS * drawn.random() ** 3)
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def _by_file(drawn: random.Random, paths: list[str]) -> Focus:
    return Focus(project="made-up", file=drawn.choice(paths), author="author1@example.org")


def _by_text(drawn: random.Random, paths: list[str]) -> Focus:
    return Focus(project="made-up", query=" ".join(_word(drawn) for _ in range(7)))


def _by_both(drawn: random.Random, paths: list[str]) -> Focus:
    return Focus(project="made-up", file=drawn.choice(paths), query=" ".join(_word(drawn) for _ in range(7)))


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def _quantiles(times: list[float]) -> dict[str, float]:
    return {name: float(np.quantile(times, q)) for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
