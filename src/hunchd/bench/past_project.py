"""A project as the daemon would hold it just before a past commit, moved forward commit by commit."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hunchd.config.settings import ContextSettings, IndexSettings
from hunchd.domain.code import FileOutline
from hunchd.domain.history import Change, Unit
from hunchd.engine.answering.answers import Answers
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import Features
from hunchd.engine.state.project import Own, Project, Tree
from hunchd.ingestion import history
from hunchd.ingestion.conventions import conventions
from hunchd.ingestion.naming import may_be_named
from hunchd.ingestion.parsing import outline_of
from hunchd.ingestion.skeleton import view
from hunchd.ingestion.topics import topics
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.weights import Weights
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.layout import find
from hunchd.store.code import CodeCache
from hunchd.store.hot import HotTier

BATCH = 200  # files parsed before they are written to the cache
BRANCH = "main"
LARGEST = IndexSettings().max_file_bytes


@dataclass(slots=True)
class PastProject:
    """The project, its clone and the answer path of the daemon; `advance` moves it over the next unit."""

    git: Git
    project: Project
    predictor: Predictor
    code: CodeCache
    answers: Answers
    at: datetime

    @property
    def tree(self) -> Tree:
        return self.project.main

    def prepare(self, unit: Unit) -> None:
        """Set the clock and the user to those of the unit that is about to be written."""
        self.at = datetime.fromtimestamp(unit.at, UTC)
        self.tree.user = unit.email
        self.project.touch()

    def advance(self, unit: Unit) -> None:
        """Learn the unit and read the files that it left."""
        self.predictor.learn(unit)
        kept = [change for change in unit.changes if change.status != "D" and may_be_named(change.path)]
        self.code.remove(gone for change in unit.changes for gone in _paths_left(change))
        outlines = list(_parsed(self.git, {change.path: change.new_blob for change in kept}))
        self.code.put(outlines, view=view)
        for outline in outlines:
            self.predictor.place(outline)


def _paths_left(change: Change) -> Iterator[str]:
    if change.status == "D":
        yield change.path
    elif change.old_path and change.status == "R":
        yield change.old_path


@contextmanager
def past_project(
    git: Git, units: Sequence[Unit], folder: Path, cache: Path | None, table: Weights
) -> Iterator[PastProject]:
    """The project after the last of `units`, which are all there were; the clone lies in `folder`."""
    sha, root = units[-1].sha, folder / "clone"
    _clone(git, sha, root)
    code_file = folder / "code.sqlite"
    kept = cache / f"{sha}.sqlite" if cache is not None else None
    if kept is not None and kept.exists():
        shutil.copy(kept, code_file)
    predictor = Predictor(table)
    for unit in units:
        predictor.learn(unit)
    with CodeCache(code_file, writable=True) as code:
        if not code.count():
            _fill(git, sha, code)
            if kept is not None:
                shutil.copy(code_file, kept)
        for outline in code.outlines():
            predictor.place(outline)
        yield _assembled(git, root, predictor, code, datetime.fromtimestamp(units[-1].at, UTC))


def units_of(git: Git, cache: Path | None) -> list[Unit]:
    """The whole history with counted lines, which takes long to read and is therefore cached."""
    kept = cache / f"{git.resolve()}.units" if cache is not None else None
    if kept is not None and kept.exists():
        found: list[Unit] = pickle.loads(kept.read_bytes())
        return found
    units = list(history.units(git, lines=True))
    if kept is not None:
        kept.write_bytes(pickle.dumps(units))
    return units


def _clone(git: Git, sha: str, root: Path) -> None:
    command = ("git", "clone", "-q", "--shared", "--no-checkout", str(git.path), str(root))
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(("git", "checkout", "-q", "-B", BRANCH, sha), cwd=root, check=True, capture_output=True)


def _fill(git: Git, sha: str, code: CodeCache) -> None:
    wanted = {path: blob for path, blob in git.tree(sha).items() if may_be_named(path)}
    batch: list[FileOutline] = []
    for outline in _parsed(git, wanted):
        batch.append(outline)
        if len(batch) == BATCH:
            code.put(batch, view=view)
            batch = []
    code.put(batch, view=view)


def _parsed(git: Git, wanted: dict[str, str]) -> Iterator[FileOutline]:
    paths: dict[str, list[str]] = {}
    for path, blob in wanted.items():
        paths.setdefault(blob, []).append(path)
    for blob, content in git.blobs(paths, largest=LARGEST):
        for path in paths[blob]:
            yield outline_of(path, content, blob)


def _assembled(git: Git, root: Path, predictor: Predictor, code: CodeCache, at: datetime) -> PastProject:
    found = find(root)
    assert found is not None, "a clone has a layout"
    tree = Tree(root, found, branch=BRANCH, trunk=BRANCH)
    project = Project("bench", root.name, tree, root.parent, predictor=predictor, code=code, indexing=False)
    project.trees[root] = tree
    files = [path for path, _ in IgnoreRules.load(root, ()).walk() if may_be_named(path)]
    project.facts = {fact.id: fact for fact in conventions(root, files, project=project.id, now=at)}
    project.topics = tuple(topics(code.defined()))
    past = PastProject(git, project, predictor, code, _answers(lambda: past.at), at)
    return past


def _answers(now: Callable[[], datetime]) -> Answers:
    return Answers(
        ContextSettings(),
        HotTier(),
        Events(),
        Own(),
        secret=b"bench",
        now=now,
        list_problems=lambda _: (),
        features=Features(),
        scoreboard_file=Path(os.devnull),
    )
