"""Background work of the store process: embedding, optimising, erasing, releasing memory."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from hunchd.daemon.patience import patient_threads
from hunchd.daemon.store_service import StoreService
from hunchd.domain.errors import StoreClosed
from hunchd.embedding.embedder import LazyEmbedder, ModelUnavailable
from hunchd.protocol.allocating import give_memory_back
from hunchd.protocol.helper import Handler
from hunchd.store.database.collection import Collection
from hunchd.store.database.tables import Row, embeddable_text, memory_of
from hunchd.store.indexes.bodies import packed
from hunchd.store.indexes.terms import counts_of

logger = logging.getLogger(__name__)

TICK: Final = 0.25  # seconds
BREATH: Final = 0.02  # minimum seconds between two portions of read-ahead
QUIET: Final = 0.1  # seconds without a request before deferrable work continues
# Deleted rows are hidden at once; their bytes are erased after ERASE_QUIET without a request, or after ERASE_LATEST.
ERASE_QUIET: Final = 5.0  # seconds
ERASE_LATEST: Final = 20.0  # seconds
AFTER_FAILURE: Final = 5.0  # seconds
TIDY_QUIET: Final = 30.0  # seconds
UNASKED: Final = 5.0  # seconds without a query before pruning, which may delay the next one
# Texts embedded between two checks for requests; one batch keeps a core busy for about 50 ms.
EMBEDDED_AT_ONCE: Final = 4
COMMITTED_AT_ONCE: Final = 128
# A new project brings thousands of texts. On two cores or more they are embedded two batches at a time.
MANY: Final = 512  # texts without a vector


class Upkeep:
    """Background loop beside the service.

    `busy` while unfinished work should keep the process alive.
    """

    def __init__(self, service: StoreService, model: LazyEmbedder | None) -> None:
        self._service = service
        self._collections = service.collections
        self._model = model
        self._erasing_since: dict[int, float] = {}
        self._resume_embedding = float("-inf")
        self._patient = patient_threads(2, "embedding")
        self._tidied_at = 0.0
        self._working = False
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        waiting = self._service.pending > 0 and time.monotonic() >= self._resume_embedding
        return self._working or waiting or any(collection.erasing for collection in self._collections.opened.values())

    def beside(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """Wrap the handlers so that the first request starts the background loop."""

        def started(handler: Handler) -> Handler:
            def answer(asked: dict[str, Any]) -> Any:
                if self._task is None:
                    self._task = asyncio.create_task(self.run(), name="upkeep")
                return handler(asked)

            return answer

        return {name: started(handler) for name, handler in handlers.items()}

    async def run(self) -> None:
        """Run until cancelled.

        Log a failure and retry later. Closes the store at the end. Raises SystemExit if it ends otherwise, so that
        the next request starts a new process instead of meeting a closed store.
        """
        ahead = asyncio.create_task(self._read_ahead(), name="reading ahead")
        try:
            await self._attempt(self._collections.resume)
            while True:
                await asyncio.sleep(TICK)
                await self._attempt(self._step)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a panic in the database is not an Exception
            logger.critical("background work of the store failed for good; ending the process", exc_info=True)
            raise SystemExit(1) from error
        finally:
            ahead.cancel()
            await asyncio.wait([ahead])
            await self._collections.close()

    async def _read_ahead(self) -> None:
        """Load rows ahead of time and index those without an index entry.

        Runs during queries too, because it makes each of them faster: in small portions, at most half of the time.
        """
        more = False
        while True:
            before, more, pause, began = more, False, TICK, time.monotonic()
            try:
                for collection in self._collections.opened.values():
                    more = await collection.index_words(self._counted) or more
                    more = await collection.read_ahead(self._packed) or more
            except StoreClosed:
                more = True
            except Exception:  # as in `_attempt`
                logger.exception("reading ahead failed; retrying in %.0f s", AFTER_FAILURE)
                pause = AFTER_FAILURE
            if before and not more:  # the database read it all through its own buffers
                give_memory_back()
            await asyncio.sleep(max(BREATH, time.monotonic() - began) if more else pause)

    async def _packed(self, bodies: Sequence[str]) -> list[bytes]:
        return await asyncio.get_running_loop().run_in_executor(self._patient, packed, bodies)

    async def _counted(self, texts: Sequence[str]) -> list[dict[int, int]]:
        return await asyncio.get_running_loop().run_in_executor(self._patient, lambda: list(map(counts_of, texts)))

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        self._working = True
        try:
            await work()
        except StoreClosed:
            logger.info("a project was removed during background work of the store")
        except Exception:  # a problem with one project must not stop the process from serving
            logger.exception("background work of the store failed; retrying in %.0f s", AFTER_FAILURE)
            await asyncio.sleep(AFTER_FAILURE)
        finally:
            self._working = False

    async def _step(self) -> None:
        for collection in self._collections.opened.values():
            await self._erase_if_due(collection)
            if await collection.optimise(quiet=self._quiet(QUIET)):
                # Each compaction leaves the old version of all rows: a long history would take gigabytes for minutes.
                if time.monotonic() - self._service.last_question >= UNASKED:
                    await collection.prune()
                give_memory_back()
        await self._embed()
        if self._quiet(TIDY_QUIET) and self._tidied_at < self._service.last_request:
            self._tidied_at = time.monotonic()
            for collection in self._collections.opened.values():
                await collection.tidy()
            give_memory_back()
        if self._model is not None:
            self._model.release_if_idle()
        if self._service.reading is not None:
            self._service.reading.release_if_idle()

    async def _erase_if_due(self, collection: Collection) -> None:
        if not collection.erasing or not collection.writable:
            self._erasing_since.pop(id(collection), None)
            return
        since = self._erasing_since.setdefault(id(collection), time.monotonic())
        if self._quiet(ERASE_QUIET) or time.monotonic() - since > ERASE_LATEST:
            await collection.purge()

    async def _embed(self) -> None:
        """Embed rows without a vector, as long as no request arrives."""
        if self._model is None or self._service.pending <= 0 or time.monotonic() < self._resume_embedding:
            return
        if not self._quiet(QUIET):  # finding rows without a vector reads the whole table
            return
        left = False
        for collection in self._collections.opened.values():
            if not collection.writable:
                continue
            while rows := await collection.without_vector(self._model.name, COMMITTED_AT_ONCE):
                if not await self._embed_some(collection, rows):
                    left = True
                    break
        if not left:
            self._service.pending = 0

    async def _embed_some(self, collection: Collection, rows: Sequence[Row]) -> bool:
        """Embed these rows and store the vectors.

        Returns False if stopped by a request or a failing model.
        """
        assert self._model is not None
        known = await collection.vectors_of([row["text_digest"] for row in rows], self._model.name)
        vectors = {
            row["id"]: (known[row["text_digest"]], row["text_digest"]) for row in rows if row["text_digest"] in known
        }
        waiting = [(embeddable_text(memory_of(row)), row) for row in rows if row["id"] not in vectors]
        waiting.sort(key=lambda each: len(each[0]))  # two parallel batches take as long as the longer one
        finished = True
        side_by_side = 2 if self._service.pending > MANY and (os.cpu_count() or 1) > 1 else 1
        for begin in range(0, len(waiting), side_by_side * EMBEDDED_AT_ONCE):
            if not self._quiet(QUIET):
                finished = False
                break
            some = waiting[begin : begin + side_by_side * EMBEDDED_AT_ONCE]
            batches = [some[first : first + EMBEDDED_AT_ONCE] for first in range(0, len(some), EMBEDDED_AT_ONCE)]
            try:
                made = await asyncio.gather(*(self._vectors_of([text for text, _ in batch]) for batch in batches))
            except ModelUnavailable as error:
                logger.warning("embedding is suspended for 5 minutes: %s", error.message)
                self._resume_embedding = time.monotonic() + 300.0
                finished = False
                break
            found = [vector for batch in made for vector in batch]
            vectors |= {row["id"]: (vector, row["text_digest"]) for (_, row), vector in zip(some, found, strict=True)}
        if vectors:
            stored = await collection.set_vectors(vectors, self._model.name)
            self._service.pending = max(1, self._service.pending - stored)
            finished = finished and stored > 0
        return finished

    async def _vectors_of(self, texts: Sequence[str]) -> list[bytes]:
        assert self._model is not None
        return await asyncio.get_running_loop().run_in_executor(self._patient, self._model.embed, texts)

    def _quiet(self, seconds: float) -> bool:
        return time.monotonic() - self._service.last_request >= seconds
