"""Extraction of the statements that people make in a session, in eight languages.

A statement is one or two sentences that will hold beyond the moment, such as a decision or a preference. A trained
classifier judges every sentence. Rules are used where they are exact: for questions, redacted secrets and other
people's data. Quotations, suppositions and jokes are not statements. The smaller the share of a user's sentences
that state something, the higher the probability must be for a single sentence to count: someone who steers an agent
step by step says little that holds permanently. These are pure functions.
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
from hunchd.ingestion.statement_classifier import NOTHING, compute_probabilities, is_mostly_latin

# A short sentence beside one with such a label only comments on it and states nothing: "A poster says …. Nonsense."
COMMENT_LABELS: Final = ("quoted", "hypothesis", "joke")
COMMENT_WEIGHT: Final = 4.0  # keeping a joke or supposition is worse than missing a statement
MOST_NOTHING: Final = 0.5  # probability that a sentence states nothing, above which it is skipped
# The same for a sentence that counts only if it names what it ends: minimum probability of a change, withdrawal or
# report, and maximum certainty of the change.
LEAST_REVISION: Final = 0.06
SURE_REPORT: Final = 0.3  # of a report that shares only one word with the action
MOST_OF_WEAK: Final = 0.35
# Share of sentences that state something at which the classifier's probabilities need no correction.
USUAL_SHARE: Final = 0.35
# Added to the log odds that a sentence states something. The values were chosen on sessions whose authors wrote none of
# the training sentences.
BIAS: Final = 0.9
BIAS_OF_ANSWER: Final = 2.0  # chosen on 32 questions with answers, half of which decide something
USUAL_WEIGHT: Final = 3.0  # sentences: the usual share counts as much as this many from the session
SHIFT_FACTOR: Final = 1.3  # factor of the estimated shift; without it, one more line in twelve is kept wrongly
_LEAST_SHARE: Final = 1e-6  # keeps odds finite
_ROUNDS: Final = 10  # rounds in which the share for a session is estimated
MOST_NOTHING_OF_ASSISTANT: Final = 0.1  # an assistant's sentences are usually reports
OF_ASSISTANT: Final = ("decision", "change", "insight")
# Labels of adjacent sentences that belong together, such as a decision and its reason.
TOGETHER: Final = ("decision", "change", "withdrawal", "constraint", "instruction", "insight")
LONGEST_TOGETHER: Final = 220  # characters
LONGEST: Final = 360  # characters; longer ones are lists or code
FEWEST_WORDS: Final = 3
FEWEST_WIDE: Final = 5  # characters of Chinese or Japanese
# An answer of fewer words or wide characters is quoted with its question: "Yes, let's do that" says nothing on its own.
ANSWER_WORDS: Final = 6
ANSWER_WIDE: Final = 9
QUESTION_WORDS: Final = 4  # a question by the assistant with fewer words is quoted with the sentence before it
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
    "done": 0.0,
}
REPORT_LABEL: Final = "done"  # reports an action as done, and states nothing else
_CATEGORIES: Final = {"change": "decision", "withdrawal": "decision"}

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_END = re.compile(r"(?<=[.!?…])[\"')\]»”“]*\s+|(?<=[。！？])[」』”]?\s*|\n+")
_UNFINISHED_SENTENCE = re.compile(
    r"(?:^|\s)(?:\d{1,2}|[A-Z]|Dr|Prof|Mr|Mrs|Ms|St|Sr|Sra|Dra|Hr|Fr|Nr|No|Mme|z\.B|bzw|ca|vs|e\.g|i\.e|etc)\.$"
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+")
_CODE_WORD = re.compile(r"(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[^\s]{6,}")
# "My name is Alex and I prefer Python" states two things, "I ask them and you write the page" are two tasks.
_CLAUSE = re.compile(
    r",?\s+(?:and|but|und|aber|y|pero|et|mais|e|mas|и)\s+"
    r"(?=(?:I|we|you|ich|wir|du|yo|tú|vos|je|nous|toi|eu|nós|você|я|мы|ты)\b)(?!I mean\b|you know\b)"
)
_WORD = re.compile(r"[^\W_][\w'’-]*")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Statement:
    """Statement by the user or the assistant, quoted verbatim."""

    category: str
    text: str
    turn: int
    message: str  # id of the memory of the quoted message
    at: datetime
    by_user: bool
    changes: float  # probability that it changes or withdraws an earlier statement
    withdraws: bool  # it ends an earlier statement without stating anything new
    in_context: str  # the text preceded by the sentence before it in the message
    is_weak: bool = False  # it counts only if it names an earlier statement that it ends
    reports: float = 0.0  # probability that it reports an action as done


# A context and a sentence. The context is the user's sentence before it or the assistant's question; "" at the start.
SentencePair = tuple[str, str]


def extract_statements(turns: Sequence[Turn], ratings: Mapping[SentencePair, bytes] | None = None) -> list[Statement]:
    """Return the statements by the user and the assistant, in order.

    `ratings` maps sentences with their contexts (see `list_sentences`) to the logits that the statement model
    computed for them. Sentences without a rating are judged by the n-gram classifier alone.
    """
    judged_messages = [
        (message, turn, [_judge(pair, (ratings or {}).get(pair), question) for pair in pairs])
        for message, turn, question, pairs in _iterate_messages(turns)
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


def list_sentences(turns: Sequence[Turn]) -> list[SentencePair]:
    """Return the sentences for the statement model, each once and with its context; none that it cannot read."""
    pairs = (pair for *_, of_message in _iterate_messages(turns) for pair in of_message)
    return list(dict.fromkeys(pair for pair in pairs if pair[0] and is_mostly_latin(pair[1])))


def _iterate_messages(turns: Sequence[Turn]) -> Iterator[tuple[Message, int, str, list[SentencePair]]]:
    """Yield each message with its turn number, the question that it answers, and its sentences.

    Each sentence comes with its context: the user's sentence before it, or the question that the assistant asked last.
    """
    context = question = ""
    for turn in turns:
        for message in turn.messages:
            if message.event not in (MessageType.USER, MessageType.ASSISTANT):
                continue
            sentences = _split_message(message)
            if message.event is MessageType.USER:
                yield (
                    message,
                    turn.number,
                    question,
                    list(zip([question or context, *sentences], sentences, strict=False)),
                )
                context, question = sentences[-1] if sentences else context, ""
            else:
                yield message, turn.number, "", [(context, one) for one in sentences]
                question = _find_question(sentences)


def _find_question(sentences: Sequence[str]) -> str:
    """Return the question at the end of an assistant's message, or "".

    "Shall I?" is returned with the sentence before it, which tells what it is about.
    """
    if not sentences or not _is_question(sentences[-1]):
        return ""
    return " ".join(sentences[-2:] if _is_shorter(sentences[-1], QUESTION_WORDS, ANSWER_WIDE) else sentences[-1:])


def split_sentences(text: str) -> list[str]:
    """Split prose in any of the eight languages into sentences of one line, without code and list markers."""
    sentences: list[str] = []
    pending = ""
    for part in _END.split(_CODE.sub("\n", text)):
        plain = " ".join(_LIST_MARK.sub("", f"{pending} {part}".strip()).split())
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
    revision: float = 0.0  # probability of a change or withdrawal
    report: float = 0.0  # probability that an action is reported as done
    before: str = ""


def _is_shorter(text: str, words: int, wide_characters: int) -> bool:
    wide = len(_WIDE.findall(text))
    return wide < wide_characters if wide else len(_WORD.findall(text)) < words


def _split_message(message: Message) -> list[str]:
    text = extract_user_text(message.text) if message.event is MessageType.USER else message.text
    sentences = [
        clause
        for sentence in split_sentences(extract_typed_prose(_CODE.sub("\n\n", text)))
        for clause in ([sentence] if _is_question(sentence) else _CLAUSE.split(sentence))
    ]
    return list(_take_before_personal_data(sentences)) if len(sentences) <= MOST_SENTENCES else []


def _select_statements(message: Message, turn: int, judged: Sequence[_JudgedSentence]) -> Iterator[Statement]:
    by_user = message.event is MessageType.USER
    most = MOST_NOTHING if by_user else MOST_NOTHING_OF_ASSISTANT
    is_commented = any(one.label in COMMENT_LABELS and not _is_question(one.text) for one in judged)
    statement_sentences = [
        replace(one, before=before.text if before is not None else "")
        for before, one in zip([None, *judged], judged, strict=False)
        if one.nothing <= most and one.label != REPORT_LABEL and _is_statement(one, is_commented=is_commented)
    ]
    strong_texts = {one.text for one in statement_sentences}
    weak = [one for one in judged if by_user and one.text not in strong_texts and _may_end(one)]
    for one in (*_join_adjacent(statement_sentences), *weak):
        category = _CATEGORIES.get(one.label, one.label)
        if by_user or one.label in OF_ASSISTANT:
            is_weak, in_context = one in weak, f"{one.before} {one.text}".strip()
            changes = min(one.changes, MOST_OF_WEAK) if is_weak else one.changes
            quote = (category, one.text, turn, message.id, message.at, by_user)
            yield Statement(*quote, changes, one.label == "withdrawal", in_context, is_weak, one.report)


def _estimate_shift(probabilities: Sequence[float]) -> float:
    """Return the correction, at most 0, to add to each statement's log odds.

    The correction accounts for the session's share of statements, which is estimated from the probabilities
    themselves, by expectation maximisation for a shifted prior (Saerens et al. 2002). It is never positive: a
    session that consists of nothing but statements is no reason to believe any of them more.
    """
    share = USUAL_SHARE
    for _ in range(_ROUNDS):
        odds = _to_odds(share) / _to_odds(USUAL_SHARE)
        statement_count = sum(odds * one / (1 - one + odds * one) for one in probabilities)
        share = (statement_count + USUAL_WEIGHT * USUAL_SHARE) / (len(probabilities) + USUAL_WEIGHT)
    return min(0.0, SHIFT_FACTOR * math.log(_to_odds(share) / _to_odds(USUAL_SHARE)))


def _to_odds(share: float) -> float:
    return share / (1 - share)


def _shift_odds(nothing: float, shift: float) -> float:
    """Return the probability that a sentence states nothing, with `shift` added to the log odds that it does."""
    bounded = min(max(nothing, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return bounded / (bounded + (1 - bounded) * math.exp(shift))


def _take_before_personal_data(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences until one contains somebody's address or number; the rest are about that person."""
    for sentence in sentences:
        if holds_contact_data(sentence):
            return
        yield sentence


