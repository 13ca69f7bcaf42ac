"""Normalisation of memory texts, so that they can be compared.

The result is a list of sentences with their words and distinguishing tokens; the order of the words can be compared
as well. Synonyms, inflections and spelling variants of a word become one word. These are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import Final

from hunchd.consolidation.duplicates.synonyms import (
    ABBREVIATIONS,
    DISTINGUISHING_WORDS,
    PHRASE_SYNONYMS,
    normalize_word,
)
from hunchd.domain.memory import Memory
from hunchd.text.sentences import split_at_stops
from hunchd.text.stemming import stem_statement
from hunchd.text.words import STATEMENT_STOP_WORDS

MAX_CHARACTERS: Final = 4_000  # characters of a text that are read

_MARKUP: Final = re.compile(
    r"\[([^\]\n]+)\]\([^)\n]*\)|(?<!\d\.)[*`~]+|(?<![\w.])(_{1,2})(\S|\S[^_\n]*\S)\2(?!\w)|^\s*(?:#+|>+|[-+•]|\d+[.)])\s+",
    re.MULTILINE,
)
_DASH: Final = re.compile(r"\s+[-–—]{1,2}\s+")
_TOKEN: Final = re.compile(r"v?\d[\w.]*\.\*|[\w@#][\w@./:#+-]*\w|\w|[<>=~^]=?(?=\s?v?\d)")
_NUMBER: Final = re.compile(r"^[#v]?\d[\w.+-]*$|^[0-9a-f]{7,40}$|^\w*\d+(?:\.\d+)+\w*$", re.IGNORECASE)
_CODE: Final = re.compile(r"[_/@\\]|\w\.\w|::|\(\)|[a-z][A-Z]|[A-Z]{2,}[a-z]|\d")
_MEANINGFUL_STOP_WORDS: Final = frozenset(
    ("before", "after", "on", "off", "avoid", "over", "under", "each", "all", "only", "more", "another", "again")
)
# Files, which are updated many times, and words such as "flake8-reported" are no names.
_FILE: Final = re.compile(
    r"[/-]|\.(?:cfg|c|cc|cpp|css|go|h|html|in|ini|java|jsx?|json|lock|md|py|rb|rs|rst|sh|toml|tsx?|txt|ya?ml)$"
)
_REVERT: Final = re.compile(r"^(?:revert(?:s|ed|ing)?|undo(?:es|ne)?|fixup)$")
_WITH_ABBREVIATION: Final = re.compile(r"(?<!\w)w/(o\b)? ?", re.IGNORECASE)
_PHRASE: Final = re.compile(rf"\b(?:{'|'.join(PHRASE_SYNONYMS)})\b", re.IGNORECASE)
EMPTY: Final = frozenset[str]()
_DENIAL: Final = re.compile(r"^(?:not|no|never|none|without|cannot|nor|neither)$")
# The texts before and after these words have different roles: "from 10 to 30", "tabs instead of spaces".
_ARROWS: Final = frozenset(("->", "=>", "→"))
_ROLE_WORDS: Final = _ARROWS | frozenset(
    "to into from with by on over than instead before after as for under within above below".split()  # noqa: SIM905
)
_LIST_WORDS: Final = frozenset((",", "&", "and", "or"))  # the order around these does not matter
_ORDER_TOKEN: Final = re.compile(rf"[-=]>|→|[,&]|{_TOKEN.pattern}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Normalised sentence with its word counts and distinguishing tokens.

    Distinguishing tokens, such as numbers and names in code, must be the same in two sentences that say the same.
    """

    words: dict[str, int]
    distinguishing: frozenset[str]  # numbers, names in code, denials, actions
    length: int  # words


def join_sentences(sentences: Sequence[Sentence]) -> Sentence:
    words: dict[str, int] = {}
    for sentence in sentences:
        for word, times in sentence.words.items():
            words[word] = words.get(word, 0) + times
    distinguishing = frozenset[str]().union(*(sentence.distinguishing for sentence in sentences))
    return Sentence(words, distinguishing, sum(words.values()) + sum(word not in words for word in distinguishing))


def parse_sentences(memory: Memory) -> tuple[Sentence, ...]:
    return tuple(one for piece in _split_pieces(memory) if (one := _parse_sentence(piece)) is not None)


def _split_pieces(memory: Memory) -> Iterator[str]:
    """Yield the sentences of a memory; a dash ends a sentence."""
    return (piece for part in split_at_stops(_normalize(_read_text(memory))) for piece in _DASH.split(part))


def _read_text(memory: Memory) -> str:
    text = memory.content.strip()
    if not text.startswith(memory.title.strip().rstrip("…")):
        text = f"{memory.title}\n{text}"
    return text[:MAX_CHARACTERS].replace("\r\n", "\n")


def _normalize(text: str) -> str:
    text = text.replace("’", "'").replace("“", '"').replace("”", '"')
    text = _WITH_ABBREVIATION.sub(lambda match: "without " if match[1] else "with ", text)
    text = _PHRASE.sub(lambda match: PHRASE_SYNONYMS[match[0].lower()], text)
    text = re.sub(r"\bcan't\b|\bcan not\b", "cannot", text, flags=re.IGNORECASE)
    text = re.sub(r"n't\b", " not", text, flags=re.IGNORECASE)
    return _MARKUP.sub(lambda match: match[1] or match[3] or "", text)


