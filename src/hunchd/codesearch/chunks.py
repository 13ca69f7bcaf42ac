"""Splitting of a file into chunks, one for each definition or section.

A span is the range of lines of a chunk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from hunchd.codesearch.cards import build_card
from hunchd.codesearch.terms import count_terms, hash_name, split_path_words
from hunchd.domain.code import FileOutline, Symbol

# Weights of the fields of BM25F (Robertson et al., 2004), as whole numbers.
NAME: Final = 5
SIGNATURE: Final = 2
DOC: Final = 2
PATH: Final = 4
CONTAINER: Final = 1
BODY: Final = 1

WINDOW: Final = 60  # lines in a chunk if the file defines nothing
LEAST_LINES: Final = 3  # a shorter definition belongs to the chunk around it
MOST_CHUNKS: Final = 1_500  # of one file
LONGEST_CHUNK: Final = 400  # lines that are read of one chunk
MOST_TF: Final = 255
_KINDS = frozenset({"function", "method", "class", "struct", "interface", "trait", "enum", "union", "macro", "heading"})
# How much a definition counts when its name is searched for: a type more than a function, a function more than a field.
_WORTH = dict.fromkeys(("class", "struct", "interface", "trait", "enum", "union", "type", "module"), 4) | dict.fromkeys(
    ("function", "method", "macro"), 2
)
_CONSTANTS = frozenset({"constant", "variable"})
MOST_LISTED: Final = 4  # constants in the title of a run of them
TOP_LEVEL: Final = 1  # added for a symbol that no other contains
_COMMENT = re.compile(r"\s*(?:///?|//!|#(?!include|define|if|end|el|pragma|un)|/?\*|--|;;|@|\[|\"\"\")")
# A test among the sources is marked by an attribute or annotation above it, or by the module that contains it.
_TEST_MARK = re.compile(r"\s*(?:#\[(?:\w+::)*test\b|#\[cfg\(test\)\]|@(?:Test|ParameterizedTest)\b)")
_TEST_MODULE: Final = re.compile(r"tests?$")
TEST: Final = "test"  # kind of a chunk
_DOC_BLOCK = re.compile(r"\s*@(?:module|type)?doc\b")  # documentation in Elixir, which may contain blank lines
_COMMENT_LINE = re.compile(r"\s*(?://|/?\*|#|--|;;|<!--|%|\"\"\")")
_LICENCE = re.compile(r"(?i)copyright|licen[sc]ed? |spdx|all rights reserved")
MOST_LICENCE: Final = 40  # lines
_FAR: Final = 80  # lines above a definition that are searched for its comment


class ChunkClass(IntEnum):
    """Class of a chunk, which decides its weight for a question; the index stores the numbers of the members."""

    CODE = 0
    TEST = 1
    LIST = 2  # constants, enumerations, tables
    NAMELESS = 3  # imports and other lines between definitions


CLASSES: Final = {"": ChunkClass.NAMELESS, TEST: ChunkClass.TEST} | dict.fromkeys(
    ("constant", "variable", "enum", "field"), ChunkClass.LIST
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Range of lines, counted from 1, with weighted term counts."""

    name: str
    kind: str  # kind of the symbol; "" for a range of lines that defines nothing
    title: str  # one line: the signature, or the heading
    container: str
    start: int
    end: int
    line: int  # of the definition itself, below its comment
    terms: tuple[int, ...]
    weights: tuple[int, ...]
    card: str  # what the model reads


@dataclass(frozen=True, slots=True)
class _Span:
    symbol: Symbol | None
    start: int
    end: int


