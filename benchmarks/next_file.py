"""Training and evaluation of the next-file ranker on recorded sessions.

    python benchmarks/next_file.py score EVENTS=REPOSITORY… [--table FILE]
    python benchmarks/next_file.py learn EVENTS=REPOSITORY… --units REPOSITORY --out src/hunchd/prediction/sequel.json

EVENTS has one JSON object a line: `session`; `tool` (`Read`; `Update`, `Write` and `Edit`; `Bash`; `USER`); `file`,
relative to the repository; `arg`, the user's message or the command; and where it is known `at`, when the session
began, in seconds since the epoch. Lines are in chronological order. REPOSITORY is the git repository of the session.

Agents go back and forth; a developer who knows the code may open each file once. `--units` names histories whose past
units of work are learned from as well, before their newest 600, with their files opened one after the other in a
random
order.

Before each step from one known file to another the daemon's own predictor is asked, with the history until then: units
from before the session or, where the lines have no times, until the commands that commit them. `score` leaves each
repository out of the training data, unless a table is given. A file that is neither in the history nor was visited
before cannot be named; the share of such steps is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from isotonic import fit_isotonic
from numpy.typing import NDArray

from hunchd.bench.history_walk import ReplayWindows
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.replay import get_repository_name
from hunchd.domain.code import FileOutline
from hunchd.domain.context import Focus
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work, list_existing_paths
from hunchd.ingestion import history
from hunchd.prediction import calibration, session_reranker
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.query import build_query
from hunchd.prediction.session import SessionEvent
from hunchd.prediction.session_reranker import SIGN_NAMES, VERSION, VISIT_HORIZON, SessionReranker
from hunchd.repository.git import Git

Array = NDArray[Any]

READING, EDITING = ("Read",), ("Update", "Write", "Edit")
COMMITTED = re.compile(r'git commit.*?-m "([^"\n]{8,40})')
BETWEEN = 60  # assumed seconds between two events: recordings have no times
TEST_UNITS, UNITS_OF_HISTORY, LARGEST_UNIT = 600, 300, 8  # training histories
APART = 86_400  # assumed seconds between two sessions without times
STRETCH = 100  # units whose blobs are fetched at once
SHRINKAGE = 1e-2  # ridge, on standardised signs
LEAST_SPREAD = 1e-4  # occurrences of a feature: below it nothing can be learned
MOST_ROUNDS, SMALLEST_STEP = 40, 1e-5
SAME_WEIGHT = 300  # questions: each repository gets the weight of this many


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the features of each candidate before it, and the file opened next."""

    signs: Array
    right: Array  # marks the right candidate; none if it is not among them
    soon: Array  # marks candidates visited within the next SOON steps
    words: bool
    before: bool  # True if it had been visited in this session
    place: dict[str, int]  # rank of the right file by method; 0: not named


@dataclass(slots=True)
class Recording:
    name: str
    steps: list[Step]
    unknown: int = 0  # steps to files that no method can name


class Project:
    """Predictor that learns a history bit by bit."""

    def __init__(self, repository: str, cache: Path | None) -> None:
        git = Git(repository)
        self.units: list[Unit] = list(history.iter_units(git))
        self.outlines = OutlineCache(git, cache)
        self.predictor = Predictor()
        self.learned = 0
        self.clock = 0

    def learn(self, until: int) -> None:
        """Learn all units before this one, with the files' state after them."""
        while self.learned < until:
            stretch = self.units[self.learned : min(until, self.learned + STRETCH)]
            changed = [change for unit in stretch for change in unit.changes if change.status != "D"]
            self.outlines.prepare((change.path, change.new_blob) for change in changed)
            for unit in stretch:
                self.predictor.learn_unit(unit)
                for change in unit.changes:
                    outline = self.outlines.get_outline(change.path, change.new_blob) if change.status != "D" else None
                    if outline is not None:
                        self.predictor.update_content(outline)
            self.learned += len(stretch)


