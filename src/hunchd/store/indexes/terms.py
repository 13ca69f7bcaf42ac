"""Terms in texts and queries: lowercase words without accents, stemmed and hashed.

The rules are the same as in the database's full-text index, so that both find the same texts: English stems
(Snowball), no stop words, no words of more than 64 characters. Whenever the rules are changed, `RULES_VERSION` must be
increased.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from hunchd.text.scripts import find_words, normalize_letters
from hunchd.text.stemming import stem_english
from hunchd.text.words import INDEX_STOP_WORDS, fold_diacritics

RULES_VERSION: Final = 3
LONGEST_WORD: Final = 64  # characters
# Words whose stems are cached: nine in ten words of a long history, in 4 MB.
_STEM_CACHE_SIZE: Final = 1 << 14
# Stop words that are stems: words are compared after stemming.
_STOP_STEMS: Final = frozenset(word for word in INDEX_STOP_WORDS if stem_english(word) == word)


def count_terms(text: str) -> dict[int, int]:
    """Return the terms in `text` with their counts."""
    counts: dict[int, int] = {}
    for word, times in Counter(find_words(normalize_letters(text).lower())).items():
        if term := term_of(word):
            counts[term] = counts.get(term, 0) + times
    return counts


def clear_stem_cache() -> None:
    """Clear the cache of stems, which grows large when many texts are indexed."""
    term_of.cache_clear()


@lru_cache(maxsize=_STEM_CACHE_SIZE)
def term_of(word: str) -> int:
    """Return the hashed stem of a lowercase word, or 0 if it is not a term."""
    if len(word) > LONGEST_WORD:
        return 0
    root = stem_english(fold_diacritics(word))
    if root in _STOP_STEMS:
        return 0
    digest = blake2b(root.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
