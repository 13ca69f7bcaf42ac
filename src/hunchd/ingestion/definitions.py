"""What a definition node says: its name and kind, its signature on one line, the first line of its documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hunchd.ingestion.grammars import Grammar

MAX_SIGNATURE = 200  # characters: whole parameters of nearly every function, and bounded
MAX_DOC = 160
MAX_GENERIC = 60  # bytes of type parameters: with bounds and defaults they push the real ones off the line
_WINDOW = 4000  # bytes of a node that are looked at

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
# What a person would not write on one line: comments between parameters, spaces inside brackets, a last comma.
_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*|(?<=\s)#\s[^\n]*", re.DOTALL)
_TIGHT = re.compile(r"(?<=[(\[]) +|(?<=\w<) +|,? +(?=[)\]]|>(?:[,)\]>;(:]|$))")


class SyntaxNode(Protocol):
    """What we use of a tree-sitter node."""

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
    """`body` is where the members are and where the signature ends; a silent one holds members but is no symbol."""

    name: str
    kind: str
    body: SyntaxNode | None = None
    container: str | None = None  # overrides the enclosing one
    silent: bool = False
    leaf: bool = False  # what its body defines is nobody else's business


def text_of(node: SyntaxNode | None, source: bytes) -> str:
    if node is None:
        return ""
    return source[node.start_byte : min(node.end_byte, node.start_byte + _WINDOW)].decode("utf-8", "replace")


def definition(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """What `node` defines, None when it is no definition after all. `inside` is the kind of what encloses it."""
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
    """Python's and Ruby's: a plain name on the left."""
    left = node.child_by_field_name("left")
    if left is None or left.type not in ("identifier", "constant"):
        return None
    name = text_of(left, source)
    if inside in TYPES:
        return Definition(name, "constant" if left.type == "constant" else "field")
    return Definition(name, "constant" if name.isupper() or left.type == "constant" else "variable")


def _variable_declarator(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """JavaScript's `name = value`: a function when the value is one, nothing when it is required from elsewhere."""
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
    """A field of a JavaScript class or TypeScript interface: a method when its value is a function."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    value = node.child_by_field_name("value")
    if name is None:
        return None
    if value is not None and value.type in _FUNCTIONS:
        return Definition(text_of(name, source), "method", value.child_by_field_name("body"))
    return Definition(text_of(name, source).strip("\"'"), kind)


def _assignment_expression(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """`exports.f = function …`, `Thing.prototype.f = …`; any other assignment defines nothing."""
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
    """JavaScript's class expression is nameless, Ruby's class, of the same node type, never is."""
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
    """C's and C++'s functions, variables and fields, whose name sits at the bottom of nested declarators."""
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
    """`struct S { … };` parsed as a declaration without a declarator."""
    shape = node.child_by_field_name("type")
    if shape is None or shape.child_by_field_name("body") is None:
        return None
    name = text_of(shape.child_by_field_name("name"), source)
    return Definition(name, shape.type.partition("_")[0], shape.child_by_field_name("body")) if name else None


def _c_type(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """A struct, union, class or enum: only where it has a body, else it is a mere mention."""
    body = node.child_by_field_name("body")
    name = re.sub("<.*", "", text_of(node.child_by_field_name("name"), source))
    return Definition(name, kind, body) if body is not None and name else None


def _typedef(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    found = _declarator(node, kind, inside, source)
    shape = node.child_by_field_name("type")
    body = shape.child_by_field_name("body") if shape is not None else None
    return Definition(found.name, "type", body) if found else None


def _macro(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """A macro with a value: one without is an include guard."""
    value = node.child_by_field_name("value")
    name = text_of(node.child_by_field_name("name"), source)
    return Definition(name, kind, value if node.type == "preproc_function_def" else None) if value is not None else None


def _fields(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """Java's, C#'s and PHP's field declarations: the first name declared."""
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
    """`field_declaration` is what Go, Rust, Java, C# and C++ all call it, with three shapes."""
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
    """`describe("…", () => {…})`, `test("…", …)`, `it.each(…)("…", …)`: what a test file defines. Of a suite the body
    holds more of them."""
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
    """A title on one line, without the quotation marks around it but with those inside."""
    return " ".join((text[1:-1] if text[:1] in ("'", '"', "`") else text).split())


_TEST_CALLS = frozenset({"describe", "suite", "it", "test", "bench"})


def _ruby_test(node: SyntaxNode, kind: str, inside: str, source: bytes) -> Definition | None:
    """`describe X do … end`, `it "…" do … end`: what a spec defines, with RSpec, Minitest and Rails' tests alike."""
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
    # Both C's (name below declarators) and those of languages that name the name.
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
    """The definition on one line, without its body, its annotations and, for plain values, without text literals."""
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
    """The source from `start` to `end`; of type parameters that would fill the line only that there are some."""
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
    """A text literal may be a secret, and a long value says less than its name."""
    head, equals, value = line.partition("=")
    if not equals or not (set("\"'`") & set(value) or len(value) > 60):
        return line
    return f"{head.rstrip()} = …"


def is_licence(text: str) -> bool:
    return bool(_LICENCE.search(text))


def doc_line(text: str) -> str:
    """The first line of a comment or docstring that tells something; "" for licences and orders to tools."""
    passed_over = False  # a sentence that goes on
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
    """Python's: the first statement, when it is a string."""
    first = next(iter(body.named_children), None) if body is not None else None
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    text = first.named_children[0]
    return doc_line(re.sub(r"^[rRuUbB]*(\"{3}|'{3}|\"|')", "", text_of(text, source))) if text.type == "string" else ""
