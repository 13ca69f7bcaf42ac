"""Extraction of shapes: candidate instances with their features."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import Syntax, syntax_of
from hunchd.patterns.queries import PREFIXES, QUERIES, SHAPES
from hunchd.text.identifiers import name_words

LONGEST: Final = 90  # lines; longer shapes are too specific
MOST_FEATURES: Final = 48  # shapes with more features are too specific
MOST_SHAPES: Final = 1_500  # of one file
LONGEST_NAME: Final = 60  # characters of a feature
MEMBERS: Final = 30  # of one class
LEAST_MEMBERS: Final = 2  # methods from which a Go method set counts as a class

_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|testing)(?:/|$)|(?:^|/)test_|[._-](?:test|spec)\.|_test\.|Test\.java$"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Section of a file that could be an instance of a pattern.

    Lines count from 1; `start` and `end` are byte offsets.
    """

    path: str
    language: str
    kind: str  # function, method, class, block, statement, top; name: only its name matters
    name: str
    container: str  # the class, or Go's receiver, that it belongs to
    start: int
    end: int
    line: int
    end_line: int
    features: tuple[str, ...]  # in source order, each once
    digest: str  # of its text, white space aside

    @property
    def testing(self) -> bool:
        return is_test(self.path)

    def row(self) -> list[Any]:
        """Convert the shape to its cache row, without path and language."""
        return [
            self.kind,
            self.name,
            self.container,
            self.start,
            self.end,
            self.line,
            self.end_line,
            " ".join(feature.replace(" ", "\x1f") for feature in self.features),
            self.digest,
        ]


def shape_from(path: str, language: str, row: Sequence[Any]) -> Shape:
    """Build a shape from its cache row."""
    kind, name, container, start, end, line, end_line, features, digest = row
    told = tuple(feature.replace("\x1f", " ") for feature in features.split(" ")) if features else ()
    return Shape(path, language, kind, name, container, start, end, line, end_line, told, digest)


@lru_cache(maxsize=1 << 15)
def is_test(path: str) -> bool:
    return _TEST.search(path) is not None


def shapes_of(path: str, source: bytes) -> tuple[Shape, ...]:
    """Return the shapes of one file in order.

    Empty for a language without queries.
    """
    syntax = syntax_of(path, source, QUERIES)
    if syntax is None:
        return ()
    found: list[Shape] = []
    for tree in syntax.trees:
        drafts = _drafts(syntax.captured(tree, QUERIES[syntax.language]), syntax)
        found += (shape for draft in drafts if (shape := _shape(draft, path, syntax)) is not None)
    if syntax.language == "go":
        found += _method_sets(found, syntax)
    return tuple(sorted(found, key=lambda shape: (shape.start, -shape.end))[:MOST_SHAPES])


@dataclass(slots=True)
class _Draft:
    node: SyntaxNode
    kind: str
    start: int
    end: int
    name: str
    outer: _Draft | None = None
    features: dict[str, None] = field(default_factory=dict)
    members: int = 0

    def add(self, feature: str) -> None:
        self.features.setdefault(feature[:LONGEST_NAME])


def _drafts(captured: Iterable[tuple[str, SyntaxNode]], syntax: Syntax) -> list[_Draft]:
    """Build the shapes of one tree with the captures inside them."""
    shapes: list[tuple[str, SyntaxNode]] = []
    features: list[tuple[str, SyntaxNode]] = []
    for name, node in captured:
        (shapes if name in SHAPES else features).append((name, node))
    blocks = {(node.start_byte, node.end_byte) for kind, node in shapes if kind == "block"}
    drafts = [
        _draft(kind, node, syntax)
        for kind, node in shapes
        if kind != "top" or (node.start_byte, node.end_byte) not in blocks
    ]
    drafts.sort(key=lambda draft: (draft.start, -draft.end))
    _nest(drafts)
    at, open_drafts = 0, list[_Draft]()
    for name, node in features:
        begin = node.start_byte
        while at < len(drafts) and drafts[at].start <= begin:
            open_drafts.append(drafts[at])
            at += 1
        open_drafts = [draft for draft in open_drafts if draft.end > begin]
        _give(name, _text(node, syntax), begin, open_drafts)
    return drafts


