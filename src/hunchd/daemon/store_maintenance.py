"""Background work of the store process: embedding, optimising, erasing and releasing memory."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

from hunchd.daemon.low_priority_pool import create_low_priority_pool
from hunchd.daemon.store_service import StoreService
from hunchd.domain.errors import StoreClosed
from hunchd.embedding.embedder import LazyEmbedder, ModelUnavailable
from hunchd.protocol.helper import Handler
from hunchd.protocol.malloc_tuning import release_free_memory
from hunchd.store.database.collection import Collection
from hunchd.store.database.tables import Row, get_embedded_text, get_memory
from hunchd.store.indexes.body_cache import compress_bodies
from hunchd.store.indexes.terms import count_terms

logger = logging.getLogger(__name__)

Entry = TypeVar("Entry")

TICK_SECONDS: Final = 0.25  # seconds
MIN_PAUSE_SECONDS: Final = 0.02  # minimum seconds between loading two portions ahead of time
IDLE_SECONDS: Final = 0.1  # seconds without a request before deferrable work continues
MAX_WAIT_SECONDS: Final = 0.5  # seconds that a batch of texts waits for such a pause
WAIT_STEP_SECONDS: Final = 0.02  # seconds
# Deleted rows are hidden at once; their bytes are erased after ERASE_IDLE_SECONDS without a
# request, or at the latest after ERASE_MAX_DELAY_SECONDS.
ERASE_IDLE_SECONDS: Final = 5.0  # seconds
ERASE_MAX_DELAY_SECONDS: Final = 20.0  # seconds
RETRY_DELAY_SECONDS: Final = 5.0  # seconds
TIDY_IDLE_SECONDS: Final = 30.0  # seconds
PRUNE_IDLE_SECONDS: Final = 5.0  # seconds without a query before pruning, which may delay the next one
# Texts embedded between two checks for requests: they keep a core busy for about 50 ms.
EMBED_BATCH_CHARACTERS: Final = 2_000  # characters
# Committing vectors costs a third of a second each time, plus half a millisecond for each row.
COMMIT_BATCH_SIZE: Final = 512  # rows
LOAD_BATCH_SIZE: Final = 4 * COMMIT_BATCH_SIZE  # rows
# A new project brings thousands of texts. On two cores or more they are embedded two batches at a time.
PARALLEL_EMBEDDING_MINIMUM: Final = 512  # texts without a vector


class StoreMaintenance:
    """Background loop of the store process.

    `is_busy` is True while there is unfinished work for which the process must stay alive.
    """

    def __init__(self, service: StoreService, model: LazyEmbedder | None) -> None:
        self._service = service
        self._collections = service.collections
        self._model = model
        self._erase_requested_at: dict[int, float] = {}
        self._embedding_resumes_at = float("-inf")
        self._low_priority_pool = create_low_priority_pool(2, "embedding")
        self._tidied_at = 0.0
        self._is_working = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        has_pending = self._service.pending_embeddings > 0 and time.monotonic() >= self._embedding_resumes_at
        return (
            self._is_working
            or has_pending
            or any(collection.is_erasure_pending for collection in self._collections.open_collections.values())
        )

    def wrap_handlers(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """Wrap the handlers so that the first request starts the background loop."""

        def start_on_request(handler: Handler) -> Handler:
            @wraps(handler)
            def handle(**params: Any) -> Any:
                if self._task is None:
                    self._task = asyncio.create_task(self.run(), name="upkeep")
                return handler(**params)

            return handle

        return {name: start_on_request(handler) for name, handler in handlers.items()}

    async def run(self) -> None:
        """Run the background work until cancelled, then close the store.

        A failure is logged and the work is retried later. If the loop ends for any other reason, SystemExit is raised,
        so that the next request starts a new process instead of finding a closed store.
        """
        read_ahead = asyncio.create_task(self._read_ahead(), name="reading ahead")
        try:
            await self._run_safely(self._collections.finish_erasures)
            while True:
                await asyncio.sleep(TICK_SECONDS)
                await self._run_safely(self._run_step)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a panic in the database is not an Exception
            logger.critical("background maintenance of the store failed permanently; ending the process", exc_info=True)
            raise SystemExit(1) from error
        finally:
            read_ahead.cancel()
            await asyncio.wait([read_ahead])
            await self._collections.close()

    async def _read_ahead(self) -> None:
        """Load rows before they are needed, and complete the word index.

        This runs even while queries are answered, because it makes each of them faster. To delay them little, it works
        in small portions and for at most half of the time.
        """
        more = False
        while True:
            had_more, more, pause, started_at = more, False, TICK_SECONDS, time.monotonic()
            try:
                for collection in self._collections.open_collections.values():
                    more = await collection.index_words(self._count_terms) or more
                    more = await collection.read_ahead(self._pack_bodies) or more
            except StoreClosed:
                more = True
            except Exception:  # as in `_run_safely`
                logger.exception("could not preload rows; retrying in %.0f s", RETRY_DELAY_SECONDS)
                pause = RETRY_DELAY_SECONDS
            if had_more and not more:  # the database read it all through its own buffers
                release_free_memory()
            await asyncio.sleep(max(MIN_PAUSE_SECONDS, time.monotonic() - started_at) if more else pause)

    async def _pack_bodies(self, bodies: Sequence[str]) -> list[bytes]:
        return await asyncio.get_running_loop().run_in_executor(self._low_priority_pool, compress_bodies, bodies)

    async def _count_terms(self, texts: Sequence[str]) -> list[dict[int, int]]:
        return await asyncio.get_running_loop().run_in_executor(
            self._low_priority_pool, lambda: list(map(count_terms, texts))
        )

    async def _run_safely(self, work: Callable[[], Awaitable[None]]) -> None:
        self._is_working = True
        try:
            await work()
        except StoreClosed:
            logger.info("a project was removed while the store was being maintained; skipping it")
        except Exception:  # a problem with one project must not stop the process from serving
            logger.exception("background maintenance of the store failed; retrying in %.0f s", RETRY_DELAY_SECONDS)
            await asyncio.sleep(RETRY_DELAY_SECONDS)
        finally:
            self._is_working = False

    async def _run_step(self) -> None:
        for collection in self._collections.open_collections.values():
            await self._erase_if_due(collection)
            if await collection.optimise(quiet=self._is_idle_for(IDLE_SECONDS)):
                # Each compaction leaves the old version of all rows: a long history would take gigabytes for minutes.
                if time.monotonic() - self._service.last_question >= PRUNE_IDLE_SECONDS:
                    await collection.prune()
                release_free_memory()
        await self._embed_pending()
        if self._is_idle_for(TIDY_IDLE_SECONDS) and self._tidied_at < self._service.last_request:
            self._tidied_at = time.monotonic()
            for collection in self._collections.open_collections.values():
                await collection.compact_and_prune()
            release_free_memory()
        if self._model is not None:
            self._model.release_if_idle()
        self._service.release_idle_models()

    async def _erase_if_due(self, collection: Collection) -> None:
        if not collection.is_erasure_pending or not collection.writable:
            self._erase_requested_at.pop(id(collection), None)
            return
        since = self._erase_requested_at.setdefault(id(collection), time.monotonic())
        if self._is_idle_for(ERASE_IDLE_SECONDS) or time.monotonic() - since > ERASE_MAX_DELAY_SECONDS:
            await collection.purge()

    async def _embed_pending(self) -> None:
        """Embed the rows that have no vector yet, in pauses between requests."""
        if (
            self._model is None
            or self._service.pending_embeddings <= 0
            or time.monotonic() < self._embedding_resumes_at
        ):
            return
        await self._yield_to_requests()
        is_unfinished = False
        for collection in self._collections.open_collections.values():
            if not collection.writable:
                continue
            while rows := await collection.load_unembedded(self._model.name, LOAD_BATCH_SIZE):
                if not await self._embed_rows(collection, rows):
                    is_unfinished = True
                    break
        if not is_unfinished:
            self._service.pending_embeddings = 0

    async def _embed_rows(self, collection: Collection, rows: Sequence[Row]) -> bool:
        """Embed `rows` and store their vectors.

        The vectors of one portion are stored while the next portion is embedded. Returns False if no vector was stored
        or the model failed.
        """
        assert self._model is not None
        existing = await collection.load_vectors([row["text_digest"] for row in rows], self._model.name)
        known_vectors = {
            row["id"]: (existing[row["text_digest"]], row["text_digest"])
            for row in rows
            if row["text_digest"] in existing
        }
        storing = asyncio.create_task(self._store_vectors(collection, known_vectors))
        stored_count = 0
        try:
            for portion in batched([row for row in rows if row["id"] not in known_vectors], COMMIT_BATCH_SIZE):
                vectors = await self._embed_portion(portion)
                stored_count += await storing
                storing = asyncio.create_task(self._store_vectors(collection, vectors))
        except ModelUnavailable as error:
            logger.warning("embedding is suspended for 5 minutes: %s", error.message)
            self._embedding_resumes_at = time.monotonic() + 300.0
            return False
        finally:
            stored_count += await storing
        return stored_count > 0

    async def _store_vectors(self, collection: Collection, vectors: Mapping[str, tuple[bytes, bytes]]) -> int:
        assert self._model is not None
        stored_count = await collection.set_vectors(vectors, self._model.name) if vectors else 0
        self._service.pending_embeddings = max(1, self._service.pending_embeddings - stored_count)
        return stored_count

    async def _embed_portion(self, rows: Sequence[Row]) -> dict[str, tuple[bytes, bytes]]:
        """Return the vector of each row, keyed by row id.

        Each vector comes with the digest of the text that was embedded. Raises ModelUnavailable if the model cannot be
        used.
        """
        pending = [(get_embedded_text(get_memory(row)), row) for row in rows]
        pending.sort(key=lambda each: len(each[0]))  # two parallel batches take as long as the longer one
        is_parallel = self._service.pending_embeddings > PARALLEL_EMBEDDING_MINIMUM and (os.cpu_count() or 1) > 1
        vectors: list[bytes] = []
        for batches in batched(split_by_length([text for text, _ in pending]), 2 if is_parallel else 1):
            await self._yield_to_requests()
            results = await asyncio.gather(*map(self._embed_texts, batches))
            vectors += [vector for batch in results for vector in batch]
        return {row["id"]: (vector, row["text_digest"]) for (_, row), vector in zip(pending, vectors, strict=True)}

    async def _embed_texts(self, texts: Sequence[str]) -> list[bytes]:
        assert self._model is not None
        return await asyncio.get_running_loop().run_in_executor(self._low_priority_pool, self._model.embed, texts)

    async def _yield_to_requests(self) -> None:
        """Wait for a pause between requests, but no longer than MAX_WAIT_SECONDS.

        A flood of requests therefore slows embedding down but never stops it.
        """
        waited = 0.0
        while waited < MAX_WAIT_SECONDS and not self._is_idle_for(IDLE_SECONDS):
            await asyncio.sleep(WAIT_STEP_SECONDS)
            waited += WAIT_STEP_SECONDS

    def _is_idle_for(self, seconds: float) -> bool:
        return time.monotonic() - self._service.last_request >= seconds


def split_by_length(texts: Sequence[str]) -> list[list[str]]:
    """Split texts into batches of at most EMBED_BATCH_CHARACTERS characters in total.

    A text longer than that becomes a batch of its own.
    """
    batches: list[list[str]] = []
    size = EMBED_BATCH_CHARACTERS
    for text in texts:
        if size + len(text) > EMBED_BATCH_CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(text)
        size += len(text)
    return batches


def batched(entries: Sequence[Entry], size: int) -> Iterator[Sequence[Entry]]:
    """Yield the entries in portions of `size`."""
    return (entries[begin : begin + size] for begin in range(0, len(entries), size))
