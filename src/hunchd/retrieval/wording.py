"""The words of a question and where a text says them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from hunchd.store.words import parts

SNIPPET: Final = 200  # characters
_WORD = re.compile(r"[^\W_]+")
# Words that a question is made of, not what it is about.
_EMPTY = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "for",
        "from",
        "get",
        "got",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "know",
        "let",
        "like",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "one",
        "or",
        "our",
        "out",
        "over",
        "please",
        "say",
        "should",
        "show",
        "so",
        "some",
        "tell",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "too",
        "up",
        "us",
        "use",
        "used",
        "using",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def terms(text: str) -> list[str]:
    """What a text is about, once each and in order: its words and their parts, lower case, without the empty ones."""
    words = [word.lower() for word in (*_WORD.findall(text), *parts(text))]
    return [word for word in dict.fromkeys(words) if word not in _EMPTY and (len(word) > 1 or not word.isascii())]


def stem(word: str) -> str:
    """Roughly the same for the forms of an English word: enough to see whether a text says what was asked."""
    for ending in ("ingly", "edly", "ing", "ies", "ied", "es", "ed", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def said(asked: Iterable[str], text: str) -> list[str]:
    """Those of the terms that `text` says, in any form."""
    there = {stem(word) for word in terms(text)}
    return [word for word in asked if stem(word) in there]


def snippet(text: str, asked: Iterable[str], *, length: int = SNIPPET) -> str:
    """The stretch of `text` that says most of what was asked, on one line, at most `length` characters."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    wanted = {stem(word) for word in asked}
    places = [match.start() for match in _WORD.finditer(line) if stem(match.group().lower()) in wanted]
    if not places:
        return line[: length - 1].rstrip() + "…"
    begin = max(places, key=lambda at: (len({line[p : p + 12] for p in places if at <= p < at + length * 3 // 4}), -at))
    begin = max(0, min(begin - length // 8, len(line) - length + 1))
    if begin:  # at a word's beginning, if one is near
        begin = line.find(" ", begin, begin + 20) + 1 or begin
    cut = line[begin : begin + length - 2]
    return ("…" if begin else "") + cut.strip() + ("…" if begin + len(cut) < len(line) else "")


def expansion(question: str, texts: Iterable[str], *, most: int = 8) -> list[str]:
    """Words that the best answers share and the question does not say: the project's own name for it."""
    asked = {stem(word) for word in terms(question)}
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update({word for word in terms(text) if stem(word) not in asked and not word.isdigit()})
    shared = [(-times, word) for word, times in counted.items() if times > 1]
    return [word for _, word in sorted(shared)[:most]]