def _parse_sentence(text: str) -> Sentence | None:
    words: dict[str, int] = {}
    distinguishing_words: list[str] = []
    for is_distinguishing, token_words in _iter_tokens(text):
        if is_distinguishing:
            distinguishing_words += (
                f"{word} again" if word == "revert" and word in distinguishing_words else word for word in token_words
            )
        if not is_distinguishing or DISTINGUISHING_WORDS.issuperset(token_words):
            for word in token_words:
                words[word] = words.get(word, 0) + 1
    distinct = frozenset(distinguishing_words) if distinguishing_words else EMPTY
    length = sum(words.values()) + sum(word not in words for word in distinct)
    return Sentence(words, distinct, length) if length else None


def _iter_tokens(text: str) -> Iterator[tuple[bool, tuple[str, ...]]]:
    return (_parse_token(match[0].rstrip(".:-")) for match in _TOKEN.finditer(text))


@lru_cache(maxsize=1 << 15)
def _parse_token(token: str) -> tuple[bool, tuple[str, ...]]:
    """Return whether a token is distinguishing, and its normalised words.

    The words are interned and the results cached, because there are many tokens.
    """
    lower = token.lower()
    if _DENIAL.match(lower):
        return True, ("not",)
    if _REVERT.match(lower):
        return True, ("revert",)
    if _NUMBER.match(token) or (_CODE.search(token) and not _is_all_caps(token)) or lower.count("-") > 1:
        return True, (intern(lower),)
    if token[:1] in "<>=~^":
        return True, (token,)
    if lower in STATEMENT_STOP_WORDS and lower not in _MEANINGFUL_STOP_WORDS:
        return False, ()
    words = tuple(intern(normalize_word(word)) for word in ABBREVIATIONS.get(lower, lower).replace("-", " ").split())
    return DISTINGUISHING_WORDS.issuperset(words), words


def _is_all_caps(token: str) -> bool:
    """Return True if a token is an ordinary word written in capitals."""
    return token.isalpha() and token.isupper()


def is_name(word: str) -> bool:
    """Return True if a distinguishing token is a name.

    Names are those in code, and pull request numbers.
    """
    return word[0] == "#" or not (_NUMBER.match(word) or _FILE.search(word))


def clear_caches() -> None:
    """Clear the token caches, which occupy several megabytes and fragment memory."""
    _parse_token.cache_clear()
    stem_statement.cache_clear()


def contains_beginning(one: Memory, other: Memory) -> bool:
    """Return True if `other` contains the first sentence of `one` word for word.

    Sentence ends are ignored. The text of `other` is treated as circular, so a match may wrap from its end to its
    beginning.
    """
    beginning = next(filter(None, _iter_piece_words(one)), [])
    other_words = [word for words in _iter_piece_words(other) for word in words]
    circular = other_words + other_words[: len(beginning)]
    return any(circular[place : place + len(beginning)] == beginning for place in range(len(other_words)))


def _iter_piece_words(memory: Memory) -> Iterator[list[str]]:
    for piece in _split_pieces(memory):
        yield [word for _, token_words in _iter_tokens(piece) for word in token_words]


def has_swapped_roles(one: Memory, other: Memory) -> bool:
    """Return True if the order of words gives two texts different meanings.

    An example is "tabs instead of spaces" and "spaces instead of tabs".
    """
    mine, others = (_WordOrder(memory) for memory in (one, other))
    if any(
        (last, middle, first) in others.trigrams - mine.trigrams
        for first, middle, last in mine.trigrams - others.trigrams
    ):
        return True
    return any(
        turning == again and after in before_there and there in before_after
        for (turning, after), before_after in mine.words_before.items()
        for (again, there), before_there in others.words_before.items()
        if (turning, after) not in others.words_before and (again, there) not in mine.words_before
    )


class _WordOrder:
    """Order of the words in the clauses of a text."""

    def __init__(self, memory: Memory) -> None:
        self.trigrams: set[tuple[str, str, str]] = set()  # three words in a row
        self.words_before: dict[tuple[str, str], set[str]] = {}  # (role word, next word) → words before them
        for clause in _iter_clauses(memory):
            self.trigrams |= {
                (first, middle, last)
                for (first, middle), (_, last) in pairwise(pairwise(clause))
                if _LIST_WORDS.isdisjoint((first, middle, last))
            }
            for place, (word, after) in enumerate(pairwise(clause)):
                if word in _ROLE_WORDS:
                    self.words_before.setdefault((word, after), set()).update(clause[:place])


def _iter_clauses(memory: Memory) -> Iterator[list[str]]:
    for part in split_at_stops(_normalize(_read_text(memory))):
        tokens = [match[0].rstrip(".:-") or match[0] for match in _ORDER_TOKEN.finditer(part)]
        keeps_stop_words = not _ARROWS.isdisjoint(tokens)  # next to an arrow, even a stop word is a name
        clause: list[str] = []
        for token in tokens:
            lower = token.lower()
            is_verbatim = lower in _ROLE_WORDS or lower in _LIST_WORDS
            clause += (lower,) if is_verbatim else _parse_token(token)[1] or ((lower,) if keeps_stop_words else ())
        yield clause
