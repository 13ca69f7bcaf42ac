"""What the store process answers: memories put, found, erased; it embeds and tidies up when nobody asks."""

from __future__ import annotations

import asyncio
import base64
import logging
import shutil
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from hunchd.daemon.store_reading import Reading
from hunchd.domain.errors import HunchError, StoreClosed
from hunchd.domain.filters import Filters, matches
from hunchd.embedding.embedder import Late, LazyEmbedder, Reader
from hunchd.protocol.allocating import give_memory_back
from hunchd.protocol.child import Handler, Json
from hunchd.retrieval.answering import Readings, answer, places_on
from hunchd.retrieval.fusion import best
from hunchd.retrieval.wording import expansion
from hunchd.store.client import filters_of, findings_json, hit_of
from hunchd.store.collection import Collection
from hunchd.store.files import Files, private_folder
from hunchd.store.finding import Found
from hunchd.store.folders import erasure_is_due, of_project
from hunchd.store.hits import Glimpse, Hit
from hunchd.store.looking import Vector
from hunchd.store.tables import SIGNALS, Row, memory_of, plain_of, signal_of, signal_row, stored
from hunchd.store.words import question

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

EXPORTED_AT_ONCE: Final = 200  # memories
SCANNED_AT_ONCE: Final = 50  # memories: the front hands them on between two answers, in a few milliseconds
# A question that is embedded while everybody waits, which takes five milliseconds at most; others in another thread.
QUICK: Final = 200  # characters
DEEP_SEEDS: Final = 5  # best answers whose words and links a deep search follows
LINKED_MOST: Final = 10  # memories
DOOMED: Final = "leaving"  # where a project goes on its way out


