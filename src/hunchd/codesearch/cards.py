"""Cards: short descriptions of chunks, which a model embeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from hunchd.codesearch.terms import LONGEST_RUN, split_path_words
from hunchd.text.identifiers import split_code_words

MOST_WORDS: Final = 110  # the model reads 128 word pieces
MOST_TIMES: Final = 2  # that a word is repeated
_RUN = re.compile(rf"\b\w{{1,{LONGEST_RUN}}}\b")


def build_card(path: str, container: str, title: str, lines: Iterable[str]) -> str:
    """Build the card of a chunk: the words of its path, name and lines, each at most twice."""
    counts: Counter[str] = Counter()
    words: list[str] = []
    for part in (split_path_words(path), f"{container} {title}", *lines):
        words += _take_new_words(part, counts)
        if len(words) >= MOST_WORDS:
            break
    return " ".join(words[:MOST_WORDS])


def _take_new_words(text: str, counts: Counter[str]) -> Iterator[str]:
    for run in _RUN.findall(text):
        for word in split_code_words(run):
            counts[word] += 1
            if counts[word] <= MOST_TIMES:
                yield word
