"""`hunch bench recall`: measures how well search finds work that later commits mention.

The data is derived from public histories by a rule. Many commits mention earlier work: "fixes a regression of #5075",
"as in 3f2a91c", "re-applies #4377". The query is the message of such a commit without the references (numbers, hashes,
addresses, trailers). The expected results are the episodes of the commits to which it refers. The corpus consists of
all episodes of the repository from before that commit, created in the same way as in the product. Three kinds of
messages are left out: those of bots, reverts and back-ports (which repeat the text to which they refer), those of
change logs and releases (which mention everything), and messages that refer to more than three commits or have fewer
than five words of their own.

The product's search, shallow and deep, as of the time of that commit, is compared with BM25 over the same texts, with
the store's full-text index alone, and with the embedding model alone, all in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

import numpy as np

from hunchd.bench.metrics import compute_interval, compute_recall, compute_reciprocal_rank
from hunchd.bench.search_store import NOW, Bm25, SearchStore, open_search_store
from hunchd.domain.errors import HunchError, InvalidInput, Unavailable
from hunchd.domain.filters import Filters
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory, Status
from hunchd.domain.unit_classification import is_bot, is_bulk, is_forward_port
from hunchd.ingestion import history
from hunchd.ingestion.episodes import build_episode
from hunchd.protocol.requests import Depth, SearchRequest
from hunchd.repository.git import Git
from hunchd.store.port import Mode, StoreQuery
from hunchd.text.words import tokenize

MAX_RESULTS = 10
MAX_QUERY_CHARACTERS = 1_000  # characters of a question
MAX_GOLD = 3
MIN_WORDS = 5
PROGRESS_INTERVAL = 5.0  # seconds between two lines of progress
METRIC_NAMES = ("recall@5", "recall@10", "MRR")

_OWN_NUMBER = re.compile(r"\s*\(#\d+\)\s*$|^Merge pull request #(\d+).*")
_NUMBER_OF = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)")
_ADDRESS = re.compile(r"https?://\S+")
_REFERENCE = re.compile(r"(?<![\w/&])(?:#|GH-)(\d{2,6})\b|\b([0-9a-f]{7,40})\b", re.IGNORECASE)
_TRAILER = re.compile(r"^[A-Z][\w-]+: .*@.*$|^(?:Signed-off|Co-authored|Change-Id)\S*.*$", re.MULTILINE)
_EXCLUDED_TEXT = re.compile(
    r"^revert\b|\breverts (?:commit|#)|cherry.?pick|back.?port|change.?log|release|\bnews\b|\bbump\b|prepare|^merge\b",
    re.IGNORECASE,
)

Search = Callable[["RecallQuery"], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """Query with the episodes that search is expected to find."""

    text: str
    gold: frozenset[str]  # ids of episodes
    episode: Memory  # the episode of the commit itself: only older episodes exist at its time


def derive_queries(units: Sequence[Unit], episodes: Sequence[Memory]) -> list[RecallQuery]:
    """Derive the queries by the rule in the module's docstring.

    The oldest query comes first. `episodes` contains the episode of each of `units`, in the same order.
    """
    numbers: dict[str, int] = {}
    hashes: dict[str, int] = {}
    for place, unit in enumerate(units):
        if number := _NUMBER_OF.search(unit.subject):
            numbers.setdefault(number[1] or number[2], place)
        hashes[unit.sha[:7]] = place
    queries = []
    for place, unit in enumerate(units):
        text = f"{_OWN_NUMBER.sub('', unit.subject)}\n{_TRAILER.sub('', unit.body)}"
        if is_bot(unit) or is_bulk(unit) or is_forward_port(unit) or _EXCLUDED_TEXT.search(text):
            continue
        text = _ADDRESS.sub(" ", text)
        references = {number: numbers.get(number) for number, _ in _REFERENCE.findall(text) if number}
        references |= {sha: hashes.get(sha[:7].lower()) for _, sha in _REFERENCE.findall(text) if sha}
        gold = {at for at in references.values() if at is not None and at < place and units[at].at < unit.at}
        query_text = " ".join(_REFERENCE.sub(" ", text).split())[:MAX_QUERY_CHARACTERS]
        if 1 <= len(gold) <= MAX_GOLD and len(tokenize(query_text)) >= MIN_WORDS:
            queries.append(RecallQuery(query_text, frozenset(episodes[at].id for at in gold), episodes[place]))
    return queries


def build_searches(store: SearchStore, project: str, episodes: Sequence[Memory]) -> dict[str, Search]:
    """Return the search methods to be compared, keyed by name."""
    text_index = Bm25(f"{memory.title}\n{memory.content}" for memory in episodes)

    async def search_bm25(question: RecallQuery) -> list[str]:
        episodes_by_rank = (episodes[number] for number in text_index.rank_texts(question.text))
        return [memory.id for memory in episodes_by_rank if memory.at < question.episode.at][:MAX_RESULTS]

    def search_one_mode(mode: Mode) -> Search:
        async def search_store(question: RecallQuery) -> list[str]:
            filters = Filters(project=project, as_of=time_before(question), statuses=(Status.ACTIVE,))
            findings = await store.store.search(
                StoreQuery(question.text, filters, MAX_RESULTS, mode=mode, embedding_wait=60.0)
            )
            return [hit.memory.id for hit in findings.hits][:MAX_RESULTS]

        return search_store

    def search_product(depth: Depth) -> Search:
        async def search_answer(question: RecallQuery) -> list[str]:
            request = SearchRequest(query=question.text, depth=depth, as_of=time_before(question), k=MAX_RESULTS)
            answer = await store.searching.search(request, project)
            if answer.status == "degraded":  # an incomplete search must not be measured
                raise Unavailable(f"the search is incomplete: {'; '.join(answer.degraded)}")
            return [result.id for result in answer.results]

        return search_answer

    return {
        "BM25 alone": search_bm25,
        "full-text index alone": search_one_mode("lexical"),
        "embeddings alone": search_one_mode("dense"),
        "hunchd, shallow": search_product("shallow"),
        "hunchd, deep": search_product("deep"),
    }


def time_before(question: RecallQuery) -> datetime:
    """Return the time one second before the commit that the query was derived from."""
    return question.episode.at - timedelta(seconds=1)


RowsByMethod = dict[str, list[tuple[float, ...]]]  # by search method: a row with the METRIC_NAMES for each question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench recall`."""
    parser.add_argument("--repo", action="append", required=True, metavar="PATH", help="a git repository; repeatable")
    parser.add_argument(
        "--questions", type=int, default=150, help="maximum number of questions for each repository, drawn at random"
    )
    parser.add_argument("--titles", action="store_true", help="ask with the titles of commits alone")
    parser.add_argument("--folder", type=Path, help="keep the store here, so that vectors are computed once")
    parser.add_argument(
        "--dump", type=Path, metavar="FILE", help="write one JSON line for each question and search method"
    )
    parser.add_argument("--seed", type=int, default=7, help="seed for the random draw")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark and return the exit code.

    The exit code is 0 on success, 1 if a repository could not be read or searched, and 2 for invalid options.
    """
    if options.questions < 1:
        print("hunch: --questions must be 1 or more", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="hd-") as temporary, ExitStack() as files:
        try:
            dump = files.enter_context(options.dump.open("w", encoding="utf-8")) if options.dump else None
            results = asyncio.run(measure_repositories(options, options.folder or Path(temporary), dump))
        except (HunchError, OSError) as error:
            print(f"hunch: {error}", file=sys.stderr)
            return 1
    if options.json:
        print(json.dumps([results_to_json(*one) for one in results], indent=1))
    elif len(results) > 1:
        all_rows: RowsByMethod = defaultdict(list)
        for _, _, rows in results:
            for way, figures in rows.items():
                all_rows[way] += figures
        print(f"\nall {len(results)} together\n{format_table(all_rows)}")
    return 0


async def measure_repositories(
    options: argparse.Namespace, folder: Path, dump: IO[str] | None
) -> list[tuple[str, int, RowsByMethod]]:
    """Measure each search method on every repository, and return the results.

    Each result consists of the repository's name, the number of episodes, and the rows for each search method.
    """
    results = []
    async with open_search_store(folder) as store:
        for path in options.repo:
            try:
                results.append(await measure_repository(store, Path(path), options, dump))
            except HunchError as error:
                raise InvalidInput(f"{path}: {error.message}") from error
            if not options.json:
                name, episodes, rows = results[-1]
                query_count = len(next(iter(rows.values()), ()))
                print(f"\n{name}: {episodes:,} episodes, {query_count} questions\n{format_table(rows)}", flush=True)
    return results


async def measure_repository(
    store: SearchStore, path: Path, options: argparse.Namespace, dump: IO[str] | None
) -> tuple[str, int, RowsByMethod]:
    """Measure how each search method ranks the episodes of one repository.

    Returns the repository's name, the number of episodes, and the rows for each search method.
    """
    project = re.sub(r"\W+", "-", str(path.resolve()).strip("/"))[-60:]
    units = list(history.iter_units(Git(str(path))))
    episodes = [build_episode(unit, project, now=NOW) for unit in units]
    queries = derive_queries(units, episodes)
    sample = random.Random(options.seed).sample(queries, min(options.questions, len(queries)))
    queries = sorted(sample, key=lambda one: one.episode.at)
    if options.titles:
        queries = [RecallQuery(one.episode.title, one.gold, one.episode) for one in queries]
    rows: RowsByMethod = {}
    if not queries:
        return path.resolve().name, len(episodes), rows
    await store.store_memories(
        project, episodes, also_cached=False, on_pending=ProgressPrinter(path.resolve().name, len(episodes))
    )
    for method, search in build_searches(store, project, episodes).items():
        rows[method] = []
        for question in queries:
            ranked_ids, gold = await search(question), question.gold
            figures = (
                compute_recall(gold, ranked_ids, 5),
                compute_recall(gold, ranked_ids, 10),
                compute_reciprocal_rank(gold, ranked_ids),
            )
            rows[method].append(figures)
            if dump is not None:
                dump_line = {
                    "repo": path.resolve().name,
                    "query_id": question.episode.id,
                    "way": method,
                    "gold": sorted(gold),
                }
                dump.write(
                    json.dumps({**dump_line, "ranked": ranked_ids, **dict(zip(METRIC_NAMES, figures, strict=True))})
                    + "\n"
                )
    return path.resolve().name, len(episodes), rows


class ProgressPrinter:
    """Callback that prints the progress of embedding every few seconds."""

    def __init__(self, name: str, every: int) -> None:
        self._name, self._total = name, every
        self._printed_at = time.monotonic()

    def __call__(self, waiting: int) -> None:
        if time.monotonic() - self._printed_at >= PROGRESS_INTERVAL:
            self._printed_at = time.monotonic()
            print(f"{self._name}: {self._total - waiting:,} of {self._total:,} embedded", file=sys.stderr, flush=True)


def format_table(rows: RowsByMethod) -> str:
    """Format means with their 95 % bootstrap intervals as a Markdown table."""
    if not rows:
        return "No commit refers to an earlier one."
    lines = ["| ranking | " + " | ".join(METRIC_NAMES) + " |", "| --- |" + " --- |" * len(METRIC_NAMES)]
    for way, figures in rows.items():
        cells = (f"{mean:.3f} ({low:.3f}–{high:.3f})" for mean, (low, high) in _compute_means(figures))
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def results_to_json(name: str, episodes: int, rows: RowsByMethod) -> dict[str, Any]:
    """Convert the figures of one repository to a JSON object."""
    ways = {
        way: {
            figure: {"mean": mean, "interval": list(between)}
            for figure, (mean, between) in zip(METRIC_NAMES, _compute_means(figures), strict=True)
        }
        for way, figures in rows.items()
    }
    return {"repo": name, "episodes": episodes, "questions": len(next(iter(rows.values()), ())), "rankings": ways}


def _compute_means(figures: Sequence[tuple[float, ...]]) -> list[tuple[float, tuple[float, float]]]:
    columns = np.array(figures).T
    return [(float(column.mean()), compute_interval(column)) for column in columns]
