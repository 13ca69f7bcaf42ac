"""Parser that turns source files into outlines: definitions, imports and words.

This is the only module that uses tree-sitter. Whatever bytes a file contains, no function here raises an exception,
recurses or runs for long. If a file cannot be parsed as code, its outline has only words; if the file is not text,
the outline has only a size.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import re
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Range, Tree

from hunchd.domain.code import FileOutline, Symbol
from hunchd.ingestion.definitions import (
    Definition,
    SyntaxNode,
    extract_doc_line,
    extract_docstring,
    get_node_text,
    is_license_text,
    read_definition,
    render_signature,
)
from hunchd.ingestion.grammars import GRAMMARS, Grammar
from hunchd.ingestion.headings import extract_headings, extract_kubernetes_resources, split_front_matter
from hunchd.ingestion.imports import parse_imports
from hunchd.ingestion.languages import DATA_LANGUAGES, NOTEBOOK, detect_language
from hunchd.ingestion.notebooks import extract_notebook_headings, parse_notebook
from hunchd.ingestion.source_redaction import redact_source
from hunchd.ingestion.words import count_labels, count_words, list_used_names, select_informative_words

logger = logging.getLogger(__name__)

MAX_BYTES = 1_000_000  # per file; larger files are data or bundles
MAX_LINE = 10_000  # characters; such a line was not written by a person
MAX_SYMBOLS = 2000  # per file
MAX_IMPORTS = 500
CODE_DEPTH = 5  # levels of classes within classes
DATA_DEPTH = 1  # levels of keys within keys: `scripts.build`, but nothing below
PARSE_SECONDS = 1.0  # ordinary files take milliseconds; error recovery in malicious ones can take minutes
QUERY_STEPS = 50_000_000  # about half a second; ordinary files need fewer than a million
EMBEDDED_ROUNDS = 3  # levels of macros within macros
_SAMPLES = 16  # nodes sampled to estimate the cost of a query
_CHUNK = 16_384  # bytes passed to the parser at once; it checks the deadline in between

_PROSE_LANGUAGES = frozenset({"markdown", "rst", "asciidoc", "text"})
_DEEP_YAML = re.compile(rb"^[ \t?:-]{100}", re.MULTILINE)
_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _LoadedGrammar:
    """Tree-sitter grammar of a language, loaded with its query.

    Loading a grammar costs up to 3 MB and 50 ms, so only the grammars that are needed are loaded.
    """

    language: Language
    query: Query | None
    grammar: Grammar


@dataclass(slots=True)
class _PendingNode:
    """Syntax node waiting to be visited, with its context in the tree."""

    node: SyntaxNode
    container: str
    enclosing_kind: str  # kind of the enclosing definition
    depth: int  # number of containers around it
    wrapper: SyntaxNode | None = None  # statement around it that belongs to its signature (export, const)
    comment: tuple[int, int] | None = None  # byte range of the comment directly above


def blob_id(source: bytes) -> str:
    """Return git's blob id for the content `source`."""
    return hashlib.sha1(b"blob %d\0" % len(source) + source, usedforsecurity=False).hexdigest()


def parse_outline(path: str, source: bytes, blob: str = "") -> FileOutline:
    """Build the outline of a file.

    `blob` is the file's git blob id, if the caller already knows it. If parsing fails, the outline has only a size
    and a number of lines.
    """
    empty_outline = FileOutline(path, blob or blob_id(source), "", len(source), _count_lines(source))
    try:
        return _build_outline(empty_outline, source)
    except Exception:  # a bug in a grammar must not stop the indexing of 50,000 files
        logger.exception("parsing %s failed; indexing it without an outline", path)
        return empty_outline


