"""Extraction of what people state in a session: statements of one or two sentences, in eight languages.

A trained classifier judges every sentence. Rules are used where they are exact: for questions, redacted secrets and
other people's data. Quotations, suppositions and jokes are not statements. The fewer sentences of a user state
something, the higher the probability that a single one needs: someone who steers an agent step by step says little that
holds permanently. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hunchd.domain.session import Message, MessageType, Turn
from hunchd.ingestion.own_words import extract_typed_prose, extract_user_text
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.ingestion.redaction_rules import ANNOUNCERS
from hunchd.ingestion.statement_classifier import load_classifier

NOTHING: Final = ("quoted", "hypothesis", "joke", "request", "chatter")
# A sentence with one of these beside it is commented on, not continued: "A poster says …. Nonsense."
COMMENT_LABELS: Final = ("quoted", "hypothesis", "joke")
MOST_NOTHING: Final = 0.5  # probability that a sentence states nothing, above which it is skipped
# Share of sentences that state something, for which the classifier's probabilities hold without a correction.
USUAL_SHARE: Final = 0.35
# Log odds that are added to a statement's: the classifier was trained on more sentences that state nothing than usual.
BIAS: Final = 1.6
BIAS_WITHOUT_VECTOR: Final = 0.5
USUAL_WEIGHT: Final = 3.0  # sentences by which the usual share counts beside those of a session
SHIFT_FACTOR: Final = 1.3  # of the estimated shift: one more wrong line in twelve is kept without it
_LEAST_SHARE: Final = 1e-6  # keeps odds finite
_ROUNDS: Final = 10  # of estimating the share of a session
MOST_NOTHING_OF_ASSISTANT: Final = 0.1  # an assistant's sentences are mostly reports
OF_ASSISTANT: Final = ("decision", "change", "insight")
CHANGE_THRESHOLD: Final = (
    0.1  # share of changes and withdrawals among statements, from which an earlier one may be over
)
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
# By saying so, the speaker decides; what it is about does not make it chatter or a request.
_ANNOUNCED_DECISION = re.compile(
    r"(?:we (?:have |'ve )?(?:decided|agreed|resolved) (?:that|to|on)\b|it (?:was|is) decided (?:that|to)\b"
    r"|(?:wir haben|es wurde) (?:beschlossen|entschieden|vereinbart|uns (?:entschieden|geeinigt))"
    r"|(?:nous avons|on a) (?:décidé|convenu)|(?:hemos|se ha) (?:decidido|acordado)"
    r"|(?:nós )?(?:decidimos|ficou decidido) (?:que|usar)\b|abbiamo (?:deciso|concordato)|мы (?:решили|договорились)"
    r"|我们(?:已经)?(?:决定|商定))",
    re.IGNORECASE,
)


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


def extract_statements(turns: Sequence[Turn], vectors: Mapping[str, bytes] | None = None) -> list[Statement]:
    """Return the statements of users and assistants, in order.

    `vectors` maps sentences (see `list_sentences`) to their vectors from the shipped embedding model.
    """
    judged_messages = [
        (message, turn.number, [_judge(one, (vectors or {}).get(one)) for one in _split_message(message)])
        for turn in turns
        for message in turn.messages
        if message.event in (MessageType.USER, MessageType.ASSISTANT)
    ]
    by_user = [one for message, _, judged in judged_messages if message.event is MessageType.USER for one in judged]
    shift = _estimate_shift([1 - one.nothing for one in by_user if _is_statement(one, is_commented=False)])
    return [
        statement
        for message, turn, judged in judged_messages
        for statement in _select_statements(
            message, turn, [replace(one, nothing=_shift_odds(one.nothing, shift)) for one in judged]
        )
    ]


def list_sentences(turns: Sequence[Turn]) -> list[str]:
    """Return the sentences that `extract_statements` judges, without repetitions."""
    messages = (message for turn in turns for message in turn.messages)
    spoken = (one for one in messages if one.event in (MessageType.USER, MessageType.ASSISTANT))
    return list(dict.fromkeys(sentence for message in spoken for sentence in _split_message(message)))


def split_sentences(text: str) -> list[str]:
    """Split prose into sentences, without code and list markers.

    The prose may be in any of the languages. Each sentence is on one line.
    """
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


def _split_message(message: Message) -> list[str]:
    text = extract_user_text(message.text) if message.event is MessageType.USER else message.text
    sentences = split_sentences(extract_typed_prose(_CODE.sub("\n\n", text)))
    return list(_take_before_personal_data(sentences)) if len(sentences) <= MOST_SENTENCES else []


def _select_statements(message: Message, turn: int, judged: Sequence[_JudgedSentence]) -> Iterator[Statement]:
    by_user = message.event is MessageType.USER
    most = MOST_NOTHING if by_user else MOST_NOTHING_OF_ASSISTANT
    is_commented = any(one.label in COMMENT_LABELS or _is_question(one.text) for one in judged)
    statement_sentences = [
        one for one in judged if one.nothing <= most and _is_statement(one, is_commented=is_commented)
    ]
    for one in _join_adjacent(statement_sentences):
        category = _CATEGORIES.get(one.label, one.label)
        if by_user or one.label in OF_ASSISTANT:
            yield Statement(category, one.text, turn, message.id, message.at, by_user, one.changes >= CHANGE_THRESHOLD)


def _estimate_shift(probabilities: Sequence[float]) -> float:
    """Return what to add to each statement's log odds, at most 0.

    The value corrects for the session's share of statements, which is estimated from the probabilities themselves, by
    expectation maximisation for a shifted prior (Saerens et al. 2002). It is never positive: that a session consists of
    nothing but statements is no reason to believe a single one more.
    """
    share = USUAL_SHARE
    for _ in range(_ROUNDS):
        odds = _to_odds(share) / _to_odds(USUAL_SHARE)
        corrected = sum(odds * one / (1 - one + odds * one) for one in probabilities)
        share = (corrected + USUAL_WEIGHT * USUAL_SHARE) / (len(probabilities) + USUAL_WEIGHT)
    return min(0.0, SHIFT_FACTOR * math.log(_to_odds(share) / _to_odds(USUAL_SHARE)))


def _to_odds(share: float) -> float:
    return share / (1 - share)


def _shift_odds(nothing: float, shift: float) -> float:
    """Return the corrected probability that a sentence states nothing.

    `nothing` is the probability before the correction; `shift` is added to the log odds that the sentence states
    something.
    """
    bounded = min(max(nothing, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return bounded / (bounded + (1 - bounded) * math.exp(shift))


def _take_before_personal_data(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences before the first one with somebody's address or numbers.

    The sentences after it are about that person.
    """
    for sentence in sentences:
        if holds_contact_data(sentence):
            return
        yield sentence