class StoreService:
    """One for the process. `model` and `reader` are None when embedding is switched off."""

    def __init__(
        self, data: Path, session: Any, model: LazyEmbedder | None, reader: Late[Reader] | None = None
    ) -> None:
        self._data = data
        self._left = tuple((data / DOOMED).glob("*"))
        self._session = session
        self._model = model
        self._answering = 0  # requests that somebody waits for
        self.reading = Reading(reader, lambda: self._answering > 0) if reader is not None else None
        self._collections: dict[str | None, Collection] = {}
        self._opening: defaultdict[str | None, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._erased: set[str] = set()  # projects, whose ids never come back: what still comes of them is not kept
        self._waking: asyncio.Task[object] | None = None
        self.last_request = time.monotonic()
        self.last_question = float("-inf")
        self.pending = 0  # memories that wait for their vector, as far as is known

    @property
    def handlers(self) -> dict[str, Handler]:
        """The words of `store.client`."""
        answering: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any] | Json]]] = {
            "put": self._put,
            "put_signals": self._put_signals,
            "get": self._get,
            "list": self._list,
            "search": self._search,
            "answer": self._answer,
            "delete": self._delete,
            "forget_signals": self._forget_signals,
            "purge": self._purge,
            "erase": self._erase,
            "optimise": self._optimise,
            "verify": self._verify,
            "snapshot": self._snapshot,
        }
        # Looking at the figures again and again must not keep the work from which they change.
        unnoticed: dict[str, Handler] = {
            "stats": self._stats,
            "export": self._export,
            "scan": self._scan,
            "contradict": self._contradict,
        }
        return {name: self._noticing(answer) for name, answer in answering.items()} | unnoticed

    @property
    def model_name(self) -> str:
        return self._model.name if self._model is not None else ""

    @property
    def opened(self) -> list[Collection]:
        return list(self._collections.values())

    async def collection(self, project: str | None) -> Collection:
        """What is kept of a project, opened on first use: to its end, also if who asked is gone. What an opening mends
        and erases is over before there is another one."""
        known = self._collections.get(project)
        return known if known is not None else await asyncio.shield(asyncio.ensure_future(self._opened(project)))

    async def _opened(self, project: str | None) -> Collection:
        async with self._opening[project]:
            if project in self._erased:
                raise StoreClosed(f"{project} was erased")
            if project not in self._collections:
                folder = of_project(self._data, project)
                opened = await Collection.open(folder, self._session)
                self._collections[project] = opened
                if self._model is not None:
                    self.pending += len(await opened.without_vector(self._model.name, 1))
            return self._collections[project]

    async def resume(self) -> None:
        """Finish the erasures that an earlier process began: of whole projects, and of single memories."""
        for folder in self._left:  # and not what is on its way out now: who removes that counts on being alone
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        for project in self._projects():
            if erasure_is_due(of_project(self._data, project)):
                await self.collection(project)

    async def close(self) -> None:
        for collection in self.opened:
            await collection.close()

    # -- answers ---------------------------------------------------------------------------------------------------

    async def _put(self, asked: dict[str, Any]) -> dict[str, Any]:
        rows: dict[str | None, list[Row]] = {}
        for raw in asked["memories"]:
            rows.setdefault(raw["project"], []).append(stored(raw))
        written = [await (await self.collection(project)).put(batch) for project, batch in rows.items()]
        if self._model is not None:
            self.pending += sum(one.added + one.changed for one in written)
        return {"stats": {"pending_embeddings": self.pending}}

    async def _put_signals(self, asked: dict[str, Any]) -> dict[str, Any]:
        rows: dict[str | None, list[Row]] = {}
        for signal in asked["signals"]:
            rows.setdefault(signal.get("project"), []).append(signal_row(signal))
        for project, batch in rows.items():
            await (await self.collection(project)).put(batch, into=SIGNALS)
        return {}

    async def _get(self, asked: dict[str, Any]) -> dict[str, Any]:
        if not self._exists(asked["project"]):
            return {"memories": []}
        rows = await (await self.collection(asked["project"])).get(asked["ids"])
        return {"memories": [plain_of(row) for row in rows]}

    async def _list(self, asked: dict[str, Any]) -> dict[str, Any]:
        filters, limit = filters_of(asked["filters"]), int(asked["limit"])
        if not self._exists(filters.project):
            return {"memories": [], "next": None, "total": 0}
        after = tuple(asked["after"]) if asked["after"] else None
        rows, total = await (await self.collection(filters.project)).page(filters, limit, after)
        last = rows[-1] if len(rows) == limit else None
        return {
            "memories": [plain_of(row) for row in rows],
            "next": [last["at"], last["id"]] if last else None,
            "total": total,
        }

    async def _search(self, asked: dict[str, Any]) -> dict[str, Any] | Json:
        hits, degraded = await self._found(asked)
        return findings_json(hits, {"degraded": degraded, "stats": {"pending_embeddings": self.pending}})

    async def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What was found, ranked here: five results are handed on in less time than forty memories, and those that say
        the words are read while the question's vector is made."""
        filters, readings = filters_of(asked["filters"]), Readings(asked["query"])
        found, degraded = await self._found(asked, readings.read)
        hits, at_hand = readings.glimpses(found), [hit_of(raw) for raw in asked["at_hand"]]
        everything: list[Hit | Glimpse] = [*hits, *at_hand]
        if places := places_on(filters.branch, everything):
            otherwise = {*asked["said_on_branch"], *(hit.memory.id for hit in everything)}
            if self._exists(filters.project):
                rows = await (await self.collection(filters.project)).get(list(places.values()))
                otherwise |= {row["id"] for row in rows}
            hits = [hit for hit in hits if places.get(hit.memory.id) not in otherwise]
            at_hand = [hit for hit in at_hand if places.get(hit.memory.id) not in otherwise]
        results = answer(
            asked["query"], hits, at_hand, depth=asked["depth"], k=int(asked["results"]),
            now=datetime.fromisoformat(asked["now"]), readings=readings,
        )  # fmt: skip
        return {"results": results, "degraded": degraded, "stats": {"pending_embeddings": self.pending}}

    async def _found(
        self, asked: dict[str, Any], read: Callable[[Sequence[str]], object] | None = None
    ) -> tuple[list[tuple[Found, Sequence[str]]], list[str]]:
        """What a question finds and why, and what could not be used for finding it."""
        self.last_question = time.monotonic()
        filters, k = filters_of(asked["filters"]), int(asked["k"])
        degraded: list[str] = []
        if not self._exists(filters.project):
            return [], degraded
        collection = await self.collection(filters.project)
        # A name is looked for by its words: nothing else is like it.
        mode = "lexical" if asked["depth"] == "specific" else asked["mode"]
        vector = self._vector_of(asked["query"], mode, float(asked["patience"]), degraded)
        words = question(asked["query"]) if mode != "dense" else ""
        called: list[Found] = []
        if asked["depth"] == "specific":
            name = asked["query"].strip()
            named = await collection.called(name, filters, k)
            called = [Found(row["body"], row["digest"]) for row in named]
            if any(name in (row["id"], memory_of(row).ref) for row in named):
                words = ""  # one memory alone is called so
        few = asked.get("few")
        found = await collection.find(words, vector, self.model_name, filters, k, best(k), few=few, read=read)
        if asked["depth"] == "deep":
            known = self._model.known(asked["query"]) if self._model is not None and vector is not None else None
            found += await self._deeper(collection, asked["query"], known, filters, k, found)
        once: dict[str, Found] = {}
        for one in [*called, *found]:
            once.setdefault(one.body, one)
        hits: list[tuple[Found, Sequence[str]]] = [(one, ()) for one in once.values()]
        if asked["depth"] == "deep":
            hits += await self._linked(collection, filters, [one for one, _ in hits])
        return hits, degraded

    async def _delete(self, asked: dict[str, Any]) -> dict[str, Any]:
        if not self._exists(asked["project"]):
            return {"deleted": 0}
        return {"deleted": await (await self.collection(asked["project"])).delete(asked["ids"])}

    async def _forget_signals(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self._each(lambda collection: collection.forget_signals(asked["before"]))
        return {}

    async def _purge(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self._exists(asked["project"]):
            await (await self.collection(asked["project"])).purge()
        return {}

    async def _erase(self, asked: dict[str, Any]) -> dict[str, Any]:
        project = asked["project"]
        self._erased.add(project)
        async with self._opening[project]:
            if (collection := self._collections.pop(project, None)) is not None:
                await collection.close()
            await asyncio.to_thread(_remove, of_project(self._data, project), self._data / DOOMED)
        return {}

    async def _export(self, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        projects = [asked["project"]] if asked["project"] is not None else self._projects()
        for project in projects:
            if not self._exists(project):
                continue
            with suppress(StoreClosed):  # what is erased meanwhile is left out
                collection = await self.collection(project)
                async for rows in _batches(collection.rows()):
                    yield {"memories": [plain_of(row) for row in rows], "signals": []}
                async for rows in _batches(collection.rows(SIGNALS)):
                    yield {"memories": [], "signals": [signal_of(row) for row in rows]}

    async def _scan(self, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The memories of one owner, the user's own where `project` is None, and in short what they mean."""
        if self._exists(asked["project"]):
            collection = await self.collection(asked["project"])
            async for rows in _batches(collection.rows(), SCANNED_AT_ONCE):
                vectors = collection.looking.short_vectors([row["id"] for row in rows], self.model_name)
                told = {one: base64.b85encode(vector).decode("ascii") for one, vector in vectors.items()}
                yield {"memories": [plain_of(row) for row in rows], "vectors": told}

    async def _stats(self, _: dict[str, Any]) -> dict[str, Any]:
        states = await self._each(lambda collection: collection.state(self.model_name), list(self._collections))
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
        await self._each(lambda collection: collection.optimise(force=True))
        give_memory_back()
        return {}

    async def _verify(self, _: dict[str, Any]) -> dict[str, Any]:
        results = await self._each(lambda collection: collection.verify())
        return {name: sum(result[name] for result in results.values()) for name in ("checked", "damaged")}

    async def _snapshot(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self._each(lambda collection: collection.snapshot(keep=int(asked["keep"])))
        return {}

    async def _contradict(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Of pairs of statements, how probable it is that both cannot hold; null where no model can read them."""
        pairs = [(str(a), str(b)) for a, b in asked["pairs"]]
        said = await self.reading.contradict(pairs) if self.reading is not None else None
        return {"probabilities": said, "stats": {"degraded": self._degraded()}}

    # -- finding ---------------------------------------------------------------------------------------------------

    def _vector_of(self, query: str, mode: str, patience: float, degraded: list[str]) -> Vector:
        """The vector of a question, or how it is come by; None where there will be none. What keeps it from being made
        is added to `degraded`."""
        if self._model is None or mode == "lexical":
            return None
        if (known := self._model.known(query)) is not None:
            return known
        if self._model.loaded and len(query) <= QUICK:
            return lambda: self._embedded(query, degraded)
        return asyncio.ensure_future(self._awaited(query, patience, degraded))

    def _embedded(self, query: str, degraded: list[str]) -> bytes | None:
        assert self._model is not None
        try:
            [vector] = self._model.embed([query])
        except HunchError as error:
            degraded.append(f"searched by words only: {error.message}")
            return None
        return vector

    async def _awaited(self, query: str, patience: float, degraded: list[str]) -> bytes | None:
        """The vector, made in another thread: loading the model takes a second."""
        assert self._model is not None
        if self._waking is not None and not self._waking.done() and not self._model.loaded:
            degraded.append("the embedding model is still loading: searched by words only")
            return None
        self._waking = asyncio.ensure_future(asyncio.to_thread(self._embedded, query, degraded))
        try:
            return await asyncio.wait_for(asyncio.shield(self._waking), patience)
        except TimeoutError:
            self._waking.add_done_callback(_forgiven)
            degraded.append("the embedding model is still loading: searched by words only")
            return None

    async def _deeper(
        self,
        collection: Collection,
        query: str,
        vector: bytes | None,
        filters: Filters,
        k: int,
        found: Sequence[Found],
    ) -> list[Found]:
        """What is found with the words that the best answers share."""
        added = expansion(
            query,
            [f"{memory.title}\n{memory.content}" for memory in (memory_of(one.row) for one in found[:DEEP_SEEDS])],
        )
        if not added:
            return []
        return await collection.find(question(" ".join([query, *added])), vector, self.model_name, filters, k, best(k))

    async def _linked(
        self, collection: Collection, filters: Filters, found: Sequence[Found]
    ) -> list[tuple[Found, Sequence[str]]]:
        """What the best of those found link to, one step far, and why, without those found."""
        reasons: dict[str, str] = {}
        known = [one.row for one in found]
        there = {row["id"] for row in known}
        for memory in map(memory_of, known[:DEEP_SEEDS]):
            linked = [link.get("ref") for link in memory.links] + [memory.supersedes, memory.superseded_by]
            reasons.update({id_: f"linked to '{memory.title}'" for id_ in linked if id_ and id_ not in there})
        rows = await collection.get(list(reasons)[:LINKED_MOST])
        return [
            (Found(row["body"], row["digest"]), (reasons[row["id"]],))
            for row in rows
            if matches(memory_of(row), filters)
        ]

    # -- inside ----------------------------------------------------------------------------------------------------

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
        """What is broken, in words."""
        found = [
            f"{project or 'user'}: {complaint}"
            for project, collection in self._collections.items()
            for complaint in collection.complaints()
        ]
        if self._model is not None and self._model.failure:
            found.append(f"search by words only: {self._model.failure}")
        if self.reading is not None and self.reading.failure:
            found.append(f"contradictions by rules only: {self.reading.failure}")
        return found

    async def _each(
        self, work: Callable[[Collection], Awaitable[Answer]], projects: Sequence[str | None] | None = None
    ) -> dict[str | None, Answer]:
        """What `work` gives of each project, of all where none are named; what is erased meanwhile is left out."""
        given: dict[str | None, Answer] = {}
        for project in self._projects() if projects is None else projects:
            with suppress(StoreClosed):
                if self._exists(project):
                    given[project] = await work(await self.collection(project))
        return given

    def _exists(self, project: str | None) -> bool:
        """A question about nothing creates nothing."""
        return project in self._collections or of_project(self._data, project).is_dir()

    def _projects(self) -> list[str | None]:
        named = sorted(path.name for path in (self._data / "projects").glob("*") if path.is_dir())
        return [*([None] if (self._data / "user").is_dir() else []), *named]


def _forgiven(task: asyncio.Task[object]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("the question could not be embedded: %s", error)


def _remove(folder: Path, doomed: Path) -> None:
    """Out of sight at once, then gone: a crash in between leaves a folder that nobody takes for a project."""
    if not folder.exists():
        return
    target = private_folder(doomed) / f"{folder.name}-{time.time_ns()}"
    folder.replace(target)
    Files().sync_folder(folder.parent)
    shutil.rmtree(target)
    Files().sync_folder(doomed)


async def _batches(rows: AsyncIterator[Row], size: int = EXPORTED_AT_ONCE) -> AsyncIterator[list[Row]]:
    batch: list[Row] = []
    async for row in rows:
        batch.append(row)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
