"""Benchmark of search latency among 100,000 memories, over HTTP, alone and during writes.

    python benchmarks/search_latency.py fill HOME REPOSITORY…     store episodes and messages of these repositories
    python benchmarks/search_latency.py ask HOME                  questions of every depth, beside NumPy and SQLite FTS5

Episodes are made of commits as the indexer makes them, messages of what their authors wrote. Questions are the
subjects
of later commits, which are not stored. Embedding 100,000 texts takes twenty minutes of a core; therefore vectors are
seeded random projections of the words by default, and a question is also embedded by the real model, whose result is
dropped, so that its cost counts. With `--real`, given to both, the model's own vectors are used throughout.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil

from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.daemon import main as daemon_main
from hunchd.daemon import store_process
from hunchd.domain.history import Unit
from hunchd.domain.memory import Kind, Memory, Scope, Trust
from hunchd.embedding import fastembed_backend
from hunchd.ingestion.episodes import build_episode
from hunchd.ingestion.history import iter_units
from hunchd.protocol.rendezvous import Rendezvous, read_rendezvous
from hunchd.repository.git import Git
from hunchd.store import client as store
from hunchd.store.database.collection import Collection
from hunchd.store.database.folders import locate_collection
from hunchd.store.database.lance import create_session
from hunchd.store.database.tables import build_row, get_embedded_text, set_vector
from hunchd.store.memory_codec import memory_to_plain
from hunchd.store.registry import ProjectRegistry

A_REPOSITORY = 6_000  # newest units
LATER = 16  # of each at least: used as questions, not stored
AT_ONCE = 1_000  # rows
ARRIVING = 50  # rows a second
WARMING = 20  # warm-up questions
SETTLING = 45  # seconds for read-ahead of the first question and a pending compaction
QUESTIONS = {"shallow": 150, "specific": 150, "by id": 150, "deep": 40}
ASKED = 1 + WARMING + 2 * (QUESTIONS["shallow"] + QUESTIONS["deep"])  # different ones in all
_WORD = re.compile(r"[^\W_]+")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fill", "ask", "daemon", "store"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--real", action="store_true", help="vectors of the real model")
    options, more = parser.parse_known_args()
    if options.what == "daemon":  # this script in place of `hunchd`
        return run_daemon_with_projections()
    if options.what == "store":  # and of its store process
        store_process._make_loader = lambda _: Projections  # type: ignore[assignment]
        return store_process.main([*options.rest, *more])
    home = Path(options.rest[0]).absolute()
    if options.what == "fill":
        asyncio.run(fill(home, [Path(one) for one in options.rest[1:]], options.memories, real=options.real))
    else:
        asyncio.run(ask(home, real=options.real))
    return 0


class Projections:
    """Embedder with random projections: texts that share words are similar.

    A single text is a question: the real model reads it as well.
    """

    name, dimensions = "projections", 384

    def __init__(self, *, reads: bool = True) -> None:
        self._words: dict[str, np.ndarray[Any, Any]] = {}
        self._real = fastembed_backend.load_embedder() if reads else None
        # Projecting a question on the measured path would be charged to the model.
        questions_file = Path(os.environ.get("HUNCHD_HOME", "")) / "asked.json" if reads else None
        questions = (
            json.loads(questions_file.read_text())["questions"]
            if questions_file is not None and questions_file.is_file()
            else []
        )
        self._known = {question: self._vector(question) for question in questions}

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self._real is not None and len(texts) == 1:
            self._real.embed(texts)
        return [self._known.get(text) or self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        words = set(_WORD.findall(text.lower())) or {""}
        # Short words are mostly in every text.
        whole = sum(self._direction(word) * (0.2 if len(word) < 4 else 1.0) for word in words)
        return np.asarray(whole / np.linalg.norm(whole), "<f4").tobytes()

    def _direction(self, word: str) -> np.ndarray[Any, Any]:
        if word not in self._words:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
            self._words[word] = np.random.default_rng(seed).standard_normal(self.dimensions)
        return self._words[word]


def run_daemon_with_projections() -> int:
    """Run the daemon with this file as its store process."""
    make_arguments = store.build_command

    def arguments(*given: Any, **named: Any) -> tuple[str, ...]:
        line = make_arguments(*given, **(named | {"model": Projections.name}))
        return (sys.executable, str(Path(__file__).absolute()), "store", *line[line.index("-m") + 2 :])

    store.build_command = arguments
    return daemon_main.main([])


# -- filling ---------------------------------------------------------------------------------------------------------


async def fill(home: Path, repositories: Sequence[Path], most: int, *, real: bool) -> None:
    """Create a home with that many memories, with vectors and indexes, as if they had arrived one by one."""
    where = resolve_app_paths({"HUNCHD_HOME": str(home)})
    for folder in (home, where.data):
        ensure_private_folder(folder)
    shop = home / "shop"
    subprocess.run(["git", "init", "-q", str(shop)], check=True)  # noqa: ASYNC221 - nobody else is here
    project = ProjectRegistry(where.data / "projects.json").add(shop.resolve(), common_dir=shop.resolve() / ".git").id
    model: Any = fastembed_backend.load_embedder() if real else Projections(reads=False)
    questions: list[str] = []
    memories = _memories(repositories, project, questions)
    collection = await Collection.open(locate_collection(where.data, project), create_session())
    began, kept, spent = time.perf_counter(), 0, 0.0
    vectors, fts = [], sqlite3.connect(home / "fts.sqlite")
    fts.execute("CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, text, tokenize='porter unicode61')")
    ids: list[str] = []
    while batch := [memory for memory, _ in zip(memories, range(min(AT_ONCE, most - kept)), strict=False)]:
        vectors_of_batch = model.embed([get_embedded_text(memory) for memory in batch])
        before = time.perf_counter()
        await collection.put([set_vector(build_row(memory_to_plain(memory)), vector, model.name) for memory, vector in
                              zip(batch, vectors_of_batch, strict=True)])  # fmt: skip
        if await collection.needs_compaction():
            await collection.optimise()
            await collection.prune()  # like the background maintenance
        spent += time.perf_counter() - before
        kept += len(batch)
        vectors += vectors_of_batch
        ids += [memory.id for memory in batch[:: AT_ONCE // 10]]
        fts.executemany("INSERT INTO texts VALUES (?, ?)", [(one.id, f"{one.title}\n{one.content}") for one in batch])
    before = time.perf_counter()
    await collection.compact_and_prune()
    print(f"{kept:,} memories written in {spent:.0f} s, indexed at last in {time.perf_counter() - before:.0f} s")
    await collection.close()
    fts.commit()
    np.save(home / "vectors.npy", np.frombuffer(b"".join(vectors), "<f4").reshape(kept, -1))
    for _ in memories:  # questions of repositories that were not needed
        pass
    random.Random(7).shuffle(questions)
    (home / "asked.json").write_text(json.dumps({"questions": questions, "ids": ids, "project": project}))
    size = _measure_bytes(where.data) / kept
    print(f"all in {time.perf_counter() - began:.0f} s; the store takes {size:.0f} bytes a memory")


def _memories(repositories: Sequence[Path], project: str, questions: list[str]) -> Iterator[Memory]:
    now, later = datetime.now(UTC), max(LATER, -(-ASKED // len(repositories)))
    for repository in repositories:
        found = list(iter_units(Git(repository), newest=A_REPOSITORY))
        questions += [unit.subject for unit in found[-later:]]
        for number, unit in enumerate(found[:-later]):
            yield build_episode(unit, project, now=now)
            if len(unit.body) > 80:
                yield _message(unit, project, now, f"{repository.parent.name}{number // 100}", number)


def _message(unit: Unit, project: str, now: datetime, session: str, number: int) -> Memory:
    """Return the author's text as a message of a session."""
    at, ref = datetime.fromtimestamp(unit.at, UTC), f"session:{session}:{number}"
    return Memory(
        id="m" + hashlib.blake2b(f"{project}{ref}{unit.sha}".encode(), digest_size=10).hexdigest(),
        kind=Kind.MESSAGE, title=unit.subject[:120], content=unit.body, at=at, created=now, updated=now,
        project=project, ref=ref, scope=Scope.PROJECT, tags=(f"session:{session}",), trust=Trust.UNTRUSTED,
        source={"type": "session", "session": session, "number": number},
    )  # fmt: skip


