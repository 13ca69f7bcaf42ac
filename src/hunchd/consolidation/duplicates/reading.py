"""Normalised text for comparing memories.

It consists of sentences of words, distinguishing tokens, and word order. Trailers that git adds to a message are
dropped; synonyms, inflections and spellings of a word become one. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import Final

from hunchd.consolidation.duplicates.words import ABBREVIATIONS, PHRASES, TELLING, meaning
from hunchd.domain.memory import Memory
from hunchd.text.sentences import split_at_stops
from hunchd.text.stemming import stem_statement
from hunchd.text.words import STATEMENT_STOP_WORDS

READ: Final = 4_000  # characters

_MARKUP: Final = re.compile(
    r"\[([^\]\n]+)\]\([^)\n]*\)|(?<!\d\.)[*`~]+|(?<![\w.])(_{1,2})(\S|\S[^_\n]*\S)\2(?!\w)|^\s*(?:#+|>+|[-+•]|\d+[.)])\s+",
    re.MULTILINE,
)
_DASH: Final = re.compile(r"\s+[-–—]{1,2}\s+")
_TOKEN: Final = re.compile(r"v?\d[\w.]*\.\*|[\w@#][\w@./:#+-]*\w|\w|[<>=~^]=?(?=\s?v?\d)")
_NUMBER: Final = re.compile(r"^[#v]?\d[\w.+-]*$|^[0-9a-f]{7,40}$|^\w*\d+(?:\.\d+)+\w*$", re.IGNORECASE)
_CODE: Final = re.compile(r"[_/@\\]|\w\.\w|::|\(\)|[a-z][A-Z]|[A-Z]{2,}[a-z]|\d")
_NOT_STOPPED: Final = frozenset(
    ("before", "after", "on", "off", "avoid", "over", "under", "each", "all", "only", "more", "another", "again")
)
# A file is updated many times; "flake8-reported" is no name.
_FILE: Final = re.compile(
    r"[/-]|\.(?:cfg|c|cc|cpp|css|go|h|html|in|ini|java|jsx?|json|lock|md|py|rb|rs|rst|sh|toml|tsx?|txt|ya?ml)$"
)
_REVERTED: Final = re.compile(r"^(?:revert(?:s|ed|ing)?|undo(?:es|ne)?|fixup)$")
_SHORTENED: Final = re.compile(r"(?<!\w)w/(o\b)? ?", re.IGNORECASE)
_APART: Final = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)
# Trailers that git adds to a message: sign-offs, cherry-pick sources, conflicts.
_OF_GIT: Final = re.compile(
    r"^\W{0,3}(?:(?:acked|approved|co-authored|co-developed|committed|helped|merged|reported|requested|reviewed|signed-off"
    r"|suggested|tested)-by: .*|\(cherry[ -]picked from .*"
    r"|(?:# ?)?conflicts:[ \t]*(?:\n(?:#?[ \t]+\S.*|#?[ \t]*(?=\n#?[ \t]+\S)))*)$",
    re.MULTILINE | re.IGNORECASE,
)
_SCOPE: Final = re.compile(r"^\W{0,4}([\w./-]+(?:\([\w ./,-]+\))?)!?\s*:\s")
NOTHING: Final = frozenset[str]()
_DENIAL: Final = re.compile(r"^(?:not|no|never|none|without|cannot|nor|neither)$")
# The two sides of these words have different roles: "from 10 to 30", "tabs instead of spaces".
_ARROWS: Final = frozenset(("->", "=>", "→"))
_TURNING: Final = _ARROWS | frozenset(
    "to into from with by on over than instead before after as for under within above below".split()  # noqa: SIM905
)
_SERIES: Final = frozenset((",", "&", "and", "or"))  # the order around these does not matter
_STEP: Final = re.compile(rf"[-=]>|→|[,&]|{_TOKEN.pattern}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Normalised sentence: word counts, and the tokens that distinguish it."""

    words: dict[str, int]
    telling: frozenset[str]  # numbers, names of code, denials, actions
    length: int  # words
    goes_on: bool = False  # follows a dash and adds to what precedes it


def joined(sentences: Sequence[Sentence]) -> Sentence:
    words: dict[str, int] = {}
    for sentence in sentences:
        for word, times in sentence.words.items():
            words[word] = words.get(word, 0) + times
    telling = frozenset[str]().union(*(sentence.telling for sentence in sentences))
    return Sentence(words, telling, sum(words.values()) + sum(word not in words for word in telling))


def sentences_of(memory: Memory) -> tuple[Sentence, ...]:
    read = (_sentence(piece, goes_on=place > 0) for pieces in _pieces(memory) for place, piece in enumerate(pieces))
    return tuple(one for one in read if one is not None)


def _pieces(memory: Memory) -> Iterator[list[str]]:
    """Yield the parts of each sentence between its dashes."""
    return (_DASH.split(part) for part in split_at_stops(_plain(_text(memory))))


def _text(memory: Memory) -> str:
    text = memory.content.strip()
    if not text.startswith(memory.title.strip().rstrip("…")):
        text = f"{memory.title}\n{text}"
    return _OF_GIT.sub("", text[:READ].replace("\r\n", "\n"))


