"""Verification of a language model's claims against the session that they cite.

Pure. A model may invent facts, mix two sentences or be manipulated. Its own words are never stored: only the
sentence that it cites, if somebody said that sentence, settled something in it, and the value is in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hunchd.domain.facts import CATEGORIES
from hunchd.domain.session import Event, Message, Turn
from hunchd.ingestion.statement_patterns import UNSURE
from hunchd.ingestion.statements import LONGEST_KEY
from hunchd.text.sentences import split_message
from hunchd.text.words import tokenize

LONGEST_LINE: Final = 4_000  # characters of a message sent to the model: decisions are near its beginning or end
LONGEST_QUOTE: Final = 360  # characters
SHORTEST_QUOTE: Final = 8
LONGEST_VALUE: Final = 160
LONGEST_KEY_WORDS: Final = 8
MOST_CLAIMS: Final = 30  # checked per answer
NEEDED: Final = ("category", "key", "value", "quote")

_SAID: Final = (Event.USER, Event.ASSISTANT)
_DENIED = r"\b(?:not|never|no|without|instead of|rather than|dropp(?:ed|ing)|reject(?:ed|ing)?|over)\s+(?:the |an? )?"


@dataclass(frozen=True, slots=True)
class Claim:
    """Verified fact with the sentence that supports it."""

    category: str
    key: str
    value: str
    sentence: str
    turn: int
    message: str  # id of the memory with the cited message
    by_user: bool
    importance: float


@dataclass(frozen=True, slots=True)
class Checked:
    claims: tuple[Claim, ...]
    refused: Mapping[str, int]  # reason → number of rejected claims


def stretch_text(turns: Sequence[Turn]) -> str:
    """Render the messages of users and assistant for a model.

    One line each, with turn numbers. Tool output is left out, as it states nothing.
    """
    return "\n".join(
        f"[{turn}] {'user' if message.event is Event.USER else 'assistant'}: {_line(message.text)}"
        for turn, message in _said(turns)
    )


def checked(raw: Mapping[str, Any], turns: Sequence[Turn]) -> Checked:
    """Return the claims that the turns support, each key once."""
    given = raw.get("facts")
    if not isinstance(given, list):
        return Checked((), {"no list of facts": 1})
    refused: Counter[str] = Counter()
    claims: dict[tuple[str, str], Claim] = {}
    for one in given[:MOST_CLAIMS]:
        claim = _claim(one, turns)
        if isinstance(claim, str):
            refused[claim] += 1
        else:
            claims[claim.category, claim.key.casefold()] = claim  # the last statement counts
    return Checked(tuple(claims.values()), dict(refused))


def _claim(raw: Any, turns: Sequence[Turn]) -> Claim | str:
    """Return the verified claim, or the reason for its rejection."""
    if not isinstance(raw, dict) or not all(isinstance(raw.get(name), str) for name in NEEDED):
        return "invalid format"
    category, key, value, quote = (" ".join(raw[name].split()) for name in NEEDED)
    if category not in CATEGORIES:
        return "unknown category"
    if not key or len(key) > LONGEST_KEY or len(key.split()) > LONGEST_KEY_WORDS:
        return "missing or long key"
    if not value or len(value) > LONGEST_VALUE:
        return "missing or long value"
    if not SHORTEST_QUOTE <= len(quote) <= LONGEST_QUOTE:
        return "quote too short or long"
    found = _place(quote, raw.get("turn"), turns)
    if found is None:
        return "quote not found"
    turn, message, sentence = found
    if sentence.endswith("?") or UNSURE.search(sentence):
        return "quote is a question or uncertain"
    if not set(tokenize(value.casefold())) <= set(tokenize(sentence.casefold())):
        return "value not in the quote"
    if category != "instruction" and _is_denied(value, sentence):
        return "quote says the opposite"
    importance = raw.get("importance")
    weight = float(importance) if isinstance(importance, (int, float)) and not isinstance(importance, bool) else 0.5
    by_user = message.event is Event.USER
    return Claim(category, key, value, sentence, turn, message.id, by_user, min(max(weight, 0.0), 1.0))


def _place(quote: str, named: object, turns: Sequence[Turn]) -> tuple[int, Message, str] | None:
    """Find the message and the whole sentence with the quote.

    The turn that the model named is preferred, then the last one.
    """
    places = [
        (turn, message, sentence)
        for turn, message in _said(turns)
        if (sentence := _sentence_around(quote, message.text)) is not None
    ]
    return next((place for place in places if place[0] == named), places[-1] if places else None)


def _sentence_around(quote: str, text: str) -> str | None:
    """Return the sentences of `text` that contain the quote, on one line.

    None if they do not contain it or are too long.
    """
    parts = [" ".join(part.split()) for part in split_message(text)]
    for first in range(len(parts)):
        held = ""
        for part in parts[first:]:
            held = f"{held} {part}".strip()
            if quote.casefold() in held.casefold():
                if quote.casefold() in part.casefold():
                    held = part
                return held if len(held) <= LONGEST_QUOTE else None
            if len(held) > len(quote) + LONGEST_QUOTE:
                break
    return None


def _is_denied(value: str, sentence: str) -> bool:
    """Return True if the sentence names the value only to reject it."""
    named = rf"(?<!\w){re.escape(value)}(?!\w)"
    times = len(re.findall(named, sentence, re.IGNORECASE))
    denied = len(re.findall(_DENIED + r"[`'\"]?" + named, sentence, re.IGNORECASE))
    return times > 0 and denied == times


def _said(turns: Sequence[Turn]) -> Iterator[tuple[int, Message]]:
    for turn in turns:
        for message in turn.messages:
            if message.event in _SAID and message.text.strip():
                yield turn.number, message


def _line(text: str) -> str:
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE * 3 // 4]} … {text[-LONGEST_LINE // 4 :]}"
    return " ".join(text.split()).replace("</stretch", "< /stretch")
