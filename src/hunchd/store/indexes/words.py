"""Tokenization for the full-text index and its queries."""

from __future__ import annotations

import re
from typing import Final

# Only the beginning of longer texts is indexed: entries for every word of a megabyte cost more than they find.
LONGEST_TEXT: Final = 200_000  # characters
# A query longer than this is pasted text; its first distinct words tell its topic.
LONGEST_QUESTION: Final = 32  # words

# Stop words, the list of the Natural Language Toolkit.
EMPTY: Final = frozenset(
    """
    a about above after again against ain all am an and any are aren as at be because been before being below between
    both but by can couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn
    have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m ma me
    mightn more most mustn my myself needn no nor not now o of off on once only or other our ours ourselves out over
    own re s same shan she should shouldn so some such t than that the their theirs them themselves then there these
    they this those through to too under until up ve very was wasn we were weren what when where which while who whom
    why will with won wouldn y you your yours yourself yourselves
    """.split()  # noqa: SIM905 - a list of words is read as words
)

_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def parts(text: str) -> list[str]:
    """Return distinct subwords that a word index misses, in order.

    `getUserName` contains get, user and name; text without spaces (CJK) is split into pairs of characters.
    """
    found: dict[str, None] = {}
    for word in _WORD.findall(text):
        if word.isascii():
            if word.isalpha() and (word[1:].islower() or len(word) == 1):  # most words are not compound
                continue
            pieces = _PART.findall(word)
            if len(pieces) > 1:
                found.update(dict.fromkeys(piece.lower() for piece in pieces if len(piece) > 1))
        else:
            for run in _CJK.findall(word):
                found.update(dict.fromkeys(run[at : at + 2] for at in range(max(1, len(run) - 1))))
    return list(found)


def index_text(*texts: str | None) -> str:
    """Return the content of the full-text index for these texts."""
    whole = "\n".join(text for text in texts if text)[:LONGEST_TEXT]
    return "\n".join(filter(None, (whole, " ".join(parts(whole)))))


def question(text: str) -> str:
    """Return the full-text query for `text`: distinct words with their subwords, truncated."""
    words = dict.fromkeys(_WORD.findall(text))
    asked = list(words)[:LONGEST_QUESTION]
    return " ".join(dict.fromkeys([*asked, *parts(" ".join(asked))]))