# -- asking ----------------------------------------------------------------------------------------------------------


async def ask(home: Path, *, real: bool) -> None:
    setup = json.loads((home / "asked.json").read_text())
    with _daemon(home, real=real) as (rendezvous, pid):
        headers = {"Authorization": f"Bearer {rendezvous.token}"}
        async with aiohttp.ClientSession(rendezvous.url, headers=headers) as client:
            began = time.perf_counter()
            await _search(client, setup["project"], setup["questions"][0], "shallow")
            print(f"first answer after {time.perf_counter() - began:.1f} s")
            questions = iter(setup["questions"])  # each is asked once, so its vector is not cached
            for question in islice(questions, WARMING):  # model loaded, files in the page cache
                await _search(client, setup["project"], question, "shallow")
            await asyncio.sleep(SETTLING)
            print(f"alone, {_format_load()}")
            await _time_questions(client, setup, questions)
            _print_memory(pid)
            print(f"while {ARRIVING} rows a second arrive")
            arriving = asyncio.create_task(_send_memories(client, setup["project"], _texts(home)))
            await asyncio.sleep(3)
            await _time_questions(client, setup, questions)
            arriving.cancel()
            _print_memory(pid)
            print(f"at the end, {_format_load()}")
    _measure_baselines(home, setup["questions"])


