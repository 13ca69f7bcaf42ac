"""`hunch bench recall`: measures how search finds referenced past work.

The data is derived from public histories by rule. Many a commit names earlier work: "fixes a regression of #5075",
"as in 3f2a91c", "re-applies #4377". The query is that commit's message without the references (numbers, hashes,
addresses, trailers), the gold what they refer to, the corpus every episode of the repository from before that
commit, as the product creates episodes from a history. Left out: bots, reverts and back-ports (they repeat the text
they name), change logs and releases (they name everything), messages that name more than three, or that have fewer
than five words of their own.

Compared: the product's search, shallow and deep, as of that commit's time; in the same run BM25 alone over the same
texts, the store's full-text index alone, and the embedding model alone.
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

from hunchd.bench.looking import NOW, Bm25, Opened, opened
from hunchd.bench.metrics import interval, reciprocal, share_found
from hunchd.domain.errors import HunchError, InvalidInput, Unavailable
from hunchd.domain.filters import Filters
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory, Status
from hunchd.domain.work import is_bot, is_bulk, is_forward_port
from hunchd.ingestion import history
from hunchd.ingestion.episodes import episode
from hunchd.protocol.requests import Depth, SearchRequest
from hunchd.repository.git import Git
from hunchd.store.client import Mode
from hunchd.text.words import tokenize

WANTED = 10
LONGEST = 1_000  # characters of a question
LARGEST_GOLD = 3
LEAST_WORDS = 5
SECONDS_BETWEEN = 5.0  # two lines of progress
FIGURES = ("recall@5", "recall@10", "MRR")

_OWN_NUMBER = re.compile(r"\s*\(#\d+\)\s*$|^Merge pull request #(\d+).*")
_NUMBER_OF = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)")
_ADDRESS = re.compile(r"https?://\S+")
_NAMED = re.compile(r"(?<![\w/&])(?:#|GH-)(\d{2,6})\b|\b([0-9a-f]{7,40})\b", re.IGNORECASE)
_TRAILER = re.compile(r"^[A-Z][\w-]+: .*@.*$|^(?:Signed-off|Co-authored|Change-Id)\S*.*$", re.MULTILINE)
_REPEATS = re.compile(
    r"^revert\b|\breverts (?:commit|#)|cherry.?pick|back.?port|change.?log|release|\bnews\b|\bbump\b|prepare|^merge\b",
    re.IGNORECASE,
)

Search = Callable[["Question"], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Question:
    """Query with its expected episodes."""

    text: str
    gold: frozenset[str]  # ids of episodes
    asked: Memory  # the episode of the commit itself: only older episodes exist at its time


def questions_of(units: Sequence[Unit], episodes: Sequence[Memory]) -> list[Question]:
    """Derive the queries by the rule in the module's docstring; oldest first."""
    numbers: dict[str, int] = {}
    hashes: dict[str, int] = {}
    for place, unit in enumerate(units):
        if number := _NUMBER_OF.search(unit.subject):
            numbers.setdefault(number[1] or number[2], place)
        hashes[unit.sha[:7]] = place
    found = []
    for place, unit in enumerate(units):
        text = f"{_OWN_NUMBER.sub('', unit.subject)}\n{_TRAILER.sub('', unit.body)}"
        if is_bot(unit) or is_bulk(unit) or is_forward_port(unit) or _REPEATS.search(text):
            continue
        text = _ADDRESS.sub(" ", text)
        named = {number: numbers.get(number) for number, _ in _NAMED.findall(text) if number}
        named |= {sha: hashes.get(sha[:7].lower()) for _, sha in _NAMED.findall(text) if sha}
        gold = {at for at in named.values() if at is not None and at < place and units[at].at < unit.at}
        said = " ".join(_NAMED.sub(" ", text).split())[:LONGEST]
        if 1 <= len(gold) <= LARGEST_GOLD and len(tokenize(said)) >= LEAST_WORDS:
            found.append(Question(said, frozenset(episodes[at].id for at in gold), episodes[place]))
    return found


def searches(store: Opened, project: str, episodes: Sequence[Memory]) -> dict[str, Search]:
    """Return the search methods that are compared."""
    earlier = Bm25(f"{memory.title}\n{memory.content}" for memory in episodes)

    async def bm25(question: Question) -> list[str]:
        ranked = (episodes[number] for number in earlier.ranked(question.text))
        return [memory.id for memory in ranked if memory.at < question.asked.at][:WANTED]

    def alone(mode: Mode) -> Search:
        async def found(question: Question) -> list[str]:
            filters = Filters(project=project, as_of=before(question), statuses=(Status.ACTIVE,))
            findings = await store.store.search(question.text, filters, WANTED, mode=mode, patience=60.0)
            return [hit.memory.id for hit in findings.hits][:WANTED]

        return found

    def product(depth: Depth) -> Search:
        async def found(question: Question) -> list[str]:
            request = SearchRequest(query=question.text, depth=depth, as_of=before(question), k=WANTED)
            answer = await store.searching.search(request, project)
            if answer["status"] == "degraded":  # an incomplete search must not be measured
                raise Unavailable(f"the search is incomplete: {'; '.join(answer['degraded'])}")
            return [result["id"] for result in answer["results"]]

        return found

    return {
        "BM25 alone": bm25,
        "full-text index alone": alone("lexical"),
        "embeddings alone": alone("dense"),
        "hunchd, shallow": product("shallow"),
        "hunchd, deep": product("deep"),
    }