def _plain(text: str) -> str:
    text = text.replace("’", "'").replace("“", '"').replace("”", '"')
    text = _SHORTENED.sub(lambda match: "without " if match[1] else "with ", text)
    text = _APART.sub(lambda match: PHRASES[match[0].lower()], text)
    text = re.sub(r"\bcan't\b|\bcan not\b", "cannot", text, flags=re.IGNORECASE)
    text = re.sub(r"n't\b", " not", text, flags=re.IGNORECASE)
    return _MARKUP.sub(lambda match: match[1] or match[3] or "", text)


def _sentence(text: str, *, goes_on: bool) -> Sentence | None:
    words: dict[str, int] = {}
    telling: list[str] = []
    for tells, said in _tokens(text):
        if tells:
            telling += (f"{word} again" if word == "revert" and word in telling else word for word in said)
        if not tells or TELLING.issuperset(said):
            for word in said:
                words[word] = words.get(word, 0) + 1
    distinct = frozenset(telling) if telling else NOTHING
    length = sum(words.values()) + sum(word not in words for word in distinct)
    return Sentence(words, distinct, length, goes_on) if length else None


def _tokens(text: str) -> Iterator[tuple[bool, tuple[str, ...]]]:
    return (_read(match[0].rstrip(".:-")) for match in _TOKEN.finditer(text))


@lru_cache(maxsize=1 << 15)
def _read(token: str) -> tuple[bool, tuple[str, ...]]:
    """Return if a token is distinguishing, and its normalised words.

    Strings are interned and results cached: there are many of them.
    """
    lower = token.lower()
    if _DENIAL.match(lower):
        return True, ("not",)
    if _REVERTED.match(lower):
        return True, ("revert",)
    if _NUMBER.match(token) or (_CODE.search(token) and not _is_shouted(token)) or lower.count("-") > 1:
        return True, (intern(lower),)
    if token[:1] in "<>=~^":
        return True, (token,)
    if lower in STATEMENT_STOP_WORDS and lower not in _NOT_STOPPED:
        return False, ()
    said = tuple(intern(meaning(word)) for word in ABBREVIATIONS.get(lower, lower).replace("-", " ").split())
    return TELLING.issuperset(said), said


def _is_shouted(token: str) -> bool:
    """Return True if a word is merely written in capitals."""
    return token.isalpha() and token.isupper()


def scope_of(memory: Memory) -> frozenset[str]:
    """Return the words before the colon of a title.

    They name the part of the project that it concerns.
    """
    found = _SCOPE.match(memory.title)
    return frozenset(word for _, said in _tokens(found[1]) for word in said) if found else NOTHING


def is_name(word: str) -> bool:
    """Return True if a distinguishing token names code or a pull request."""
    return word[0] == "#" or not (_NUMBER.match(word) or _FILE.search(word))


def forget() -> None:
    """Clear the token caches: some megabytes, scattered over memory."""
    _read.cache_clear()
    stem_statement.cache_clear()


def is_begun_in(one: Memory, other: Memory) -> bool:
    """Return True if `other` contains the first sentence of `one` word by word.

    Sentence ends are ignored; the text is treated as circular, so a match may wrap from its end to its beginning.
    """
    begin = next(filter(None, _said(one)), [])
    said = [word for words in _said(other) for word in words]
    again = said + said[: len(begin)]
    return any(again[place : place + len(begin)] == begin for place in range(len(said)))


def _said(memory: Memory) -> Iterator[list[str]]:
    for pieces in _pieces(memory):
        for piece in pieces:
            yield [word for _, said in _tokens(piece) for word in said]


def turned_round(one: Memory, other: Memory) -> bool:
    """Return True if the same words in another order mean another thing.

    "tabs instead of spaces" and "spaces instead of tabs".
    """
    mine, others = (_Order(memory) for memory in (one, other))
    if any((last, middle, first) in others.steps - mine.steps for first, middle, last in mine.steps - others.steps):
        return True
    return any(
        turning == again and after in before_there and there in before_after
        for (turning, after), before_after in mine.turns.items()
        for (again, there), before_there in others.turns.items()
        if (turning, after) not in others.turns and (again, there) not in mine.turns
    )


class _Order:
    """Order of words in the clauses of a text."""

    def __init__(self, memory: Memory) -> None:
        self.steps: set[tuple[str, str, str]] = set()  # three words in a row
        self.turns: dict[tuple[str, str], set[str]] = {}  # (turning word, next word) → words before
        for clause in _clauses(memory):
            self.steps |= {
                (first, middle, last)
                for (first, middle), (_, last) in pairwise(pairwise(clause))
                if _SERIES.isdisjoint((first, middle, last))
            }
            for place, (word, after) in enumerate(pairwise(clause)):
                if word in _TURNING:
                    self.turns.setdefault((word, after), set()).update(clause[:place])


def _clauses(memory: Memory) -> Iterator[list[str]]:
    for part in split_at_stops(_plain(_text(memory))):
        tokens = [match[0].rstrip(".:-") or match[0] for match in _STEP.finditer(part)]
        every = not _ARROWS.isdisjoint(tokens)  # beside an arrow even a stop word is a name
        clause: list[str] = []
        for token in tokens:
            lower = token.lower()
            whole = lower in _TURNING or lower in _SERIES
            clause += (lower,) if whole else _read(token)[1] or ((lower,) if every else ())
        yield clause