@dataclass(frozen=True, slots=True)
class Syntax:
    """Syntax trees of a file.

    There is one tree, and for Rust one more for each level of nested item macros.
    """

    language: str  # a key of GRAMMARS
    source: bytes  # without secrets; the offsets in the trees refer to it
    trees: tuple[Tree, ...]

    def run_query(self, tree: Tree, query: str) -> list[tuple[str, Node]]:
        """Return the captures of `query` in one of the trees, in file order.

        Each capture is a name and a node. Returns an empty list if the query would take too long.
        """
        if _estimate_query_steps(tree) > QUERY_STEPS:
            return []
        captures = QueryCursor(_compile_query(self.language, query)).captures(tree.root_node)
        return sorted(
            ((name, node) for name, nodes in captures.items() for node in nodes),
            key=lambda one: (one[1].start_byte, -one[1].end_byte),
        )


def parse_syntax(path: str, source: bytes, languages: Container[str]) -> Syntax | None:
    """Parse a handwritten file in one of `languages`.

    Secrets are redacted first. Returns None for any other file, and if parsing takes too long.
    """
    language = detect_language(path, source[:MAX_BYTES])
    if language not in languages or language not in GRAMMARS or not _is_handwritten(path, source):
        return None
    text = source.decode("utf-8", "replace")
    clean = redact_source(text)
    if clean != text:
        source = clean.encode()
    tongue = _load_grammar(language)
    tree = _parse(tongue, source, ())
    if tree is None:
        return None
    trees = [tree]
    while tongue.grammar.embedded_node and len(trees) <= EMBEDDED_ROUNDS:
        ranges = _collect_definitions(trees[-1].root_node, source, language, tongue.grammar, [])
        inner = _parse(tongue, source, ranges) if ranges else None
        if inner is None:
            break
        trees.append(inner)
    return Syntax(language, source, tuple(trees))


@cache
def _compile_query(language: str, text: str) -> Query:
    return Query(_load_grammar(language).language, text)


def _build_outline(empty_outline: FileOutline, source: bytes) -> FileOutline:
    language = detect_language(empty_outline.path, source[:MAX_BYTES])
    language_name = "typescript" if language == "tsx" else language
    if language == NOTEBOOK and len(source) <= MAX_BYTES:
        return _fill_from_notebook(replace(empty_outline, language=language), source)
    if language == "lock" or not _is_handwritten(empty_outline.path, source):
        return replace(empty_outline, language="" if b"\0" in source[:8192] else language_name)
    text = source.decode("utf-8", "replace")
    clean = redact_source(text)
    if clean != text:
        text, source = clean, clean.encode()
    outline = replace(empty_outline, language=language_name)
    if language == "vue":
        ranges = [_make_range(source, *match.span(1)) for match in _SCRIPT.finditer(source)]
        return (
            _fill_from_code(outline, source, "typescript", ranges, text) if ranges else _fill_from_prose(outline, text)
        )
    if language in GRAMMARS and _is_safe_to_parse(language, source):
        return _fill_from_code(outline, source, language, [], text)
    return _fill_from_prose(outline, text)


def _fill_from_prose(outline: FileOutline, text: str) -> FileOutline:
    """Return the outline with the headings and words of `text` added.

    This is used for files whose language has no grammar.
    """
    return replace(
        outline,
        symbols=extract_headings(outline.language, text),
        words=select_informative_words(count_words(text)),
        doc=_extract_prose_doc(text)
        if outline.language in _PROSE_LANGUAGES and not _is_license_only(outline, text)
        else "",
    )


def _is_license_only(outline: FileOutline, text: str) -> bool:
    """Return True for a plain text file that begins with a licence.

    Files in formats with headings do not count, as they may contain more than the licence.
    """
    return outline.language == "text" and is_license_text(text[:400])


def _fill_from_notebook(outline: FileOutline, source: bytes) -> FileOutline:
    """Return the outline with the contents of the notebook's cells added.

    Cell outputs are ignored. Returns the outline unchanged if `source` is not a notebook.
    """
    text = redact_source(source.decode("utf-8", "replace"))
    notebook = parse_notebook(text)
    if notebook is None:
        return outline
    return replace(
        outline,
        symbols=extract_notebook_headings(notebook, text),
        words=select_informative_words(count_words(notebook.prose) + count_words(notebook.code)),
        doc=_extract_prose_doc(notebook.prose),
    )


