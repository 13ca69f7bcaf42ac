"""Fixes from history: past commits that fixed a similar error.

For errors that nobody here has fixed. A background task asks git, in a thread, for the commits that touched the files
that the error names. They are stored like any other fix, and rank behind those that have helped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from hunchd.domain.errors import HunchError
from hunchd.domain.facts import Change
from hunchd.domain.memory import Memory
from hunchd.engine.keeping.forgotten import Forgotten
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.state.absorbing import inside
from hunchd.engine.state.parts import Parts
from hunchd.engine.state.project import Project
from hunchd.engine.state.runs import Failed, Happened
from hunchd.ingestion.errors import understood
from hunchd.ingestion.fixes import FIXED_BY, Fix, memory_of
from hunchd.ingestion.past_fixes import MOST_FILES, WORDS, likeliest, named_by, past_fix
from hunchd.ingestion.redaction import redact
from hunchd.repository import working
from hunchd.repository.touching import touching
from hunchd.repository.working import Picture

logger = logging.getLogger(__name__)

FOLDER: Final = "forgotten-fixes"  # in the data folder
WAITING: Final = 20  # queued errors; in a burst the oldest are dropped
LOOKED: Final = 500  # errors already searched at the current commit


class PastFixing:
    """Background task that searches history for fixes."""

    def __init__(self, memories: Memories, find: Callable[[str | None], Project | None], parts: Parts) -> None:
        self._memories = memories
        self._find = find
        self._ignored = tuple(parts.settings.index.ignore)
        self._now = parts.now
        self._forgotten = Forgotten(parts.places.data / FOLDER)
        self._waiting: deque[tuple[str, Failed]] = deque(maxlen=WAITING)
        self._work = asyncio.Event()
        self._looked: OrderedDict[str, str] = OrderedDict()  # error → commit at which history was searched

    def note(self, project: Project, happened: Happened | None) -> None:
        """Queue an error that has no fix."""
        if isinstance(happened, Failed) and not any(project.fixes.of(happened.error)):
            self._waiting.append((project.id, happened))
            self._work.set()

    def remember_deleted(self, project: Project, change: Change) -> None:
        """Record deleted fixes as tombstones; call before the project forgets them."""
        known = {fix.id for fix in project.fixes.all() if fix.is_past}
        if gone := known.intersection(change.deletions):
            self._forgotten.add(project.id, gone)

    def forget_project(self, identifier: str) -> None:
        self._forgotten.drop(identifier)

    async def run(self) -> None:
        """Search fixes of queued errors, forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._waiting:
                identifier, failed = self._waiting.pop()  # newest first
                project = self._find(identifier)
                if project is None or project.missing:
                    continue
                try:
                    await self._look(project, failed)
                except HunchError as error:  # git or disk failure: skip this one
                    logger.warning("%s: searching the history for a fix failed: %s", project.name, error.message)

    async def _look(self, project: Project, failed: Failed) -> None:
        head = project.tree_of(failed.root).sha or ""
        if self._looked.get(failed.error) == head:
            return
        self._looked[failed.error] = head
        while len(self._looked) > LOOKED:
            self._looked.popitem(last=False)
        error = (await self._memories.known([failed.error], project.id)).get(failed.error)
        if error is None:
            return
        found = await asyncio.to_thread(found_in, Path(failed.root), error, self._ignored)
        if found is None or found.id in self._forgotten.of(project.id):
            return
        async with self._memories.changing:
            errors = await self._memories.known([failed.error, found.id], project.id)
            if failed.error not in errors or any(project.fixes.of(failed.error)):
                return  # forgotten or fixed meanwhile
            error = errors[failed.error]
            linked = replace(error, links=(*error.links, {"type": FIXED_BY, "ref": found.id}))
            kept = memory_of(found, project.id, self._now(), errors.get(found.id))
            await self._memories.commit([Change((linked, kept), project=project.id)])


def found_in(root: Path, error: Memory, ignored: tuple[str, ...], *, until: str = "HEAD") -> Fix | None:
    """Return the commit before `until` that most probably fixed a similar error.

    Calls git. Raises RepositoryError.
    """
    read = understood(error.content)
    places = [(path, place) for place in read.nearest if (path := inside(place.path, str(root))) is not None]
    paths = list(dict.fromkeys(path for path, _ in places))[:MOST_FILES]
    named = named_by(read, [place for _, place in places])
    best = likeliest(named, touching(root, paths, WORDS, until=until))
    if best is None:
        return None
    commit, shared = best
    changes = working.changes(root, Picture(commit.parent), Picture(commit.sha), _clean, ignored)
    headline = error.levels.summary or error.title
    return past_fix(changes, commit, error=error.id, headline=headline, subject=_clean(commit.subject), shared=shared)


def _clean(text: str) -> str:
    return redact(text).text