def _judge(sentence: str, vector: bytes | None) -> _JudgedSentence:
    shares = load_classifier().compute_probabilities(sentence, vector)
    if _ANNOUNCED_DECISION.match(sentence):
        idle = shares["chatter"] + shares["request"]
        shares = {**shares, "chatter": 0.0, "request": 0.0, "decision": shares["decision"] + idle}
    label = max(shares, key=lambda name: shares[name])
    nothing = _shift_odds(
        sum(shares[name] for name in NOTHING), BIAS if vector and any(vector) else BIAS_WITHOUT_VECTOR
    )
    if label in NOTHING and nothing <= MOST_NOTHING:  # no single kind of statement is likelier, but one of them is
        label = max((name for name in shares if name not in NOTHING), key=lambda name: shares[name])
    stated = sum(shares[name] for name in shares if name not in NOTHING)
    changes = 1.0 if label in ("change", "withdrawal") else (shares["change"] + shares["withdrawal"]) / stated
    return _JudgedSentence(label, sentence, nothing, changes)


def _is_statement(one: _JudgedSentence, *, is_commented: bool) -> bool:
    if _names_secret(one.text) or _is_question(one.text) or len(one.text) > LONGEST or one.is_short:
        return False
    return not (is_commented and len(_WORD.findall(one.text)) < 2 * FEWEST_WORDS)


def _names_secret(sentence: str) -> bool:
    """Return True if the sentence mentions a secret.

    It contains a redacted secret, or a word such as "password" together with what may be one.
    """
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
