"""Splitting of texts into words, and their normalisation."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from hunchd.text.identifiers import WORD, subwords_in
from hunchd.text.stop_words import QUESTION_STOP_WORDS

_LATIN: Final = (range(0xC0, 0x250), range(0x1E00, 0x1F00))
_LIGATURES: Final = {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "đ": "d", "ð": "d", "ħ": "h", "ł": "l", "þ": "th"}


def split_words(text: str) -> list[str]:
    """Return the runs of letters and digits in a text, as written."""
    return WORD.findall(text)


def tokenize(text: str) -> list[str]:
    """Return the lowercase words of a text, in order and with repetitions."""
    return WORD.findall(text.lower())


def terms(text: str) -> list[str]:
    """Return the distinct content words of a text.

    Words and their parts, in lower case and in order.
    """
    words = [word.lower() for word in (*WORD.findall(text), *subwords_in(text))]
    return [
        word
        for word in dict.fromkeys(words)
        if word not in QUESTION_STOP_WORDS and (len(word) > 1 or not word.isascii())
    ]


def fold_diacritics(word: str) -> str:
    """Strip the diacritics from Latin letters; in other scripts they carry meaning."""
    return word if word.isascii() else word.translate(_folding())


@lru_cache(maxsize=1)
def _folding() -> dict[int, str]:
    plain = {code: unicodedata.normalize("NFKD", chr(code))[0] for letters in _LATIN for code in letters}
    return {code: letter for code, letter in plain.items() if letter.isascii()} | {
        ord(letter): letters for letter, letters in _LIGATURES.items()
    }
