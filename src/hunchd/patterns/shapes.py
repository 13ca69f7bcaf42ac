"""Extraction of shapes from source code, with their features.

A shape is a function, method or class that may be an instance of a pattern. Its features are the names that it
uses, each with a mark that shows how the name is used, such as `@route` for a decorator.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import Syntax, parse_syntax
from hunchd.patterns.queries import FEATURE_PREFIXES, QUERIES, SHAPE_CAPTURES
from hunchd.text.identifiers import split_name_words

MAX_LINES: Final = 90  # lines; longer shapes are too specific
MAX_FEATURES: Final = 48  # shapes with more features are too specific
MAX_SHAPES: Final = 1_500  # shapes in one file
MAX_NAME: Final = 60  # characters of a feature
MAX_MEMBERS: Final = 30  # methods of one class
MIN_MEMBERS: Final = 2  # methods that a Go type must have to count as a class

_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|testing)(?:/|$)|(?:^|/)test_|[._-](?:test|spec)\.|_test\.|Test\.java$"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Function, method or class that could be an instance of a pattern.

    A shape of the kind "name" only records that the project defines this name. Line numbers start at 1; `start` and
    `end` are byte offsets.
    """

    path: str
    language: str
    kind: str  # function, method or class; or name, if only its name matters
    name: str
    container: str  # the class, or Go's receiver, that it belongs to
    start: int
    end: int
    line: int
    end_line: int
    features: tuple[str, ...]  # in source order, without duplicates
    digest: str  # digest of its text, ignoring white space

    @property
    def is_in_test(self) -> bool:
        return is_test(self.path)


@lru_cache(maxsize=1 << 15)
def is_test(path: str) -> bool:
    return _TEST.search(path) is not None


def extract_shapes(path: str, source: bytes) -> tuple[Shape, ...]:
    """Return the shapes in one file, ordered by their start.

    Returns () if there are no queries for the language.
    """
    syntax = parse_syntax(path, source, QUERIES)
    if syntax is None:
        return ()
    shapes: list[Shape] = []
    for tree in syntax.trees:
        drafts = _build_drafts(syntax.run_query(tree, QUERIES[syntax.language]), syntax)
        shapes += (shape for draft in drafts if (shape := _build_shape(draft, path, syntax)) is not None)
    if syntax.language == "go":
        shapes += _combine_go_methods(shapes, syntax)
    return tuple(sorted(shapes, key=lambda shape: (shape.start, -shape.end))[:MAX_SHAPES])


@dataclass(slots=True)
class _ShapeDraft:
    node: SyntaxNode
    kind: str
    start: int
    end: int
    name: str
    outer: _ShapeDraft | None = None
    features: dict[str, None] = field(default_factory=dict)
    members: int = 0

    def add(self, feature: str) -> None:
        self.features.setdefault(feature[:MAX_NAME])


def _build_drafts(captures: Iterable[tuple[str, SyntaxNode]], syntax: Syntax) -> list[_ShapeDraft]:
    """Build a draft of each shape in one syntax tree.

    A draft has the features found inside the shape.
    """
    shapes: list[tuple[str, SyntaxNode]] = []
    features: list[tuple[str, SyntaxNode]] = []
    for name, node in captures:
        (shapes if name in SHAPE_CAPTURES else features).append((name, node))
    drafts = [_build_draft(kind, node, syntax) for kind, node in shapes]
    drafts.sort(key=lambda draft: (draft.start, -draft.end))
    _set_outer(drafts)
    at, open_drafts = 0, list[_ShapeDraft]()
    for name, node in features:
        start = node.start_byte
        while at < len(drafts) and drafts[at].start <= start:
            open_drafts.append(drafts[at])
            at += 1
        open_drafts = [draft for draft in open_drafts if draft.end > start]
        _add_feature(name, _get_text(node, syntax), start, open_drafts)
    return drafts


def _build_draft(kind: str, node: SyntaxNode, syntax: Syntax) -> _ShapeDraft:
    wrapper = _include_wrappers(node)
    return _ShapeDraft(
        node,
        kind,
        wrapper.start_byte if wrapper is not node else _attributes_start(node),
        wrapper.end_byte,
        _find_name(kind, node, syntax),
    )


_ANONYMOUS_CLASS: Final = "object_creation_expression"  # Java's anonymous class, whose head is an ordinary expression
_WRAPPER_TYPES: Final = frozenset(
    {"decorated_definition", "export_statement", "variable_declarator", "lexical_declaration"}
)


def _include_wrappers(node: SyntaxNode) -> SyntaxNode:
    """Return the outermost node that wraps `node` in decorators or `export const`.

    Returns `node` itself if nothing wraps it.
    """
    while (parent := getattr(node, "parent", None)) is not None and parent.type in _WRAPPER_TYPES:
        node = parent
    return node


def _attributes_start(node: SyntaxNode) -> int:
    """Return the start of the attributes that Rust puts before an item.

    Returns the start of `node` if there are none.
    """
    start = node.start_byte
    before = getattr(node, "prev_named_sibling", None)
    while before is not None and before.type in ("attribute_item", "line_comment"):
        if before.type == "attribute_item":
            start = before.start_byte
        before = before.prev_named_sibling
    return start


