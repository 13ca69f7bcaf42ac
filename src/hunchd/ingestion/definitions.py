"""Readers for definition nodes: name, kind, one-line signature, first line of documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hunchd.ingestion.grammars import Grammar

MAX_SIGNATURE = 200  # characters: whole parameters of nearly every function, and bounded
MAX_DOC = 160
MAX_GENERIC = 60  # bytes of type parameters; longer ones would push the parameters off the line
_WINDOW = 4000  # bytes read per node

TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "union", "impl"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function", "generator_function"})
_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+!?|//[/!]?|#+!?|--+|;+|\*+/|\*+|<!--)\s?|\s*(?:\*+/|-->)\s*$")
_FILE_TAG = re.compile(r"^[@\\](?:fileoverview|file|brief)\s+(?=\S+ \S)")
_WORDS = re.compile(r"[A-Za-z]{3,} \w")
_NO_DOC = re.compile(
    r"(?i)copyright|licen[sc]e|spdx|all rights reserved|eslint|@ts-|prettier-|pylint|noqa|type:\s*ignore|usr/bin|"
    r"coding[:=]|nolint|rustfmt|istanbul|webpack|vim:|@format|@flow|go:build|^/\S*bin/|^\+build|"
    r"code generated|auto-?generated|do not edit|"
    r"^[\s*=\-#/@_~]*$|"
    r"^@\w+|^</?\w+>$|^\W*todo|^\W*fixme"
)


_LICENCE = re.compile(r"(?i)copyright|licen[sc]ed? |spdx|all rights reserved")
# Removed when joining lines: comments between parameters, spaces inside brackets, trailing commas.
_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*|(?<=\s)#\s[^\n]*", re.DOTALL)
_TIGHT = re.compile(r"(?<=[(\[]) +|(?<=\w<) +|,? +(?=[)\]]|>(?:[,)\]>;(:]|$))")


class SyntaxNode(Protocol):
    """Subset of a tree-sitter node that is used here."""

    @property
    def type(self) -> str: ...
    @property
    def start_byte(self) -> int: ...
    @property
    def end_byte(self) -> int: ...
    @property
    def start_point(self) -> tuple[int, int]: ...
    @property
    def end_point(self) -> tuple[int, int]: ...
    @property
    def children(self) -> Sequence[SyntaxNode]: ...
    @property
    def named_children(self) -> Sequence[SyntaxNode]: ...
    def child_by_field_name(self, name: str, /) -> SyntaxNode | None: ...


@dataclass(frozen=True, slots=True)
class Definition:
    """Definition found in a syntax tree.

    `body` contains the members and marks the end of the signature. With `silent` set it has members but is no symbol.
    """

    name: str
    kind: str
    body: SyntaxNode | None = None
    container: str | None = None  # overrides the enclosing one
    silent: bool = False
    leaf: bool = False  # definitions in its body are ignored


def text_of(node: SyntaxNode | None, source: bytes) -> str:
    if node is None:
        return ""
    return source[node.start_byte : min(node.end_byte, node.start_byte + _WINDOW)].decode("utf-8", "replace")


def definition(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Return what `node` defines, or None if it defines nothing.

    `inside` is the kind of the enclosing definition.
    """
    special = _SPECIAL.get(node.type)
    if special:
        return special(node, kind, inside, source)
    name = text_of(node.child_by_field_name("name"), source).strip("\"'`")
    if not name:
        return None
    if kind == "function" and inside in TYPES:
        kind = "method"
    return Definition(name, kind, node.child_by_field_name("body"))


