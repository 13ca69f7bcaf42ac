"""Benchmark on LoCoMo: is the turn that answers a question found, and its session?

    python benchmarks/locomo.py locomo10.json --conversations 0-2
    python benchmarks/locomo.py --told 3.json 4.json     figures that were written with --dump, as one table

The data is `data/locomo10.json` of snap-research/LoCoMo (CC BY-NC 4.0): fetch it yourself, nothing of it is kept here.
Each conversation is a project of its own; every turn is stored like a session's message and searched by the product's
own search, over a real store process. Beside it, in the same run: BM25 over single turns, and over turns with their
neighbours. A question counts if it names its evidence. recall@k: share of the evidence turns among the first k.
Sessions are ranked by their first turn: hit@5, R@1 and the reciprocal rank of the first session with evidence.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.bench.metrics import compute_interval, compute_recall, compute_reciprocal_rank
from hunchd.bench.search_store import NOW, Bm25, SearchStore, open_search_store
from hunchd.core.memory.session_log import draft_to_message, message_to_memory
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.session import MessageType
from hunchd.protocol.requests import Depth, SearchRequest
from hunchd.protocol.session_requests import MessageDraft

WANTED = 60  # requested results: turns count among the first 20, sessions by all of them
FIGURES = ("recall@5", "recall@10", "recall@20", "hit@5", "R@1", "MRR")
CATEGORIES = {1: "several turns", 2: "time", 3: "inference", 4: "one turn", 5: "adversarial"}
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"

Ranking = list[tuple[str, str]]  # (turn, session), best first
Rows = dict[str, list[tuple[float, ...]]]  # by ranking, the figures of each question


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    turns: frozenset[str]
    category: int

    @property
    def sessions(self) -> set[str]:
        return {turn.split(":")[0] for turn in self.turns}


@dataclass(frozen=True, slots=True)
class Conversation:
    project: str
    turns: dict[str, Memory]  # by the data's own id, in order
    questions: tuple[Question, ...]

    def place(self, turn: str) -> tuple[str, str]:
        return turn, turn.split(":")[0]


def parse_conversation(number: int, raw: dict[str, Any], *, captions: bool) -> Conversation:
    """Return the messages as the engine stores them, and the questions with evidence."""
    conversation, project = raw["conversation"], f"locomo{number}"
    turns: dict[str, Memory] = {}
    for session in sorted(
        (key for key in conversation if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
    ):
        at = datetime.strptime(conversation[f"{session}_date_time"], _TIME).replace(tzinfo=UTC)
        for place, turn in enumerate(conversation[session], start=1):
            event = MessageType.USER if turn["speaker"] == conversation["speaker_a"] else MessageType.ASSISTANT
            shared = f" [shares {turn['blip_caption']}]" if captions and turn.get("blip_caption") else ""
            draft = MessageDraft(event=event, text=turn["text"] + shared, name=turn["speaker"], at=at)
            message = draft_to_message(draft, session, project, place, NOW)
            turns[turn["dia_id"]] = message_to_memory(message, session, project, NOW)
    questions = []
    for question in raw["qa"]:
        named = {f"D{a}:{b}" for text in question.get("evidence", ()) for a, b in _EVIDENCE.findall(text)}
        if evidence := frozenset(named & turns.keys()):
            questions.append(Question(question["question"], evidence, question["category"]))
    return Conversation(project, turns, tuple(questions))


def index_windows(talk: Conversation, width: int) -> Bm25:
    """Index each turn with `width` neighbours on either side in its session by BM25."""
    ids = list(talk.turns)
    lines = {turn: f"{memory.source['name']}: {memory.content}" for turn, memory in talk.turns.items()}
    texts = []
    for place, turn in enumerate(ids):
        near = ids[max(0, place - width) : place + width + 1]
        texts.append("\n".join(lines[other] for other in near if talk.place(other)[1] == talk.place(turn)[1]))
    return Bm25(texts)


def compute_figures(question: Question, ranking: Ranking) -> tuple[float, ...]:
    turns = [turn for turn, _ in ranking]
    sessions = list(dict.fromkeys(session for _, session in ranking))
    found = [compute_recall(set(question.turns), turns, k) for k in (5, 10, 20)]
    first = compute_reciprocal_rank(question.sessions, sessions)
    return (*found, float(first >= 1 / 5), float(first == 1.0), first)


async def search_all(store: SearchStore, talk: Conversation, depth: Depth) -> list[Ranking]:
    """Return the product's answers to all questions."""
    turn_of = {memory.id: turn for turn, memory in talk.turns.items()}
    rankings = []
    for question in talk.questions:
        request = SearchRequest(query=question.text, depth=depth, kinds=(Kind.MESSAGE,), k=WANTED)
        answer = await store.searching.search(request, talk.project)
        assert answer["status"] != "degraded", answer["degraded"]
        rankings.append([talk.place(turn_of[result["id"]]) for result in answer["results"]])
    return rankings


