"""Splitting of texts into sentences.

Whether a full stop ends a sentence depends on its surroundings, and the rules depend on the kind of text. A
conversation is not wrapped and closes its quotations; prose is wrapped and has lists; a commit message may have no
capitals; and for statements that are compared with each other, splitting too often does less harm than splitting
too rarely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONG: Final = 50  # characters: after a sentence of this length the next one may begin in lower case

_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_WORD_ENDS = re.compile(r"\b[a-z]{4,}[.!?]$")
# Full stops that end no sentence: abbreviations, initials, ellipses.
_GOES_ON = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|incl|resp|approx)|\.\.|(?:^|\s)[A-Z])\.$")
_IN_PROSE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|\n\s*\n|\n\s*(?:[-*+•]|\d+[.)])\s+")
_ANY_STOP = re.compile(r"(?<=[\w)\]\"'%])[.!?;]+(?:\s+|$)|\n+")


def split_paragraph(paragraph: str) -> Iterator[str]:
    """Split a paragraph, given as one line in any script, into sentences.

    A sentence end followed by a lower-case letter is ignored, except after a long sentence, because some authors
    write no capitals.
    """
    sentence = last = ""  # the last part shows how a sentence ends
    for part in _ENDS.split(paragraph):
        begins = part and (not part[0].islower() or (len(sentence) >= LONG and _WORD_ENDS.search(last)))
        if sentence and begins and not _GOES_ON.search(last):
            yield sentence
            sentence = part
        else:
            sentence = f"{sentence} {part}".strip()
        last = part or last
    if sentence:
        yield sentence


def split_prose(text: str) -> list[str]:
    """Split wrapped prose into sentences.

    A sentence begins with a capital, code or a quotation, after a blank line, or at a list marker. The full stop of an
    abbreviation such as "e.g." ends no sentence.
    """
    sentences: list[str] = []
    for part in _IN_PROSE.split(text):
        if sentences and _GOES_ON.search(sentences[-1]):
            sentences[-1] += f" {part}"
        else:
            sentences.append(part)
    return sentences


def split_at_stops(text: str) -> list[str]:
    """Split text at every full stop and semicolon that ends a word."""
    return _ANY_STOP.split(text)