def before(question: Question) -> datetime:
    """Return the last second before the question was asked."""
    return question.asked.at - timedelta(seconds=1)


Rows = dict[str, list[tuple[float, ...]]]  # by search method: a row of FIGURES for each question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench recall`."""
    parser.add_argument("--repo", action="append", required=True, metavar="PATH", help="a git repository; repeatable")
    parser.add_argument(
        "--questions", type=int, default=150, help="maximum number for each repository, drawn at random"
    )
    parser.add_argument("--titles", action="store_true", help="ask with the titles alone")
    parser.add_argument("--folder", type=Path, help="keep the store here, so that vectors are computed once")
    parser.add_argument(
        "--dump", type=Path, metavar="FILE", help="write one JSON line for each question and search method"
    )
    parser.add_argument("--seed", type=int, default=7, help="seed of the random draw")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark and return the exit code.

    0 on success, 1 if a repository could not be read or searched, 2 for invalid options.
    """
    if options.questions < 1:
        print("hunch: --questions must be 1 or more", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="hd-") as temporary, ExitStack() as files:
        try:
            dump = files.enter_context(options.dump.open("w", encoding="utf-8")) if options.dump else None
            found = asyncio.run(measured(options, options.folder or Path(temporary), dump))
        except (HunchError, OSError) as error:
            print(f"hunch: {error}", file=sys.stderr)
            return 1
    if options.json:
        print(json.dumps([as_json(*one) for one in found], indent=1))
    elif len(found) > 1:
        together: Rows = defaultdict(list)
        for _, _, rows in found:
            for way, figures in rows.items():
                together[way] += figures
        print(f"\nall {len(found)} together\n{table(together)}")
    return 0


async def measured(options: argparse.Namespace, folder: Path, dump: IO[str] | None) -> list[tuple[str, int, Rows]]:
    """Return name, number of episodes and results by repository."""
    found = []
    async with opened(folder) as store:
        for path in options.repo:
            try:
                found.append(await of_repository(store, Path(path), options, dump))
            except HunchError as error:
                raise InvalidInput(f"{path}: {error.message}") from error
            if not options.json:
                name, episodes, rows = found[-1]
                asked = len(next(iter(rows.values()), ()))
                print(f"\n{name}: {episodes:,} episodes, {asked} questions\n{table(rows)}", flush=True)
    return found


async def of_repository(
    store: Opened, path: Path, options: argparse.Namespace, dump: IO[str] | None
) -> tuple[str, int, Rows]:
    """Measure the rankings of one repository."""
    project = re.sub(r"\W+", "-", str(path.resolve()).strip("/"))[-60:]
    units = list(history.units(Git(str(path))))
    episodes = [episode(unit, project, now=NOW) for unit in units]
    asked = questions_of(units, episodes)
    drawn = random.Random(options.seed).sample(asked, min(options.questions, len(asked)))
    asked = sorted(drawn, key=lambda one: one.asked.at)
    if options.titles:
        asked = [Question(one.asked.title, one.gold, one.asked) for one in asked]
    rows: Rows = {}
    if not asked:
        return path.resolve().name, len(episodes), rows
    await store.keep(project, episodes, at_hand=False, waiting=Progress(path.resolve().name, len(episodes)))
    for way, search in searches(store, project, episodes).items():
        rows[way] = []
        for question in asked:
            found, gold = await search(question), question.gold
            figures = (share_found(gold, found, 5), share_found(gold, found, 10), reciprocal(gold, found))
            rows[way].append(figures)
            if dump is not None:
                told = {"repo": path.resolve().name, "query_id": question.asked.id, "way": way, "gold": sorted(gold)}
                dump.write(json.dumps({**told, "ranked": found, **dict(zip(FIGURES, figures, strict=True))}) + "\n")
    return path.resolve().name, len(episodes), rows


class Progress:
    """Reporter that prints the progress of embedding every few seconds."""

    def __init__(self, name: str, every: int) -> None:
        self._name, self._every = name, every
        self._told = time.monotonic()

    def __call__(self, waiting: int) -> None:
        if time.monotonic() - self._told >= SECONDS_BETWEEN:
            self._told = time.monotonic()
            print(f"{self._name}: {self._every - waiting:,} of {self._every:,} embedded", file=sys.stderr, flush=True)


def table(rows: Rows) -> str:
    """Format means with their 95 % bootstrap intervals as a table."""
    if not rows:
        return "No commit refers to an earlier one."
    lines = ["| ranking | " + " | ".join(FIGURES) + " |", "| --- |" + " --- |" * len(FIGURES)]
    for way, figures in rows.items():
        told = (f"{mean:.3f} ({low:.3f}–{high:.3f})" for mean, (low, high) in _means(figures))
        lines.append(f"| {way} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def as_json(name: str, episodes: int, rows: Rows) -> dict[str, Any]:
    """Convert the figures of one repository to a JSON object."""
    ways = {
        way: {
            figure: {"mean": mean, "interval": list(between)}
            for figure, (mean, between) in zip(FIGURES, _means(figures), strict=True)
        }
        for way, figures in rows.items()
    }
    return {"repo": name, "episodes": episodes, "questions": len(next(iter(rows.values()), ())), "rankings": ways}


def _means(figures: Sequence[tuple[float, ...]]) -> list[tuple[float, tuple[float, float]]]:
    columns = np.array(figures).T
    return [(float(column.mean()), interval(column)) for column in columns]
