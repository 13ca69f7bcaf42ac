"""Indexing of one project: history into models and episodes, the working tree into outlines."""

from __future__ import annotations

import contextlib
import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any, Final

from hunchd.codesearch import records
from hunchd.codesearch.building import update_index
from hunchd.codesearch.chunks import chunks_of
from hunchd.codesearch.roles import Role, role_of
from hunchd.daemon.attempts import Attempts
from hunchd.daemon.models import Scope, history_of, saved
from hunchd.domain.code import FileOutline
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory
from hunchd.ingestion.commit_facts import facts_of_unit, is_outlived
from hunchd.ingestion.conventions import conventions, guides_of
from hunchd.ingestion.episodes import episode
from hunchd.ingestion.history import readable, units
from hunchd.ingestion.naming import may_be_named
from hunchd.ingestion.parsing import blob_id, outline_of
from hunchd.ingestion.rewrites import Rewritten, gone, moved
from hunchd.ingestion.screening import screened
from hunchd.ingestion.shared import shared_memories
from hunchd.ingestion.skeleton import view
from hunchd.ingestion.topics import topics
from hunchd.ingestion.workflows.habits import habits
from hunchd.ingestion.workflows.log import read
from hunchd.ingestion.workflows.memories import memory_of
from hunchd.ingestion.workflows.scripts import workflows
from hunchd.prediction.learner import Learner
from hunchd.protocol.memories import memory_json
from hunchd.repository import layout
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.reading import read_file, stamp_of
from hunchd.store.code import CodeCache

BATCH: Final = 200  # files put into the cache, or episodes sent, at once
MOST_FACTS: Final = 2_000  # newest facts from a history's messages; older ones are outdated
FIRST_SEARCHABLE: Final = 600  # files read until a part of a large project can be searched
TOLD_EVERY: Final = 500  # units between two reports of progress


def index(scope: Scope) -> Iterator[dict[str, Any]]:
    """Index everything beyond the project's first model.

    If git cannot read all of the history, indexes the readable part and yields the reason.
    """
    git, total = history_of(scope.root), None
    try:
        total = min(_count(git), scope.most)
        yield from _indexed(scope, git, total)
    except RepositoryError as error:
        found = readable(git, newest=scope.most) if git is not None and total else 0
        yield from _indexed(scope, git, found)
        if total is None:  # git cannot even count: a retry is cheap, and somebody may repair it
            raise
        why = f"only the newest {found:,} of {total:,} commits could be read: {error.message}"
        yield {"stage": "unread", "why": why}


def _indexed(scope: Scope, git: Git | None, total: int) -> Iterator[dict[str, Any]]:
    """Index the most useful first: recent history, files, older history, episodes."""
    learner = Learner()
    packs: list[bytes] = []
    recent = min(scope.newest, total)
    yield from _learnt(git, learner, packs, newest=recent, total=total, lines=recent == total)
    if total:
        yield saved(learner, scope)
    with CodeCache(scope.code_cache, writable=True) as cache:
        searchable = FIRST_SEARCHABLE
        for step in _changed(scope, cache):
            if searchable <= step.done < step.total:  # what was read so far can be searched
                update_index(cache.path.parent, cache)
                searchable = step.done * 4
            yield {"stage": "files", "done": step.done, "total": step.total}
        update_index(cache.path.parent, cache)
        _placed(cache, learner)
        yield saved(learner, scope)
        if scope.full and total > scope.newest:
            learner, packs = Learner(), []
            yield from _learnt(git, learner, packs, newest=total, total=total, reached=scope.newest, lines=True)
            _placed(cache, learner)
            yield saved(learner, scope)
    yield from _episodes(packs, scope, known=bool(scope.episodes_after) and learner.knows(scope.episodes_after))


