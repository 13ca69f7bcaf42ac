"""Readers that turn syntax nodes into definitions.

They return the name, the kind, the signature on one line and the first line of the documentation. Each reader
handles some types of nodes and returns None if the node defines nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hunchd.ingestion.grammars import Grammar

MAX_SIGNATURE = 200  # characters: enough for all parameters of nearly every function
MAX_DOC = 160
MAX_GENERIC = 60  # bytes of type parameters; longer ones would push the parameters off the line
_MAX_NODE_BYTES = 4000  # bytes read per node

TYPE_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "union", "impl"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function", "generator_function"})
_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+!?|//[/!]?|#+!?|--+|;+|\*+/|\*+|<!--)\s?|\s*(?:\*+/|-->)\s*$")
_FILE_TAG = re.compile(r"^[@\\](?:fileoverview|file|brief)\s+(?=\S+ \S)")
_WORDS = re.compile(r"[A-Za-z]{3,} \w")
_NOT_DOCUMENTATION = re.compile(
    r"(?i)copyright|licen[sc]e|spdx|all rights reserved|eslint|@ts-|prettier-|pylint|noqa|type:\s*ignore|usr/bin|"
    r"coding[:=]|nolint|rustfmt|istanbul|webpack|vim:|@format|@flow|go:build|^/\S*bin/|^\+build|"
    r"code generated|auto-?generated|do not edit|"
    r"^[\s*=\-#/@_~]*$|"
    r"^@\w+|^</?\w+>$|^\W*todo|^\W*fixme"
)


_LICENSE = re.compile(r"(?i)copyright|licen[sc]ed? |spdx|all rights reserved")
# Removed when joining lines: comments between parameters, spaces inside brackets, trailing commas.
_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*|(?<=\s)#\s[^\n]*", re.DOTALL)
_SUPERFLUOUS_SPACING = re.compile(r"(?<=[(\[]) +|(?<=\w<) +|,? +(?=[)\]]|>(?:[,)\]>;(:]|$))")


class SyntaxNode(Protocol):
    """Subset of tree-sitter's `Node` that this module uses."""

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

    `body` is the part that contains the members; the signature ends where the body begins. If `is_silent` is True,
    only the members become symbols, not the definition itself.
    """

    name: str
    kind: str
    body: SyntaxNode | None = None
    container: str | None = None  # overrides the enclosing container
    is_silent: bool = False
    is_leaf: bool = False  # definitions in its body are ignored


def get_node_text(node: SyntaxNode | None, source: bytes) -> str:
    if node is None:
        return ""
    return source[node.start_byte : min(node.end_byte, node.start_byte + _MAX_NODE_BYTES)].decode("utf-8", "replace")


def read_definition(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Return the definition that `node` represents, or None if there is none.

    `enclosing_kind` is the kind of the enclosing definition. A function inside a type becomes a method.
    """
    special = _READERS.get(node.type)
    if special:
        return special(node, kind, enclosing_kind, source)
    name = get_node_text(node.child_by_field_name("name"), source).strip("\"'`")
    if not name:
        return None
    if kind == "function" and enclosing_kind in TYPE_KINDS:
        kind = "method"
    return Definition(name, kind, node.child_by_field_name("body"))


