"""Error task: predict the sources behind a traceback.

The tracebacks come from a change's new tests. The tests were run on the change's parent. A case is a JSON line with
`unit`, `text` and `gold`, as benchmarks/error_cases.py writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from hunchd.bench import baselines, metrics
from hunchd.bench.outlines import Outlines
from hunchd.bench.results import Results
from hunchd.bench.tasks import PROJECT
from hunchd.bench.walk import walk
from hunchd.domain.context import Focus
from hunchd.domain.errors import InvalidInput
from hunchd.domain.history import Unit
from hunchd.prediction import traces
from hunchd.prediction.files import TEST, traits_of
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.state import State
from hunchd.repository.git import Git

K = 20


@dataclass(frozen=True, slots=True)
class Case:
    """Traceback with the sources that its change touched."""

    repository: str
    unit: str
    test: str
    text: str
    gold: tuple[str, ...]


def cases_in(path: Path) -> list[Case]:
    """Load the cases of a file, in order. Raises InvalidInput."""
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        return [
            Case(line.get("repository", ""), line["unit"], line.get("test", ""), line["text"], tuple(line["gold"]))
            for line in lines
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path} contains no valid cases: {error}") from error


def moments(
    git: Git, units: Sequence[Unit], predictor: Predictor, outlines: Outlines, cases: Sequence[Case]
) -> Iterator[tuple[Case, Unit]]:
    """Yield each case with the predictor as of its test run.

    That is before the unit, but with the unit's tests written, without which they could not fail.
    """
    by_unit: dict[str, list[Case]] = {}
    for case in cases:
        by_unit.setdefault(case.unit, []).append(case)
    positions = [position for position, unit in enumerate(units) if unit.sha in by_unit]
    if not positions:
        return
    for moment in walk(git, units[: positions[-1] + 1], predictor, outlines, positions[0]):
        if moment.unit.sha not in by_unit:
            continue
        for change in moment.unit.changes:
            outline = outlines.of(change.path, change.new_blob) if change.status in "AM" else None
            if outline is not None and traits_of(change.path) & TEST:
                predictor.place(outline)
        for case in by_unit[moment.unit.sha]:
            yield case, moment.unit


def score(
    git: Git,
    units: Sequence[Unit],
    predictor: Predictor,
    outlines: Outlines,
    cases: Sequence[Case],
    results: Results,
    dump: IO[str] | None = None,
) -> None:
    """Add rows for our predictor, the trace and baselines.

    These are the baselines that read messages.
    """
    for case, unit in moments(git, units, predictor, outlines, cases):
        gold = [path for path in case.gold if predictor.has(path)]
        if not gold:
            continue
        focus = Focus(project=PROJECT, errors=(case.text,))
        prediction = predictor.predict(focus, now=unit.at, k=K, explain=False)
        ranked = [file.path for file in prediction.files]
        told = {"hunch": ranked, **named(case.text, predictor.state), **baselines.rankings(predictor.state, focus)}
        by_method = results.rows.setdefault("error", {})
        for method in dict.fromkeys((*told, *by_method)):  # a method without a ranking for this case has found nothing
            rows = by_method.setdefault(method, [])
            rows.append((unit.sha, metrics.measured(told.get(method, ()), gold)))
        if dump is not None:
            line = {"unit": unit.sha, "task": "error", "test": case.test, "gold": gold, "ranked": ranked}
            dump.write(json.dumps(line | {"confidence": prediction.confidence}, ensure_ascii=False) + "\n")


def named(text: str, state: State) -> dict[str, list[str]]:
    """Return the files of the trace, the raise site first.

    There is one list with tests and one without. Without tests is fairer if gold has none.
    """
    files = np.array(traces.files_of(text, state), "<i4")
    sources = files[(state.files.traits.view[files] & TEST) == 0]
    return {
        "trace files": [state.files.paths[file] for file in files.tolist()],
        "trace, no tests": [state.files.paths[file] for file in sources.tolist()],
    }
