"""Chunking of long texts for search.

Whole paragraphs under their headings, at most 500 tokens each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hunchd.assembly.tokens import count

MOST: Final = 500  # tokens per chunk: one to five paragraphs
_HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*\s*$")
_PARAGRAPHS: Final = re.compile(r"((?:[^\n]|\n(?!\s*\n))*(?:\n\s*\n|\n\s*$|$))")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Chunk of a text.

    `heading` is the path of its sections, outermost first.
    """

    text: str
    heading: str = ""


def chunks_of(text: str, *, most: int = MOST) -> list[Chunk]:
    """Split `text` into chunks of at most `most` tokens.

    Joined they equal `text`.
    """
    chunks: list[Chunk] = []
    gathered, heading, path = "", "", list[tuple[int, str]]()
    for paragraph in _paragraphs(text):
        found = _HEADING.match(paragraph.strip().partition("\n")[0])
        if found is not None and gathered.strip():
            chunks.append(Chunk(gathered, heading))
            gathered = ""
        if found is not None:
            path = [one for one in path if one[0] < len(found[1])] + [(len(found[1]), found[2])]
            heading = " › ".join(name for _, name in path)
        if gathered and count(gathered + paragraph) > most:
            chunks.append(Chunk(gathered, heading))
            gathered = ""
        *full, gathered = _within(gathered + paragraph, most)
        chunks += [Chunk(part, heading) for part in full]
    if gathered:
        chunks.append(Chunk(gathered, heading))
    return chunks


def _paragraphs(text: str) -> Iterator[str]:
    return (found for found in _PARAGRAPHS.findall(text) if found)


def _within(text: str, most: int) -> list[str]:
    """Split `text` into parts of at most `most` tokens.

    Cuts are at line ends, else at sentences, at words, or anywhere.
    """
    if count(text) <= most:
        return [text]
    middle = len(text) // 2
    for mark in ("\n", ". ", " "):
        before = text.rfind(mark, 1, middle + len(mark))
        after = text.find(mark, middle, len(text) - len(mark))
        cuts = [at + len(mark) for at in (before, after) if at > 0]
        places = [at for at in cuts if text[:at].strip() and text[at:].strip()]  # no part may be blank
        if places:
            cut = min(places, key=lambda at: abs(at - middle))
            break
    else:
        cut = middle
    return [*_within(text[:cut], most), *_within(text[cut:], most)]