def build_chunks(outline: FileOutline, text: str) -> tuple[Chunk, ...]:
    """Split `text` into chunks by its `outline`."""
    lines = text.splitlines()
    if not lines:
        return ()
    spans = _find_spans(outline, lines)
    spans = sorted([*spans, *_group_constants(outline, spans, lines)], key=lambda span: span.start)[:MOST_CHUNKS]
    path = count_terms(split_path_words(outline.path))
    if not spans:
        spans = [_Span(None, at + 1, min(at + WINDOW, len(lines))) for at in range(0, len(lines), WINDOW)]
    owner = _find_owners(spans, len(lines))
    tests = _find_test_lines(spans, lines)
    small = _find_small_definitions(outline, spans, owner)
    rest = [number for number, own in enumerate(owner) if own < 0 and lines[number].strip()]
    rest = rest[_count_licence_lines(lines, rest) :]
    own_lines: dict[int, list[int]] = {}
    for number, own in enumerate(owner):
        own_lines.setdefault(own, []).append(number)
    chunks = [
        _build_chunk(
            outline.path,
            span,
            [lines[n] for n in own_lines.get(at, ())[:LONGEST_CHUNK]],
            path,
            small.get(at, ()),
            is_test=at in tests,
        )
        for at, span in enumerate(spans)
    ]
    if rest and spans[0].symbol is not None:
        head = _Span(None, rest[0] + 1, _find_first_block_end(rest))
        head_lines = [outline.doc, *(lines[n] for n in rest[:LONGEST_CHUNK])]
        chunks.append(_build_chunk(outline.path, head, head_lines, path, small.get(-1, ())))
    return tuple(chunks)


def _find_spans(outline: FileOutline, lines: Sequence[str]) -> list[_Span]:
    """Return the spans of the chunks, ordered by start."""
    symbols = [symbol for symbol in outline.symbols if 0 < symbol.line <= len(lines)]
    flat = all(symbol.end_line <= symbol.line for symbol in symbols)  # no grammar says where they end
    flat = flat and any(symbol.kind not in _CONSTANTS for symbol in symbols)
    spans: list[_Span] = []
    for at, symbol in enumerate(symbols):
        above = symbols[at - 1].line if at else 0
        if flat:
            start = symbol.line if symbol.kind == "heading" else _find_comment_start(lines, symbol.line, above)
            spans.append(_Span(symbol, start, len(lines)))
        elif symbol.end_line - symbol.line + 1 >= LEAST_LINES or symbol.kind in _KINDS:
            end = min(symbol.end_line, len(lines))
            spans.append(_Span(symbol, _find_comment_start(lines, symbol.line, above), end))
    if flat and spans:
        ends = [*(span.start - 1 for span in spans[1:]), len(lines)]
        spans = [_Span(one.symbol, one.start, max(one.start, end)) for one, end in zip(spans, ends, strict=True)]
        if spans[0].start > 1:
            spans.insert(0, _Span(None, 1, spans[0].start - 1))
    return spans


def _group_constants(outline: FileOutline, spans: Sequence[_Span], lines: Sequence[str]) -> list[_Span]:
    """Return a span for each run of small top-level constants; outside an indented block, a blank line ends a run."""
    owner = _find_owners(spans, len(lines))
    runs: list[list[Symbol]] = []
    for symbol in outline.symbols:
        is_constant = symbol.kind in _CONSTANTS and not symbol.container and symbol.name != "_"
        if is_constant and 0 < symbol.line <= len(lines) and owner[symbol.line - 1] < 0:
            between = lines[runs[-1][-1].end_line : symbol.line] if runs else [""]
            if (
                not (all(map(str.strip, between)) or all(line[:1].isspace() or not line for line in between))
                or not runs
            ):
                runs.append([])
            runs[-1].append(symbol)
    return [_build_run(run, lines) for run in runs]


def _build_run(run: Sequence[Symbol], lines: Sequence[str]) -> _Span:
    start, end = _find_comment_start(lines, run[0].line, 0), run[-1].end_line
    if start > 1 and lines[start - 2].rstrip().endswith(("(", "{")):  # the line that opens the block
        start = _find_comment_start(lines, start - 1, 0)
    if len(run) == 1:
        return _Span(run[0], start, end)
    title = ", ".join([*(one.name for one in run[:MOST_LISTED]), *["…"][: len(run) - MOST_LISTED]])
    return _Span(Symbol(run[0].name, "constant", start, end, title), start, end)


def _find_comment_start(lines: Sequence[str], line: int, above: int) -> int:
    """Return the first line of the comment above a definition.

    Annotations count as part of the comment. Returns `line` if there is no comment. Lines up to `above` belong to
    the previous definition.
    """
    start = line
    lowest = max(above, line - 1 - _FAR)
    while start - 1 > lowest and _COMMENT.match(lines[start - 2]):
        start -= 1
    for at in range(start - 1, lowest, -1):
        if _DOC_BLOCK.match(lines[at - 1]):
            return at
    return start