def _is_handwritten(path: str, source: bytes) -> bool:
    """Return False for files that are too big, binary, minified or bundled."""
    if len(source) > MAX_BYTES or b"\0" in source or ".min." in path:
        return False
    return len(source) <= MAX_LINE or max(map(len, source.split(b"\n"))) <= MAX_LINE


def _is_safe_to_parse(language: str, source: bytes) -> bool:
    """Return False for deeply nested YAML, which can crash the parser.

    The scanner of the YAML grammar writes past the end of its buffer at 256 levels, and each column of indentation
    adds at most two levels.
    """
    return language != "yaml" or not _DEEP_YAML.search(source)


def _count_lines(source: bytes) -> int:
    return source.count(b"\n") + (not source.endswith(b"\n") and bool(source))


def _make_range(source: bytes, start: int, end: int) -> Range:
    def point(at: int) -> tuple[int, int]:
        return source.count(b"\n", 0, at), at - (source.rfind(b"\n", 0, at) + 1)

    return Range(point(start), point(end), start, end)


@cache
def _load_grammar(name: str) -> _LoadedGrammar:
    grammar = GRAMMARS[name]
    wheel = importlib.import_module(grammar.module)
    language = Language(getattr(wheel, grammar.function)())
    return _LoadedGrammar(language, Query(language, grammar.query) if grammar.query else None, grammar)


def _parse(tongue: _LoadedGrammar, source: bytes, ranges: Sequence[Range]) -> Tree | None:
    """Parse the source; return None if that takes longer than PARSE_SECONDS.

    If `ranges` are given, only these ranges are parsed.
    """
    parser = Parser(tongue.language)
    if ranges:
        parser.included_ranges = list(ranges)
    deadline = time.monotonic() + PARSE_SECONDS
    try:
        return parser.parse(
            lambda offset, _point: source[offset : offset + _CHUNK],
            progress_callback=lambda _offset, _error: time.monotonic() > deadline,
        )
    except ValueError:
        return None


def _fill_from_code(outline: FileOutline, source: bytes, language: str, ranges: list[Range], text: str) -> FileOutline:
    tongue = _load_grammar(language)
    tree = _parse(tongue, source, ranges)
    if tree is None:
        logger.info("parsing %s took too long; indexing only its words", outline.path)
        return replace(outline, words=select_informative_words(count_words(text)))
    symbols: list[Symbol] = []
    embedded_ranges = _collect_definitions(tree.root_node, source, language, tongue.grammar, symbols)
    imports, code_text, quiet = _extract_imports_and_texts(tree, source, language, tongue.query)
    for _ in range(EMBEDDED_ROUNDS):
        inner = _parse(tongue, source, embedded_ranges) if embedded_ranges else None
        if inner is None:
            break
        embedded_ranges = _collect_definitions(inner.root_node, source, language, tongue.grammar, symbols)
        imports += _extract_imports_and_texts(inner, source, language, tongue.query)[0]
    symbols.sort(key=lambda symbol: symbol.line)
    if language == "yaml":
        symbols = list(extract_kubernetes_resources(text)) or symbols
    code = count_words(code_text)
    defined_names = frozenset(symbol.name for symbol in symbols)
    return replace(
        outline,
        symbols=tuple(symbols),
        imports=tuple(dict.fromkeys(imports))[:MAX_IMPORTS],
        references=()
        if language in DATA_LANGUAGES
        else list_used_names(code - count_labels(code_text), defined_names=defined_names),
        words=select_informative_words(code + count_words(quiet)),
        doc=_extract_file_doc(tree.root_node, source, language),
    )


