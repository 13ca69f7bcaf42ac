"""Tokenization of texts for the full-text index, and of queries."""

from __future__ import annotations

from typing import Final

from hunchd.text.identifiers import find_subwords
from hunchd.text.scripts import find_words, normalize_letters

# Only the beginning of longer texts is indexed: entries for every word of a megabyte cost more than they find.
MAX_INDEXED_CHARACTERS: Final = 200_000  # characters
# A query longer than this is pasted text; its first distinct words tell its topic.
MAX_QUERY_WORDS: Final = 32  # words


def build_index_text(*texts: str | None) -> str:
    """Return the text to put into the full-text index for these texts.

    It consists of the texts and the subwords of their compound words.
    """
    whole = normalize_letters("\n".join(text for text in texts if text)[:MAX_INDEXED_CHARACTERS])
    return "\n".join(filter(None, (whole, " ".join(find_subwords(whole)))))


def build_query_text(text: str) -> str:
    """Return the full-text query for `text`.

    The query consists of the distinct words in `text` and their subwords; it is truncated if it is too long.
    """
    words = dict.fromkeys(find_words(normalize_letters(text)))
    query_words = list(words)[:MAX_QUERY_WORDS]
    return " ".join(dict.fromkeys([*query_words, *find_subwords(" ".join(query_words))]))
