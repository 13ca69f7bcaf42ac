"""Indexing of one project: models and episodes from history, outlines from files."""

from __future__ import annotations

import contextlib
import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import structs

from hunchd.codesearch import records
from hunchd.codesearch.building import update_index
from hunchd.codesearch.chunks import build_chunks
from hunchd.codesearch.roles import Role, classify_role
from hunchd.daemon.models import open_repository, save_model
from hunchd.daemon.parse_crash_guard import ParseCrashGuard
from hunchd.domain.code import FileOutline
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory
from hunchd.ingestion.commit_facts import extract_commit_facts, is_obsolete_rename
from hunchd.ingestion.conventions import collect_guides, extract_conventions
from hunchd.ingestion.episodes import build_episode
from hunchd.ingestion.history import count_readable, iter_units
from hunchd.ingestion.parsing import blob_id, parse_outline
from hunchd.ingestion.path_filter import is_reportable_path
from hunchd.ingestion.rewrites import RewrittenCommit, list_unreachable_commits, map_rewritten_commits
from hunchd.ingestion.shared_files import read_shared_memories
from hunchd.ingestion.skeleton import build_view
from hunchd.ingestion.source_redaction import redact_source
from hunchd.ingestion.topics import find_topics
from hunchd.ingestion.workflows.scripts import read_workflows
from hunchd.ingestion.workflows.workflow_memories import workflow_to_memory
from hunchd.prediction.learner import Learner
from hunchd.protocol.indexing_messages import (
    IndexRequest,
    IndexStep,
    NewUnits,
    ParsedFiles,
    StatedKnowledge,
)
from hunchd.repository import layout
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.safe_reading import make_stamp, read_file
from hunchd.store.code_cache import CodeCache

BATCH_SIZE: Final = 200  # files put into the cache, or episodes sent, at once
MAX_FACTS: Final = 2_000  # newest facts from commit messages; older ones are outdated
FIRST_SEARCHABLE: Final = 600  # files read until a part of a large project can be searched
PROGRESS_INTERVAL_UNITS: Final = 500  # units between two reports of progress


def index_project(scope: IndexRequest) -> Iterator[IndexStep]:
    """Index everything in the project except for the first model, which already exists.

    If git cannot read the whole history, the readable part is indexed, and a last step states the reason. Raises
    RepositoryError if git cannot even count the commits.
    """
    git, total = open_repository(scope.root), None
    try:
        total = min(_count_commits(git), scope.max_units)
        yield from _index_history_and_files(scope, git, total)
    except RepositoryError as error:
        readable_count = count_readable(git, newest=scope.max_units) if git is not None and total else 0
        yield from _index_history_and_files(scope, git, readable_count)
        if total is None:  # git cannot even count the commits: a retry is cheap, and somebody may repair the repository
            raise
        reason = f"only the newest {readable_count:,} of {total:,} commits could be read: {error.message}"
        yield IndexStep(stage="unread", why=reason)


def _index_history_and_files(scope: IndexRequest, git: Git | None, total: int) -> Iterator[IndexStep]:
    """Index recent history first, then files, older history and episodes.

    This order yields the most useful results first.
    """
    learner = Learner()
    packs: list[bytes] = []
    recent = min(scope.newest_units, total)
    yield from _learn_history(git, learner, packs, newest=recent, total=total, lines=recent == total)
    if total:
        yield save_model(learner, scope)
    with CodeCache(scope.cache, writable=True) as cache:
        searchable = FIRST_SEARCHABLE
        for step in _update_cache(scope, cache):
            if searchable <= step.done < step.total:  # what was read so far can be searched
                update_index(cache.path.parent, cache)
                searchable = step.done * 4
            yield IndexStep(stage="files", done=step.done, total=step.total)
        update_index(cache.path.parent, cache)
        _add_outlines(cache, learner)
        yield save_model(learner, scope)
        if scope.is_full and total > scope.newest_units:
            learner, packs = Learner(), []
            yield from _learn_history(
                git, learner, packs, newest=total, total=total, already_done=scope.newest_units, lines=True
            )
            _add_outlines(cache, learner)
            yield save_model(learner, scope)
    yield from _yield_episodes(
        packs, scope, is_resuming=bool(scope.episodes_after) and learner.has_unit(scope.episodes_after)
    )


