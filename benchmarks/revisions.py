"""Benchmark of changes, withdrawals and reports: does a later message end the statement that it is about?

    python benchmarks/revisions.py [--half development|held] [--show]

A line of `data/revisions.tsv` has a language, earlier statements (a star marks the one that ends) and a message.
The earlier statements count as kept; the message is read with both models. Every second line is held out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hunchd.core.memory.drafts import draft_to_memory
from hunchd.core.memory.session_log import SessionHead
from hunchd.domain.session import Message, MessageType, Turn
from hunchd.embedding.fastembed_backend import load_embedder, load_statement_model
from hunchd.features.sessions.extraction import build_facts
from hunchd.ingestion.session_statements import Statement, extract_statements, list_sentences
from hunchd.ingestion.statement_classifier import NOTHING, compute_probabilities, is_mostly_latin

DATA = Path(__file__).parent / "data" / "revisions.tsv"
STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("development", "held"))
    parser.add_argument("--show", action="store_true", help="print the messages that end something else")
    options = parser.parse_args()
    scores: dict[str, Counter[str]] = {}
    for number, line in enumerate(DATA.read_text("utf-8").splitlines()):
        if options.half in (None, ("held", "development")[number % 2]):
            language, earlier, message = line.split("\t")
            wanted = [place for place, text in enumerate(earlier.split("|")) if text.startswith("*")]
            ended = find_ended([text.lstrip("*") for text in earlier.split("|")], message)
            score = scores.setdefault(language, Counter())
            score.update(asked=bool(wanted), right=bool(wanted) and ended == wanted, wrong=bool({*ended} - {*wanted}))
            if options.show and ended != wanted:
                print(f"{language} {earlier} => {message}: ended {ended}")
    for language, score in [*scores.items(), ("all", sum(scores.values(), Counter()))]:
        print(f"{language:<4} ended {score['right']} of {score['asked']}, a wrong one {score['wrong']} times")
    return 0


def find_ended(earlier: list[str], message: str) -> list[int]:
    """Return the places of the earlier statements that a message ends."""
    texts = [*earlier, message]
    turns = [
        Turn(2 * at + 1 + is_answer, (say(at, text, is_answer),))
        for at, text in enumerate(texts)
        for is_answer in (False, True)
    ]
    said = extract_statements(turns, MODELS.rate(list_sentences(turns)))
    kept = [assume_kept(at, text) for at, text in enumerate(earlier)]
    statements = [*kept, *(one for one in said if one.turn == len(turns) - 1)]
    vectors = MODELS.embed([text for one in statements for text in (one.text, one.in_context)])
    drafts = build_facts(SessionHead(session="s", project="p", started_at=STARTED), len(turns), statements, (), vectors)
    gone = {draft.supersedes for draft in drafts}
    return [
        at
        for at, text in enumerate(earlier)
        for one in drafts
        if one.content == text and draft_to_memory(one, one.project, one.at).id in gone
    ]


def say(at: int, text: str, is_answer: bool) -> Message:
    event, spoken = (MessageType.ASSISTANT, "Done.") if is_answer else (MessageType.USER, text)
    moment = STARTED + timedelta(minutes=2 * at + is_answer)
    return Message(number=2 * at + is_answer, id=f"m{at}.{is_answer}", event=event, text=spoken, at=moment, tokens=9)


def assume_kept(at: int, text: str) -> Statement:
    """Return an earlier statement with its likeliest category."""
    shares = compute_probabilities(text, MODELS.rate([("", text)]).get(("", text)))
    label = max((one for one in shares if one not in NOTHING), key=lambda one: shares[one])
    category = "decision" if label in ("change", "withdrawal") else label
    moment = STARTED + timedelta(minutes=2 * at)
    return Statement(category, text, 2 * at + 1, f"m{at}", moment, True, 0.0, False, text)


class _Models:
    """The models of the store process, loaded once."""

    def __init__(self) -> None:
        self._statements, self._embedder = load_statement_model(), load_embedder()

    def rate(self, pairs: list[tuple[str, str]]) -> Mapping[tuple[str, str], bytes]:
        readable = [pair for pair in pairs if is_mostly_latin(pair[1])]
        return dict(zip(readable, self._statements.rate_sentences(readable), strict=True))

    def embed(self, texts: list[str]) -> Mapping[str, bytes]:
        return dict(zip(texts, self._embedder.embed(texts), strict=True))


MODELS = _Models()

if __name__ == "__main__":
    sys.exit(main())