def _judge(pair: SentencePair, rating: bytes | None, question: str) -> _JudgedSentence:
    """Classify the statement of a sentence.

    `rating` contains the logits that the statement model computed, or is None if the model has not rated the
    sentence. `question` is the assistant's question that the message answers. A short answer to the question is
    judged by itself, but the text of the statement includes the question.
    """
    context, sentence = pair
    is_answer = bool(question) and context == question and _is_shorter(sentence, ANSWER_WORDS, ANSWER_WIDE)
    shares = compute_probabilities(sentence, rating, is_answer=is_answer)
    shares |= {name: COMMENT_WEIGHT * shares[name] for name in COMMENT_LABELS}
    whole = sum(shares.values())
    shares = {name: share / whole for name, share in shares.items()}
    label = max(shares, key=lambda name: shares[name])
    bias = BIAS_OF_ANSWER if is_answer and rating is not None else BIAS
    nothing = _shift_odds(sum(shares[name] for name in NOTHING), bias)
    revision = shares["change"] + shares["withdrawal"]
    # A statement is likelier, though no single kind is.
    if label in NOTHING and label != REPORT_LABEL and (nothing <= MOST_NOTHING or revision >= LEAST_REVISION):
        label = max((name for name in shares if name not in NOTHING), key=lambda name: shares[name])
    if label in ("request", "chatter") and shares[REPORT_LABEL] >= LEAST_REVISION:
        label = REPORT_LABEL
    any_statement = sum(shares[name] for name in shares if name not in NOTHING)
    changes = 1.0 if label in ("change", "withdrawal") else revision / any_statement
    text = f"{context} {sentence}" if is_answer else sentence
    return _JudgedSentence(label, text, nothing, changes, revision, shares[REPORT_LABEL])


