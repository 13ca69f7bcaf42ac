"""Search for files that are missing from a change."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import ChangedName, ContextCandidate, Focus
from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.ingestion.words import select_informative_words
from hunchd.prediction.missing import find_missing_files
from hunchd.protocol.requests import ReviewRequest
from hunchd.protocol.responses import ReviewAnswer, review_answer
from hunchd.repository.changed_names import find_changed_names
from hunchd.repository.git import Git
from hunchd.repository.safe_reading import read_file
from hunchd.repository.tree_snapshots import MAX_BYTES, changed_paths

logger = logging.getLogger(__name__)

PATIENCE = 0.5  # seconds to wait for git; in a huge tree, the context is built without the uncommitted change


async def list_changed_files(tree: WorkingTree, *, within: float | None = None) -> tuple[str, ...]:
    """Return the paths of the uncommitted changes, which git lists in a thread.

    Returns an empty tuple for a plain folder, if git fails, or if git takes longer than `within` seconds.
    """
    if tree.layout.git_dir is None:
        return ()
    try:
        async with asyncio.timeout(within):
            return tuple(await asyncio.to_thread(changed_paths, tree.root))
    except TimeoutError:
        return ()
    except RepositoryError as error:
        logger.warning("could not read the uncommitted change in %s: %s", tree.root, error.message)
        return ()


async def review(request: ReviewRequest, project: Project, tree: WorkingTree, now: datetime) -> ReviewAnswer:
    """Return the files that the uncommitted change seems to lack.

    If the request names a base, the commits made since that base are part of the change. Raises InvalidInput if the
    base is not a suitable commit.
    """
    if request.base:
        uncommitted_paths = await _list_changes_since(tree, request.base)
    else:
        uncommitted_paths = await list_changed_files(tree)
    if project.predictor is None or not uncommitted_paths:
        return review_answer((), uncommitted_paths)
    focus = Focus(project=project.id, branch="" if tree.branch == tree.trunk else tree.branch, author=tree.user_email)
    names = await list_changed_names(tree, uncommitted_paths, base=request.base)
    missing = find_missing_files(project.predictor, uncommitted_paths, focus, int(now.timestamp()), names)
    return review_answer(missing, uncommitted_paths)


async def list_changed_names(
    tree: WorkingTree, paths: Sequence[str], *, base: str = "", within: float | None = None
) -> tuple[ChangedName, ...]:
    """Return the names in the uncommitted change of `paths`, which git finds in a thread.

    Encoded data, which may be secret, are left out. Returns an empty tuple if git fails or takes longer than `within`
    seconds.
    """
    try:
        async with asyncio.timeout(within):
            names = await asyncio.to_thread(_find_names, tree.root, base, paths)
    except (TimeoutError, RepositoryError):
        return ()
    informative = select_informative_words(Counter(name.name for name in names))
    return tuple(name for name in names if name.name in informative)


def _find_names(root: Path, base: str, paths: Sequence[str]) -> tuple[ChangedName, ...]:
    git = Git(root)
    before = git.run("merge-base", "--", base, "HEAD").decode().strip() if base else git.resolve()
    known_paths = git.run("ls-files", "-z", "--", *paths).decode("utf-8", "replace").split("\0")
    new_paths = [path for path in paths if path not in known_paths]
    texts = [(read_file(root, path, limit=MAX_BYTES) or b"").decode("utf-8", "replace") for path in new_paths]
    return find_changed_names(git, before, "", paths, texts)


def iterate_missing_candidates(project: Project, focus: Focus, now: datetime) -> Iterator[ContextCandidate]:
    """Yield candidates for the files that the uncommitted change seems to lack.

    Yields nothing unless the context is requested for reviewing a change.
    """
    if project.predictor is None or not focus.is_change or focus.activity != "reviewing":
        return
    at, names = int(now.timestamp()), focus.changed_names
    for rank, one in enumerate(find_missing_files(project.predictor, focus.open_files, focus, at, names)):
        yield ContextCandidate(
            id=f"missing:{one.path}",
            kind="missing",
            tier=1,
            value=one.probability,
            forms=(("summary", f"this change may lack {one.path}"),),
            reasons=(f"{one.probability:.0%}", *one.reasons),
            source={"type": "file", "path": one.path},
            rank=rank,
        )


async def _list_changes_since(tree: WorkingTree, base: str) -> tuple[str, ...]:
    if tree.layout.git_dir is None:
        raise InvalidInput("'base' needs a git repository; this project is a plain folder", field="base")
    try:
        return tuple(await asyncio.to_thread(changed_paths, tree.root, base))
    except RepositoryError as error:
        raise InvalidInput(f"'base' is not a commit that shares history with HEAD: {base}", field="base") from error
