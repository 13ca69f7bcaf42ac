"""The words a text is found by: what the full-text index is given, and what a question is turned into."""

from __future__ import annotations

import re
from typing import Final

# Longer texts are found by their beginning: an index entry per word of a megabyte costs more than it ever finds.
LONGEST_TEXT: Final = 200_000  # characters
# A question longer than this is pasted text; its first different words say what it is about.
LONGEST_QUESTION: Final = 32  # words

# The Natural Language Toolkit's list: what these words are found in has nothing to do with what is asked.
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
    """What a word-by-word index misses, in order and once each: `getUserName` is also get, user and name,
    and an unspaced script is also its pairs of characters."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text):
        if word.isascii():
            if word.isalpha() and (word[1:].islower() or len(word) == 1):  # nearly all are in one piece
                continue
            pieces = _PART.findall(word)
            if len(pieces) > 1:
                found.update(dict.fromkeys(piece.lower() for piece in pieces if len(piece) > 1))
        else:
            for run in _CJK.findall(word):
                found.update(dict.fromkeys(run[at : at + 2] for at in range(max(1, len(run) - 1))))
    return list(found)


def index_text(*texts: str | None) -> str:
    """What the full-text index is given for these texts."""
    whole = "\n".join(text for text in texts if text)[:LONGEST_TEXT]
    return "\n".join(filter(None, (whole, " ".join(parts(whole)))))


def question(text: str) -> str:
    """`text` as the full-text index is asked: different words only, with their parts, not more than it can use."""
    words = dict.fromkeys(_WORD.findall(text))
    asked = list(words)[:LONGEST_QUESTION]
    return " ".join(dict.fromkeys([*asked, *parts(" ".join(asked))]))