def parse_changes(scope: IndexRequest, paths: Sequence[str] | None = None) -> Iterator[ParsedFiles]:
    """Yield the outlines of changed files, and the paths of removed files.

    The changes are those since the last parse. If `paths` is None, all files of the project are checked.
    """
    with CodeCache(scope.cache, writable=True) as cache:
        for step in _update_cache(scope, cache, paths):
            if step.outlines or step.removed:
                yield step
        update_index(cache.path.parent, cache)


def read_conventions(scope: IndexRequest) -> StatedKnowledge:
    """Return the knowledge stated in the project's own files.

    It consists of conventions, memories shared through the repository, workflows, topics and guides.
    """
    with contextlib.closing(CodeCache(scope.cache)) as cache:
        symbol_counts = cache.count_symbols_by_file()
    rules = IgnoreRules.load(scope.root, scope.extra_ignore)
    files = [path for path, _ in rules.walk() if is_reportable_path(path)]
    return StatedKnowledge(
        facts=list(extract_conventions(scope.root, files, project=scope.project, now=scope.now)),
        shared=list(read_shared_memories(scope.root, files, project=scope.project, now=scope.now)),
        workflows=[workflow_to_memory(one, scope.project, scope.now) for one in read_workflows(scope.root, files)],
        topics=list(find_topics(symbol_counts)),
        guides=sorted(collect_guides(scope.root, files).imported_paths),
    )


def build_episodes(commits: Sequence[Unit], scope: IndexRequest) -> list[Memory]:
    """Build one episode from each unit of work."""
    return [build_episode(unit, scope.project, now=scope.now) for unit in commits]


def extract_facts(commits: Sequence[Unit], scope: IndexRequest) -> list[Memory]:
    """Extract facts from commit messages.

    The facts are ordered from the oldest to the newest. Facts that the current code contradicts are left out.
    """
    return _drop_contradicted_facts(_extract_stated_facts(commits, scope), scope)


def get_units_since(scope: IndexRequest, since: str, known_moves: Sequence[tuple[str, str, bool]] = ()) -> NewUnits:
    """Return later units of work, and earlier commits that were rewritten or dropped.

    A unit of work is a commit, or a merge with everything it brings in; the units returned follow the commit `since`.
    `known_moves` lists rewritten commits that are already known. During a rebase or bisection, only `waits` is set in
    the result, because HEAD then passes through commits that are not yet, or no longer, part of anybody's work. If
    `since` no longer exists, or if too many units follow it, `rewritten` is set, which means that the project must be
    indexed again.
    """
    git = open_repository(scope.root)
    if git is None or (since and not git.exists(since)):
        return NewUnits(rewritten=bool(since))
    head = git.resolve() if git.exists() else "HEAD"  # the same commit in all calls below
    if _is_operation_in_progress(scope.root):
        return NewUnits(waits=True)
    rewrites = [RewrittenCommit(*one) for one in known_moves]
    commits = list(iter_units(git, head, since=since or None, newest=scope.newest_units + 1, lines=True))
    pairs = map_rewritten_commits(git, rewrites, since or None, head) if commits or known_moves else []
    dropped_shas = list_unreachable_commits(git, rewrites, since or None, head) if since or known_moves else []
    result = NewUnits(moved=list(pairs), gone=list(dropped_shas), head=head)
    if len(commits) > scope.newest_units:  # a different history, or years of it: index it in order
        return structs.replace(result, rewritten=True)
    return structs.replace(
        result, units=commits, episodes=build_episodes(commits, scope), facts=extract_facts(commits, scope)
    )


def _is_operation_in_progress(root: Path) -> bool:
    """Return True if a rebase or bisection has detached HEAD.

    An operation left unfinished while HEAD is on a branch does not count.
    """
    repository = layout.find_repository(root)
    return (
        repository is not None
        and layout.find_operation(repository) in ("rebase", "bisect")
        and layout.read_head(repository).is_detached
    )


