"""Methods of the store process: put, find, list, erase, count and export memories."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hunchd.daemon.patience import patient_threads
from hunchd.daemon.store_finding import Finding
from hunchd.daemon.store_reading import Reading
from hunchd.domain.errors import StoreClosed
from hunchd.embedding.embedder import Late, LazyEmbedder, ModelUnavailable, Reader
from hunchd.protocol.allocating import give_memory_back
from hunchd.protocol.helper import Handler
from hunchd.protocol.pipe import Json
from hunchd.store.client import filters_of, findings_json
from hunchd.store.database.collection import Collection
from hunchd.store.database.collections import Collections
from hunchd.store.database.tables import SIGNALS, Row, plain_of, signal_of, signal_row, stored

EXPORTED_AT_ONCE: Final = 200  # memories
SCANNED_AT_ONCE: Final = 50  # memories: the front forwards a batch between two responses, in a few milliseconds


class StoreService:
    """Method handlers of the process.

    `model` and `reader` are None if embedding is switched off.
    """

    def __init__(
        self, data: Path, session: Any, model: LazyEmbedder | None, reader: Late[Reader] | None = None
    ) -> None:
        self.collections = Collections(data, session, self._count_waiting)
        self._finding = Finding(self.collections, model)
        self._model = model
        self._answering = 0  # requests in progress
        self.reading = Reading(reader, lambda: self._answering > 0) if reader is not None else None
        self._patient = patient_threads(1, "embedding texts")
        self.last_request = time.monotonic()
        self.last_question = float("-inf")
        self.pending = 0  # memories without a vector, as far as known

    @property
    def handlers(self) -> dict[str, Handler]:
        """Handlers by method name, as `store.client` calls them."""
        answering: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any] | Json]]] = {
            "put": self._put,
            "put_signals": self._put_signals,
            "get": self._get,
            "list": self._list,
            "search": self._search,
            "answer": self._answer,
            "vector": self._vector,
            "delete": self._delete,
            "delete_signals": self._delete_signals,
            "forget_signals": self._forget_signals,
            "purge": self._purge,
            "erase": self._erase,
            "optimise": self._optimise,
            "snapshot": self._snapshot,
        }
        # These do not count as requests: polling the statistics must not hold off the background work they report.
        unnoticed: dict[str, Handler] = {
            "stats": self._stats,
            "export": self._export,
            "scan": self._scan,
            "signals": self._signals,
            "contradict": self._contradict,
            "embed": self._embed,
        }
        return {name: self._noticing(answer) for name, answer in answering.items()} | unnoticed

    @property
    def model_name(self) -> str:
        return self._model.name if self._model is not None else ""

    async def _count_waiting(self, collection: Collection) -> None:
        if self._model is not None:
            self.pending += len(await collection.without_vector(self._model.name, 1))

    async def _put(self, asked: dict[str, Any]) -> dict[str, Any]:
        rows: dict[str | None, list[Row]] = {}
        for raw in asked["memories"]:
            rows.setdefault(raw["project"], []).append(stored(raw))
        written = [await (await self.collections.of(project)).put(batch) for project, batch in rows.items()]
        if self._model is not None:
            self.pending += sum(one.added + one.changed for one in written)
        return {"stats": {"pending_embeddings": self.pending}}

    async def _put_signals(self, asked: dict[str, Any]) -> dict[str, Any]:
        rows: dict[str | None, list[Row]] = {}
        for signal in asked["signals"]:
            rows.setdefault(signal.get("project"), []).append(signal_row(signal))
        written = [
            await (await self.collections.of(project)).put(batch, into=SIGNALS) for project, batch in rows.items()
        ]
        return {"added": sum(one.added for one in written)}

    async def _get(self, asked: dict[str, Any]) -> dict[str, Any]:
        if not self.collections.has(asked["project"]):
            return {"memories": []}
        rows = await (await self.collections.of(asked["project"])).get(asked["ids"])
        return {"memories": [plain_of(row) for row in rows]}

    async def _list(self, asked: dict[str, Any]) -> dict[str, Any]:
        filters, limit = filters_of(asked["filters"]), int(asked["limit"])
        if not self.collections.has(filters.project):
            return {"memories": [], "next": None, "total": 0}
        after = tuple(asked["after"]) if asked["after"] else None
        rows, total = await (await self.collections.of(filters.project)).page(filters, limit, after)
        last = rows[-1] if len(rows) == limit else None
        return {
            "memories": [plain_of(row) for row in rows],
            "next": [last["at"], last["id"]] if last else None,
            "total": total,
        }

    async def _search(self, asked: dict[str, Any]) -> dict[str, Any] | Json:
        self.last_question = time.monotonic()
        hits, degraded = await self._finding.found(asked)
        return findings_json(hits, {"degraded": degraded, "stats": {"pending_embeddings": self.pending}})

    async def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.last_question = time.monotonic()
        results, degraded = await self._finding.results(asked)
        return {"results": results, "degraded": degraded, "stats": {"pending_embeddings": self.pending}}

    async def _vector(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The vector of a question; null where none can be made in time."""
        vector, degraded = await self._finding.vector(asked["query"], float(asked["patience"]))
        return {"vector": _text(vector) if vector is not None else None, "degraded": degraded}

    async def _embed(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Vectors of texts for which nobody waits; null where embedding is switched off or the model fails."""
        if self._model is None:
            return {"vectors": None}
        model, texts = self._model, [str(text) for text in asked["texts"]]
        try:
            vectors = await asyncio.get_running_loop().run_in_executor(
                self._patient, lambda: model.model().embed(texts)
            )
        except ModelUnavailable:
            return {"vectors": None}
        return {"vectors": [_text(vector) for vector in vectors]}

    async def _delete(self, asked: dict[str, Any]) -> dict[str, Any]:
        if not self.collections.has(asked["project"]):
            return {"deleted": 0}
        return {"deleted": await (await self.collections.of(asked["project"])).delete(asked["ids"])}

    async def _delete_signals(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.collections.has(asked["project"]):
            await (await self.collections.of(asked["project"])).delete_signals(asked["ids"])
        return {}

    async def _signals(self, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        if self.collections.has(asked["project"]):
            collection = await self.collections.of(asked["project"])
            async for rows in _batches(collection.rows(SIGNALS)):
                yield {"signals": [signal_of(row) for row in rows]}

    async def _forget_signals(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self.collections.each(lambda collection: collection.forget_signals(asked["before"]))
        return {}

    async def _purge(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.collections.has(asked["project"]):
            await (await self.collections.of(asked["project"])).purge()
        return {}

    async def _erase(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self.collections.erase(asked["project"])
        return {}

    async def _export(self, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        projects = [asked["project"]] if asked["project"] is not None else self.collections.projects
        for project in projects:
            if not self.collections.has(project):
                continue
            with suppress(StoreClosed):  # skip a project that is erased meanwhile
                collection = await self.collections.of(project)
                async for rows in _batches(collection.rows()):
                    yield {"memories": [plain_of(row) for row in rows], "signals": []}
                async for rows in _batches(collection.rows(SIGNALS)):
                    yield {"memories": [], "signals": [signal_of(row) for row in rows]}

    async def _scan(self, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the memories of one owner with short vectors.

        The owner is the user if `project` is None.
        """
        if self.collections.has(asked["project"]):
            collection = await self.collections.of(asked["project"])
            async for rows in _batches(collection.rows(), SCANNED_AT_ONCE):
                vectors = collection.looking.short_vectors([row["id"] for row in rows], self.model_name)
                told = {one: base64.b85encode(vector).decode("ascii") for one, vector in vectors.items()}
                yield {"memories": [plain_of(row) for row in rows], "vectors": told}

    async def _stats(self, _: dict[str, Any]) -> dict[str, Any]:
        states = await self.collections.each(
            lambda collection: collection.state(self.model_name), list(self.collections.opened)
        )
        if self._model is not None:
            self.pending = sum(state["rows"] - state["embedded"] for state in states.values())
        total = {
            name: sum(state[name] for state in states.values()) for name in ("rows", "embedded", "bytes", "versions")
        }
        return {
            "stats": total
            | {
                "pending_embeddings": self.pending,
                "degraded": self._degraded(),
                "projects": {project or "user": state for project, state in states.items()},
            }
        }

    async def _optimise(self, _: dict[str, Any]) -> dict[str, Any]:
        await self.collections.each(lambda collection: collection.optimise(force=True))
        give_memory_back()
        return {}

    async def _snapshot(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self.collections.each(lambda collection: collection.snapshot(keep=int(asked["keep"])))
        return {}

    async def _contradict(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the probability of each pair that both cannot hold.

        Returns null without a model.
        """
        pairs = [(str(a), str(b)) for a, b in asked["pairs"]]
        said = await self.reading.contradict(pairs) if self.reading is not None else None
        return {"probabilities": said, "stats": {"degraded": self._degraded()}}

    def _noticing(self, answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | Json]]) -> Handler:
        async def noticed(asked: dict[str, Any]) -> dict[str, Any] | Json:
            self.last_request = time.monotonic()
            self._answering += 1
            try:
                return await answer(asked)
            finally:
                self._answering -= 1
                self.last_request = time.monotonic()

        return noticed

    def _degraded(self) -> list[str]:
        """Describe what is broken."""
        found = [
            f"{project or 'user'}: {complaint}"
            for project, collection in self.collections.opened.items()
            for complaint in collection.complaints()
        ]
        if self._model is not None and self._model.failure:
            found.append(f"search by words only: {self._model.failure}")
        if self.reading is not None and self.reading.failure:
            found.append(f"contradictions by rules only: {self.reading.failure}")
        return found


def _text(vector: bytes) -> str:
    return base64.b64encode(vector).decode("ascii")


async def _batches(rows: AsyncIterator[Row], size: int = EXPORTED_AT_ONCE) -> AsyncIterator[list[Row]]:
    batch: list[Row] = []
    async for row in rows:
        batch.append(row)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