async def _time_questions(client: aiohttp.ClientSession, setup: dict[str, Any], questions: Iterator[str]) -> None:
    project, ids = setup["project"], setup["ids"]
    for what, times in QUESTIONS.items():
        durations, inside, empty = [], [], 0
        for number in range(times):
            began = time.perf_counter()
            if what == "by id":
                async with client.get(f"/memories/{ids[(number * 17) % len(ids)]}") as response:
                    response.raise_for_status()
                    await response.read()
            else:
                question = ids[(number * 13) % len(ids)] if what == "specific" else next(questions)
                answer = await _search(client, project, question, what)
                inside.append(answer["took_ms"])
                empty += not answer["results"]
            durations.append((time.perf_counter() - began) * 1_000)
        within = f", of it the engine {_format_quantiles(inside)}" if inside else ""
        print(f"  {what:<9} {_format_quantiles(durations)} ms{within}{f', {empty} without results' if empty else ''}")


async def _search(client: aiohttp.ClientSession, project: str, question: str, depth: str) -> dict[str, Any]:
    body = {"project": project, "query": question, "depth": depth, "k": 20 if depth == "deep" else 5}
    async with client.post("/search", json=body) as response:
        response.raise_for_status()
        answer: dict[str, Any] = await response.json()
        return answer


async def _send_memories(client: aiohttp.ClientSession, project: str, texts: Sequence[str]) -> None:
    """Send five memories, ten times a second."""
    began = time.perf_counter()
    for number in range(1_000_000):
        some = (texts[(number * ARRIVING // 10 + one) % len(texts)] for one in range(ARRIVING // 10))
        drafts = [
            {"kind": "episode", "project": project, "title": text.partition("\n")[0][:120], "content": text}
            for text in some
        ]
        async with client.post("/memories", json={"memories": drafts}) as response:
            response.raise_for_status()
        await asyncio.sleep(max(0.0, began + (number + 1) / 10 - time.perf_counter()))


def _texts(home: Path) -> list[str]:
    """Repeat existing texts in another order, so that new memories resemble old ones."""
    fts = sqlite3.connect(home / "fts.sqlite")
    rows = fts.execute("SELECT text FROM texts WHERE rowid % 20 = 7").fetchall()
    fts.close()
    random.Random(3).shuffle(rows)
    return [text for (text,) in rows]


def _measure_baselines(home: Path, questions: Sequence[str]) -> None:
    """Ask the same questions of a scan of all vectors and of SQLite FTS5."""
    vectors, model = np.load(home / "vectors.npy"), Projections(reads=False)
    question_vectors = [np.frombuffer(model.embed([question])[0], "<f4") for question in questions[:100]]
    print(f"beside it, over {len(vectors):,}, without embedding the question")
    times = _time_each(question_vectors, lambda one: np.argpartition(-(vectors @ one), 20)[:20])
    print(f"  NumPy, all vectors   {_format_quantiles(times)} ms")
    fts = sqlite3.connect(home / "fts.sqlite")
    query = "SELECT id FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 20"
    matches = [" OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(one))) for one in questions[:100]]
    times = _time_each(matches, lambda one: fts.execute(query, (one,)).fetchall())
    print(f"  SQLite FTS5, BM25    {_format_quantiles(times)} ms")


def _time_each(items: Sequence[Any], work: Callable[[Any], Any]) -> list[float]:
    durations = []
    for one in items:
        began = time.perf_counter()
        work(one)
        durations.append((time.perf_counter() - began) * 1_000)
    return durations


@contextmanager
def _daemon(home: Path, *, real: bool) -> Iterator[tuple[Rendezvous, int]]:
    how = ["-m", "hunchd.daemon.main"] if real else [str(Path(__file__).absolute()), "daemon"]
    process = subprocess.Popen([sys.executable, *how], env={**os.environ, "HUNCHD_HOME": str(home)}, cwd="/")
    file = resolve_app_paths({"HUNCHD_HOME": str(home)}).rendezvous_file
    try:
        while (rendezvous := read_rendezvous(file)) is None or rendezvous.pid != process.pid:
            time.sleep(0.01)
            if process.poll() is not None:
                raise SystemExit("the daemon ended at once")
        yield rendezvous, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def _print_memory(pid: int) -> None:
    """Print proportional set sizes."""
    front = psutil.Process(pid)
    weights = {"front": front.memory_full_info().pss}
    for child in front.children():
        weights[" ".join(child.cmdline()[1:3])[-40:]] = child.memory_full_info().pss
    print("  memory: " + ", ".join(f"{name} {weight >> 20} MiB" for name, weight in weights.items()))


def _format_load() -> str:
    """Return the load of the last minute for each core; below one nobody waited."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def _measure_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _format_quantiles(values: Sequence[float]) -> str:
    ordered = sorted(values)
    p50, p95 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95))
    return f"p50 {p50:6.1f} p95 {p95:6.1f}"


if __name__ == "__main__":
    sys.exit(main())