def _extract_imports_and_texts(
    tree: Tree, source: bytes, language: str, query: Query | None
) -> tuple[tuple[str, ...], str, str]:
    """Return a file's imports, its code, and its comments and strings.

    The code is returned without the comments and strings. If the language has no query, or the query would take too
    long, the whole source is returned as code.
    """
    if query is None or _estimate_query_steps(tree) > QUERY_STEPS:
        return (), source.decode("utf-8", "replace"), ""
    captures = QueryCursor(query).captures(tree.root_node)
    imports: dict[str, None] = {}
    for node in _sort_by_position(captures.get("import", [])):
        imports.update(dict.fromkeys(name for name in parse_imports(language, get_node_text(node, source)) if name))
    for node in captures.get("module", ()):
        imports["mod::" + get_node_text(node, source)] = None
    pieces: list[bytes] = []
    quiet_parts: list[bytes] = []
    at = 0
    for node in _sort_by_position(captures.get("quiet", [])):
        if node.start_byte >= at:
            pieces.append(source[at : node.start_byte])
            at = node.end_byte
            quiet_parts.append(source[node.start_byte : at])
    pieces.append(source[at:])
    return (
        tuple(imports),
        b" ".join(pieces).decode("utf-8", "replace"),
        b" ".join(quiet_parts).decode("utf-8", "replace"),
    )