def load_recording(events: Path, repository: str, cache: Path | None) -> Recording:
    """Return all steps of the sessions of one project."""
    project = Project(repository, cache)
    recording = Recording(get_repository_name(repository), [])
    subjects = {unit.subject[:40]: position for position, unit in reversed(list(enumerate(project.units)))}
    lines = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
    for _, session in groupby(lines, lambda line: line["session"]):
        _one_session(project, list(session), subjects, recording)
    return recording


def _one_session(project: Project, session: Sequence[dict[str, Any]], subjects: dict[str, int], to: Recording) -> None:
    began = session[0].get("at")
    commits = [_find_commit(line, subjects) for line in session]
    if began is not None:
        project.learn(sum(unit.at < began for unit in project.units))
    elif ahead := [commit for commit in commits if commit is not None and commit >= project.learned]:
        project.learn(min(ahead))
    newest = project.units[project.learned - 1].at if project.learned else 0
    project.clock = max(began or 0, newest, project.clock + APART)
    path, message = _list_visits(session), ""
    ahead = path[1:]
    visited: list[str] = []
    for line, commit in zip(session, commits, strict=True):
        project.clock += BETWEEN
        if line["tool"] == "USER":
            message = line["arg"]
        elif commit is not None and began is None:
            project.learn(commit + 1)
        elif file := _get_file(line):
            if visited and visited[-1] != file:
                _record_step(project, visited, message, ahead, to)
                ahead = ahead[1:]
            if visited[-1:] != [file]:
                visited.append(file)
            if line["tool"] in EDITING and not project.predictor.has_file(file):
                project.predictor.update_content(FileOutline(file, blob="", language="", size=0, lines=0))
            project.predictor.record_event(SessionEvent("opened", project.clock, file))
            if line["tool"] in EDITING:
                project.predictor.record_event(SessionEvent("saved", project.clock, file))


def simulate_sessions(repository: str, cache: Path | None) -> Recording:
    """Return past units of work as sessions that open each file once, in a random order."""
    project = Project(repository, cache)
    recording = Recording(get_repository_name(repository), [])
    windows = ReplayWindows.create(len(project.units), TEST_UNITS, UNITS_OF_HISTORY)
    for position in range(windows.start, windows.test):
        project.learn(position)
        unit = project.units[position]
        known_paths = sorted(path for path in list_existing_paths(unit) if project.predictor.has_file(path))
        if not is_work(unit) or not 3 <= len(known_paths) <= LARGEST_UNIT:
            continue
        project.clock = max(project.clock + APART, unit.at)
        order = random.Random(unit.sha).sample(known_paths, len(known_paths))
        for opened, path in enumerate(order):
            if opened:
                project.clock += BETWEEN
                _record_step(project, order[:opened], "", order[opened:], recording)
            project.predictor.record_event(SessionEvent("opened", project.clock, path))
    return recording


def _find_commit(line: dict[str, Any], subjects: dict[str, int]) -> int | None:
    """Return the position of the unit that a command commits, if its subject is known."""
    found = COMMITTED.search(str(line.get("arg", ""))) if line["tool"] == "Bash" else None
    return subjects.get(found.group(1)) if found else None


def _list_visits(session: Sequence[dict[str, Any]]) -> list[str]:
    """Return the files of a session in order, without immediate repetitions."""
    return [file for file, _ in groupby(filter(None, map(_get_file, session)))]


def _get_file(line: dict[str, Any]) -> str:
    """Return the file that was read or edited; "" for anything else."""
    return str(line.get("file") or "") if line["tool"] in READING + EDITING else ""


