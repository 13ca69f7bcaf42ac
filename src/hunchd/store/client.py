"""Client of the store process: the store's API, answered over a pipe."""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import convert

from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Kind, Memory, Scope, Status
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.pipe import SerializedJson
from hunchd.protocol.search_results import SearchResult
from hunchd.store.hits import Hit, SearchCandidate
from hunchd.store.memory_codec import memory_from_plain, memory_to_plain, to_microseconds
from hunchd.store.port import (
    EMBEDDING_WAIT_SECONDS,
    Depth,
    MemoryPage,
    Mode,
    RankedResults,
    SearchHits,
    StoredSignal,
    format_cursor,
    parse_cursor,
)

# Writing waits for the disk, and now and then for a running compaction.
WRITE_TIMEOUT: Final = 120.0  # seconds
# Rewriting every row of a large project.
ERASE_TIMEOUT: Final = 600.0  # seconds
# Loading the model that compares pairs on a busy machine, and judging some pairs.
CONTRADICT_TIMEOUT: Final = 120.0  # seconds
# The database's threads and buffers grow with the machine unless limited before it is loaded.
PROCESS_LIMITS: Final[Mapping[str, str]] = {
    # Memory of a query is kept for the next one: returning it to the system costs a third of the processor time.
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "16777216",
    "MALLOC_MMAP_THRESHOLD_": "4194304",
    "LANCE_IO_THREADS": "4",
    "LANCE_CPU_THREADS": "2",
    "LANCE_DEFAULT_BATCH_SIZE": "512",  # rows that are read together: compaction needs 50 to 75 MB less than with 8,192
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "2",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RUST_LOG": "error",
    "LANCE_LOG": "error",
}