def _find_owners(spans: Sequence[_Span], count: int) -> list[int]:
    """Return the innermost span, or -1, of each line."""
    owner = [-1] * count
    for at, span in sorted(enumerate(spans), key=lambda one: (one[1].start, -one[1].end)):
        owner[span.start - 1 : span.end] = [at] * (min(span.end, count) - span.start + 1)
    return owner


def _find_test_lines(spans: Sequence[_Span], lines: Sequence[str]) -> set[int]:
    """Return the indexes of the spans that are tests."""
    test_lines: set[int] = set()
    ends = 0  # end of the test module that contains the span
    for at, span in enumerate(spans):
        symbol = span.symbol
        if symbol is None:
            continue
        has_test_mark = any(_TEST_MARK.match(line) for line in lines[span.start - 1 : symbol.line])
        if symbol.kind == "module" and (has_test_mark or _TEST_MODULE.match(symbol.name)):
            ends = max(ends, span.end)
        if has_test_mark or span.end <= ends:
            test_lines.add(at)
    return test_lines


def _find_small_definitions(
    outline: FileOutline, spans: Sequence[_Span], owner: Sequence[int]
) -> dict[int, list[Symbol]]:
    """Return the definitions without a separate chunk, by containing span."""
    own = {id(span.symbol) for span in spans}
    symbols_by_line: dict[int, list[Symbol]] = {}
    for symbol in outline.symbols:
        if id(symbol) not in own and 0 < symbol.line <= len(owner):
            symbols_by_line.setdefault(owner[symbol.line - 1], []).append(symbol)
    return symbols_by_line


def _build_chunk(
    path: str,
    span: _Span,
    lines: Sequence[str],
    path_terms: Counter[int],
    small: Sequence[Symbol],
    *,
    is_test: bool = False,
) -> Chunk:
    symbol = span.symbol
    counts: Counter[int] = Counter()
    fields = [(BODY, "\n".join(lines)), (SIGNATURE, " ".join(one.name for one in small))]
    if symbol is not None:
        title = symbol.signature if symbol.kind != "heading" else symbol.name
        fields += [(NAME, symbol.name), (CONTAINER, symbol.container), (SIGNATURE, title), (DOC, symbol.doc)]
    for weight, text in fields:
        for term, times in count_terms(text).items():
            counts[term] += weight * times
    for term, times in path_terms.items():
        counts[term] += PATH * times
    for one in (*small, *([symbol] if symbol is not None and symbol.kind != "heading" else ())):
        counts[hash_name(one.name)] += _rate_symbol(one)
    name, container = (symbol.name, symbol.container) if symbol else ("", "")
    return Chunk(
        name=name,
        kind=TEST if is_test else symbol.kind if symbol else "",
        title=(symbol.signature or symbol.name) if symbol else "",
        container=container,
        start=span.start,
        end=span.end,
        line=symbol.line if symbol else span.start,
        terms=tuple(counts),
        weights=tuple(min(weight, MOST_TF) for weight in counts.values()),
        card=build_card(path, container, name, lines),
    )


def _rate_symbol(symbol: Symbol) -> int:
    return _WORTH.get(symbol.kind, 1) + (0 if symbol.container else TOP_LEVEL)


def _count_licence_lines(lines: Sequence[str], rest: Sequence[int]) -> int:
    """Return the number of leading lines in a licence comment.

    Returns 0 if there is no such comment. `rest` contains the indexes of the non-blank lines that are in no span.
    """
    count = 0
    for at, number in enumerate(rest[:MOST_LICENCE]):
        if number != rest[0] + at or not _COMMENT_LINE.match(lines[number]):
            break
        count = at + 1
    return count if _LICENCE.search("\n".join(lines[number] for number in rest[:count])) else 0


def _find_first_block_end(rest: Sequence[int]) -> int:
    """Return the last line before the first three blank lines."""
    end = rest[0]
    for number in rest:
        if number > end + 3:
            break
        end = number
    return end + 1