def _read_assignment(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a Python or Ruby assignment to a single name."""
    target = node.child_by_field_name("left")
    if target is None or target.type not in ("identifier", "constant"):
        return None
    name = get_node_text(target, source)
    if enclosing_kind in TYPE_KINDS:
        return Definition(name, "constant" if target.type == "constant" else "field")
    return Definition(name, "constant" if name.isupper() or target.type == "constant" else "variable")


def _read_variable_declarator(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a JavaScript declaration such as `name = value`.

    If the value is a function, so is the definition. If the value is a `require` or a dynamic import, nothing is
    defined.
    """
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or name.type not in ("identifier", "property_identifier"):
        return None
    if value is None:
        return Definition(get_node_text(name, source), "variable")
    if value.type in _FUNCTIONS:
        return Definition(get_node_text(name, source), "function", value.child_by_field_name("body"))
    if value.type == "class":
        return Definition(get_node_text(name, source), "class", value.child_by_field_name("body"))
    if get_node_text(value, source).startswith(("require(", "await import(")):
        return None
    return Definition(get_node_text(name, source), kind)


def _read_member(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a field of a JavaScript class or TypeScript interface.

    If its value is a function, the field is a method.
    """
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    value = node.child_by_field_name("value")
    if name is None:
        return None
    if value is not None and value.type in _FUNCTIONS:
        return Definition(get_node_text(name, source), "method", value.child_by_field_name("body"))
    return Definition(get_node_text(name, source).strip("\"'"), kind)


def _read_assignment_expression(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read `exports.f = function …` and `Thing.prototype.f = …`.

    Other assignments define nothing.
    """
    target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    if (
        target is None
        or value is None
        or target.type != "member_expression"
        or value.type not in (*_FUNCTIONS, "class")
    ):
        return None
    name = get_node_text(target.child_by_field_name("property"), source)
    owner = get_node_text(target.child_by_field_name("object"), source).removesuffix(".prototype")
    if name == "exports":
        name, owner = get_node_text(value.child_by_field_name("name"), source) or "default", ""
    outer = "" if owner in ("exports", "module.exports", "this") else owner
    kind = "class" if value.type == "class" else "method" if outer else "function"
    return Definition(name, kind, value.child_by_field_name("body"), container=outer)


def _read_anonymous(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    name = get_node_text(node.child_by_field_name("name"), source) or "default"
    return Definition(name, kind, node.child_by_field_name("body"))


def _read_class(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a class; a class without a name is called "default".

    A JavaScript class expression may have no name, whereas a Ruby class always has one. Both have the same node type.
    """
    name = re.sub(".*::", "", get_node_text(node.child_by_field_name("name"), source)) or "default"
    return Definition(name, kind, node.child_by_field_name("body"))


def _read_go_type(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    shape = node.child_by_field_name("type")
    name = get_node_text(node.child_by_field_name("name"), source)
    kinds = {"struct_type": "struct", "interface_type": "interface"}
    if shape is None or shape.type not in kinds:
        return Definition(name, kind)
    body = next((child for child in shape.named_children if child.type == "field_declaration_list"), shape)
    return Definition(name, kinds[shape.type], body)


def _read_go_method(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    receiver = re.sub(r"\[.*", "", get_node_text(node.child_by_field_name("receiver"), source)).strip("() ")
    name = get_node_text(node.child_by_field_name("name"), source)
    owner = receiver.split()[-1].lstrip("*") if receiver else ""
    return Definition(name, kind, node.child_by_field_name("body"), container=owner)


def _read_rust_impl(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    owner = get_node_text(node.child_by_field_name("type"), source)
    name = re.split(r"[<\s]", owner.lstrip("&"), maxsplit=1)[0].rpartition("::")[2]
    return Definition(name, kind, node.child_by_field_name("body"), is_silent=True)


def _read_declarator(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a C or C++ function, variable or field.

    Its name is inside nested declarators.
    """
    inner = node.child_by_field_name("declarator")
    is_function = False
    for _ in range(12):  # pointers to functions returning pointers
        if inner is None:
            return _read_inline_type(node, source)
        is_function |= inner.type == "function_declarator"
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type in ("reference_declarator", "parenthesized_declarator"):
            deeper = next(iter(inner.named_children), None)
        if deeper is None:
            break
        inner = deeper
    if inner is None or not (inner.type.endswith("identifier") or inner.type.endswith("name")):
        return None
    owner, _, name = get_node_text(inner, source).rpartition("::")
    if kind == "function" or is_function:
        kind = "method" if owner or enclosing_kind in TYPE_KINDS else "function"
    return Definition(name, kind, node.child_by_field_name("body"), container=re.sub("<.*", "", owner) or None)


def _read_inline_type(node: SyntaxNode, source: bytes) -> Definition | None:
    """Read a C declaration without a variable, such as `struct S { … };`."""
    shape = node.child_by_field_name("type")
    if shape is None or shape.child_by_field_name("body") is None:
        return None
    name = get_node_text(shape.child_by_field_name("name"), source)
    return Definition(name, shape.type.partition("_")[0], shape.child_by_field_name("body")) if name else None


def _read_c_type(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a struct, union, class or enum that has a body.

    A node without a body is only a reference to the type, and defines nothing.
    """
    body = node.child_by_field_name("body")
    name = re.sub("<.*", "", get_node_text(node.child_by_field_name("name"), source))
    return Definition(name, kind, body) if body is not None and name else None


def _read_typedef(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    definition = _read_declarator(node, kind, enclosing_kind, source)
    shape = node.child_by_field_name("type")
    body = shape.child_by_field_name("body") if shape is not None else None
    return Definition(definition.name, "type", body) if definition else None


def _read_macro(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a macro that has a value.

    A macro without one is usually an include guard and is ignored.
    """
    value = node.child_by_field_name("value")
    name = get_node_text(node.child_by_field_name("name"), source)
    return Definition(name, kind, value if node.type == "preproc_function_def" else None) if value is not None else None


def _read_fields(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a field declaration in Java, C# or PHP.

    If it declares several names, the first is used.
    """
    inner = node.child_by_field_name("declarator") or next(
        (child for child in node.named_children if child.type in ("variable_declaration", "property_element")), None
    )
    if inner is not None and inner.type == "variable_declaration":
        inner = next((child for child in inner.named_children if child.type == "variable_declarator"), None)
    if inner is None:
        return _read_declarator(node, kind, enclosing_kind, source)
    name = inner.child_by_field_name("name") or next(iter(inner.named_children), None)
    return Definition(get_node_text(name, source).lstrip("$"), kind) if name is not None else None


def _read_field_declaration(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a `field_declaration` node in Go, Rust, Java, C# or C++.

    The node has one of three structures, depending on the language.
    """
    name = node.child_by_field_name("name")
    if name is not None:
        return Definition(get_node_text(name, source), kind)
    inner = node.child_by_field_name("declarator")
    if inner is not None and inner.type != "variable_declarator":
        return _read_declarator(node, kind, enclosing_kind, source)
    return _read_fields(node, kind, enclosing_kind, source)


def _read_first_child(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    first = next(iter(node.named_children), None)
    return Definition(get_node_text(first, source).strip("\"'"), kind) if first is not None else None


def _read_toml_table(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    definition = _read_first_child(node, kind, enclosing_kind, source)
    return Definition(definition.name, kind, node) if definition else None


def _read_key(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    name = get_node_text(node.child_by_field_name("key"), source).strip("\"'")
    return Definition(name, kind, node.child_by_field_name("value")) if name and len(name) < 120 else None


def _read_type_alias(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    name = node.child_by_field_name("name") or node.child_by_field_name("left")
    return Definition(re.sub(r"\[.*", "", get_node_text(name, source)), kind)


def _read_javascript_test(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a JavaScript test or test suite.

    Examples are `describe("…", () => {…})`, `test("…", …)` and `it.each(…)("…", …)`. The body of a suite contains
    further tests. Returns None for any other call.
    """
    callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    function_match = re.match(r"[a-z]+", get_node_text(callee, source))
    if (
        arguments is None
        or function_match is None
        or function_match.group() not in _TEST_CALLS
        or not arguments.named_children
    ):
        return None
    first, last = arguments.named_children[0], arguments.named_children[-1]
    if first.type not in ("string", "template_string"):
        return None
    suite = function_match.group() in ("describe", "suite")
    body = last.child_by_field_name("body") if last.type in _FUNCTIONS else None
    title = _unquote(get_node_text(first, source))
    return Definition(title, kind, body, is_leaf=not suite) if title else None


def _unquote(text: str) -> str:
    """Return a test's title on one line, without the quotation marks around it."""
    return " ".join((text[1:-1] if text[:1] in ("'", '"', "`") else text).split())


_TEST_CALLS = frozenset({"describe", "suite", "it", "test", "bench"})


def _read_ruby_test(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    """Read a Ruby test or test suite.

    Examples are `describe X do … end` and `it "…" do … end`, as in RSpec, Minitest and Rails tests. Returns None
    for any other call.
    """
    method, arguments = get_node_text(node.child_by_field_name("method"), source), node.child_by_field_name("arguments")
    block = node.child_by_field_name("block")
    if method not in _RUBY_SUITES | _RUBY_TESTS or block is None or arguments is None or not arguments.named_children:
        return None
    first = arguments.named_children[0]
    if first.type not in ("string", "constant", "scope_resolution"):
        return None
    title = _unquote(get_node_text(first, source))
    suite = method in _RUBY_SUITES
    return Definition(title, kind, block.child_by_field_name("body"), is_leaf=not suite) if title else None


_RUBY_SUITES = frozenset({"describe", "context", "feature"})
_RUBY_TESTS = frozenset({"it", "specify", "test", "should", "scenario"})


_READERS: dict[str, Callable[[SyntaxNode, str, str, bytes], Definition | None]] = {
    "assignment": _read_assignment,
    "variable_declarator": _read_variable_declarator,
    "field_definition": _read_member,
    "public_field_definition": _read_member,
    "property_signature": _read_member,
    "assignment_expression": _read_assignment_expression,
    "arrow_function": _read_anonymous,
    "call_expression": _read_javascript_test,
    "call": _read_ruby_test,
    "class": _read_class,
    "function_expression": _read_anonymous,
    "type_spec": _read_go_type,
    "method_declaration": lambda node, kind, inside, source: (
        _read_go_method(node, kind, inside, source)
        if node.child_by_field_name("receiver") is not None
        else Definition(get_node_text(node.child_by_field_name("name"), source), kind, node.child_by_field_name("body"))
    ),
    "impl_item": _read_rust_impl,
    "declaration": _read_declarator,
    "struct_specifier": _read_c_type,
    "union_specifier": _read_c_type,
    "class_specifier": _read_c_type,
    "enum_specifier": _read_c_type,
    "type_definition": _read_typedef,
    "preproc_def": _read_macro,
    "preproc_function_def": _read_macro,
    "field_declaration": _read_field_declaration,
    "event_field_declaration": _read_fields,
    "property_declaration": lambda node, kind, inside, source: (
        _read_fields(node, kind, inside, source)
        if node.child_by_field_name("name") is None
        else Definition(get_node_text(node.child_by_field_name("name"), source), kind)
    ),
    "const_element": _read_first_child,
    "table": _read_toml_table,
    "table_array_element": _read_toml_table,
    "pair": lambda node, kind, inside, source: (
        _read_key(node, kind, inside, source)
        if node.child_by_field_name("key") is not None
        else _read_first_child(node, kind, inside, source)
    ),
    "block_mapping_pair": _read_key,
    "type_alias_statement": _read_type_alias,
    # C and C++, where the name is inside declarators, and languages with a name field.
    "function_definition": lambda node, kind, inside, source: (
        _read_declarator(node, kind, inside, source)
        if node.child_by_field_name("declarator") is not None
        else _read_named_function(node, kind, inside, source)
    ),
}


def _read_named_function(node: SyntaxNode, kind: str, enclosing_kind: str, source: bytes) -> Definition | None:
    name = get_node_text(node.child_by_field_name("name"), source)
    return (
        Definition(name, "method" if enclosing_kind in TYPE_KINDS else kind, node.child_by_field_name("body"))
        if name
        else None
    )


def render_signature(
    node: SyntaxNode, definition: Definition, wrapper: SyntaxNode | None, source: bytes, grammar: Grammar
) -> str:
    """Render the signature on one line, without body and annotations.

    `wrapper` is the node around `node`, such as an export, if there is one. String literals are removed from the
    values of constants, variables and fields.
    """
    outer = node
    if wrapper is not None and (
        wrapper.start_point[0] == node.start_point[0] or wrapper.type == "template_declaration"
    ):
        outer = wrapper
    start = _skip_annotations(outer, grammar)
    end = node.end_byte
    if grammar.signature_fields:
        parts = (node.child_by_field_name(name) for name in grammar.signature_fields)
        end = max((part.end_byte for part in parts if part is not None), default=end)
    elif definition.body is not None:
        end = definition.body.start_byte
    else:
        end = next((child.start_byte for child in node.children if child.type in grammar.body_nodes), end)
    text = _render_source(node, start, min(end, start + _MAX_NODE_BYTES), source)
    line = _SUPERFLUOUS_SPACING.sub("", " ".join(_COMMENTS.sub(" ", text).split())) if "\n" in text else text
    if definition.kind in ("constant", "variable", "field"):
        line = _strip_literals(line)
    line = line.rstrip(" {:;,=").removesuffix("=>").rstrip(" =")
    if node.type == "type_definition" and definition.body is not None:
        line = f"{line} {definition.name}"
    return line if len(line) <= MAX_SIGNATURE else line[: MAX_SIGNATURE - 1].rstrip() + "…"


def _render_source(node: SyntaxNode, start: int, end: int, source: bytes) -> str:
    """Return the source from `start` to `end`, with long type parameters shown as `<…>`."""
    generic = node.child_by_field_name("type_parameters")
    is_inside = generic is not None and start < generic.start_byte < generic.end_byte <= end
    if generic is None or not is_inside or generic.end_byte - generic.start_byte <= MAX_GENERIC:
        return source[start:end].decode("utf-8", "replace")
    parts = source[start : generic.start_byte], source[generic.end_byte : end]
    return "<…>".join(part.decode("utf-8", "replace") for part in parts)


def _skip_annotations(node: SyntaxNode, grammar: Grammar) -> int:
    if not grammar.annotation_nodes:
        return node.start_byte
    for child in node.children:
        if child.type in grammar.annotation_nodes:
            continue
        if child.type != "modifiers":
            return child.start_byte
        for word in child.children:
            if word.type not in grammar.annotation_nodes:
                return word.start_byte
    return node.start_byte


def _strip_literals(line: str) -> str:
    """Replace the value in a declaration with `…` if it should not be shown.

    A string may be a secret, and a value of more than 60 characters is less informative than the declared name.
    """
    head, equals, value = line.partition("=")
    if not equals or not (set("\"'`") & set(value) or len(value) > 60):
        return line
    return f"{head.rstrip()} = …"


def is_license_text(text: str) -> bool:
    return bool(_LICENSE.search(text))


def extract_doc_line(text: str) -> str:
    """Return the first informative line of a comment or docstring.

    Licence texts and tool directives are skipped. Returns "" if nothing is left.
    """
    in_skipped_sentence = False  # True inside a skipped sentence
    for raw in text.splitlines()[:12]:
        line = _COMMENT_MARKS.sub("", _COMMENT_MARKS.sub("", raw)).strip().strip("\"'").strip()
        line = _FILE_TAG.sub("", line)
        if _NOT_DOCUMENTATION.search(line):
            in_skipped_sentence = bool(_WORDS.search(line)) and not line.endswith((".", "!", ":", ">"))
        elif in_skipped_sentence and line[:1].islower():
            in_skipped_sentence = not line.endswith((".", "!", ":"))
        elif line:
            return line if len(line) <= MAX_DOC else line[: MAX_DOC - 1].rstrip() + "…"
    return ""


def extract_docstring(body: SyntaxNode | None, source: bytes) -> str:
    """Return the first informative line of a Python definition's docstring.

    Returns "" if the body does not begin with a string.
    """
    first = next(iter(body.named_children), None) if body is not None else None
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    text = first.named_children[0]
    return (
        extract_doc_line(re.sub(r"^[rRuUbB]*(\"{3}|'{3}|\"|')", "", get_node_text(text, source)))
        if text.type == "string"
        else ""
    )
