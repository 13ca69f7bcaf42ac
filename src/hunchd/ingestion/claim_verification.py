"""Verification of the claims that a language model extracts from a session.

A model may invent facts, mix two sentences or be manipulated, so its own words are never stored. Only the sentence
that it quotes is stored, provided that the user or the assistant said that sentence in the session, that the
sentence is neither a question nor uncertain, and that it contains the claimed value. These are pure functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hunchd.domain.facts import CATEGORIES
from hunchd.domain.session import Message, MessageType, Turn
from hunchd.ingestion.session_statements import split_sentences
from hunchd.ingestion.statement_patterns import UNCERTAINTY
from hunchd.ingestion.statements import MAX_KEY
from hunchd.text.words import tokenize

MAX_LINE: Final = 4_000  # characters of a message sent to the model: decisions are near its beginning or end
MAX_QUOTE: Final = 360  # characters
MIN_QUOTE: Final = 8
MAX_VALUE: Final = 160
MAX_KEY_WORDS: Final = 8
MAX_CLAIMS: Final = 30  # claims checked per answer
REQUIRED_FIELDS: Final = ("category", "key", "value", "quote")

_SPEAKER_EVENTS: Final = (MessageType.USER, MessageType.ASSISTANT)
_NEGATION = r"\b(?:not|never|no|without|instead of|rather than|dropp(?:ed|ing)|reject(?:ed|ing)?|over)\s+(?:the |an? )?"


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """Verified claim, with the sentence from the session that supports it."""

    category: str
    key: str
    value: str
    sentence: str
    turn: int
    message: str  # id of the memory with the cited message
    by_user: bool
    importance: float


@dataclass(frozen=True, slots=True)
class Verification:
    claims: tuple[VerifiedClaim, ...]
    rejections: Mapping[str, int]  # reason → number of rejected claims


def render_turns(turns: Sequence[Turn]) -> str:
    """Render the user's and the assistant's messages as text for a prompt.

    Each message is one line with its turn number. Tool output is left out, since it makes no statements.
    """
    return "\n".join(
        f"[{turn}] {'user' if message.event is MessageType.USER else 'assistant'}: {_format_line(message.text)}"
        for turn, message in _iter_statements(turns)
    )


def verify_claims(raw: Mapping[str, Any], turns: Sequence[Turn]) -> Verification:
    """Return the claims that the session supports, at most one per key.

    `raw` is the model's answer. If several claims share a category and key, the last one is kept. The result also
    counts the rejected claims by reason.
    """
    raw_claims = raw.get("facts")
    if not isinstance(raw_claims, list):
        return Verification((), {"answer without a list of facts": 1})
    refusal_counts: Counter[str] = Counter()
    claims: dict[tuple[str, str], VerifiedClaim] = {}
    for raw_claim in raw_claims[:MAX_CLAIMS]:
        claim = _verify_claim(raw_claim, turns)
        if isinstance(claim, str):
            refusal_counts[claim] += 1
        else:
            claims[claim.category, claim.key.casefold()] = claim  # the last claim for a key counts
    return Verification(tuple(claims.values()), dict(refusal_counts))


def _verify_claim(raw: Any, turns: Sequence[Turn]) -> VerifiedClaim | str:
    """Return the verified claim, or the reason why it was rejected."""
    if not isinstance(raw, dict) or not all(isinstance(raw.get(name), str) for name in REQUIRED_FIELDS):
        return "invalid format"
    category, key, value, quote = (" ".join(raw[name].split()) for name in REQUIRED_FIELDS)
    if category not in CATEGORIES:
        return "unknown category"
    if not key or len(key) > MAX_KEY or len(key.split()) > MAX_KEY_WORDS:
        return "key missing or too long"
    if not value or len(value) > MAX_VALUE:
        return "value missing or too long"
    if not MIN_QUOTE <= len(quote) <= MAX_QUOTE:
        return "quote too short or too long"
    quote_place = _find_quote(quote, raw.get("turn"), turns)
    if quote_place is None:
        return "quote not found"
    turn, message, sentence = quote_place
    if sentence.endswith("?") or UNCERTAINTY.search(sentence):
        return "quote is a question or is uncertain"
    if not set(tokenize(value.casefold())) <= set(tokenize(sentence.casefold())):
        return "value not in the quote"
    if category != "instruction" and _is_denied(value, sentence):
        return "quote says the opposite"
    importance = raw.get("importance")
    weight = float(importance) if isinstance(importance, (int, float)) and not isinstance(importance, bool) else 0.5
    by_user = message.event is MessageType.USER
    return VerifiedClaim(category, key, value, sentence, turn, message.id, by_user, min(max(weight, 0.0), 1.0))


def _find_quote(quote: str, named_turn: object, turns: Sequence[Turn]) -> tuple[int, Message, str] | None:
    """Find the turn, the message and the whole sentence that contain the quote.

    If several turns contain the quote, the turn that the model named is preferred, then the last one. Returns None
    if no turn contains it.
    """
    places = [
        (turn, message, sentence)
        for turn, message in _iter_statements(turns)
        if (sentence := _find_sentence(quote, message.text)) is not None
    ]
    return next((place for place in places if place[0] == named_turn), places[-1] if places else None)


def _find_sentence(quote: str, text: str) -> str | None:
    """Return the sentence of `text` that contains the quote, joined into one line.

    If the quote spans several sentences, returns all of them. Returns None if the quote does not occur, or if the
    sentences are longer than MAX_QUOTE characters in total.
    """
    parts = split_sentences(text)
    for first in range(len(parts)):
        joined_parts = ""
        for part in parts[first:]:
            joined_parts = f"{joined_parts} {part}".strip()
            if quote.casefold() in joined_parts.casefold():
                if quote.casefold() in part.casefold():
                    joined_parts = part
                return joined_parts if len(joined_parts) <= MAX_QUOTE else None
            if len(joined_parts) > len(quote) + MAX_QUOTE:
                break
    return None


def _is_denied(value: str, sentence: str) -> bool:
    """Return True if the sentence mentions the value only to reject it."""
    value_pattern = rf"(?<!\w){re.escape(value)}(?!\w)"
    mention_count = len(re.findall(value_pattern, sentence, re.IGNORECASE))
    denial_count = len(re.findall(_NEGATION + r"[`'\"]?" + value_pattern, sentence, re.IGNORECASE))
    return mention_count > 0 and denial_count == mention_count


def _iter_statements(turns: Sequence[Turn]) -> Iterator[tuple[int, Message]]:
    for turn in turns:
        for message in turn.messages:
            if message.event in _SPEAKER_EVENTS and message.text.strip():
                yield turn.number, message


def _format_line(text: str) -> str:
    if len(text) > MAX_LINE:
        text = f"{text[: MAX_LINE * 3 // 4]} … {text[-MAX_LINE // 4 :]}"
    return " ".join(text.split()).replace("</stretch", "< /stretch")