class StoreClient:
    """`MemoryStore` and `TextModels` of the store process, whose memories lie in one folder of this machine.

    `last_stats` are the figures from the newest answer that had some, for callers that must not wait.
    """

    def __init__(self, child: HelperProcess) -> None:
        self._child = child
        self._waiting_queries = 0  # queries that wait for their answer
        self._last_answer_at = float("-inf")
        self.last_stats: dict[str, Any] = {"pending_embeddings": 0, "degraded": [], "projects": {}}
        self.is_stats_outdated = False  # True if something was put since the last `stats`

    async def put(self, memories: Sequence[Memory]) -> None:
        self.is_stats_outdated = True
        await self._call("put", {"memories": [memory_to_plain(memory) for memory in memories]}, timeout=WRITE_TIMEOUT)

    async def put_signals(self, signals: Sequence[StoredSignal]) -> int:
        answer = await self._call("put_signals", {"signals": list(signals)}, timeout=WRITE_TIMEOUT)
        return int(answer["added"])

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        answer = await self._call_idempotent("get", {"ids": list(ids), "project": project})
        by_id = {row["id"]: memory_from_plain(row) for row in answer["memories"]}
        return [by_id[id_] for id_ in dict.fromkeys(ids) if id_ in by_id]

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        params = {
            "filters": filters_to_json(filters),
            "limit": limit,
            "after": parse_cursor(cursor) if cursor else None,
        }
        answer = await self._call_idempotent("list", params)
        items = tuple(memory_from_plain(row) for row in answer["memories"])
        next_cursor = format_cursor(*answer["next"]) if answer["next"] else None
        return MemoryPage(items, next_cursor, answer["total"])

    async def search(
        self,
        query: str,
        filters: Filters,
        k: int,
        *,
        k_without_messages: int | None = None,
        mode: Mode = "hybrid",
        depth: Depth = "shallow",
        embedding_wait: float = EMBEDDING_WAIT_SECONDS,
        is_background: bool = False,
    ) -> SearchHits:
        params = {
            "query": query,
            "filters": filters_to_json(filters),
            "k": k,
            "few": k_without_messages,
            "mode": mode,
            "depth": depth,
            "patience": embedding_wait,
            "background": is_background,
        }
        answer = await self._call_idempotent("search", params)
        # The store may compare hashes only; here each memory is decoded anyway.
        hits = (hit for hit in map(hit_from_dict, answer["hits"]) if matches(hit.memory, filters))
        return SearchHits(tuple(hits), tuple(answer["degraded"]))

    async def search_ranked(
        self,
        query: str,
        filters: Filters,
        k: int,
        cached_hits: Sequence[Hit],
        *,
        k_without_messages: int | None,
        depth: Depth,
        results: int,
        branch_fact_ids: Sequence[str],
        now: datetime,
        embedding_wait: float,
    ) -> RankedResults:
        params = {
            "query": query,
            "filters": filters_to_json(filters),
            "k": k,
            "few": k_without_messages,
            "mode": "hybrid",
            "depth": depth,
            "patience": embedding_wait,
            "results": results,
            "said_on_branch": list(branch_fact_ids),
            "now": now.isoformat(),
            "at_hand": [hit_to_dict(hit) for hit in cached_hits],
        }
        self._waiting_queries += 1
        try:
            answer = await self._call_idempotent("answer", params)
        finally:
            self._waiting_queries -= 1
            self._last_answer_at = time.monotonic()
        results_found = convert(answer["results"], tuple[SearchResult, ...])
        return RankedResults(results_found, tuple(answer["degraded"]))

    @property
    def seconds_since_query(self) -> float:
        return 0.0 if self._waiting_queries else time.monotonic() - self._last_answer_at

    async def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[float, ...] | None:
        answer = await self._call_idempotent(
            "contradict", {"pairs": [list(pair) for pair in pairs]}, timeout=CONTRADICT_TIMEOUT
        )
        probabilities = answer["probabilities"]
        return tuple(float(probability) for probability in probabilities) if probabilities is not None else None

    async def vector(self, query: str, patience: float) -> tuple[bytes | None, tuple[str, ...]]:
        answer = await self._call_idempotent("vector", {"query": query, "patience": patience})
        vector = answer["vector"]
        return (base64.b64decode(vector) if vector is not None else None), tuple(answer["degraded"])

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        answer = await self._call_idempotent("embed", {"texts": list(texts)}, timeout=CONTRADICT_TIMEOUT)
        vectors = answer["vectors"]
        return [base64.b64decode(vector) for vector in vectors] if vectors is not None else None

    async def delete(self, ids: Sequence[str], project: str | None) -> int:
        answer = await self._call("delete", {"ids": list(ids), "project": project}, timeout=WRITE_TIMEOUT)
        return int(answer["deleted"])

    async def stream_signals(self, project: str | None) -> AsyncIterator[Mapping[str, Any]]:
        async for batch in self._child.stream("signals", {"project": project}):
            for signal in batch["signals"]:
                yield signal

    async def delete_signals(self, ids: Sequence[str], project: str) -> None:
        await self._call("delete_signals", {"ids": list(ids), "project": project}, timeout=WRITE_TIMEOUT)

    async def delete_signals_before(self, before: datetime) -> None:
        await self._call("forget_signals", {"before": to_microseconds(before)}, timeout=WRITE_TIMEOUT)

    async def erase(self, project: str) -> None:
        await self._call("erase", {"project": project}, timeout=ERASE_TIMEOUT)
        self.last_stats["projects"].pop(project, None)

    async def purge(self, project: str | None) -> None:
        await self._call("purge", {"project": project}, timeout=ERASE_TIMEOUT)

    async def list_owners(self) -> Sequence[str | None]:
        owners: Sequence[str | None] = (await self._call_idempotent("owners", {}))["owners"]
        return owners

    async def stream_memories(self, project: str | None) -> AsyncIterator[Mapping[str, Any]]:
        async for batch in self._child.stream("scan", {"project": project}):
            yield batch

    @property
    def pending_embeddings(self) -> int:
        waiting = int(self.last_stats["pending_embeddings"])
        return 0 if self._child.has_idled_out and not self.last_stats["degraded"] else waiting

    async def fetch_stats(self) -> Mapping[str, Any]:
        self.is_stats_outdated = False  # what is put meanwhile sets it again
        try:
            answer = await self._call_idempotent("stats", {})
        except BaseException:  # a caller that did not wait for the answer has not seen it
            self.is_stats_outdated = True
            raise
        return dict(answer["stats"])

    async def optimise(self) -> None:
        await self._call("optimise", {}, timeout=ERASE_TIMEOUT)

    async def snapshot(self, keep: int) -> None:
        await self._call("snapshot", {"keep": keep}, timeout=ERASE_TIMEOUT)

    async def _call_idempotent(
        self, method: str, params: Mapping[str, Any], *, timeout: float = 30.0
    ) -> dict[str, Any]:
        """Call a method without side effects.

        It is retried if the process ends meanwhile.
        """
        return await self._call(method, params, timeout=timeout, retry=True)

    async def _call(
        self, method: str, params: Mapping[str, Any], *, timeout: float = 30.0, retry: bool = False
    ) -> dict[str, Any]:
        answer: dict[str, Any] = await self._child.call(method, params, timeout=timeout, retry=retry)
        stats = answer.get("stats", {})
        if "rows" not in stats and stats.get("pending_embeddings", 0) != self.pending_embeddings:
            self.is_stats_outdated = True  # rows got their vectors since they were counted
        projects = {**self.last_stats.get("projects", {}), **stats.get("projects", {})}  # it reports open projects only
        self.last_stats = {**self.last_stats, **stats, "projects": projects}
        return answer


