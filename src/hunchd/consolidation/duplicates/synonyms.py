"""Synonyms and abbreviations that developers use when they write about their work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hunchd.text.stemming import stem_statement


def _read_lines(name: str) -> list[str]:
    """Return the lines of a table that is stored beside this module."""
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()


# Short form → long form. A line of the table is `short forms: long form`.
ABBREVIATIONS: Final[Mapping[str, str]] = {
    short: long
    for shorts, _, long in (line.partition(": ") for line in _read_lines("abbreviations.txt"))
    for short in shorts.split()
}
# Phrase → one word that means the same. A line of the table is `word: phrase|phrase`.
PHRASE_SYNONYMS: Final[Mapping[str, str]] = {
    phrase: word
    for word, _, phrases in (line.partition(": ") for line in _read_lines("phrases.txt"))
    for phrase in phrases.split("|")
}
_AMERICAN: Final = re.compile(r"(?<=[a-z]{2}[iy])z(?=(?:e|ed|es|er|ers|ing|ation|ations)$)")
_BRITISH: Final = re.compile(r"^(behavi|col|fav|hon|neighb|flav|lab|endeav)our")
_DOUBLED_CONSONANT: Final = re.compile(
    r"^(cancel|channel|label|level|marshal|model|signal|total|travel|tunnel)l(?=ed|ing|er)"
)


def _stem_word(word: str) -> str:
    """Return the stem that all inflections and spellings of a word share."""
    word_stem = stem_statement(_BRITISH.sub(r"\1or", _DOUBLED_CONSONANT.sub(r"\1", word)))
    return (
        stem_statement(word_stem) if word_stem.endswith("ment") else word_stem
    )  # a stem such as "implement" is stemmed again


def _parse_synonyms(lines: list[str]) -> dict[str, str]:
    """Map each word in `lines` to the first word of its line.

    The result contains stems, not words. If a word is in several lines, the first of these lines counts.
    """
    synonyms: dict[str, str] = {}
    for line in lines:
        first, *_ = words = line.split()
        for word in words:
            synonyms.setdefault(_stem_word(word), _stem_word(first))
    return synonyms


_SYNONYMS: Final[Mapping[str, str]] = _parse_synonyms(_read_lines("synonyms.txt"))


def normalize_word(word: str) -> str:
    """Return the stem shared by a word and its synonyms."""
    for spelling in (word, _AMERICAN.sub("s", word)):
        root_stem = _stem_word(spelling)
        if root_stem in _SYNONYMS:
            break
    return _SYNONYMS.get(root_stem, root_stem)


# Fillers: adding or omitting them does not change the meaning.
FILLER_WORDS: Final = frozenset(
    _stem_word(word)
    for word in """
    change make get set do new also some properly correctly now instead ensure allow handle code
    little minor small bit thing way case work support when because several automatically currently quickly first
    simply just basically following team we our this decide note
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# Actions and repetition: if only one of two texts has them, the texts are about two pieces of work.
DISTINGUISHING_WORDS: Final = frozenset(
    normalize_word(word) for word in ("add", "remove", "test", "use", "update", "fix", "more", "another", "again")
)
