"""Replay of a project, commit by commit, as the daemon would have seen it."""

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

from hunchd.config.settings import ContextSettings
from hunchd.core.memory.hidden_work import HiddenWork
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project, UserState, WorkingTree
from hunchd.domain.code import FileOutline
from hunchd.domain.history import PathChange, Unit
from hunchd.features.context.context_service import ContextService
from hunchd.ingestion import history
from hunchd.ingestion.conventions import extract_conventions, may_state_conventions
from hunchd.ingestion.parsing import parse_outline
from hunchd.ingestion.path_filter import is_reportable_path
from hunchd.ingestion.skeleton import build_view
from hunchd.ingestion.topics import find_topics
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.weights import RankerWeights
from hunchd.protocol.indexing_messages import MAX_FILE_BYTES
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.layout import find_repository
from hunchd.store.code_cache import CodeCache
from hunchd.store.memory_cache import MemoryCache

BATCH = 200  # files parsed before they are written to the cache
BRANCH = "main"


@dataclass(slots=True)
class PastProject:
    """Project in its state at a past commit.

    `answers` is the context service that builds bundles for the project.
    """

    git: Git
    project: Project
    predictor: Predictor
    code: CodeCache
    answers: ContextService
    at: datetime
    sha: str  # last commit that was learned
    conventions_are_stale: bool = True

    @property
    def tree(self) -> WorkingTree:
        return self.project.main

    def prepare(self, unit: Unit) -> None:
        """Set the clock to the time of the next unit, and the user to its author.

        The user is identified by an e-mail address. If the conventions are outdated, they are read again.
        """
        self.at = datetime.fromtimestamp(unit.at, UTC)
        self.tree.user_email = unit.email
        if self.conventions_are_stale:
            self._read_conventions()
        self.project.bump_revision()

    def _read_conventions(self) -> None:
        """Read the conventions that the files of the last learned commit state.

        The daemon does the same when these files change.
        """
        root = self.tree.root
        _check_out(self.sha, root)
        files = [path for path, _ in IgnoreRules.load(root, ()).walk() if is_reportable_path(path)]
        facts = extract_conventions(root, files, project=self.project.id, now=self.at)
        self.project.facts = {fact.id: fact for fact in facts}
        self.project.topics = tuple(find_topics(self.code.count_symbols_by_file()))
        self.conventions_are_stale = False

    def advance(self, unit: Unit) -> None:
        """Learn the unit of work, and read the files as the unit left them."""
        self.predictor.learn_unit(unit)
        reportable_changes = [
            change for change in unit.changes if change.status != "D" and is_reportable_path(change.path)
        ]
        self.code.remove(removed_path for change in unit.changes for removed_path in _iterate_removed_paths(change))
        outlines = list(_parse_files(self.git, {change.path: change.new_blob for change in reportable_changes}))
        self.code.put(outlines, view=build_view)
        for outline in outlines:
            self.predictor.update_content(outline)
        self.sha = unit.sha
        self.conventions_are_stale |= any(
            path and may_state_conventions(path) for change in unit.changes for path in (change.path, change.old_path)
        )


def _iterate_removed_paths(change: PathChange) -> Iterator[str]:
    if change.status == "D":
        yield change.path
    elif change.old_path and change.status == "R":
        yield change.old_path


@contextmanager
def build_past_project(
    git: Git, units: Sequence[Unit], folder: Path, cache: Path | None, table: RankerWeights
) -> Iterator[PastProject]:
    """Yield the project in its state after the last of `units`.

    The repository is cloned into `folder`. If `cache` is given, the parsed files are cached in it.
    """
    sha, root = units[-1].sha, folder / "clone"
    _clone_repository(git, sha, root)
    code_file = folder / "code.sqlite"
    snapshot_file = cache / f"{sha}.sqlite" if cache is not None else None
    if snapshot_file is not None and snapshot_file.exists():
        shutil.copy(snapshot_file, code_file)
    predictor = Predictor(table)
    for unit in units:
        predictor.learn_unit(unit)
    with CodeCache(code_file, writable=True) as code:
        if not code.count_files():
            _index_files(git, sha, code)
            if snapshot_file is not None:
                shutil.copy(code_file, snapshot_file)
        for outline in code.iterate_outlines():
            predictor.update_content(outline)
        yield _assemble_project(git, root, predictor, code, units[-1])


def read_units(git: Git, cache: Path | None) -> list[Unit]:
    """Return the units of the whole history, with line counts.

    Reading the history takes long, so the units are cached in the folder `cache`, if given.
    """
    cache_file = cache / f"{git.resolve()}.units" if cache is not None else None
    if cache_file is not None and cache_file.exists():
        cached_units: list[Unit] = pickle.loads(cache_file.read_bytes())
        return cached_units
    units = list(history.iter_units(git, lines=True))
    if cache_file is not None:
        cache_file.write_bytes(pickle.dumps(units))
    return units


def _clone_repository(git: Git, sha: str, root: Path) -> None:
    command = ("git", "clone", "-q", "--shared", "--no-checkout", str(git.path), str(root))
    subprocess.run(command, check=True, capture_output=True)
    _check_out(sha, root)


def _check_out(sha: str, root: Path) -> None:
    subprocess.run(("git", "checkout", "-q", "-B", BRANCH, sha), cwd=root, check=True, capture_output=True)


def _index_files(git: Git, sha: str, code: CodeCache) -> None:
    blobs_by_path = {path: blob for path, blob in git.list_tree(sha).items() if is_reportable_path(path)}
    batch: list[FileOutline] = []
    for outline in _parse_files(git, blobs_by_path):
        batch.append(outline)
        if len(batch) == BATCH:
            code.put(batch, view=build_view)
            batch = []
    code.put(batch, view=build_view)


def _parse_files(git: Git, blobs_by_path: dict[str, str]) -> Iterator[FileOutline]:
    paths: dict[str, list[str]] = {}
    for path, blob in blobs_by_path.items():
        paths.setdefault(blob, []).append(path)
    for blob, content in git.read_blobs(paths, max_bytes=MAX_FILE_BYTES):
        for path in paths[blob]:
            yield parse_outline(path, content, blob)


def _assemble_project(git: Git, root: Path, predictor: Predictor, code: CodeCache, last: Unit) -> PastProject:
    repository = find_repository(root)
    assert repository is not None, "a clone has a layout"
    tree = WorkingTree(root, repository, branch=BRANCH, trunk=BRANCH)
    project = Project("bench", root.name, tree, root.parent, predictor=predictor, code=code, indexing=False)
    project.trees[root] = tree
    service = _build_context_service(lambda: past.at, root.parent)
    past = PastProject(git, project, predictor, code, service, datetime.fromtimestamp(last.at, UTC), last.sha)
    return past


def _build_context_service(now: Callable[[], datetime], folder: Path) -> ContextService:
    return ContextService(
        ContextSettings(),
        MemoryCache(),
        EventBus(),
        UserState(),
        secret=b"bench",
        now=now,
        list_problems=lambda _: (),
        features=Features(),
        scoreboard_file=Path(os.devnull),
        hidden_work=HiddenWork(folder),
    )