def _estimate_query_steps(tree: Tree) -> int:
    """Estimate how many steps a query over the tree takes.

    At each node, a query looks for the next named sibling. Among thousands of brackets in a row, as in malicious or
    broken files, it walks to the end each time. The estimate is based on a few sampled nodes. (The progress
    callback of the query cursor would be the proper way to stop a query, but it crashes in tree-sitter 0.26.1.)
    """
    cursor = tree.walk()
    count = tree.root_node.descendant_count
    steps = 0
    for sample in range(_SAMPLES):
        cursor.goto_descendant(count * sample // _SAMPLES)
        steps += cursor.depth
        if cursor.goto_parent() and cursor.node is not None:
            steps += cursor.node.child_count - cursor.node.named_child_count
    return count * steps // _SAMPLES


def _sort_by_position(nodes: Sequence[Node]) -> list[Node]:
    """Sort captures by position, since tree-sitter does not define their order."""
    return sorted(nodes, key=lambda node: node.start_byte)


def _collect_definitions(
    root: SyntaxNode, source: bytes, language: str, grammar: Grammar, symbols: list[Symbol]
) -> list[Range]:
    """Append the definitions below `root` to `symbols`.

    Returns the ranges of macros that may contain further definitions, which must be parsed separately.
    """
    embedded_ranges: list[Range] = []
    depth = DATA_DEPTH if language in DATA_LANGUAGES else CODE_DEPTH
    pending = list(_iter_children(_PendingNode(root, "", "", 0), grammar))
    pending.reverse()
    while pending and len(symbols) < MAX_SYMBOLS:
        place = pending.pop()
        kind = grammar.kinds.get(place.node.type)
        if kind is None:
            if place.node.type == grammar.embedded_node:
                embedded_ranges.extend(_iter_macro_ranges(place.node))
            else:
                pending.extend(reversed(list(_iter_children(place, grammar))))
            continue
        found_definition = read_definition(place.node, kind, place.enclosing_kind, source)
        if found_definition is None:
            continue
        if not found_definition.is_silent:
            symbols.append(_build_symbol(place, found_definition, source, language, grammar))
        if (
            found_definition.body is not None
            and not found_definition.is_leaf
            and place.node.type in grammar.containers
            and place.depth < depth
        ):
            inner = _PendingNode(found_definition.body, found_definition.name, found_definition.kind, place.depth + 1)
            pending.extend(reversed(list(_iter_children(inner, grammar))))
    return embedded_ranges


_WRAPPERS = frozenset(
    {
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "ambient_declaration",
        "template_declaration",
        "type_declaration",
        "const_declaration",
        "var_declaration",
    }
)
_ANNOTATION_NODES = frozenset({"attribute_item", "decorator", "inner_attribute_item"})


def _iter_children(place: _PendingNode, grammar: Grammar) -> Iterator[_PendingNode]:
    """Yield the children that may be or contain definitions.

    Each child is yielded with the comment directly above it, if any.
    """
    node = place.node
    wrapper = (place.wrapper or node) if node.type in _WRAPPERS else None
    comment = place.comment if wrapper else None
    last_row = -2  # row on which the comment ends
    row_before = -1  # row on which the previous sibling ends; a comment there belongs to that sibling
    for child in node.named_children:
        kind = child.type
        if kind.endswith("comment"):
            row = child.start_point[0]
            if row == row_before:
                continue
            start = comment[0] if comment and row <= last_row + 1 else child.start_byte
            comment = (start, child.end_byte)
            last_row = child.end_point[0] - (child.end_point[1] == 0)  # some grammars include the newline
            continue
        row_before = child.end_point[0]
        if kind in grammar.kinds or kind in grammar.transparent_nodes or kind == grammar.embedded_node:
            near = comment if comment and (child.start_point[0] <= last_row + 1 or last_row < 0) else None
            yield _PendingNode(child, place.container, place.enclosing_kind, place.depth, wrapper, near)
        elif kind in _ANNOTATION_NODES:
            last_row = child.end_point[0]
            continue
        comment = None
        last_row = -2


def _iter_macro_ranges(macro: SyntaxNode) -> Iterator[Range]:
    body = macro.named_children[-1] if macro.named_children else None
    if body is not None and body.type == "token_tree" and len(body.children) > 2 and body.children[0].type == "{":
        first, last = body.children[0], body.children[-1]
        yield Range(first.end_point, last.start_point, first.end_byte, last.start_byte)


def _build_symbol(
    place: _PendingNode, definition: Definition, source: bytes, language: str, grammar: Grammar
) -> Symbol:
    node = place.node
    if language == "python":
        doc = extract_docstring(definition.body, source)
    else:
        doc = extract_doc_line(source[slice(*place.comment)].decode("utf-8", "replace")) if place.comment else ""
    return Symbol(
        name=definition.name,
        kind=definition.kind,
        line=node.start_point[0] + 1,
        end_line=node.end_point[0] + (node.end_point[1] > 0),
        signature=definition.name
        if language in DATA_LANGUAGES
        else render_signature(node, definition, place.wrapper, source, grammar),
        container=place.container if definition.container is None else definition.container,
        doc=doc,
    )


def _extract_file_doc(root: SyntaxNode, source: bytes, language: str) -> str:
    """Return the first line of the file's documentation, or "".

    The documentation is the docstring in Python, and the leading comments in other languages.
    """
    if language == "python":
        return extract_docstring(root, source)
    if language in DATA_LANGUAGES or not root.named_children:
        return ""
    blocks: list[tuple[int, int]] = []
    last_row = -2
    for child in root.named_children[:80]:
        if not child.type.endswith("comment"):
            break
        start, end = child.start_byte, child.end_byte
        if child.start_point[0] <= last_row + 1 and blocks:
            start = blocks.pop()[0]
        blocks.append((start, end))
        last_row = child.end_point[0] - (child.end_point[1] == 0)
    texts = (source[start:end].decode("utf-8", "replace") for start, end in blocks)
    return next((line for text in texts if not is_license_text(text) and (line := extract_doc_line(text))), "")


def _extract_prose_doc(text: str) -> str:
    """Return the first line that is neither a heading nor decoration, or ""."""
    for line in split_front_matter(text)[1][:4000].splitlines():
        stripped_text = line.strip()
        if len(stripped_text) > 20 and stripped_text[0].isalnum():
            return stripped_text[:160]
    return ""