def _record_step(project: Project, visited: Sequence[str], message: str, ahead: Sequence[str], to: Recording) -> None:
    """Record the candidates after the last of `visited`, by each method."""
    predictor, right = project.predictor, ahead[0]
    if not project.learned:
        return
    if not predictor.has_file(right):
        to.unknown += right not in visited
        return
    author = project.units[project.learned - 1].email
    focus = Focus(project="recorded", file=visited[-1], visited=tuple(visited[-8:-1]), author=author)
    paths_of = predictor.state.files.paths
    alone = predictor.rank_candidates(build_query(replace(focus, visited=()), predictor.state), project.clock)
    others = {
        "history alone": [paths_of[file] for file in alone.evidence.files[np.argsort(-alone.uncorrected_scores)]],
        "newest first": list(dict.fromkeys(reversed(visited[:-1]))),
        "most visited": _most_visited(visited),
    }
    for words in (False, True) if message else (False,):
        query = build_query(replace(focus, query=message if words else ""), predictor.state)
        ranked = predictor.rank_candidates(query, project.clock)
        paths = [paths_of[file] for file in ranked.evidence.files]
        steps = predictor.list_session_steps(query, project.clock)
        if not steps:
            to.unknown += not words
            continue
        signs = session_reranker.compute_signs(
            predictor.state, ranked.evidence, ranked.uncorrected_scores, steps, project.clock
        )
        soon = set(ahead[:VISIT_HORIZON])
        to.steps.append(
            Step(
                signs,
                np.array([path == right for path in paths], "?"),
                np.array([path in soon for path in paths], "?"),
                words and query.head != "seed",
                right in visited,
                {name: _find_rank(others[name], right, visited[-1]) for name in others},
            )
        )


def _most_visited(visited: Sequence[str]) -> list[str]:
    """Rank files by their visits, each fading with the steps since."""
    counts: dict[str, float] = {}
    for age, file in enumerate(reversed(visited)):
        counts[file] = counts.get(file, 0.0) + session_reranker.STEP_DECAY**age
    return sorted(counts, key=lambda file: -counts[file])


def _find_rank(ranking: Sequence[str], right: str, at_hand: str) -> int:
    others = [path for path in ranking if path != at_hand]
    return others.index(right) + 1 if right in others else 0


def fit_weights(weighted_steps: Sequence[tuple[Step, float]]) -> Array:
    """Fit feature weights by a conditional logit (McFadden, 1974).

    Ridge on standardised features, by Newton's method.
    """
    some = [(one.signs, one.right, weight) for one, weight in weighted_steps if one.right.any()]
    spread = np.concatenate([signs for signs, _, _ in some]).std(axis=0)
    scale = np.where(spread > LEAST_SPREAD, spread, 1.0)
    questions = [(signs / scale, right, weight) for signs, right, weight in some]
    weights = np.zeros(len(SIGN_NAMES))
    best, gradient, curvature = _likelihood(questions, weights)
    for _ in range(MOST_ROUNDS):
        step = np.linalg.solve(curvature, gradient)
        while np.abs(step).max() > SMALLEST_STEP:
            now = _likelihood(questions, weights + step)
            if now[0] > best:
                break
            step = step / 2
        else:
            break
        weights = weights + step
        best, gradient, curvature = now
    weights[spread <= LEAST_SPREAD] = 0.0
    return weights / scale


def _likelihood(questions: Sequence[tuple[Array, Array, float]], weights: Array) -> tuple[float, Array, Array]:
    """Return the mean log likelihood less the ridge, its gradient, and its negated curvature."""
    total = sum(weight for _, _, weight in questions)
    value = -SHRINKAGE * float(weights @ weights)
    gradient, curvature = -2 * SHRINKAGE * weights, 2 * SHRINKAGE * np.eye(len(weights))
    for standard, right, weight in questions:
        likely = np.exp(session_reranker.compute_log_shares(standard @ weights))
        mean = likely @ standard
        value += weight / total * float(np.log(likely[right][0] + 1e-30))
        gradient += weight / total * (standard[right][0] - mean)
        curvature += weight / total * ((standard.T * likely) @ standard - np.outer(mean, mean))
    return value, gradient, curvature


def fit_table(recordings: Sequence[Recording], chance: calibration.Isotonic | None = None) -> SessionReranker:
    """Fit the table on these recordings with equal weight each."""
    by_words = {}
    for words in (False, True):
        steps_by_recording = [[one for one in recording.steps if one.words == words] for recording in recordings]
        by_words[words] = fit_weights([(one, SAME_WEIGHT / len(few)) for few in steps_by_recording for one in few])
    return SessionReranker(by_words[False], by_words[True], chance or calibration.create_default())


