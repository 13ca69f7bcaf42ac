"""Anti-unification of instances against the most typical one.

A part stays fixed if most instances have it at that place; a part that differs is a hole; a member of a list
(statements, arguments, members) that most instances lack is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import Syntax

MOST_NODES: Final = 1_500  # of one instance
# Minimum word overlap for two list members to correspond.
ALIKE: Final = 0.34
AGREED: Final = 0.7  # share of instances that must have a part for it to be fixed
USUAL: Final = 0.6  # … and a list member for it to be kept
LONGEST_TEXT: Final = 80  # characters stored per hole

_STRINGS: Final = frozenset(
    {
        "string",
        "interpreted_string_literal",
        "raw_string_literal",
        "string_literal",
        "template_string",
        "char_literal",
        "character_literal",
        "rune_literal",
        "concatenated_string",
    }
)
LISTS: Final = frozenset(
    {
        "block",
        "statement_list",
        "statement_block",
        "argument_list",
        "arguments",
        "class_body",
        "declaration_list",
        "parameters",
        "parameter_list",
        "formal_parameters",
        "object",
        "literal_value",
        "list",
        "array",
        "program",
        "interface_body",
        "enum_body",
        "field_declaration_list",
        "match_block",
        "source_file",
        "module",
        "dictionary",
        "field_initializer_list",
        "token_tree",
        "switch_body",
        "constructor_body",
        "together",
    }
)


@dataclass(slots=True)
class Part:
    """Node of an instance's tree, with source position and counts."""

    type: str
    start: int
    end: int
    role: str  # the field of its parent that it fills, "" for none
    text: str | None = None  # of a leaf
    children: list[Part] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    seen: int = 0  # instances that have it here
    same: int = 0  # … and, of a leaf, with the same text
    others: dict[int, str] = field(default_factory=dict)  # text at this place, by number of the instance


@dataclass(frozen=True, slots=True)
class Instance:
    """Instance of a pattern as a tree, with its source."""

    tree: Part
    source: bytes

    def text(self, part: Part) -> str:
        """Return the source text of a part."""
        return self.source[part.start : part.end].decode("utf-8", "replace")


def instance_of(syntax: Syntax, start: int, end: int) -> Instance | None:
    """Build the tree of the bytes from `start` to `end`.

    None if no syntax tree contains them, or if they have more than MOST_NODES nodes.
    """
    for tree in reversed(syntax.trees):  # macro content is code only in the tree parsed from it
        nodes = _nodes_in(tree.root_node, start, end)
        if nodes:
            budget = [MOST_NODES]
            parts = [part for node in nodes if (part := _part(node, "", syntax.source, budget)) is not None]
            if budget[0] <= 0 or not parts:
                return None
            if len(parts) == 1:
                return Instance(parts[0], syntax.source)
            words = frozenset().union(*(part.words for part in parts))
            return Instance(Part("together", start, end, "", None, parts, words), syntax.source)
    return None


def _nodes_in(root: SyntaxNode, start: int, end: int) -> list[SyntaxNode]:
    """Return the node that covers these bytes.

    If there is none, the siblings inside them.
    """
    node = root
    while True:
        inner = next((child for child in node.children if child.start_byte <= start and child.end_byte >= end), None)
        if inner is None:
            break
        node = inner
    if (node.start_byte, node.end_byte) == (start, end):
        return [node]
    return [child for child in node.named_children if child.start_byte >= start and child.end_byte <= end]


def _part(node: SyntaxNode, role: str, source: bytes, budget: list[int]) -> Part | None:
    """Convert a node without comments and docstrings.

    A string literal is a leaf.
    """
    budget[0] -= 1
    if budget[0] <= 0 or "comment" in node.type:
        return None
    children = node.children
    if not children or node.type in _STRINGS:
        text = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        words = frozenset({text}) if text[:1].isalnum() or text[:1] == "_" else frozenset()
        return Part(node.type, node.start_byte, node.end_byte, role, text, [], words)
    parts = []
    for index, child in enumerate(children):
        if _is_docstring(node, child):
            continue
        name = getattr(node, "field_name_for_child", lambda _: None)(index) or ""
        part = _part(child, name, source, budget)
        if part is not None and part.end > part.start:
            parts.append(part)
    words = frozenset().union(*(part.words for part in parts)) if parts else frozenset()
    return Part(node.type, node.start_byte, node.end_byte, role, None, parts, words)


def _is_docstring(parent: SyntaxNode, node: SyntaxNode) -> bool:
    return (
        parent.type == "block"
        and node.type == "expression_statement"
        and len(node.named_children) == 1
        and node.named_children[0].type == "string"
    )


def most_typical(instances: Sequence[Instance]) -> Instance:
    """Return the instance that is most similar to the others.

    The first on ties.
    """

    def likeness(one: Instance) -> float:
        alike = (other.tree for other in instances if other.tree.type == one.tree.type)
        return sum(0.2 + _shared(one.tree, other) for other in alike)

    return max(instances, key=likeness)


def _shared(one: Part, two: Part) -> float:
    both = len(one.words | two.words)
    return len(one.words & two.words) / both if both else 0.0


def compare(typical: Instance, others: Sequence[Instance]) -> None:
    """Count how many instances have each part of `typical`.

    `typical` itself counts as one of them.
    """
    for number, other in enumerate((typical, *others)):
        _align(typical.tree, other.tree, other, number)


def _align(mine: Part, other: Part, source: Instance, number: int) -> None:
    waiting = [(mine, other)]
    while waiting:
        one, two = waiting.pop()
        one.seen += 1
        if one.text is not None:
            if one.text == two.text:
                one.same += 1
            one.others[number] = two.text or ""
            continue
        one.others[number] = source.text(two)[:LONGEST_TEXT] if two.end - two.start < LONGEST_TEXT else ""
        waiting += _pairs(one, two)


def _pairs(one: Part, two: Part) -> list[tuple[Part, Part]]:
    """Pair the children that correspond to each other, in order."""
    left, right = one.children, two.children
    short = len(left) == len(right) and (one.type not in LISTS or len(left) <= 3)
    if short and all(a.type == b.type for a, b in zip(left, right, strict=True)):
        return list(zip(left, right, strict=True))
    return _best_pairs(left, right)


def _best_pairs(left: Sequence[Part], right: Sequence[Part]) -> list[tuple[Part, Part]]:
    """Return the order-preserving pairing with the greatest total similarity."""
    left, right = left[:120], right[:120]
    width = len(right) + 1
    best = [[0.0] * width for _ in range(len(left) + 1)]
    like = [[0.0] * len(right) for _ in left]
    for i in range(len(left) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(right) - 1, -1, -1):
            score = like[i][j] = _likeness(left[i], right[j])
            row[j] = max(below[j], row[j + 1], score + below[j + 1] if score else 0.0)
    pairs = []
    i = j = 0
    while i < len(left) and j < len(right):
        if like[i][j] and best[i][j] == like[i][j] + best[i + 1][j + 1]:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(one: Part, two: Part) -> float:
    """Rate the similarity of two parts.

    0 if they do not correspond.
    """
    if one.type != two.type:
        return 0.0
    if one.text is not None:
        return 0.6 if one.text == two.text else 0.3
    if not one.words or not two.words:
        return 0.3
    shared = _shared(one, two)
    return 0.1 + shared if shared >= ALIKE else 0.0
