"""Background embedding of a project's code.

A model embeds the card of each chunk: words of its path, name and lines.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from hunchd.codesearch import records, vectors
from hunchd.codesearch.roles import Role, classify_role
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import Feature, StatusFields
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.protocol.responses import StageAnswer
from hunchd.store.code_cache import CodeCache
from hunchd.store.port import TextModels

logger = logging.getLogger(__name__)

AT_ONCE: Final = 16  # cards embedded at once: takes the model a tenth of a second
KEPT_EVERY: Final = 2_048  # vectors after which the file is written, in case the daemon ends
MOST: Final = 200_000  # chunks of one project
PAUSE: Final = 2.0  # seconds before a project is processed, because saves come in groups
_LAST: Final = frozenset({Role.TEST, Role.GENERATED, Role.VENDORED, Role.CONFIG, Role.CHANGELOG})


class CardEmbedder(Feature):
    """Background task that embeds the cards of chunks that have changed."""

    def __init__(self, models: TextModels, find: Callable[[str | None], Project | None]) -> None:
        self._models = models
        self._find = find
        self._waiting: dict[str, None] = {}
        self._progress: dict[str, tuple[int, int]] = {}  # by project: number of chunks with a vector, and of all chunks
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("code cards", self.run)

    def on_model_loaded(self, project: Project) -> None:
        self.note(project)

    def on_model_updated(self, project: Project) -> None:
        self.note(project)

    def project_status(self, project: Project) -> StatusFields:
        done_count, total = self._progress.get(project.id, (0, 0))
        return {"cards": StageAnswer(done=done_count, total=total)}

    def note(self, project: Project) -> None:
        """Queue a project whose files may have changed."""
        self._waiting[project.id] = None
        self._work.set()

    async def forget_project(self, project_id: str) -> None:
        self._waiting.pop(project_id, None)
        self._progress.pop(project_id, None)

    async def run(self) -> None:
        """Embed the cards of the queued projects' chunks, until cancelled."""
        while True:
            await self._work.wait()
            await asyncio.sleep(PAUSE)
            self._work.clear()
            waiting, self._waiting = self._waiting, {}
            for identifier in waiting:
                project = self._find(identifier)
                if project is not None and not project.is_missing:
                    with suppress(HunchError):  # the store process ended: the next change tries again
                        await self._update_vectors(project)

    async def _update_vectors(self, project: Project) -> None:
        if project.code is None:
            return
        file = project.cache / vectors.NAME
        current_vectors, missing, seen_state = await asyncio.to_thread(_find_missing_vectors, file, project.code)
        total = len(current_vectors) + len(missing)
        self._progress[project.id] = (len(current_vectors), total)
        for begin in range(0, len(missing), AT_ONCE):
            some = missing[begin : begin + AT_ONCE]
            new_vectors = await self._models.embed([card for _, card in some])
            if new_vectors is None or self._find(project.id) is not project:  # no model, or the project was removed
                return
            for (key, _), vector in zip(some, new_vectors, strict=True):
                current_vectors[key] = vectors.quantize_vector(vector)
            self._progress[project.id] = (len(current_vectors), total)
            if begin // KEPT_EVERY != (begin + AT_ONCE) // KEPT_EVERY:
                await self._write_vectors(file, current_vectors)
        if seen_state != vectors.read_seen_state(file):
            await self._write_vectors(file, current_vectors, seen_state)

    async def _write_vectors(
        self,
        file: Path,
        vectors_by_key: dict[int, bytes],
        seen_state: vectors.SeenState = vectors.NOTHING_SEEN,
    ) -> None:
        try:
            await asyncio.to_thread(vectors.write, file, dict(vectors_by_key), seen_state)
        except OSError as error:
            logger.warning("could not save the vectors to %s: %s", file, error)


def _find_missing_vectors(
    file: Path, code: CodeCache
) -> tuple[dict[int, bytes], list[tuple[int, str]], vectors.SeenState]:
    """Return the stored vectors, the keys and cards without one (sources first), and the cache state examined."""
    cache, seen_state, newest = code.chunk_cache_id(), vectors.read_seen_state(file), 0
    stored_vectors = vectors.read_vectors(file)
    is_known = seen_state.cache == cache
    cards: dict[int, tuple[bool, str]] = {}
    for path, _, serial, packed_record in code.chunks_since(seen_state.serial if is_known else 0):
        newest = max(newest, serial)
        record = records.unpack(packed_record)
        is_last = classify_role(path) in _LAST
        for key, card in zip(record.keys.tolist(), record.unpack_cards(), strict=True):
            cards.setdefault(key, (is_last, card))
    kept_vectors = stored_vectors if is_known else {key: stored_vectors[key] for key in cards if key in stored_vectors}
    by_priority = sorted(cards.items(), key=lambda item: item[1][0])
    missing = [(key, card) for key, (_, card) in by_priority if key not in kept_vectors]
    seen_serial = max(newest, seen_state.serial if is_known else 0)
    return kept_vectors, missing[: MOST - len(kept_vectors)], vectors.SeenState(cache, seen_serial)
