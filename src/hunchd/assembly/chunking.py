"""Splitting of long texts into chunks for search.

A chunk consists of whole paragraphs under the same headings, and has at most 500 tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hunchd.assembly.token_counter import count_tokens

MAX_CHUNK_TOKENS: Final = 500  # tokens per chunk: one to five paragraphs
_HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*\s*$")
_PARAGRAPHS: Final = re.compile(r"((?:[^\n]|\n(?!\s*\n))*(?:\n\s*\n|\n\s*$|$))")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Chunk of a longer text.

    `heading` contains the headings of the sections that surround it, outermost first.
    """

    text: str
    heading: str = ""


def split_chunks(text: str, *, max_tokens: int = MAX_CHUNK_TOKENS) -> list[Chunk]:
    """Split `text` into chunks of at most `max_tokens` tokens. Joined together, the chunks equal `text`."""
    chunks: list[Chunk] = []
    buffer, heading, path = "", "", list[tuple[int, str]]()
    for paragraph in _split_paragraphs(text):
        match = _HEADING.match(paragraph.strip().partition("\n")[0])
        if match is not None and buffer.strip():
            chunks.append(Chunk(buffer, heading))
            buffer = ""
        if match is not None:
            path = [one for one in path if one[0] < len(match[1])] + [(len(match[1]), match[2])]
            heading = " › ".join(name for _, name in path)
        if buffer and count_tokens(buffer + paragraph) > max_tokens:
            chunks.append(Chunk(buffer, heading))
            buffer = ""
        *complete_parts, buffer = _split_within(buffer + paragraph, max_tokens)
        chunks += [Chunk(part, heading) for part in complete_parts]
    if buffer:
        chunks.append(Chunk(buffer, heading))
    return chunks


def _split_paragraphs(text: str) -> Iterator[str]:
    return (paragraph for paragraph in _PARAGRAPHS.findall(text) if paragraph)


def _split_within(text: str, max_tokens: int) -> list[str]:
    """Split `text` into parts of at most `max_tokens` tokens.

    The text is cut at the end of a line if possible, otherwise at a sentence, at a word, or anywhere.
    """
    if count_tokens(text) <= max_tokens:
        return [text]
    middle = len(text) // 2
    for mark in ("\n", ". ", " "):
        before = text.rfind(mark, 1, middle + len(mark))
        after = text.find(mark, middle, len(text) - len(mark))
        cuts = [at + len(mark) for at in (before, after) if at > 0]
        places = [at for at in cuts if text[:at].strip() and text[at:].strip()]  # no part may be blank
        if places:
            cut_position = min(places, key=lambda at: abs(at - middle))
            break
    else:
        cut_position = middle
    return [*_split_within(text[:cut_position], max_tokens), *_split_within(text[cut_position:], max_tokens)]