def _is_statement(one: _JudgedSentence, *, is_commented: bool) -> bool:
    if _names_secret(one.text) or _is_question(one.text) or len(one.text) > LONGEST:
        return False
    fewest = 2 if is_commented else 1
    return not _is_shorter(one.text, fewest * FEWEST_WORDS, fewest * FEWEST_WIDE)


def _may_end(one: _JudgedSentence) -> bool:
    """Return True if a sentence that probably states nothing may still end an earlier statement."""
    is_readable = not (_names_secret(one.text) or _is_question(one.text)) and len(one.text) <= LONGEST
    return is_readable and (one.label == REPORT_LABEL or (one.label not in NOTHING and one.revision >= LEAST_REVISION))


def _names_secret(sentence: str) -> bool:
    """Return True if a sentence contains a redacted secret, or a word such as "password" and what may be one."""
    if "[redacted:" in sentence:
        return True
    word = ANNOUNCERS.search(sentence.lower())
    return word is not None and word.lastgroup != "key" and _CODE_WORD.search(sentence) is not None


def _is_question(sentence: str) -> bool:
    """Return True for a question; Japanese and Chinese also ask by the last word, with a full stop or no mark."""
    return sentence.rstrip("\"')»”」 。").endswith(("?", "？", "か", "かね", "かな", "吗"))


def _join_adjacent(sentences: Sequence[_JudgedSentence]) -> Iterator[_JudgedSentence]:
    """Join adjacent sentences that state decisions, requirements or reasons, up to LONGEST_TOGETHER characters."""
    pending: _JudgedSentence | None = None
    for one in sentences:
        if pending is not None and one.label in TOGETHER and pending.label in TOGETHER:
            text = f"{pending.text}{'' if _WIDE.match(one.text) else ' '}{one.text}"
            if len(text) <= LONGEST_TOGETHER:
                surer = min(pending, one, key=lambda each: (each.label == "insight", each.nothing))
                changes = max(pending.changes, one.changes)
                pending = replace(surer, text=text, changes=changes, before=pending.before)
                continue
        if pending is not None:
            yield pending
        pending = one
    if pending is not None:
        yield pending
