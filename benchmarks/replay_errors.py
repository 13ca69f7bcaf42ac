"""Error task: predict the source files that cause a traceback.

The tracebacks come from the new tests of a change, which were run on the parent of the change. A case is a JSON
line with `unit`, `text` and `gold`, as written by benchmarks/error_cases.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from replay_baselines import compute_rankings
from replay_scores import create_parser, score_repositories

from hunchd.bench import metrics
from hunchd.bench.history_walk import walk_history
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.results import ReplayResults
from hunchd.bench.tasks import PROJECT_NAME
from hunchd.domain.context import Focus
from hunchd.domain.errors import InvalidInput
from hunchd.domain.history import Unit
from hunchd.prediction import traces
from hunchd.prediction.file_table import TEST, classify_path
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.state import PredictorState
from hunchd.repository.git import Git

MAX_RANKED = 20


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """Traceback with the source files that its change touched."""

    repository: str
    unit: str
    test: str
    text: str
    gold: tuple[str, ...]


def load_cases(path: Path) -> list[ErrorCase]:
    """Load the cases from a file, in order.

    Raises InvalidInput if the file cannot be read or contains an invalid case.
    """
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        return [
            ErrorCase(line.get("repository", ""), line["unit"], line.get("test", ""), line["text"], tuple(line["gold"]))
            for line in lines
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"the cases in {path} cannot be read: {error}") from error


def iterate_cases(
    git: Git, units: Sequence[Unit], predictor: Predictor, outlines: OutlineCache, cases: Sequence[ErrorCase]
) -> Iterator[tuple[ErrorCase, Unit]]:
    """Yield each case with its unit, after the predictor has reached the state of the test run.

    That is the state before the unit, but with the tests of the unit added, because without them no test could fail.
    """
    by_unit: dict[str, list[ErrorCase]] = {}
    for case in cases:
        by_unit.setdefault(case.unit, []).append(case)
    positions = [position for position, unit in enumerate(units) if unit.sha in by_unit]
    if not positions:
        return
    for moment in walk_history(git, units[: positions[-1] + 1], predictor, outlines, positions[0]):
        if moment.unit.sha not in by_unit:
            continue
        for change in moment.unit.changes:
            outline = outlines.get_outline(change.path, change.new_blob) if change.status in "AM" else None
            if outline is not None and classify_path(change.path) & TEST:
                predictor.update_content(outline)
        for case in by_unit[moment.unit.sha]:
            yield case, moment.unit


def score_error_task(
    git: Git,
    units: Sequence[Unit],
    predictor: Predictor,
    outlines: OutlineCache,
    cases: Sequence[ErrorCase],
    results: ReplayResults,
    dump: IO[str] | None = None,
) -> None:
    """Add rows for the predictor, for the files in the trace, and for the baselines that read messages."""
    for case, unit in iterate_cases(git, units, predictor, outlines, cases):
        gold = [path for path in case.gold if predictor.has_file(path)]
        if not gold:
            continue
        focus = Focus(project=PROJECT_NAME, errors=(case.text,))
        prediction = predictor.predict(focus, now=unit.at, k=MAX_RANKED, explain=False)
        ranking = [file.path for file in prediction.files]
        rankings = {
            "hunch": ranking,
            **list_trace_files(case.text, predictor.state),
            **compute_rankings(predictor.state, focus),
        }
        by_method = results.rows.setdefault("error", {})
        for method in dict.fromkeys(
            (*rankings, *by_method)
        ):  # a method without a ranking for this case has found nothing
            rows = by_method.setdefault(method, [])
            rows.append((unit.sha, metrics.compute_metrics(rankings.get(method, ()), gold)))
        if dump is not None:
            line = {"unit": unit.sha, "task": "error", "test": case.test, "gold": gold, "ranked": ranking}
            dump.write(json.dumps(line | {"confidence": prediction.confidence}, ensure_ascii=False) + "\n")


def list_trace_files(text: str, state: PredictorState) -> dict[str, list[str]]:
    """Return the files of the trace, the raise site first.

    There is one list with tests and one without. The one without is fairer if `gold` contains no tests.
    """
    files = np.array(traces.list_files(text, state), "<i4")
    sources = files[(state.files.traits.view[files] & TEST) == 0]
    return {
        "trace files": [state.files.paths[file] for file in files.tolist()],
        "trace, no tests": [state.files.paths[file] for file in sources.tolist()],
    }


def main() -> int:
    parser = create_parser(__doc__, "case")
    parser.add_argument("--cases", type=Path, required=True, metavar="FILE", help="as error_cases.py writes them")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="cache parsed outlines here between runs")
    options = parser.parse_args()
    cases = load_cases(options.cases)

    def score(git: Git, units: Sequence[Unit], results: ReplayResults, dump: IO[str] | None) -> None:
        with OutlineCache(git, options.cache) as outlines:
            score_error_task(git, units, Predictor(), outlines, cases, results, dump)

    score_repositories(options, score)
    return 0


if __name__ == "__main__":
    sys.exit(main())
