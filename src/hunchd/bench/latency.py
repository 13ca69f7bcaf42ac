"""`hunch bench latency`: times prediction and learning in a large synthetic project."""

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
from hunchd.domain.history import PathChange, Unit
from hunchd.prediction.predictor import Predictor

VOCABULARY_SIZE = 20_000  # distinct words of the synthetic project
UNIT_INTERVAL = 60  # seconds between two units


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=50_000, help="number of files in the project")
    parser.add_argument("--units", type=int, default=100_000, help="number of units of work in the history")
    parser.add_argument("--predictions", type=int, default=400, help="number of predictions to measure")
    parser.add_argument("--placed", type=int, default=50_000, help="number of files whose contents are known")
    parser.add_argument("--seed", type=int, default=0, help="seed for the random draws")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    figures = measure_latency(options)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        print("\n".join(f"{name}: {value:.3f}" for name, value in figures.items()))
    return 0


def measure_latency(options: argparse.Namespace) -> dict[str, float]:
    """Measure wall-clock time in milliseconds and memory in megabytes."""
    rng = random.Random(options.seed)
    paths = [f"src/part{n // 500}/folder{n // 25}/module_{n}.py" for n in range(options.files)]
    before = _measure_memory()
    predictor = Predictor()
    learning = [_time_call(partial(predictor.learn_unit, unit)) for unit in _generate_units(rng, paths, options.units)]
    for path in paths[: options.placed]:
        predictor.update_content(_generate_outline(rng, path))
    figures = {f"learn a unit, {name}": value for name, value in _compute_quantiles(learning).items()}
    with tempfile.TemporaryDirectory() as folder:
        model_path = Path(folder) / "predictor"
        figures["save"] = _time_call(lambda: predictor.save(model_path))
        figures["saved megabytes"] = model_path.stat().st_size / 1e6
        loaded_models: list[Predictor] = []
        figures["load"] = _time_call(lambda: loaded_models.append(Predictor.load(model_path)))
    figures["megabytes in all"] = _measure_memory() - before
    now = options.units * UNIT_INTERVAL
    for kind, focus in (("file", _build_file_focus), ("text", _build_text_focus), ("both", _build_combined_focus)):
        times = [
            _time_call(partial(loaded_models[0].predict, focus(rng, paths), now=now))
            for _ in range(options.predictions)
        ]
        figures |= {f"predict by {kind}, {name}": value for name, value in _compute_quantiles(times).items()}
    saves = [
        _time_call(partial(loaded_models[0].update_content, _generate_outline(rng, rng.choice(paths))))
        for _ in range(200)
    ]
    return figures | {f"place a file, {name}": value for name, value in _compute_quantiles(saves).items()}


def _generate_units(rng: random.Random, paths: list[str], total: int) -> list[Unit]:
    """Generate units of work, each changing a few neighbouring files.

    Some files are changed far more often than others.
    """
    units = []
    for number in range(total):
        around = int(len(paths) * rng.random() ** 2)
        size = min(1 + int(rng.expovariate(0.35)), 30)
        touched_paths = {paths[min(around + int(rng.expovariate(0.2)), len(paths) - 1)] for _ in range(size)}
        units.append(
            Unit(
                sha=f"{number:040x}",
                parents=(),
                author=f"author {number % 50}",
                email=f"author{number % 50}@example.org",
                at=number * UNIT_INTERVAL,
                subject=" ".join(_draw_word(rng) for _ in range(7)),
                changes=tuple(PathChange("M", path) for path in touched_paths),
            )
        )
    return units


def _generate_outline(rng: random.Random, path: str) -> FileOutline:
    words = {_draw_word(rng): 1 + rng.randrange(9) for _ in range(120)}
    names = [f"{_draw_word(rng)}_{_draw_word(rng)}" for _ in range(12)]
    return FileOutline(
        path,
        f"{rng.getrandbits(160):040x}",
        "python",
        4_000,
        120,
        tuple(Symbol(name, "function", 1, 2, "") for name in names),
        (f"part{rng.randrange(100)}.module_{rng.randrange(1000)}",),
        tuple(words),
        words,
    )


def _draw_word(rng: random.Random) -> str:
    """Draw a word from a Zipf-like distribution."""
    number = int(VOCABULARY_SIZE * rng.random() ** 3)
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def _build_file_focus(rng: random.Random, paths: list[str]) -> Focus:
    return Focus(project="made-up", file=rng.choice(paths), author="author1@example.org")


def _build_text_focus(rng: random.Random, paths: list[str]) -> Focus:
    return Focus(project="made-up", query=" ".join(_draw_word(rng) for _ in range(7)))


def _build_combined_focus(rng: random.Random, paths: list[str]) -> Focus:
    return Focus(project="made-up", file=rng.choice(paths), query=" ".join(_draw_word(rng) for _ in range(7)))


def _time_call(work: Callable[[], object]) -> float:
    start_time = time.perf_counter()
    work()
    return (time.perf_counter() - start_time) * 1e3


def _compute_quantiles(times: list[float]) -> dict[str, float]:
    return {name: float(np.quantile(times, q)) for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}


def _measure_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
