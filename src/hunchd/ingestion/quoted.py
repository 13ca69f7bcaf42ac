"""What a language model claims that a stretch of a session states, held against the stretch itself. Pure.

A model may make things up, mix two sentences or be talked into something. What is kept is never its own words: only the
sentence that it points at, if somebody said that sentence, settled something in it, and the value is in it.
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

LONGEST_LINE: Final = 4_000  # characters of one message that a model is shown: what is decided is said early or late
LONGEST_QUOTE: Final = 360  # characters
SHORTEST_QUOTE: Final = 8
LONGEST_VALUE: Final = 160
LONGEST_KEY_WORDS: Final = 8
MOST_CLAIMS: Final = 30  # looked at of one answer
NEEDED: Final = ("category", "key", "value", "quote")

_SAID: Final = (Event.USER, Event.ASSISTANT)
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9`*])|\n+")
_DENIED = r"\b(?:not|never|no|without|instead of|rather than|dropp(?:ed|ing)|reject(?:ed|ing)?|over)\s+(?:the |an? )?"


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact with the sentence that it rests on."""

    category: str
    key: str
    value: str
    sentence: str
    turn: int
    message: str  # id of the memory that keeps the message it was said in
    by_user: bool
    importance: float


@dataclass(frozen=True, slots=True)
class Checked:
    claims: tuple[Claim, ...]
    refused: Mapping[str, int]  # reason → how many claims were thrown away for it


def stretch_text(turns: Sequence[Turn]) -> str:
    """What a model is shown of `turns`: what people and the assistant said, a line a message, each with its turn. What
    tools printed states nothing."""
    return "\n".join(
        f"[{turn}] {'user' if message.event is Event.USER else 'assistant'}: {_line(message.text)}"
        for turn, message in _said(turns)
    )


def checked(raw: Mapping[str, Any], turns: Sequence[Turn]) -> Checked:
    """Those claims of a model's answer that the turns bear out, each key once."""
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
            claims[claim.category, claim.key.casefold()] = claim  # the last word counts
    return Checked(tuple(claims.values()), dict(refused))


def _claim(raw: Any, turns: Sequence[Turn]) -> Claim | str:
    """The claim as it is kept, or why it is not."""
    if not isinstance(raw, dict) or not all(isinstance(raw.get(name), str) for name in NEEDED):
        return "not of the shape asked for"
    category, key, value, quote = (" ".join(raw[name].split()) for name in NEEDED)
    if category not in CATEGORIES:
        return "no such category"
    if not key or len(key) > LONGEST_KEY or len(key.split()) > LONGEST_KEY_WORDS:
        return "no short key"
    if not value or len(value) > LONGEST_VALUE:
        return "no short value"
    if not SHORTEST_QUOTE <= len(quote) <= LONGEST_QUOTE:
        return "no quote of a sentence's length"
    found = _place(quote, raw.get("turn"), turns)
    if found is None:
        return "nobody said the words it quotes"
    turn, message, sentence = found
    if sentence.endswith("?") or UNSURE.search(sentence):
        return "what it quotes settles nothing"
    if not set(_words(value)) <= set(_words(sentence)):
        return "the value is not in what it quotes"
    if category != "instruction" and _is_denied(value, sentence):
        return "what it quotes says the opposite"
    importance = raw.get("importance")
    weight = float(importance) if isinstance(importance, (int, float)) and not isinstance(importance, bool) else 0.5
    by_user = message.event is Event.USER
    return Claim(category, key, value, sentence, turn, message.id, by_user, min(max(weight, 0.0), 1.0))


def _place(quote: str, named: object, turns: Sequence[Turn]) -> tuple[int, Message, str] | None:
    """Where the quote was said: in the turn that is named if it was, and the whole sentence around it."""
    places = [
        (turn, message, sentence)
        for turn, message in _said(turns)
        if (sentence := _sentence_around(quote, message.text)) is not None
    ]
    return next((place for place in places if place[0] == named), places[-1] if places else None)


def _sentence_around(quote: str, text: str) -> str | None:
    """The sentences of `text` that hold the quote, on one line; None where they do not, or go on for too long."""
    parts = [" ".join(part.split()) for part in _SENTENCE_END.split(text)]
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
    """Whether the sentence names the value only to say that it is not so."""
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


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