def find_unreachable(scope: IndexRequest, shas: Sequence[str]) -> list[str]:
    """Return the commits in `shas` that no branch, tag or checkout contains."""
    git = open_repository(scope.root)
    if git is None or not git.exists():
        return []
    unreachable = dict.fromkeys(shas)
    for sha in git.stream("rev-list", "HEAD", "--branches", "--remotes", "--tags", "--", separator=b"\n"):
        unreachable.pop(sha.decode(), None)
    return list(unreachable)


def find_contained(scope: IndexRequest, into: str, shas: Sequence[str]) -> list[str]:
    """Return the commits in `shas` that the branch `into` contains."""
    git = open_repository(scope.root)
    if git is None:
        return []
    return [sha for sha in shas if _branch_contains(git, into, sha)]


def _branch_contains(git: Git, into: str, sha: str) -> bool:
    try:
        git.run("merge-base", "--is-ancestor", sha, f"refs/heads/{into}")
    except RepositoryError:  # also raised for a commit that no longer exists
        return False
    return True


def _count_commits(git: Git | None) -> int:
    if git is None or (not git.exists() and git.is_unborn()):
        return 0
    return int(git.run("rev-list", "--count", "--first-parent", "HEAD", "--"))


def _learn_history(
    git: Git | None,
    learner: Learner,
    packs: list[bytes],
    *,
    newest: int,
    total: int,
    already_done: int = 0,
    lines: bool = False,
) -> Iterator[IndexStep]:
    """Train `learner` on the `newest` units of work, oldest first.

    The units are also appended to `packs`, compressed to about 300 bytes each; the episodes are built from them later.
    With `lines`, the learner also counts how many lines of a file each author wrote; git then takes several times
    longer.
    """
    if git is None or not newest:
        return
    batch: list[Unit] = []
    for done_count, unit in enumerate(iter_units(git, newest=newest, lines=lines), 1):
        learner.learn_unit(unit)
        batch.append(unit)
        if len(batch) == BATCH_SIZE:
            packs.append(_pack_units(batch))
            batch = []
        if done_count % PROGRESS_INTERVAL_UNITS == 0:
            yield IndexStep(stage="history", done=max(done_count, already_done), total=total)
    if batch:
        packs.append(_pack_units(batch))
    yield IndexStep(stage="history", done=max(newest, already_done), total=total)


def _pack_units(batch: list[Unit]) -> bytes:
    return zlib.compress(pickle.dumps(batch), 1)


def _add_outlines(cache: CodeCache, learner: Learner) -> None:
    for outline in cache.iterate_outlines():
        learner.update_content(outline)


def _yield_episodes(packs: list[bytes], scope: IndexRequest, *, is_resuming: bool) -> Iterator[IndexStep]:
    """Yield the episodes, newest first, then the facts stated in commit messages.

    With `is_resuming`, the episodes up to and including `scope.episodes_after`, where the previous run stopped, are
    skipped.
    """
    total = done_count = 0
    candidate_facts: list[Memory] = []
    for pack in packs:
        total += len(pickle.loads(zlib.decompress(pack)))
    is_skipping = is_resuming
    while packs:
        batch: list[Unit] = pickle.loads(zlib.decompress(packs.pop()))
        batch.reverse()
        done_count += len(batch)
        if is_skipping:
            shas = [unit.sha for unit in batch]
            if scope.episodes_after not in shas:
                continue
            is_skipping = False
            batch = batch[shas.index(scope.episodes_after) + 1 :]
        if batch:
            episodes = build_episodes(batch, scope)
            last = batch[-1].sha
            yield IndexStep(stage="episodes", episodes=episodes, done=done_count, total=total, last=last)
            if len(candidate_facts) < MAX_FACTS:
                candidate_facts += _extract_stated_facts(batch, scope)
    if facts := _drop_contradicted_facts(candidate_facts, scope):
        yield IndexStep(stage="facts", facts=facts[-MAX_FACTS:])


def _extract_stated_facts(commits: Sequence[Unit], scope: IndexRequest) -> list[Memory]:
    return [fact for unit in commits for fact in extract_commit_facts(unit, scope.project, now=scope.now)]


