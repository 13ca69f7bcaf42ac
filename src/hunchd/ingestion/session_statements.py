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
from hunchd.ingestion.own_words import own_words
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.ingestion.redaction_rules import ANNOUNCERS
from hunchd.ingestion.statement_classifier import load_classifier

NOTHING: Final = ("quoted", "hypothesis", "joke", "request", "chatter")
# A sentence with one of these beside it is commented on, not continued: "A poster says …. Nonsense."
COMMENTED: Final = ("quoted", "hypothesis", "joke")
MOST_NOTHING: Final = 0.4  # probability that a sentence states nothing, above which it is skipped
MOST_NOTHING_OF_ASSISTANT: Final = 0.1  # an assistant's sentences are mostly reports
OF_ASSISTANT: Final = ("decision", "change", "insight")
CHANGED: Final = 0.25  # probability of a change or withdrawal from which an earlier statement may be over
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
_UNFINISHED = re.compile(
    r"(?:^|\s)(?:\d{1,2}|[A-Z]|Dr|Prof|Mr|Mrs|Ms|St|Sr|Sra|Dra|Hr|Fr|Nr|No|Mme|z\.B|bzw|ca|vs|e\.g|i\.e|etc)\.$"
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+")
_CODE_WORD = re.compile(r"(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[^\s]{6,}")
_WORD = re.compile(r"[^\W_][\w'’-]*")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Statement:
    """What somebody stated, quoted verbatim."""

    category: str
    text: str
    turn: int
    message: str  # id of the memory of the quoted message
    at: datetime
    by_user: bool
    changes: bool  # it may end an earlier statement


def statements_of(turns: Sequence[Turn]) -> list[Statement]:
    """Return the statements of users and assistants, in order."""
    return [
        statement
        for turn in turns
        for message in turn.messages
        if message.event in (MessageType.USER, MessageType.ASSISTANT)
        for statement in _stated(message, turn.number)
    ]


def split_sentences(text: str) -> list[str]:
    """Split prose in any of the languages into sentences of one line each, without code and list marks."""
    found: list[str] = []
    pending = ""
    for part in _END.split(_CODE.sub("\n", text)):
        plain = " ".join(f"{pending} {_LIST_MARK.sub('', part)}".split())
        pending = plain if _UNFINISHED.search(plain) else ""
        if plain and not pending:
            found.append(plain)
    return [*found, pending] if pending else found


@dataclass(frozen=True, slots=True)
class _Judged:
    label: str
    text: str
    nothing: float
    changes: float

    @property
    def is_short(self) -> bool:
        wide = len(_WIDE.findall(self.text))
        return wide < FEWEST_WIDE if wide else len(_WORD.findall(self.text)) < FEWEST_WORDS


def _stated(message: Message, turn: int) -> Iterator[Statement]:
    by_user = message.event is MessageType.USER
    sentences = split_sentences(own_words(message.text) if by_user else message.text)
    if len(sentences) > MOST_SENTENCES:
        return
    judged = [_judge(sentence) for sentence in _before_personal_data(sentences)]
    most = MOST_NOTHING if by_user else MOST_NOTHING_OF_ASSISTANT
    commented = any(one.label in COMMENTED or _asks(one.text) for one in judged)
    kept = [one for one in judged if one.nothing <= most and _states(one, commented=commented)]
    for one in _together(kept):
        category = _CATEGORIES.get(one.label, one.label)
        if by_user or one.label in OF_ASSISTANT:
            yield Statement(category, one.text, turn, message.id, message.at, by_user, one.changes >= CHANGED)


def _before_personal_data(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences up to one with somebody's address or numbers; what follows is about that person."""
    for sentence in sentences:
        if holds_contact_data(sentence):
            return
        yield sentence


def _judge(sentence: str) -> _Judged:
    shares = load_classifier().probabilities(sentence)
    label = max(shares, key=lambda name: shares[name])
    nothing = sum(shares[name] for name in NOTHING)
    if label in NOTHING and nothing <= MOST_NOTHING:  # no single kind of statement is likelier, but one of them is
        label = max((name for name in shares if name not in NOTHING), key=lambda name: shares[name])
    changes = 1.0 if label in ("change", "withdrawal") else shares["change"] + shares["withdrawal"]
    return _Judged(label, sentence, nothing, changes)


def _states(one: _Judged, *, commented: bool) -> bool:
    if _names_secret(one.text) or _asks(one.text) or len(one.text) > LONGEST or one.is_short:
        return False
    return not (commented and len(_WORD.findall(one.text)) < 2 * FEWEST_WORDS)


def _names_secret(sentence: str) -> bool:
    """Return True for a redacted secret, or the word for one beside what may be one."""
    if "[redacted:" in sentence:
        return True
    word = ANNOUNCERS.search(sentence.lower())
    return word is not None and word.lastgroup != "key" and _CODE_WORD.search(sentence) is not None


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"')»”」 ").endswith(("?", "？"))


def _together(kept: Sequence[_Judged]) -> Iterator[_Judged]:
    """Join adjacent sentences that decide or demand something."""
    pending: _Judged | None = None
    for one in kept:
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