def _draft(kind: str, node: SyntaxNode, syntax: Syntax) -> _Draft:
    around = _extended(node)
    return _Draft(
        node,
        kind,
        around.start_byte if around is not node else _attributed(node),
        around.end_byte,
        _name(kind, node, syntax),
    )


_NAMELESS: Final = "object_creation_expression"  # Java's anonymous class, whose head is an ordinary expression
_AROUND: Final = frozenset({"decorated_definition", "export_statement", "variable_declarator", "lexical_declaration"})


def _extended(node: SyntaxNode) -> SyntaxNode:
    """Return the node including its wrappers: decorators, `export const`."""
    while (parent := getattr(node, "parent", None)) is not None and parent.type in _AROUND:
        node = parent
    return node


def _attributed(node: SyntaxNode) -> int:
    """Return the start of an item's attributes, which Rust writes before it."""
    start = node.start_byte
    before = getattr(node, "prev_named_sibling", None)
    while before is not None and before.type in ("attribute_item", "line_comment"):
        if before.type == "attribute_item":
            start = before.start_byte
        before = before.prev_named_sibling
    return start


def _nest(drafts: Sequence[_Draft]) -> None:
    stack: list[_Draft] = []
    for draft in drafts:
        while stack and stack[-1].end <= draft.start:
            stack.pop()
        draft.outer = stack[-1] if stack else None
        stack.append(draft)


def _give(capture: str, name: str, begin: int, open_drafts: Sequence[_Draft]) -> None:
    """Add a feature to the enclosing shapes.

    Stops at the first class or test group. A class gets only the features of its head.
    """
    feature = f"{name}()" if capture == "call" else f"{name}!" if capture == "macro" else PREFIXES[capture] + name
    for draft in reversed(open_drafts):
        if draft.kind == "class":
            heading = _in_head(draft, begin)
            if capture in ("base", "decorator") and heading:
                draft.add(feature)
            if not heading or draft.node.type != _NAMELESS:
                return
            continue
        if capture == "key" and draft.kind == "function" and draft.name == name:
            continue  # a method of an object is its key itself
        draft.add(feature)


def _in_head(draft: _Draft, begin: int) -> bool:
    body = draft.node.child_by_field_name("body")
    if body is None:
        body = next((child for child in draft.node.named_children if child.type.endswith("body")), None)
    return body is None or begin < body.start_byte


def _shape(draft: _Draft, path: str, syntax: Syntax) -> Shape | None:
    line, end_line = draft.node.start_point[0] + 1, draft.node.end_point[0] + 1
    if draft.kind == "name":
        name = _text(draft.node, syntax)
        return Shape(path, syntax.language, "name", name, "", draft.start, draft.end, line, end_line, (), "")
    if end_line - line >= LONGEST * (3 if draft.kind == "class" else 1):
        return None
    if draft.kind == "statement" and (end_line == line or draft.outer is None):
        return None
    owner = _owner(draft)
    kind = "method" if draft.kind == "function" and owner is not None else draft.kind
    container = owner.name if owner is not None else ""
    if kind == "function" and (receiver := next((f[3:] for f in draft.features if f.startswith("in ")), None)):
        kind, container = "method", receiver
    features = dict(draft.features)
    if owner is not None:
        features.update({f"in {base[1:]}": None for base in owner.features if base.startswith("<")})
        if owner.name:
            features.setdefault(f"in {owner.name}")
    if kind in ("function", "method"):
        features.update(dict.fromkeys(_name_features(draft.name)))
    elif kind == "class":
        features.update(dict.fromkeys(_name_features(draft.name)))
        features.update(dict.fromkeys(f".{name}" for name in _members(draft.node, syntax)))
    if not features or len(features) > MOST_FEATURES:
        return None
    return Shape(
        path,
        syntax.language,
        kind,
        draft.name,
        container,
        draft.start,
        draft.end,
        line,
        end_line,
        tuple(features),
        _digest(syntax.source[draft.start : draft.end]),
    )