def _drop_contradicted_facts(candidates: Sequence[Memory], scope: IndexRequest) -> list[Memory]:
    """Return the facts that the current code does not contradict.

    They are sorted from the oldest to the newest, because a later fact replaces an earlier one.
    """
    if not candidates:
        return []
    with contextlib.closing(CodeCache(scope.cache)) as cache:
        names = cache.load_names()
    valid = [fact for fact in candidates if not is_obsolete_rename(fact, names)]
    return sorted(valid, key=lambda fact: fact.at)


def _update_cache(scope: IndexRequest, cache: CodeCache, paths: Sequence[str] | None = None) -> Iterator[ParsedFiles]:
    """Parse and cache the files whose content differs from the cached version.

    If `paths` is None, all files of the project are compared. The first step lists the removed files; each later step
    covers one batch of parsed files.
    """
    rules = IgnoreRules.load(scope.root, scope.extra_ignore)
    blobs = cache.load_blob_ids()
    if paths is None:
        stamps = cache.load_stamps()
        stamps_by_path = {path: make_stamp(status) for path, status in rules.walk() if is_reportable_path(path)}
        removed_paths = [path for path in blobs if path not in stamps_by_path]
        pending = [path for path, stamp in stamps_by_path.items() if not stamp or stamps.get(path) != stamp]
    else:
        stamps_by_path = {path: 0 for path in paths if not rules.get_reason(path) and is_reportable_path(path)}
        removed_paths = [path for path in paths if path not in stamps_by_path]
        pending = list(stamps_by_path)
    total, done_count = len(stamps_by_path), len(stamps_by_path) - len(pending)
    cache.remove(removed_paths)
    yield ParsedFiles(outlines=[], removed=removed_paths, done=done_count, total=total)
    with ParseCrashGuard(cache.path) as attempts:
        for batch in _split_batches(pending):
            outlines, unchanged_paths, unreadable, chunks = _parse_batch(scope, batch, blobs, attempts)
            cache.put(outlines, stamps_by_path, build_view, chunks)
            cache.update_stamps({path: stamps_by_path[path] for path in unchanged_paths})
            cache.remove(unreadable)
            done_count += len(batch)
            yield ParsedFiles(outlines=outlines, removed=unreadable, done=done_count, total=total)


def _parse_batch(
    scope: IndexRequest, paths: Sequence[str], blobs: dict[str, str], attempts: ParseCrashGuard
) -> tuple[list[FileOutline], list[str], list[str], dict[str, bytes]]:
    """Parse a batch of files.

    Returns the outlines of changed files, the paths of unchanged files, the paths of unreadable files, and the packed
    chunks keyed by path.
    """
    chunks: dict[str, bytes] = {}
    outlines: list[FileOutline] = []
    unchanged_paths: list[str] = []
    unreadable: list[str] = []
    for path in paths:
        source = read_file(scope.root, path)
        if source is None:
            unreadable.append(path)
        elif blobs.get(path) == (blob := blob_id(source)):
            unchanged_paths.append(path)
        elif blob in attempts.crashing_blobs or len(source) > scope.max_file_bytes:
            outlines.append(FileOutline(path, blob, "", len(source), 0))
        else:
            with attempts.guard_blob(blob):
                outlines.append(parse_outline(path, source, blob))
                if (packed_chunks := _chunks(outlines[-1], source)) is not None:
                    chunks[path] = packed_chunks
    return outlines, unchanged_paths, unreadable, chunks


def _chunks(outline: FileOutline, source: bytes) -> bytes | None:
    """Return the packed chunks of a file, for code search.

    Returns None if the file has no text or is generated; such files are not searched.
    """
    if not outline.words or classify_role(outline.path) is Role.GENERATED:
        return None
    chunks = build_chunks(outline, redact_source(source.decode("utf-8", "replace")))
    return records.pack(chunks) if chunks else None


def _split_batches(paths: list[str]) -> Iterable[list[str]]:
    return (paths[start : start + BATCH_SIZE] for start in range(0, len(paths), BATCH_SIZE))
