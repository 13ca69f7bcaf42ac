"""Extraction of what people state in a session: one statement a sentence or two, in eight languages.

A trained classifier judges every sentence; exact rules remain where they are exact: questions, redacted secrets, other
people's data. Quotations, suppositions and jokes are no statements. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hunchd.domain.session import Message, MessageType, Turn
from hunchd.ingestion.own_words import extract_user_text
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.ingestion.redaction_rules import ANNOUNCERS
from hunchd.ingestion.statement_classifier import load_classifier

NOTHING: Final = ("quoted", "hypothesis", "joke", "request", "chatter")
# A sentence with one of these beside it is commented on, not continued: "A poster says …. Nonsense."
COMMENT_LABELS: Final = ("quoted", "hypothesis", "joke")
MOST_NOTHING: Final = 0.4  # probability that a sentence states nothing, above which it is skipped
MOST_NOTHING_OF_ASSISTANT: Final = 0.1  # an assistant's sentences are mostly reports
OF_ASSISTANT: Final = ("decision", "change", "insight")
CHANGE_THRESHOLD: Final = 0.25  # probability of a change or withdrawal from which an earlier statement may be over
# Sentences of one message that belong together: a decision and its reason.
TOGETHER: Final = ("decision", "change", "withdrawal", "constraint", "instruction", "insight")
LONGEST_TOGETHER: Final = 220  # characters
LONGEST: Final = 360  # characters; longer ones are lists or code
FEWEST_WORDS: Final = 3
FEWEST_WIDE: Final = 5  # characters of Chinese or Japanese
MOST_SENTENCES: Final = 40  # per message; more is a document
IMPORTANCE: Final = {
    "identity": 0.9,
    "decision": 0.9,
    "instruction": 0.85,
    "constraint": 0.85,
    "preference": 0.8,
    "goal": 0.7,
    "person": 0.7,
    "action": 0.6,
    "insight": 0.55,
}
_CATEGORIES: Final = {"change": "decision", "withdrawal": "decision"}

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_END = re.compile(r"(?<=[.!?…])[\"')\]»”“]*\s+|(?<=[。！？])[」』”]?\s*|\n+")
_UNFINISHED_SENTENCE = re.compile(
    r"(?:^|\s)(?:\d{1,2}|[A-Z]|Dr|Prof|Mr|Mrs|Ms|St|Sr|Sra|Dra|Hr|Fr|Nr|No|Mme|z\.B|bzw|ca|vs|e\.g|i\.e|etc)\.$"
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+")
_CODE_WORD = re.compile(r"(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[^\s]{6,}")
_WORD = re.compile(r"[^\W_][\w'’-]*")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Statement:
    """Statement of a speaker, quoted verbatim."""

    category: str
    text: str
    turn: int
    message: str  # id of the memory of the quoted message
    at: datetime
    by_user: bool
    changes: bool  # it may end an earlier statement


def extract_statements(turns: Sequence[Turn]) -> list[Statement]:
    """Return the statements of users and assistants, in order."""
    return [
        statement
        for turn in turns
        for message in turn.messages
        if message.event in (MessageType.USER, MessageType.ASSISTANT)
        for statement in _extract_statements(message, turn.number)
    ]


def split_sentences(text: str) -> list[str]:
    """Split prose in any of the languages into sentences of one line each, without code and list marks."""
    sentences: list[str] = []
    pending = ""
    for part in _END.split(_CODE.sub("\n", text)):
        plain = " ".join(f"{pending} {_LIST_MARK.sub('', part)}".split())
        pending = plain if _UNFINISHED_SENTENCE.search(plain) else ""
        if plain and not pending:
            sentences.append(plain)
    return [*sentences, pending] if pending else sentences


@dataclass(frozen=True, slots=True)
class _JudgedSentence:
    label: str
    text: str
    nothing: float
    changes: float

    @property
    def is_short(self) -> bool:
        wide = len(_WIDE.findall(self.text))
        return wide < FEWEST_WIDE if wide else len(_WORD.findall(self.text)) < FEWEST_WORDS


def _extract_statements(message: Message, turn: int) -> Iterator[Statement]:
    by_user = message.event is MessageType.USER
    sentences = split_sentences(extract_user_text(message.text) if by_user else message.text)
    if len(sentences) > MOST_SENTENCES:
        return
    judged_sentences = [_judge(sentence) for sentence in _take_before_personal_data(sentences)]
    most = MOST_NOTHING if by_user else MOST_NOTHING_OF_ASSISTANT
    is_commented = any(one.label in COMMENT_LABELS or _is_question(one.text) for one in judged_sentences)
    statement_sentences = [
        one for one in judged_sentences if one.nothing <= most and _is_statement(one, is_commented=is_commented)
    ]
    for one in _join_adjacent(statement_sentences):
        category = _CATEGORIES.get(one.label, one.label)
        if by_user or one.label in OF_ASSISTANT:
            yield Statement(category, one.text, turn, message.id, message.at, by_user, one.changes >= CHANGE_THRESHOLD)


def _take_before_personal_data(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences up to one with somebody's address or numbers; what follows is about that person."""
    for sentence in sentences:
        if holds_contact_data(sentence):
            return
        yield sentence


def _judge(sentence: str) -> _JudgedSentence:
    shares = load_classifier().compute_probabilities(sentence)
    label = max(shares, key=lambda name: shares[name])
    nothing = sum(shares[name] for name in NOTHING)
    if label in NOTHING and nothing <= MOST_NOTHING:  # no single kind of statement is likelier, but one of them is
        label = max((name for name in shares if name not in NOTHING), key=lambda name: shares[name])
    changes = 1.0 if label in ("change", "withdrawal") else shares["change"] + shares["withdrawal"]
    return _JudgedSentence(label, sentence, nothing, changes)


def _is_statement(one: _JudgedSentence, *, is_commented: bool) -> bool:
    if _names_secret(one.text) or _is_question(one.text) or len(one.text) > LONGEST or one.is_short:
        return False
    return not (is_commented and len(_WORD.findall(one.text)) < 2 * FEWEST_WORDS)


def _names_secret(sentence: str) -> bool:
    """Return True for a redacted secret, or the word for one beside what may be one."""
    if "[redacted:" in sentence:
        return True
    word = ANNOUNCERS.search(sentence.lower())
    return word is not None and word.lastgroup != "key" and _CODE_WORD.search(sentence) is not None


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"')»”」 ").endswith(("?", "？"))


def _join_adjacent(sentences: Sequence[_JudgedSentence]) -> Iterator[_JudgedSentence]:
    """Join adjacent sentences that decide or demand something."""
    pending: _JudgedSentence | None = None
    for one in sentences:
        if pending is not None and one.label in TOGETHER and pending.label in TOGETHER:
            text = f"{pending.text}{'' if _WIDE.match(one.text) else ' '}{one.text}"
            if len(text) <= LONGEST_TOGETHER:
                surer = min(pending, one, key=lambda each: (each.label == "insight", each.nothing))
                pending = replace(surer, text=text, changes=max(pending.changes, one.changes))
                continue
        if pending is not None:
            yield pending
        pending = one
    if pending is not None:
        yield pending