def format_table(rows: Rows) -> str:
    lines = ["| ranking | " + " | ".join(FIGURES) + " |", "| --- |" + " --- |" * len(FIGURES)]
    for name, scores in rows.items():
        means = [(column.mean(), *compute_interval(column)) for column in np.array(scores).T]
        lines.append(
            f"| {name} | " + " | ".join(f"{mean:.3f} ({low:.3f}–{high:.3f})" for mean, low, high in means) + " |"
        )
    return "\n".join(lines)


def format_by_category(categories: Sequence[int], rows: Rows) -> str:
    lines = [""]
    for category, title in CATEGORIES.items():
        places = [place for place, one in enumerate(categories) if one == category]
        for name, scores in rows.items():
            means = [sum(scores[place][at] for place in places) / max(len(places), 1) for at in range(len(FIGURES))]
            lines.append(f"{title:14} {len(places):5}  {name:30} " + "  ".join(f"{mean:.3f}" for mean in means))
    return "\n".join(lines)


async def measure(talks: Sequence[Conversation], folder: Path, *, at_hand: bool) -> tuple[list[int], Rows]:
    """Return the category of each question, and its figures by ranking."""
    rows: Rows = {}

    def note(name: str, talk: Conversation, rankings: Iterable[Ranking]) -> None:
        scored = [
            compute_figures(question, ranking) for question, ranking in zip(talk.questions, rankings, strict=True)
        ]
        rows.setdefault(name, []).extend(scored)

    for talk in talks:
        ids = list(talk.turns)
        for width in (0, 1, 2):
            index = index_windows(talk, width)
            name = f"BM25, a turn with {width} neighbours each side" if width else "BM25, single turns"
            ranked = [index.rank_texts(question.text) for question in talk.questions]
            note(name, talk, [[talk.place(ids[number]) for number in one] for one in ranked])
    async with open_search_store(folder) as store:
        for talk in talks:
            await store.store_memories(talk.project, list(talk.turns.values()), also_cached=at_hand)
        for depth in ("shallow", "deep"):
            for talk in talks:
                note(f"hunchd, {depth}", talk, await search_all(store, talk, depth))
    return [question.category for talk in talks for question in talk.questions], rows


def print_combined(runs: Sequence[dict[str, Any]]) -> None:
    """Print the figures of all runs together."""
    categories = [category for run in runs for category in run["categories"]]
    rows = {name: [tuple(score) for run in runs for score in run["rows"][name]] for name in runs[0]["rows"]}
    print(f"{len(categories)} questions\n\n{format_table(rows)}\n{format_by_category(categories, rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--dump", type=Path, help="write the figures of each question here")
    parser.add_argument("--told", type=Path, nargs="+", help="print figures that were written before")
    parser.add_argument("--conversations", default="0-9", help="first-last (0-9)")
    parser.add_argument("--folder", type=Path, help="keep the store here: vectors are made once")
    parser.add_argument(
        "--at-hand", action="store_true", help="messages are also in memory, as just after they were said"
    )
    parser.add_argument("--no-captions", action="store_true", help="leave out image captions")
    options = parser.parse_args()
    if options.told:
        print_combined([json.loads(path.read_text()) for path in options.told])
        return
    first, last = (int(part) for part in options.conversations.split("-"))
    raw = json.loads(options.data.read_text())
    talks = [
        parse_conversation(number, raw[number], captions=not options.no_captions) for number in range(first, last + 1)
    ]
    with tempfile.TemporaryDirectory(prefix="hd-") as temporary:
        folder = options.folder or Path(temporary)
        categories, rows = asyncio.run(measure(talks, folder, at_hand=options.at_hand))
    figured = {"categories": categories, "rows": rows}
    if options.dump:
        options.dump.write_text(json.dumps(figured))
    print_combined([figured])


if __name__ == "__main__":
    main()