def calibrate(recordings: Sequence[Recording], pasts: Sequence[Recording]) -> calibration.Isotonic:
    """Map shares of the next step to the probability of a visit soon.

    Each recording is scored by weights from all others.
    """
    scores, used = [], []
    for left_out in recordings:
        table = fit_table([*(recording for recording in recordings if recording is not left_out), *pasts])
        for one in left_out.steps:
            scores.append(session_reranker.compute_log_shares(table.compute_scores(one.signs, words=one.words)))
            used.append(one.soon)
    return fit_isotonic(np.concatenate(scores), np.concatenate(used).astype("<f4"))


def format_table(recording: Recording, table: SessionReranker) -> str:
    """Format a table: all steps, and those to new and to visited files."""
    few = [one for one in recording.steps if not one.words]
    rows: list[tuple[str, Sequence[Step], Callable[[Step], int]]] = [
        ("hunch", few, lambda one: _rank(one, table)),
        ("hunch, with what was said", [one for one in recording.steps if one.words], lambda one: _rank(one, table)),
        *((name, few, lambda one, name=name: one.place[name]) for name in few[0].place),
    ]
    lines = [f"{recording.name}: {len(few)} steps; {recording.unknown} more led to files that nobody could name"]
    for name, steps, place in rows:
        parts = []
        for kind in (None, True, False):
            places = [place(one) for one in steps if kind is None or one.before == kind]
            figures = [np.mean([0 < rank <= k for rank in places]) if places else 0.0 for k in (1, 3, 5, 10)]
            parts.append(" ".join(f"{figure:.3f}" for figure in figures))
        lines.append(f"  {name:26} all {parts[0]} | back {parts[1]} | new {parts[2]}")
    return "\n".join(lines)


def _rank(one: Step, table: SessionReranker) -> int:
    if not one.right.any():
        return 0
    scores = table.compute_scores(one.signs, words=one.words)
    return 1 + int((scores > scores[one.right][0]).sum())


def _load_recordings(options: argparse.Namespace) -> Iterator[Recording]:
    for pair in options.recording:
        events, _, repository = pair.partition("=")
        yield load_recording(Path(events), repository, options.cache)


def save_weights(reranker: SessionReranker, path: Path) -> None:
    """Save the weights of a reranker as JSON."""
    table = {
        "version": VERSION,
        "provenance": reranker.provenance,
        "signs": list(SIGN_NAMES),
        "files": [round(float(weight), 4) for weight in reranker.seed_weights],
        "words": [round(float(weight), 4) for weight in reranker.text_weights],
        "chance": {
            "scores": reranker.calibration.scores.round(4).tolist(),
            "probabilities": reranker.calibration.probabilities.round(4).tolist(),
        },
    }
    path.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("score", "learn"))
    parser.add_argument("recording", nargs="+", metavar="EVENTS=REPOSITORY")
    parser.add_argument("--units", action="append", default=[], metavar="REPOSITORY", help="learn from its past too")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep parsed outlines here between runs")
    parser.add_argument("--table", type=Path, metavar="FILE", help="score with this one")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", default=session_reranker.WEIGHTS_FILE, help="where the table is written"
    )
    options = parser.parse_args()
    recordings = list(_load_recordings(options))
    pasts = [simulate_sessions(repository, options.cache) for repository in options.units]
    if options.what == "learn":
        about = {
            "learned": datetime.now(UTC).date().isoformat(),
            "from": {one.name: len(one.steps) for one in recordings},
        }
        table = fit_table(recordings, calibrate(recordings))
        save_weights(SessionReranker(table.seed_weights, table.text_weights, table.calibration, about), options.out)
        return
    for recording in recordings:
        others = [other for other in recordings if other is not recording]
        table = session_reranker.load_weights(options.table) if options.table else fit_table([*others, *pasts])
        print(format_table(recording, table), flush=True)


if __name__ == "__main__":
    main()