def build_command(
    data: Path, *, idle_after: float, model: str, embedding: bool, model_idle_after: float
) -> tuple[str, ...]:
    """Return the command line of the store process; times in seconds."""
    line = [sys.executable, "-m", "hunchd.daemon.store_process", str(data)]
    line += [f"--idle-after={idle_after:g}", f"--model={model}", f"--model-idle-after={model_idle_after:g}"]
    return (*line, *(() if embedding else ("--no-embedding",)))


def build_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of the store process.

    It is `base` (default: ours) plus the limits, which take effect only if set before the process starts.
    """
    return {**(os.environ if base is None else base), **PROCESS_LIMITS}


def filters_to_json(filters: Filters) -> dict[str, Any]:
    """Encode `filters` for `filters_from_json`."""
    values = ((entry.name, getattr(filters, entry.name)) for entry in fields(Filters))
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values}


def filters_from_json(raw: Mapping[str, Any]) -> Filters:
    """Decode what `filters_to_json` wrote."""
    values: dict[str, Any] = {entry.name: raw.get(entry.name) for entry in fields(Filters)}
    values |= {name: datetime.fromisoformat(values[name]) for name in ("since", "until", "as_of") if values[name]}
    return Filters(
        **values
        | {
            "kinds": tuple(Kind(kind) for kind in values["kinds"]),
            "scopes": tuple(Scope(scope) for scope in values["scopes"]),
            "statuses": tuple(Status(status) for status in values["statuses"]),
            "tags": tuple(values["tags"]),
        }
    )


def hits_to_json(
    candidates: Sequence[tuple[SearchCandidate, Sequence[str]]], other_fields: Mapping[str, Any]
) -> SerializedJson:
    """Encode the answer to a search.

    `hit_from_dict` decodes the hits.
    """
    hits = ",".join(_hit_to_json(one, why) for one, why in candidates)
    return SerializedJson(f'{{"hits":[{hits}],{json.dumps(other_fields)[1:]}')


def _hit_to_json(candidate: SearchCandidate, why: Sequence[str]) -> str:
    lexical, similarity = (
        "null" if score is None else repr(score) for score in (candidate.lexical, candidate.similarity)
    )
    reasons = json.dumps(list(why)) if why else "[]"
    return f'{{"memory":{candidate.body},"lexical":{lexical},"similarity":{similarity},"why":{reasons}}}'


def hit_to_dict(hit: Hit) -> dict[str, Any]:
    """Encode `hit` for `hit_from_dict`."""
    return {
        "memory": memory_to_plain(hit.memory),
        "lexical": hit.lexical,
        "similarity": hit.similarity,
        "why": list(hit.why),
    }


def hit_from_dict(raw: Mapping[str, Any]) -> Hit:
    """Decode one hit written by `hits_to_json` or `hit_to_dict`."""
    return Hit(
        memory=memory_from_plain(raw["memory"]),
        lexical=raw["lexical"],
        similarity=raw["similarity"],
        why=tuple(raw["why"]),
    )