def _assignment(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read an assignment of Python or Ruby to a plain name."""
    left = node.child_by_field_name("left")
    if left is None or left.type not in ("identifier", "constant"):
        return None
    name = text_of(left, source)
    if inside in TYPES:
        return Definition(name, "constant" if left.type == "constant" else "field")
    return Definition(name, "constant" if name.isupper() or left.type == "constant" else "variable")


def _variable_declarator(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read JavaScript's `name = value`.

    It is a function if the value is one, and nothing if the value is a `require` or dynamic import.
    """
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or name.type not in ("identifier", "property_identifier"):
        return None
    if value is None:
        return Definition(text_of(name, source), "variable")
    if value.type in _FUNCTIONS:
        return Definition(text_of(name, source), "function", value.child_by_field_name("body"))
    if value.type == "class":
        return Definition(text_of(name, source), "class", value.child_by_field_name("body"))
    if text_of(value, source).startswith(("require(", "await import(")):
        return None
    return Definition(text_of(name, source), kind)


def _member(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a field of a JavaScript class or TypeScript interface.

    A function value makes it a method.
    """
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    value = node.child_by_field_name("value")
    if name is None:
        return None
    if value is not None and value.type in _FUNCTIONS:
        return Definition(text_of(name, source), "method", value.child_by_field_name("body"))
    return Definition(text_of(name, source).strip("\"'"), kind)


def _assignment_expression(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read `exports.f = function …` and `Thing.prototype.f = …`.

    Other assignments define nothing.
    """
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression" or right.type not in (*_FUNCTIONS, "class"):
        return None
    name = text_of(left.child_by_field_name("property"), source)
    owner = text_of(left.child_by_field_name("object"), source).removesuffix(".prototype")
    if name == "exports":
        name, owner = text_of(right.child_by_field_name("name"), source) or "default", ""
    outer = "" if owner in ("exports", "module.exports", "this") else owner
    kind = "class" if right.type == "class" else "method" if outer else "function"
    return Definition(name, kind, right.child_by_field_name("body"), container=outer)


def _anonymous(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    name = text_of(node.child_by_field_name("name"), source) or "default"
    return Definition(name, kind, node.child_by_field_name("body"))


def _anonymous_class(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a class with or without a name.

    JavaScript's class expression may have no name, Ruby's class always has one. Both have the same node type.
    """
    name = re.sub(".*::", "", text_of(node.child_by_field_name("name"), source)) or "default"
    return Definition(name, kind, node.child_by_field_name("body"))


def _go_type(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    shape = node.child_by_field_name("type")
    name = text_of(node.child_by_field_name("name"), source)
    kinds = {"struct_type": "struct", "interface_type": "interface"}
    if shape is None or shape.type not in kinds:
        return Definition(name, kind)
    body = next((child for child in shape.named_children if child.type == "field_declaration_list"), shape)
    return Definition(name, kinds[shape.type], body)


def _go_method(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    receiver = re.sub(r"\[.*", "", text_of(node.child_by_field_name("receiver"), source)).strip("() ")
    name = text_of(node.child_by_field_name("name"), source)
    owner = receiver.split()[-1].lstrip("*") if receiver else ""
    return Definition(name, kind, node.child_by_field_name("body"), container=owner)


def _rust_impl(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    owner = text_of(node.child_by_field_name("type"), source)
    name = re.split(r"[<\s]", owner.lstrip("&"), maxsplit=1)[0].rpartition("::")[2]
    return Definition(name, kind, node.child_by_field_name("body"), silent=True)


def _declarator(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a function, variable or field of C and C++.

    The name is inside nested declarators.
    """
    inner = node.child_by_field_name("declarator")
    is_function = False
    for _ in range(12):  # pointers to functions returning pointers
        if inner is None:
            return _inline_type(node, source)
        is_function |= inner.type == "function_declarator"
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type in ("reference_declarator", "parenthesized_declarator"):
            deeper = next(iter(inner.named_children), None)
        if deeper is None:
            break
        inner = deeper
    if inner is None or not (inner.type.endswith("identifier") or inner.type.endswith("name")):
        return None
    owner, _, name = text_of(inner, source).rpartition("::")
    if kind == "function" or is_function:
        kind = "method" if owner or inside in TYPES else "function"
    return Definition(name, kind, node.child_by_field_name("body"), container=re.sub("<.*", "", owner) or None)


def _inline_type(node: SyntaxNode, source: bytes) -> Definition | None:
    """Read `struct S { … };`, a declaration without a declarator."""
    shape = node.child_by_field_name("type")
    if shape is None or shape.child_by_field_name("body") is None:
        return None
    name = text_of(shape.child_by_field_name("name"), source)
    return Definition(name, shape.type.partition("_")[0], shape.child_by_field_name("body")) if name else None


def _c_type(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a struct, union, class or enum with a body.

    Without a body it is only a reference.
    """
    body = node.child_by_field_name("body")
    name = re.sub("<.*", "", text_of(node.child_by_field_name("name"), source))
    return Definition(name, kind, body) if body is not None and name else None


def _typedef(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    found = _declarator(node, kind, inside, source)
    shape = node.child_by_field_name("type")
    body = shape.child_by_field_name("body") if shape is not None else None
    return Definition(found.name, "type", body) if found else None


def _macro(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a macro with a value.

    One without is an include guard.
    """
    value = node.child_by_field_name("value")
    name = text_of(node.child_by_field_name("name"), source)
    return Definition(name, kind, value if node.type == "preproc_function_def" else None) if value is not None else None


def _fields(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a field declaration of Java, C# or PHP.

    The first declared name counts.
    """
    inner = node.child_by_field_name("declarator") or next(
        (child for child in node.named_children if child.type in ("variable_declaration", "property_element")), None
    )
    if inner is not None and inner.type == "variable_declaration":
        inner = next((child for child in inner.named_children if child.type == "variable_declarator"), None)
    if inner is None:
        return _declarator(node, kind, inside, source)
    name = inner.child_by_field_name("name") or next(iter(inner.named_children), None)
    return Definition(text_of(name, source).lstrip("$"), kind) if name is not None else None


def _field_declaration(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a `field_declaration` of Go, Rust, Java, C# or C++.

    The node has three shapes.
    """
    name = node.child_by_field_name("name")
    if name is not None:
        return Definition(text_of(name, source), kind)
    inner = node.child_by_field_name("declarator")
    if inner is not None and inner.type != "variable_declarator":
        return _declarator(node, kind, inside, source)
    return _fields(node, kind, inside, source)


def _first_child(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    first = next(iter(node.named_children), None)
    return Definition(text_of(first, source).strip("\"'"), kind) if first is not None else None


def _toml_table(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    found = _first_child(node, kind, inside, source)
    return Definition(found.name, kind, node) if found else None


def _key(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    name = text_of(node.child_by_field_name("key"), source).strip("\"'")
    return Definition(name, kind, node.child_by_field_name("value")) if name and len(name) < 120 else None


def _type_alias(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    name = node.child_by_field_name("name") or node.child_by_field_name("left")
    return Definition(re.sub(r"\[.*", "", text_of(name, source)), kind)


def _javascript_test(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a JavaScript test or suite.

    Such as `describe("…", () => {…})`, `test("…", …)` or `it.each(…)("…", …)`. The body of a suite contains further
    tests.
    """
    callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    called = re.match(r"[a-z]+", text_of(callee, source))
    if given is None or called is None or called.group() not in _TEST_CALLS or not given.named_children:
        return None
    first, last = given.named_children[0], given.named_children[-1]
    if first.type not in ("string", "template_string"):
        return None
    suite = called.group() in ("describe", "suite")
    body = last.child_by_field_name("body") if last.type in _FUNCTIONS else None
    title = _unquoted(text_of(first, source))
    return Definition(title, kind, body, leaf=not suite) if title else None


def _unquoted(text: str) -> str:
    """Return a title on one line without the enclosing quotation marks."""
    return " ".join((text[1:-1] if text[:1] in ("'", '"', "`") else text).split())


_TEST_CALLS = frozenset({"describe", "suite", "it", "test", "bench"})


def _ruby_test(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Read a Ruby test or suite.

    `describe X do … end` and `it "…" do … end` of RSpec, Minitest and Rails tests.
    """
    called, given = text_of(node.child_by_field_name("method"), source), node.child_by_field_name("arguments")
    block = node.child_by_field_name("block")
    if called not in _RUBY_SUITES | _RUBY_TESTS or block is None or given is None or not given.named_children:
        return None
    first = given.named_children[0]
    if first.type not in ("string", "constant", "scope_resolution"):
        return None
    title = _unquoted(text_of(first, source))
    suite = called in _RUBY_SUITES
    return Definition(title, kind, block.child_by_field_name("body"), leaf=not suite) if title else None


_RUBY_SUITES = frozenset({"describe", "context", "feature"})
_RUBY_TESTS = frozenset({"it", "specify", "test", "should", "scenario"})


_SPECIAL: dict[str, Callable[[SyntaxNode, str, str, bytes], Definition | None]] = {
    "assignment": _assignment,
    "variable_declarator": _variable_declarator,
    "field_definition": _member,
    "public_field_definition": _member,
    "property_signature": _member,
    "assignment_expression": _assignment_expression,
    "arrow_function": _anonymous,
    "call_expression": _javascript_test,
    "call": _ruby_test,
    "class": _anonymous_class,
    "function_expression": _anonymous,
    "type_spec": _go_type,
    "method_declaration": lambda node, kind, inside, source: (
        _go_method(node, kind, inside, source)
        if node.child_by_field_name("receiver") is not None
        else Definition(text_of(node.child_by_field_name("name"), source), kind, node.child_by_field_name("body"))
    ),
    "impl_item": _rust_impl,
    "declaration": _declarator,
    "struct_specifier": _c_type,
    "union_specifier": _c_type,
    "class_specifier": _c_type,
    "enum_specifier": _c_type,
    "type_definition": _typedef,
    "preproc_def": _macro,
    "preproc_function_def": _macro,
    "field_declaration": _field_declaration,
    "event_field_declaration": _fields,
    "property_declaration": lambda node, kind, inside, source: (
        _fields(node, kind, inside, source)
        if node.child_by_field_name("name") is None
        else Definition(text_of(node.child_by_field_name("name"), source), kind)
    ),
    "const_element": _first_child,
    "table": _toml_table,
    "table_array_element": _toml_table,
    "pair": lambda node, kind, inside, source: (
        _key(node, kind, inside, source)
        if node.child_by_field_name("key") is not None
        else _first_child(node, kind, inside, source)
    ),
    "block_mapping_pair": _key,
    "type_alias_statement": _type_alias,
    # Both C's, with the name below declarators, and those with a name field.
    "function_definition": lambda node, kind, inside, source: (
        _declarator(node, kind, inside, source)
        if node.child_by_field_name("declarator") is not None
        else _named_function(node, kind, inside, source)
    ),
}


def _named_function(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    name = text_of(node.child_by_field_name("name"), source)
    return Definition(name, "method" if inside in TYPES else kind, node.child_by_field_name("body")) if name else None


def signature(node: SyntaxNode, found: Definition, wrapper: SyntaxNode | None, source: bytes, grammar: Grammar) -> str:
    """Render the definition on one line, without body and annotations.

    String literals are removed from the values of constants, variables and fields.
    """
    outer = node
    if wrapper is not None and (
        wrapper.start_point[0] == node.start_point[0] or wrapper.type == "template_declaration"
    ):
        outer = wrapper
    start = _after_annotations(outer, grammar)
    end = node.end_byte
    if grammar.ends_after:
        parts = (node.child_by_field_name(name) for name in grammar.ends_after)
        end = max((part.end_byte for part in parts if part is not None), default=end)
    elif found.body is not None:
        end = found.body.start_byte
    else:
        end = next((child.start_byte for child in node.children if child.type in grammar.bodies), end)
    text = _written(node, start, min(end, start + _WINDOW), source)
    line = _TIGHT.sub("", " ".join(_COMMENTS.sub(" ", text).split())) if "\n" in text else text
    if found.kind in ("constant", "variable", "field"):
        line = _without_texts(line)
    line = line.rstrip(" {:;,=").removesuffix("=>").rstrip(" =")
    if node.type == "type_definition" and found.body is not None:
        line = f"{line} {found.name}"
    return line if len(line) <= MAX_SIGNATURE else line[: MAX_SIGNATURE - 1].rstrip() + "…"


def _written(node: SyntaxNode, start: int, end: int, source: bytes) -> str:
    """Return the source with long type parameters shortened to `<…>`."""
    generic = node.child_by_field_name("type_parameters")
    inside = generic is not None and start < generic.start_byte < generic.end_byte <= end
    if generic is None or not inside or generic.end_byte - generic.start_byte <= MAX_GENERIC:
        return source[start:end].decode("utf-8", "replace")
    parts = source[start : generic.start_byte], source[generic.end_byte : end]
    return "<…>".join(part.decode("utf-8", "replace") for part in parts)


def _after_annotations(node: SyntaxNode, grammar: Grammar) -> int:
    if not grammar.leading:
        return node.start_byte
    for child in node.children:
        if child.type in grammar.leading:
            continue
        if child.type != "modifiers":
            return child.start_byte
        for word in child.children:
            if word.type not in grammar.leading:
                return word.start_byte
    return node.start_byte


def _without_texts(line: str) -> str:
    """Replace string literals and long values with `…`.

    A literal may be a secret, and a long value says less than its name.
    """
    head, equals, value = line.partition("=")
    if not equals or not (set("\"'`") & set(value) or len(value) > 60):
        return line
    return f"{head.rstrip()} = …"


def is_licence(text: str) -> bool:
    return bool(_LICENCE.search(text))


def doc_line(text: str) -> str:
    """Return the first informative line of a comment or docstring.

    "" for licences and tool directives.
    """
    passed_over = False  # True inside a skipped sentence
    for raw in text.splitlines()[:12]:
        line = _COMMENT_MARKS.sub("", _COMMENT_MARKS.sub("", raw)).strip().strip("\"'").strip()
        line = _FILE_TAG.sub("", line)
        if _NO_DOC.search(line):
            passed_over = bool(_WORDS.search(line)) and not line.endswith((".", "!", ":", ">"))
        elif passed_over and line[:1].islower():
            passed_over = not line.endswith((".", "!", ":"))
        elif line:
            return line if len(line) <= MAX_DOC else line[: MAX_DOC - 1].rstrip() + "…"
    return ""


def docstring(body: SyntaxNode | None, source: bytes) -> str:
    """Return Python's docstring: the first statement, if it is a string."""
    first = next(iter(body.named_children), None) if body is not None else None
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    text = first.named_children[0]
    return doc_line(re.sub(r"^[rRuUbB]*(\"{3}|'{3}|\"|')", "", text_of(text, source))) if text.type == "string" else ""
