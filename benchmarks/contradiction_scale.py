"""Benchmark of comparing a new memory with 100,000 others for contradictions.

    python benchmarks/contradiction_scale.py --memories 100000 --asked 200 REPOSITORY…

The others are the commit messages of the repositories, repeated with other names, and facts made from the frames of
`contradiction_material.py`; each question contradicts one of them. Time is measured from the memory to the judgement:
finding candidates in the store by words, comparing them, and having the model read the most related. With `--store
FOLDER` the store is made once (`--asked 0`) and measured later.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contradiction_material import generate_pairs
from duplicates import read_messages

from hunchd.consolidation.contradictions.candidate_search import (
    MAX_CANDIDATES,
    MAX_READ_PAIRS,
    compare_with_candidates,
    make_search_query,
)
from hunchd.consolidation.contradictions.statements import extract_statement
from hunchd.daemon.store_service import StoreService
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.embedding import fastembed_backend
from hunchd.embedding.embedder import LazyModel
from hunchd.store.client import filters_to_json, hit_from_dict
from hunchd.store.database.lance import create_session
from hunchd.store.memory_codec import memory_to_plain

AT_ONCE = 2_000
NOW = datetime(2026, 6, 1, tzinfo=UTC)
NAMES = (
    "amber basil cedar dune echo fern grove hazel iris jade kelp lime moss nova onyx pine quill reed sage tide".split()  # noqa: SIM905
)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="*")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--asked", type=int, default=200)
    parser.add_argument("--store", type=Path, help="a folder in which the store is made, or was made before")
    options = parser.parse_args()
    rng = random.Random(3)
    pairs = [pair for pair in generate_pairs() if pair.contradiction]
    with tempfile.TemporaryDirectory() as folder:
        store_folder: Path = options.store or Path(folder)
        exists = store_folder.exists() and any(store_folder.iterdir())
        store_folder.mkdir(parents=True, exist_ok=True)
        embedder = fastembed_backend.load_embedder()
        reader = LazyModel(
            "reader of pairs", lambda: fastembed_backend.load_contradiction_model(embedder.embed), idle_after=600.0
        )
        store = StoreService(store_folder, create_session(), None, reader)
        if not exists:
            await fill_store(store, [pair.a for pair in pairs], options.repositories, options.memories, rng)
        if options.asked:
            new = [
                _memory(f"n{number}", Kind.FACT, pair.b) for number, pair in enumerate(rng.sample(pairs, options.asked))
            ]
            await time_questions(store, new[:20])
            SPENT.clear()
            report(*await time_questions(store, new))
        await store.collections.close()


async def fill_store(
    store: StoreService, stated: list[str], repositories: list[str], count: int, rng: random.Random
) -> None:
    """Put facts and commits into an empty store."""
    commits = [text[:600] for repository in repositories for text in read_messages(repository, 20_000)]
    facts = [f"{text} in {one} {other}" for one in NAMES for other in NAMES for text in rng.sample(stated, 40)]
    texts = [(Kind.FACT, text) for text in (*stated, *facts)]
    while len(texts) < count:
        texts.append((Kind.EPISODE, rng.choice(commits).replace("the ", f"the {rng.choice(NAMES)} ", 1)))
    rows = [memory_to_plain(_memory(f"m{number}", kind, text)) for number, (kind, text) in enumerate(texts[:count])]
    for begin in range(0, len(rows), AT_ONCE):
        await store.handlers["put"]({"memories": rows[begin : begin + AT_ONCE]})
    await store.handlers["optimise"]({})
    print(f"{len(rows):,} memories in the store")


def report(took: list[float], worked: list[float], found: int) -> None:
    print(f"{len(took)} asked, {found} contradict something")
    for name, some in (("by the clock", sorted(took)), ("of processor time", sorted(worked))):
        p95 = some[int(len(some) * 0.95)]
        print(f"{name}: p50 {statistics.median(some):.1f} ms, p95 {p95:.1f} ms, longest {some[-1]:.1f} ms")
    comparing, reading, pairs = (SPENT[name] / len(took) for name in ("comparing", "reading", "read"))
    print(f"on average {comparing:.2f} ms to compare {MAX_CANDIDATES}, {reading:.2f} ms to read {pairs:.1f} pairs")


SPENT: Counter[str] = Counter()  # milliseconds, and pairs that were read


async def time_questions(store: StoreService, new: list[Memory]) -> tuple[list[float], list[float], int]:
    """Return wall and processor milliseconds of each question, and the number of contradictions."""
    filters = filters_to_json(Filters(project="p", kinds=(Kind.FACT, Kind.EPISODE)))
    durations, worked, found = [], [], 0
    for memory in new:
        began, spent = time.perf_counter(), time.process_time()
        requests = {
            "query": make_search_query(memory),
            "filters": filters,
            "k": MAX_CANDIDATES,
            "mode": "hybrid",
            "depth": "shallow",
        }
        answer = await store.handlers["search"](requests | {"patience": 0.0})
        candidates = [hit_from_dict(hit).memory for hit in json.loads(answer)["hits"]]
        comparing = time.perf_counter()
        look = compare_with_candidates(memory, candidates)
        reading = time.perf_counter()
        pairs = look.unread[:MAX_READ_PAIRS] if store.pair_reader is not None else ()
        texts = [(extract_statement(a), extract_statement(b)) for a, b in pairs]
        probabilities = (await store.handlers["contradict"]({"pairs": texts}))["probabilities"] if pairs else []
        found += bool(
            look.select_contradictions({(a.id, b.id): one for (a, b), one in zip(pairs, probabilities, strict=True)})
        )
        ended = time.perf_counter()
        SPENT.update(comparing=(reading - comparing) * 1_000, reading=(ended - reading) * 1_000, read=len(pairs))
        durations.append((ended - began) * 1_000)
        worked.append((time.process_time() - spent) * 1_000)
    return durations, worked, found


def _memory(identifier: str, kind: Kind, text: str) -> Memory:
    at = NOW - timedelta(days=int(identifier.startswith("m")))
    return Memory(
        id=identifier,
        kind=kind,
        title=text.splitlines()[0][:120],
        content=text,
        at=at,
        created=at,
        updated=at,
        project="p",
        trust=Trust.USER,
    )


if __name__ == "__main__":
    asyncio.run(main())
