"""The terms that texts are indexed and asked by: words in lower case, without accents and endings, as numbers.

The rules are those of the database's own full-text index, so that both find the same: English stems (Snowball), empty
words left out, a word of more than 64 characters unknown. Whoever changes them raises `RULES`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from py_rust_stemmers import SnowballStemmer

from hunchd.store.indexes.words import EMPTY

RULES: Final = 2
LONGEST_WORD: Final = 64  # characters
# Words that a stem is looked up for once: nine of ten of a long history, in four megabytes.
_KNOWN: Final = 1 << 14
_WORD: Final = re.compile(r"[^\W_]+")
_STEMMER: Final = SnowballStemmer("english")
# Those of the empty words that are stems: words are looked at without their endings.
_EMPTY: Final = frozenset(word for word in EMPTY if _STEMMER.stem_word(word) == word)
_LATIN: Final = (range(0xC0, 0x250), range(0x1E00, 0x1F00))
_LIGATURES: Final = {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "đ": "d", "ð": "d", "ħ": "h", "ł": "l", "þ": "th"}


def counts_of(text: str) -> dict[int, int]:
    """The terms of `text` and how often it says each."""
    counts: dict[int, int] = {}
    for word, times in Counter(_WORD.findall(text.lower())).items():
        if term := _term(word):
            counts[term] = counts.get(term, 0) + times
    return counts


def forget_words() -> None:
    """After many texts: the memory that their words take is worth more than their stems."""
    _term.cache_clear()


@lru_cache(maxsize=_KNOWN)
def _term(word: str) -> int:
    """0: no term."""
    if len(word) > LONGEST_WORD:
        return 0
    root = _STEMMER.stem_word(word if word.isascii() else word.translate(_folding()))
    if root in _EMPTY:
        return 0
    digest = blake2b(root.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


@lru_cache(maxsize=1)
def _folding() -> dict[int, str]:
    """Latin letters with something around them, as they are without. Other scripts mean something by it."""
    plain = {code: unicodedata.normalize("NFKD", chr(code))[0] for letters in _LATIN for code in letters}
    return {code: letter for code, letter in plain.items() if letter.isascii()} | {
        ord(letter): letters for letter, letters in _LIGATURES.items()
    }