def _set_outer(drafts: Sequence[_ShapeDraft]) -> None:
    stack: list[_ShapeDraft] = []
    for draft in drafts:
        while stack and stack[-1].end <= draft.start:
            stack.pop()
        draft.outer = stack[-1] if stack else None
        stack.append(draft)


def _add_feature(capture: str, name: str, start: int, open_drafts: Sequence[_ShapeDraft]) -> None:
    """Add a feature to the innermost enclosing shapes, up to the first class.

    A class gets only the features in its header.
    """
    feature = (
        f"{name}()" if capture == "call" else f"{name}!" if capture == "macro" else FEATURE_PREFIXES[capture] + name
    )
    for draft in reversed(open_drafts):
        if draft.kind == "class":
            is_in_head = _is_in_head(draft, start)
            if capture in ("base", "decorator") and is_in_head:
                draft.add(feature)
            if not is_in_head or draft.node.type != _ANONYMOUS_CLASS:
                return
            continue
        if capture == "key" and draft.kind == "function" and draft.name == name:
            continue  # the name of an object's method is the key
        draft.add(feature)


def _is_in_head(draft: _ShapeDraft, start: int) -> bool:
    body = draft.node.child_by_field_name("body")
    if body is None:
        body = next((child for child in draft.node.named_children if child.type.endswith("body")), None)
    return body is None or start < body.start_byte


def _build_shape(draft: _ShapeDraft, path: str, syntax: Syntax) -> Shape | None:
    line, end_line = draft.node.start_point[0] + 1, draft.node.end_point[0] + 1
    if draft.kind == "name":
        name = _get_text(draft.node, syntax)
        return Shape(path, syntax.language, "name", name, "", draft.start, draft.end, line, end_line, (), "")
    if end_line - line >= MAX_LINES * (3 if draft.kind == "class" else 1):
        return None
    owner = _get_owner(draft)
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
        features.update(dict.fromkeys(_make_name_features(draft.name)))
    elif kind == "class":
        features.update(dict.fromkeys(_make_name_features(draft.name)))
        features.update(dict.fromkeys(f".{name}" for name in _list_members(draft.node, syntax)))
    if not features or len(features) > MAX_FEATURES:
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
        _hash_text(syntax.source[draft.start : draft.end]),
    )


def _get_owner(draft: _ShapeDraft) -> _ShapeDraft | None:
    """Return the class that a function is a direct member of, or None."""
    outer = draft.outer
    return outer if outer is not None and outer.kind == "class" else None


def _make_name_features(name: str) -> Iterator[str]:
    """Yield the features made from a name: the whole name, its first and its last word."""
    words = split_name_words(name)
    if name:
        yield f"={name}"
    if len(words) > 1:
        yield f"={words[0]}_"
        yield f"=_{words[-1]}"


_FUNCTION_TYPES: Final = frozenset(
    {"function_definition", "method_definition", "method_declaration", "function_item", "function_signature_item"}
)


def _list_members(node: SyntaxNode, syntax: Syntax) -> list[str]:
    """Return the names of the functions defined directly in a class.

    At most MAX_MEMBERS names are returned.
    """
    body = node.child_by_field_name("body") or next(
        (child for child in node.named_children if child.type.endswith("body")), None
    )
    if body is None:
        return []
    names = []
    for child in body.named_children:
        if child.type == "decorated_definition":
            child = child.child_by_field_name("definition") or child
        if child.type in _FUNCTION_TYPES and (name := child.child_by_field_name("name")) is not None:
            names.append(_get_text(name, syntax))
    return names[:MAX_MEMBERS]


def _combine_go_methods(shapes: Sequence[Shape], syntax: Syntax) -> list[Shape]:
    """Combine adjacent Go methods with the same receiver type into class shapes."""
    sets: list[list[Shape]] = []
    for shape in shapes:
        if shape.kind not in ("method", "function"):
            continue
        if sets and shape.kind == "method" and sets[-1][-1].container == shape.container:
            sets[-1].append(shape)
        else:
            sets.append([shape])
    class_shapes = []
    for methods in sets:
        first, last = methods[0], methods[-1]
        if first.kind != "method" or not MIN_MEMBERS <= len(methods) <= MAX_MEMBERS:
            continue
        features = (*_make_name_features(first.container), *(f".{method.name}" for method in methods))
        if last.end_line - first.line < 3 * MAX_LINES:
            class_shapes.append(
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
                    _hash_text(syntax.source[first.start : last.end]),
                )
            )
    return class_shapes


def _find_name(kind: str, node: SyntaxNode, syntax: Syntax) -> str:
    """Return the name that `node` defines.

    For a class without a name, this is the name of its type. Returns "" if there is neither.
    """
    for name in _NAME_FIELDS.get(kind, ("name",)):
        name_node = node.child_by_field_name(name)
        if name_node is not None:
            return re.sub(r"[<(\[].*", "", _get_text(name_node, syntax), flags=re.DOTALL).strip()[:MAX_NAME]
    return ""


_NAME_FIELDS: Final = {"class": ("name", "type")}


def _get_text(node: SyntaxNode, syntax: Syntax) -> str:
    return syntax.source[node.start_byte : node.end_byte].decode("utf-8", "replace").replace("\x1f", " ")


def _hash_text(text: bytes) -> str:
    return hashlib.blake2b(b" ".join(text.split()), digest_size=6).hexdigest()