def parse(scope: Scope, paths: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield outlines of files changed since the last parse, and removed files.

    Covers `paths`, or the whole tree.
    """
    with CodeCache(scope.code_cache, writable=True) as cache:
        for step in _changed(scope, cache, paths):
            if step.outlines or step.removed:
                outlines = [asdict(outline) for outline in step.outlines]
                yield {"outlines": outlines, "removed": step.removed, "done": step.done, "total": step.total}
        update_index(cache.path.parent, cache)


def conventions_of(scope: Scope) -> dict[str, Any]:
    """Return what the project's own files state.

    These are facts, workflows, shared memories, topics and guide files.
    """
    with contextlib.closing(CodeCache(scope.code_cache)) as cache:
        defined = cache.defined()
    rules = IgnoreRules.load(scope.root, scope.extra_ignore)
    files = [path for path, _ in rules.walk() if may_be_named(path)]
    facts = [memory_json(fact) for fact in conventions(scope.root, files, project=scope.project, now=scope.now)]
    shared = [memory_json(one) for one in shared_memories(scope.root, files, project=scope.project, now=scope.now)]
    said = [memory_json(memory_of(one, scope.project, scope.now)) for one in workflows(scope.root, files)]
    named = sorted(guides_of(scope.root, files).named)
    return {"facts": facts, "shared": shared, "workflows": said, "topics": list(topics(defined)), "guides": named}


def habits_of(scope: Scope, log: Path, zone: timedelta) -> dict[str, Any]:
    """Return recurring workflows, and the start of the log.

    The workflows recur in the commands at `log`, and are returned as JSON memories.
    """
    ran = read(log)
    found = habits(sorted(ran, key=lambda one: one.at), zone=timezone(zone))
    return {
        "workflows": [memory_json(memory_of(habit, scope.project, scope.now)) for habit in found],
        "since": ran[0].at if ran else 0.0,
    }


def episodes_of(found: Sequence[Unit], scope: Scope) -> list[dict[str, Any]]:
    """Convert the units to episodes, as JSON memories."""
    return [memory_json(episode(unit, scope.project, now=scope.now)) for unit in found]


def facts_of(found: Sequence[Unit], scope: Scope) -> list[dict[str, Any]]:
    """Extract facts from commit messages, as JSON memories, oldest first.

    Leaves out facts that the code contradicts.
    """
    return _not_belied(_stated(found, scope), scope)


def units_since(scope: Scope, since: str, told: Sequence[tuple[str, str, bool]] = ()) -> dict[str, Any]:
    """Return the commits since `since`, and earlier commits that were moved or dropped.

    `told` lists moves that are already known. During a rebase or bisection the result is only `waits`: HEAD passes
    through
    commits that are not yet, or no longer, anybody's work.
    """
    git = history_of(scope.root)
    nothing: dict[str, Any] = {"units": [], "episodes": [], "facts": [], "moved": [], "gone": [], "rewritten": False}
    if git is None or (since and not git.exists(since)):
        return nothing | {"rewritten": bool(since)}
    head = git.resolve() if git.exists() else "HEAD"  # the same commit in all calls below
    if _is_passing_through(scope.root):
        return nothing | {"waits": True}
    rewrites = [Rewritten(*one) for one in told]
    found = list(units(git, head, since=since or None, newest=scope.newest + 1, lines=True))
    pairs = moved(git, rewrites, since or None, head) if found or told else []
    dropped = gone(git, rewrites, since or None, head) if since or told else []
    changed = nothing | {"moved": pairs, "gone": dropped, "head": head}
    if len(found) > scope.newest:  # a different history, or years of it: index it in order
        return changed | {"rewritten": True}
    return changed | {
        "units": [asdict(unit) for unit in found],
        "episodes": episodes_of(found, scope),
        "facts": facts_of(found, scope),
    }


def _is_passing_through(root: Path) -> bool:
    """Return True if git has detached HEAD during an operation.

    One left unfinished on a branch does not count.
    """
    found = layout.find(root)
    return found is not None and layout.operation(found) in ("rebase", "bisect") and layout.head(found).detached


def lost(scope: Scope, shas: Sequence[str]) -> dict[str, Any]:
    """Return the commits that no branch, tag or checkout contains any more."""
    git = history_of(scope.root)
    if git is None or not git.exists():
        return {"lost": []}
    left = dict.fromkeys(shas)
    for sha in git.stream("rev-list", "HEAD", "--branches", "--remotes", "--tags", "--", separator=b"\n"):
        left.pop(sha.decode(), None)
    return {"lost": list(left)}


def reached(scope: Scope, into: str, shas: Sequence[str]) -> dict[str, Any]:
    """Return the commits that are part of the history of the branch `into`."""
    git = history_of(scope.root)
    if git is None:
        return {"reached": []}
    return {"reached": [sha for sha in shas if _contains(git, into, sha)]}


def _contains(git: Git, into: str, sha: str) -> bool:
    try:
        git.run("merge-base", "--is-ancestor", sha, f"refs/heads/{into}")
    except RepositoryError:  # also raised for a commit that is gone
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Step:
    """Batch of processed files: new outlines, removed paths and the progress."""

    outlines: list[FileOutline]
    removed: list[str]
    done: int
    total: int


def _count(git: Git | None) -> int:
    if git is None or (not git.exists() and git.is_unborn()):
        return 0
    return int(git.run("rev-list", "--count", "--first-parent", "HEAD", "--"))


def _learnt(
    git: Git | None,
    learner: Learner,
    packs: list[bytes],
    *,
    newest: int,
    total: int,
    reached: int = 0,
    lines: bool = False,
) -> Iterator[dict[str, Any]]:
    """Teach `learner` the newest units, oldest first.

    `packs` collects them for the episodes, about 300 bytes each. With `lines` it also learns how much of a file
    each author
    wrote; git then takes several times longer.
    """
    if git is None or not newest:
        return
    batch: list[Unit] = []
    for done, unit in enumerate(units(git, newest=newest, lines=lines), 1):
        learner.learn(unit)
        batch.append(unit)
        if len(batch) == BATCH:
            packs.append(_packed(batch))
            batch = []
        if done % TOLD_EVERY == 0:
            yield {"stage": "history", "done": max(done, reached), "total": total}
    if batch:
        packs.append(_packed(batch))
    yield {"stage": "history", "done": max(newest, reached), "total": total}


def _packed(batch: list[Unit]) -> bytes:
    return zlib.compress(pickle.dumps(batch), 1)


def _placed(cache: CodeCache, learner: Learner) -> None:
    for outline in cache.outlines():
        learner.place(outline)


def _episodes(packs: list[bytes], scope: Scope, *, known: bool) -> Iterator[dict[str, Any]]:
    """Yield episodes, newest first.

    With `known`, only those older than `episodes_after` of the last run.
    """
    total = done = 0
    stated: list[Memory] = []
    for pack in packs:
        total += len(pickle.loads(zlib.decompress(pack)))
    waiting = known
    while packs:
        batch: list[Unit] = pickle.loads(zlib.decompress(packs.pop()))
        batch.reverse()
        done += len(batch)
        if waiting:
            shas = [unit.sha for unit in batch]
            if scope.episodes_after not in shas:
                continue
            waiting = False
            batch = batch[shas.index(scope.episodes_after) + 1 :]
        if batch:
            found = episodes_of(batch, scope)
            yield {"stage": "episodes", "episodes": found, "done": done, "total": total, "last": batch[-1].sha}
            if len(stated) < MOST_FACTS:
                stated += _stated(batch, scope)
    if facts := _not_belied(stated, scope):
        yield {"stage": "facts", "facts": facts[-MOST_FACTS:]}


def _stated(found: Sequence[Unit], scope: Scope) -> list[Memory]:
    return [fact for unit in found for fact in facts_of_unit(unit, scope.project, now=scope.now)]


def _not_belied(stated: Sequence[Memory], scope: Scope) -> list[dict[str, Any]]:
    """Return facts that still match the code.

    Oldest first, because each replaces the one before.
    """
    if not stated:
        return []
    with contextlib.closing(CodeCache(scope.code_cache)) as cache:
        names = cache.names()
    held = [fact for fact in stated if not is_outlived(fact, names)]
    return [memory_json(fact) for fact in sorted(held, key=lambda fact: fact.at)]


def _changed(scope: Scope, cache: CodeCache, paths: Sequence[str] | None = None) -> Iterator[_Step]:
    """Parse and cache the files that differ between cache and working tree."""
    rules = IgnoreRules.load(scope.root, scope.extra_ignore)
    blobs = cache.blobs()
    if paths is None:
        stamps = cache.stamps()
        wanted = {path: stamp_of(found) for path, found in rules.walk() if may_be_named(path)}
        gone = [path for path in blobs if path not in wanted]
        waiting = [path for path, stamp in wanted.items() if not stamp or stamps.get(path) != stamp]
    else:
        wanted = {path: 0 for path in paths if not rules.reason(path) and may_be_named(path)}
        gone = [path for path in paths if path not in wanted]
        waiting = list(wanted)
    total, done = len(wanted), len(wanted) - len(waiting)
    cache.remove(gone)
    yield _Step([], gone, done, total)
    with Attempts(cache.path) as attempts:
        for batch in _batches(waiting):
            outlines, same, lost, chunks = _read(scope, batch, blobs, attempts)
            cache.put(outlines, wanted, view, chunks)
            cache.restamp({path: wanted[path] for path in same})
            cache.remove(lost)
            done += len(batch)
            yield _Step(outlines, lost, done, total)


def _read(
    scope: Scope, paths: Sequence[str], blobs: dict[str, str], attempts: Attempts
) -> tuple[list[FileOutline], list[str], list[str], dict[str, bytes]]:
    """Return outlines of changed files, paths of unchanged and unreadable ones, and packed chunks by path."""
    chunks: dict[str, bytes] = {}
    outlines: list[FileOutline] = []
    same: list[str] = []
    lost: list[str] = []
    for path in paths:
        source = read_file(scope.root, path)
        if source is None:
            lost.append(path)
        elif blobs.get(path) == (blob := blob_id(source)):
            same.append(path)
        elif blob in attempts.fatal or len(source) > scope.largest:
            outlines.append(FileOutline(path, blob, "", len(source), 0))
        else:
            with attempts.at(blob):
                outlines.append(outline_of(path, source, blob))
                if (packed := _chunks(outlines[-1], source)) is not None:
                    chunks[path] = packed
    return outlines, same, lost, chunks


def _chunks(outline: FileOutline, source: bytes) -> bytes | None:
    """The chunks of a file that a person wrote, packed; None for others, which stay out of search."""
    if not outline.words or role_of(outline.path) is Role.GENERATED:
        return None
    found = chunks_of(outline, screened(source.decode("utf-8", "replace")))
    return records.pack(found) if found else None


def _batches(paths: list[str]) -> Iterable[list[str]]:
    return (paths[start : start + BATCH] for start in range(0, len(paths), BATCH))
