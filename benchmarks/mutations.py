"""Mutation operators by language, as tree-sitter queries, so that no fault is chosen by hand.

A site is a node that a query names. Its replacement is made by rule; where the rule inserts a value, there is a second
form with another value, for the same fault when it recurs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from tree_sitter import Language, Node, Parser, Query, QueryCursor

Change = Callable[[str, Node], tuple[str, str] | None]  # text of a node → (broken, broken with another value)

_FLIPPED: Final = {
    "==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">": "<=", "<=": ">", ">=": "<",
    "in": "not in", "is": "is not", "not in": "in", "is not": "is",
}  # fmt: skip


def _flip(text: str, _: Node) -> tuple[str, str] | None:
    return (_FLIPPED[text], _FLIPPED[text]) if text in _FLIPPED else None


def _template(form: str, other: str = "") -> Change:
    """Return a rule; `form` and `other` contain {} for the old text."""
    return lambda text, _: (form.replace("{}", text), (other or form).replace("{}", text))


def _next_number(text: str, _: Node) -> tuple[str, str] | None:
    return (str(int(text) + 1), str(int(text) + 2)) if text.isdigit() else None


def _number_as_text(text: str, _: Node) -> tuple[str, str] | None:
    return (f'"{text}"', f'"{text}1"') if text.isdigit() else None


def _longer_string(text: str, _: Node) -> tuple[str, str] | None:
    return (f"{text[:-1]}_{text[-1]}", f"{text[:-1]}_{text[-1]}") if len(text) > 2 else None


def _remove_member(place: int) -> Change:
    """Remove one member of an argument or parameter list; the first is 0, the last -1."""

    def change(text: str, node: Node) -> tuple[str, str] | None:
        members = [member for member in node.named_children if member.type != "comment"]
        if len(members) < (1 if place == 0 else 2):
            return None
        rest = [member.text.decode() for member in members if member is not members[place]]
        broken = f"{text[0]}{', '.join(rest)}{text[-1]}"
        return broken, broken

    return change


def _swap(text: str, node: Node) -> tuple[str, str] | None:
    members = [member.text.decode() for member in node.named_children if member.type != "comment"]
    if len(members) < 2 or members[0] == members[1] or any("=" in member for member in members[:2]):
        return None
    broken = f"{text[0]}{', '.join([members[1], members[0], *members[2:]])}{text[-1]}"
    return broken, broken


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    query: str  # captures @x
    change: Change
    in_tests: bool = False  # if the fault is in a test itself


_ARGUMENTS: Final = {"python": "argument_list", "go": "argument_list", "rust": "arguments", "java": "argument_list"}


def _call_operators(language: str) -> tuple[Operator, ...]:
    arguments = f"({_ARGUMENTS.get(language, 'arguments')}) @x"
    return (
        Operator("argument removed", arguments, _remove_member(0)),
        Operator("last argument removed", arguments, _remove_member(-1)),
        Operator("arguments swapped", arguments, _swap),
    )


_SCRIPT: Final = (
    Operator(
        "comparison flipped", '(binary_expression operator: ["===" "!==" "<" ">" "<=" ">=" "==" "!="] @x)', _flip
    ),
    Operator("condition negated", "(if_statement condition: (parenthesized_expression) @x)", _template("(!{})")),
    Operator("off by one", "(number) @x", _next_number),
    Operator("nothing returned", "(return_statement (_) @x)", _template("undefined")),
    Operator("property renamed", "(member_expression property: (property_identifier) @x)", _template("{}Of")),
    Operator("name misspelt", "(call_expression function: (identifier) @x)", _template("{}Of")),
    Operator("import missing", "(import_statement) @x", _template("")),
    Operator("declaration missing", "(lexical_declaration) @x", _template("")),
    Operator("import misspelt", "(import_statement source: (string) @x)", _longer_string),
    Operator(
        "require misspelt", '((call_expression function: (identifier) @f arguments: (arguments (string) @x))'
        ' (#eq? @f "require"))', _longer_string
    ),
    Operator("wrong type", "(number) @x", _number_as_text),
    Operator("value as text", "(variable_declarator value: (_) @x)", _template("String({})", "String({}) + 1")),
    Operator("key renamed", "(pair key: (property_identifier) @x)", _template("{}Of")),
    Operator("parameter removed", "(formal_parameters) @x", _remove_member(-1)),
    Operator("brace missing", '(statement_block "}" @x)', _template("")),
    Operator("statement removed", "(expression_statement) @x", _template(";")),
    Operator("expectation changed", "(arguments (number) @x)", _next_number, in_tests=True),
)  # fmt: skip

OPERATORS: Final[Mapping[str, tuple[Operator, ...]]] = {
    "python": (
        Operator(
            "comparison flipped",
            '(comparison_operator ["==" "!=" "<" ">" "<=" ">=" "in" "is" "not in" "is not"] @x)',
            _flip,
        ),
        Operator("condition negated", "(if_statement condition: (_) @x)", _template("not ({})")),
        Operator("off by one", "(integer) @x", _next_number),
        Operator("None returned", "(return_statement (_) @x)", _template("None")),
        Operator("attribute renamed", "(attribute attribute: (identifier) @x)", _template("{}_of")),
        Operator("name misspelt", "(call function: (identifier) @x)", _template("{}_of")),
        Operator("import missing", "[(import_statement) (import_from_statement)] @x", _template("pass")),
        Operator("imported name misspelt", "(import_from_statement name: (dotted_name) @x)", _template("{}_of")),
        Operator("module misspelt", "(import_statement name: (dotted_name) @x)", _template("{}_of")),
        Operator("wrong type returned", "(return_statement (_) @x)", _template("str({})", "str({}) + '!'")),
        Operator("wrong type assigned", "(assignment right: (_) @x)", _template("[{}]", "[{}, 1]")),
        Operator("key renamed", "[(subscript subscript: (string) @x) (pair key: (string) @x)]", _longer_string),
        Operator("keyword renamed", "(keyword_argument name: (identifier) @x)", _template("{}_of")),
        Operator("parameter removed", "(parameters) @x", _remove_member(-1)),
        Operator("colon missing", '[(function_definition ":" @x) (if_statement ":" @x)]', _template("")),
        Operator("bracket missing", '(argument_list ")" @x)', _template("")),
        Operator("call removed", "(expression_statement (call)) @x", _template("pass")),
        Operator("assignment removed", "(expression_statement (assignment)) @x", _template("pass")),
        Operator("other exception raised", "(raise_statement (call function: (identifier) @x))", _template("OSError")),
        Operator(
            "expectation changed", "(assert_statement (comparison_operator (integer) @x))", _next_number, in_tests=True
        ),
        *_call_operators("python"),
    ),
    "go": (
        Operator("comparison flipped", '(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @x)', _flip),
        Operator("condition negated", "(if_statement condition: (_) @x)", _template("!({})")),
        Operator("off by one", "(int_literal) @x", _next_number),
        Operator("nil returned", "(return_statement (expression_list (_) @x))", _template("nil")),
        Operator("field renamed", "(selector_expression field: (field_identifier) @x)", _template("{}Of")),
        Operator("name misspelt", "(call_expression function: (identifier) @x)", _template("{}Of")),
        Operator("import missing", "(import_spec) @x", _template("")),
        Operator("import misspelt", "(import_spec path: (interpreted_string_literal) @x)", _longer_string),
        Operator("wrong type", "(int_literal) @x", _number_as_text),
        Operator("text changed", "(interpreted_string_literal) @x", _longer_string),
        Operator("brace missing", '(block "}" @x)', _template("")),
        Operator("call removed", "(expression_statement) @x", _template("")),
        Operator("assignment removed", "(assignment_statement) @x", _template("")),
        Operator("parameter removed", "(parameter_list) @x", _remove_member(-1)),
        Operator("value unused", "(short_var_declaration right: (expression_list (_) @x))", _template("{}, 1")),
        Operator("expectation changed", "(int_literal) @x", _next_number, in_tests=True),
        *_call_operators("go"),
    ),
    "javascript": (*_SCRIPT, *_call_operators("javascript")),
    "typescript": (*_SCRIPT, *_call_operators("typescript")),
    "rust": (
        Operator("comparison flipped", '(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @x)', _flip),
        Operator("condition negated", "(if_expression condition: (_) @x)", _template("!({})")),
        Operator("off by one", "(integer_literal) @x", _next_number),
        Operator("field renamed", "(field_expression field: (field_identifier) @x)", _template("{}_of")),
        Operator("name misspelt", "(call_expression function: (identifier) @x)", _template("{}_of")),
        Operator("import missing", "(use_declaration) @x", _template("")),
        Operator("wrong type", "(integer_literal) @x", _number_as_text),
        Operator("text changed", "(string_literal) @x", _longer_string),
        Operator("brace missing", '(block "}" @x)', _template("")),
        Operator("statement removed", "(expression_statement) @x", _template("")),
        Operator("panics", "(return_expression (_) @x)", _template("panic!(\"{}\")")),
        *_call_operators("rust"),
    ),
}  # fmt: skip

_MODULES: Final = {
    "python": ("tree_sitter_python", "language"),
    "go": ("tree_sitter_go", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "rust": ("tree_sitter_rust", "language"),
}


@dataclass(frozen=True, slots=True)
class Site:
    """Range of bytes in a file, and its replacement."""

    operator: str
    path: str
    start: int
    end: int
    broken: str
    again: str  # the same fault with another value, if it has one

    def applied(self, source: bytes, *, again: bool = False) -> bytes:
        return source[: self.start] + (self.again if again else self.broken).encode() + source[self.end :]


def find_sites(language: str, operator: Operator, path: str, source: bytes) -> Iterator[Site]:
    """Yield every site of a file where `operator` applies."""
    grammar = _grammar(language)
    tree = Parser(grammar).parse(source)
    found: dict[str, Any] = QueryCursor(Query(grammar, operator.query)).captures(tree.root_node)
    for node in sorted(found.get("x", ()), key=lambda node: node.start_byte):
        text = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        replacement = operator.change(text, node)
        if replacement is not None and replacement[0] != text:
            yield Site(operator.name, path, node.start_byte, node.end_byte, *replacement)


def _grammar(language: str) -> Language:
    module, function = _MODULES[language]
    return Language(getattr(import_module(module), function)())