def _owner(draft: _Draft) -> _Draft | None:
    """Return the class that a function is a direct member of."""
    outer = draft.outer
    return outer if outer is not None and outer.kind == "class" else None


def _name_features(name: str) -> Iterator[str]:
    """Yield the name and its first and last word."""
    words = name_words(name)
    if name:
        yield f"={name}"
    if len(words) > 1:
        yield f"={words[0]}_"
        yield f"=_{words[-1]}"


_FUNCTIONS: Final = frozenset(
    {"function_definition", "method_definition", "method_declaration", "function_item", "function_signature_item"}
)


def _members(node: SyntaxNode, syntax: Syntax) -> list[str]:
    """Return the names of the functions directly in a class."""
    body = node.child_by_field_name("body") or next(
        (child for child in node.named_children if child.type.endswith("body")), None
    )
    if body is None:
        return []
    names = []
    for child in body.named_children:
        if child.type == "decorated_definition":
            child = child.child_by_field_name("definition") or child
        if child.type in _FUNCTIONS and (name := child.child_by_field_name("name")) is not None:
            names.append(_text(name, syntax))
    return names[:MEMBERS]


def _method_sets(shapes: Sequence[Shape], syntax: Syntax) -> list[Shape]:
    """Combine adjacent Go methods of one type to a class."""
    sets: list[list[Shape]] = []
    for shape in shapes:
        if shape.kind not in ("method", "function"):
            continue
        if sets and shape.kind == "method" and sets[-1][-1].container == shape.container:
            sets[-1].append(shape)
        else:
            sets.append([shape])
    found = []
    for methods in sets:
        first, last = methods[0], methods[-1]
        if first.kind != "method" or not LEAST_MEMBERS <= len(methods) <= MEMBERS:
            continue
        features = (*_name_features(first.container), *(f".{method.name}" for method in methods))
        if last.end_line - first.line < 3 * LONGEST:
            found.append(
                Shape(
                    first.path,
                    "go",
                    "class",
                    first.container,
                    "",
                    first.start,
                    last.end,
                    first.line,
                    last.end_line,
                    features,
                    _digest(syntax.source[first.start : last.end]),
                )
            )
    return found


def _name(kind: str, node: SyntaxNode, syntax: Syntax) -> str:
    """Return the shape's own name, or the name that it calls."""
    for name in _NAMES.get(kind, ("name",)):
        found = node.child_by_field_name(name)
        if found is not None:
            return re.sub(r"[<(\[].*", "", _text(found, syntax), flags=re.DOTALL).strip()[:LONGEST_NAME]
    if kind in ("block", "top"):
        return _first_name(node, syntax)
    return ""


_NAMES: Final = {"class": ("name", "type"), "statement": (), "block": (), "top": ("left",)}


def _first_name(node: SyntaxNode, syntax: Syntax) -> str:
    """Return the first name that a statement assigns or calls."""
    waiting: list[SyntaxNode] = [node]
    while waiting:
        one = waiting.pop(0)
        for field_name in ("name", "left", "function", "macro"):
            inner = one.child_by_field_name(field_name)
            if inner is not None:
                return re.sub(r"[<(\[\s].*", "", _text(inner, syntax), flags=re.DOTALL)[:LONGEST_NAME]
        waiting = [*one.named_children[:4], *waiting]
    return ""


def _text(node: SyntaxNode, syntax: Syntax) -> str:
    return syntax.source[node.start_byte : node.end_byte].decode("utf-8", "replace").replace("\x1f", " ")


def _digest(text: bytes) -> str:
    return hashlib.blake2b(b" ".join(text.split()), digest_size=6).hexdigest()
