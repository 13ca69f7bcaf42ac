"""Developer recall: is the past work found that a later message says it needs?

    python benchmarks/recall.py REPOSITORY… [--folder KEEP]

Made from public histories, by rule. Many a commit names earlier work: "fixes a regression of #5075", "as in 3f2a91c",
"re-applies #4377". The question is that commit's message without the names (numbers, hashes, addresses, trailers), the
gold what they name, the haystack every episode of the repository from before that commit, as the product makes
episodes of a history. Left out: bots, reverts and back-ports (they repeat the text they name), change logs and
releases (they name everything), messages that name more than three, or that say fewer than five words by themselves.

Asked: the product's search, shallow and deep, as of that commit's time; beside it, in the same run, BM25 alone over the
same texts, the store's full-text index alone, and the embedding model alone.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from looking import NOW, Bm25, Opened, interval, opened, reciprocal, share_found, words

from hunchd.domain.filters import Filters
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory, Status
from hunchd.domain.work import is_bot, is_bulk, is_forward_port
from hunchd.ingestion import history
from hunchd.ingestion.episodes import episode
from hunchd.protocol.requests import Depth, SearchRequest
from hunchd.repository.git import Git
from hunchd.store.client import Mode

WANTED = 10
LONGEST = 1_000  # characters of a question
LARGEST_GOLD = 3
LEAST_WORDS = 5
MOST_QUESTIONS = 150  # of a repository, drawn by a fixed seed
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
    text: str
    gold: frozenset[str]  # ids of episodes
    asked: Memory  # the episode of the commit itself: what is not older than it does not exist yet


def questions_of(units: Sequence[Unit], episodes: Sequence[Memory]) -> list[Question]:
    """By rule, as the head of this file says; oldest first."""
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
        if 1 <= len(gold) <= LARGEST_GOLD and len(words(said)) >= LEAST_WORDS:
            found.append(Question(said, frozenset(episodes[at].id for at in gold), episodes[place]))
    return found


def searches(store: Opened, project: str, episodes: Sequence[Memory]) -> dict[str, Search]:
    """The ways of looking that are compared."""
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
            assert answer["status"] != "degraded", answer["degraded"]
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
    return question.asked.at - timedelta(seconds=1)


Rows = dict[str, list[tuple[float, ...]]]


async def measured(store: Opened, repository: Path, rows: Rows, title_only: bool) -> None:
    """Add the figures of one repository to `rows`, and print them."""
    project = re.sub(r"\W+", "-", str(repository.resolve()).strip("/"))[-60:]
    units = list(history.units(Git(str(repository))))
    episodes = [episode(unit, project, now=NOW) for unit in units]
    asked = questions_of(units, episodes)
    asked = sorted(random.Random(7).sample(asked, min(MOST_QUESTIONS, len(asked))), key=lambda one: one.asked.at)
    if title_only:
        asked = [Question(one.asked.title, one.gold, one.asked) for one in asked]
    await store.keep(project, episodes, at_hand=False)
    own: Rows = defaultdict(list)
    for name, search in searches(store, project, episodes).items():
        for question in asked:
            found, gold = await search(question), set(question.gold)
            own[name].append((share_found(gold, found, 5), share_found(gold, found, 10), reciprocal(gold, found)))
        rows[name] += own[name]
    print(f"\n{repository}: {len(episodes)} episodes, {len(asked)} questions\n{table(own)}", flush=True)


def table(rows: Rows) -> str:
    lines = ["| ranking | " + " | ".join(FIGURES) + " |", "| --- |" + " --- |" * len(FIGURES)]
    for name, scores in rows.items():
        means = [interval([score[at] for score in scores]) for at in range(len(FIGURES))]
        lines.append(
            f"| {name} | " + " | ".join(f"{mean:.3f} ({low:.3f}–{high:.3f})" for mean, low, high in means) + " |"
        )
    return "\n".join(lines)


async def run(repositories: Sequence[Path], folder: Path, *, title_only: bool) -> None:
    rows: Rows = defaultdict(list)
    async with opened(folder) as store:
        for repository in repositories:
            await measured(store, repository, rows, title_only)
    if len(repositories) > 1:
        print(f"\nall {len(repositories)} together: {len(next(iter(rows.values())))} questions\n{table(rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--folder", type=Path, help="keep the store here: vectors are made once")
    parser.add_argument("--titles", action="store_true", help="ask with the titles alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hd-") as temporary:
        asyncio.run(run(options.repositories, options.folder or Path(temporary), title_only=options.titles))


if __name__ == "__main__":
    main()
