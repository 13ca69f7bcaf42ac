"""What the store process does when nobody asks it anything: embedding, optimising, erasing, giving memory back."""

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
BREATH: Final = 0.02  # seconds at least between two portions of what is read ahead
QUIET: Final = 0.1  # seconds without a request, before work that can wait goes on
# Deleted means found no more; the bytes follow when nobody has asked for this long, or after the longest wait.
ERASE_QUIET: Final = 5.0  # seconds
ERASE_LATEST: Final = 20.0  # seconds
AFTER_FAILURE: Final = 5.0  # seconds
TIDY_QUIET: Final = 30.0  # seconds
UNASKED: Final = 5.0  # seconds without a question, before the next may have to wait
# Texts embedded between two looks at whether somebody asks; one batch keeps a core busy for about 50 ms.
EMBEDDED_AT_ONCE: Final = 4
COMMITTED_AT_ONCE: Final = 128
# A project that was just added brings thousands of texts. On two cores or more they are embedded two batches at a time.
MANY: Final = 512  # texts without a vector


class Upkeep:
    """Run it beside the service; `busy` while work is left that is worth staying for."""

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
        """The same handlers; the first request starts the upkeep."""

        def started(handler: Handler) -> Handler:
            def answer(asked: dict[str, Any]) -> Any:
                if self._task is None:
                    self._task = asyncio.create_task(self.run(), name="upkeep")
                return handler(asked)

            return answer

        return {name: started(handler) for name, handler in handlers.items()}

    async def run(self) -> None:
        """Until cancelled; a failure is logged and the work tried again later. Closes the store at the end.

        Raises SystemExit if it ends otherwise: whoever asks next is answered by a new process, not by a closed store.
        """
        ahead = asyncio.create_task(self._read_ahead(), name="reading ahead")
        try:
            await self._attempt(self._collections.resume)
            while True:
                await asyncio.sleep(TICK)
                await self._attempt(self._step)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a panic of the database is no Exception
            logger.critical("the store's upkeep ended, and so does this process", exc_info=True)
            raise SystemExit(1) from error
        finally:
            ahead.cancel()
            await asyncio.wait([ahead])
            await self._collections.close()

    async def _read_ahead(self) -> None:
        """And index what is not. Also while questions come: each is answered the faster. A little at a time, and half
        of the time at most."""
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
                logger.exception("reading ahead failed; trying again in %.0f s", AFTER_FAILURE)
                pause = AFTER_FAILURE
            if before and not more:  # the database read it all through buffers of its own
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
            logger.info("a project was removed during the store's upkeep")
        except Exception:  # whatever is wrong with one project's upkeep, the process goes on answering
            logger.exception("the store's upkeep failed; trying again in %.0f s", AFTER_FAILURE)
            await asyncio.sleep(AFTER_FAILURE)
        finally:
            self._working = False

    async def _step(self) -> None:
        for collection in self._collections.opened.values():
            await self._erase_if_due(collection)
            if await collection.optimise(quiet=self._quiet(QUIET)):
                # Each tidying leaves all rows behind as they were: a long history would take up gigabytes for minutes.
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
        """Give vectors to what has none, as long as nobody asks anything."""
        if self._model is None or self._service.pending <= 0 or time.monotonic() < self._resume_embedding:
            return
        if not self._quiet(QUIET):  # looking for what has none reads the whole table
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
        """Embed these rows and store the vectors. False: stopped, because somebody asks or the model fails."""
        assert self._model is not None
        known = await collection.vectors_of([row["text_digest"] for row in rows], self._model.name)
        vectors = {
            row["id"]: (known[row["text_digest"]], row["text_digest"]) for row in rows if row["text_digest"] in known
        }
        waiting = [(embeddable_text(memory_of(row)), row) for row in rows if row["id"] not in vectors]
        waiting.sort(key=lambda each: len(each[0]))  # two batches side by side take as long as the longer one
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
                logger.warning("memories wait for their vectors: %s", error.message)
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
