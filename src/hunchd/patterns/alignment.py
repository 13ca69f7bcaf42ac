"""Anti-unification of instances with the most typical one.

A part is fixed if most instances have the same at that position; a part that differs becomes a hole. An element of
a list (statements, arguments, members) that most instances lack is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import Syntax

MAX_NODES: Final = 1_500  # of one instance
# Minimum word overlap for two list members to correspond.
MIN_LIKENESS: Final = 0.34
MIN_AGREEMENT: Final = 0.7  # share of instances that must have a part for it to be fixed
MIN_LIST_SHARE: Final = 0.6  # … and a list member for it to be kept
MAX_TEXT: Final = 80  # characters stored per hole

_STRING_TYPES: Final = frozenset(
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
LIST_TYPES: Final = frozenset(
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
class TreePart:
    """Node of an instance's tree, with its source position and counts."""

    type: str
    start: int
    end: int
    role: str  # the field of its parent that it fills, "" for none
    text: str | None = None  # of a leaf
    children: list[TreePart] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    count: int = 0  # instances that have it here
    same_text_count: int = 0  # … and, of a leaf, with the same text
    texts_by_instance: dict[int, str] = field(default_factory=dict)  # text at this place, by number of the instance


@dataclass(frozen=True, slots=True)
class Instance:
    """Instance of a pattern as a tree, with its source code."""

    tree: TreePart
    source: bytes

    def get_text(self, part: TreePart) -> str:
        """Return the source text of a part."""
        return self.source[part.start : part.end].decode("utf-8", "replace")


def build_instance(syntax: Syntax, start: int, end: int) -> Instance | None:
    """Build the tree for the source bytes from `start` to `end`.

    Returns None if no syntax tree covers that range, or if it contains more than MAX_NODES nodes.
    """
    for tree in reversed(syntax.trees):  # macro content is code only in the tree parsed from it
        nodes = _find_nodes(tree.root_node, start, end)
        if nodes:
            budget = [MAX_NODES]
            parts = [part for node in nodes if (part := _build_part(node, "", syntax.source, budget)) is not None]
            if budget[0] <= 0 or not parts:
                return None
            if len(parts) == 1:
                return Instance(parts[0], syntax.source)
            words = frozenset().union(*(part.words for part in parts))
            return Instance(TreePart("together", start, end, "", None, parts, words), syntax.source)
    return None


def _find_nodes(root: SyntaxNode, start: int, end: int) -> list[SyntaxNode]:
    """Return the node that covers exactly the bytes from `start` to `end`.

    If there is none, returns the sibling nodes within that range.
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


def _build_part(node: SyntaxNode, role: str, source: bytes, budget: list[int]) -> TreePart | None:
    """Convert a node to a part, without comments and docstrings.

    A string literal becomes a leaf.
    """
    budget[0] -= 1
    if budget[0] <= 0 or "comment" in node.type:
        return None
    children = node.children
    if not children or node.type in _STRING_TYPES:
        text = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        words = frozenset({text}) if text[:1].isalnum() or text[:1] == "_" else frozenset()
        return TreePart(node.type, node.start_byte, node.end_byte, role, text, [], words)
    parts = []
    for index, child in enumerate(children):
        if _is_docstring(node, child):
            continue
        name = getattr(node, "field_name_for_child", lambda _: None)(index) or ""
        part = _build_part(child, name, source, budget)
        if part is not None and part.end > part.start:
            parts.append(part)
    words = frozenset().union(*(part.words for part in parts)) if parts else frozenset()
    return TreePart(node.type, node.start_byte, node.end_byte, role, None, parts, words)


def _is_docstring(parent: SyntaxNode, node: SyntaxNode) -> bool:
    return (
        parent.type == "block"
        and node.type == "expression_statement"
        and len(node.named_children) == 1
        and node.named_children[0].type == "string"
    )


def find_most_typical(instances: Sequence[Instance]) -> Instance:
    """Return the instance that is most similar to the others, the first one on ties."""

    def likeness(one: Instance) -> float:
        same_type_trees = (other.tree for other in instances if other.tree.type == one.tree.type)
        return sum(0.2 + _word_overlap(one.tree, other) for other in same_type_trees)

    return max(instances, key=likeness)


def _word_overlap(one: TreePart, two: TreePart) -> float:
    union_size = len(one.words | two.words)
    return len(one.words & two.words) / union_size if union_size else 0.0


def count_agreement(typical: Instance, others: Sequence[Instance]) -> None:
    """Count in how many instances each part of `typical` occurs.

    `typical` itself counts as one of them.
    """
    for number, other in enumerate((typical, *others)):
        _align(typical.tree, other.tree, other, number)


def _align(typical_part: TreePart, other_part: TreePart, source: Instance, number: int) -> None:
    pending = [(typical_part, other_part)]
    while pending:
        one, two = pending.pop()
        one.count += 1
        if one.text is not None:
            if one.text == two.text:
                one.same_text_count += 1
            one.texts_by_instance[number] = two.text or ""
            continue
        one.texts_by_instance[number] = source.get_text(two)[:MAX_TEXT] if two.end - two.start < MAX_TEXT else ""
        pending += _pair_children(one, two)


def _pair_children(one: TreePart, two: TreePart) -> list[tuple[TreePart, TreePart]]:
    """Pair the children that correspond to each other, in order."""
    one_children, two_children = one.children, two.children
    is_positional = len(one_children) == len(two_children) and (one.type not in LIST_TYPES or len(one_children) <= 3)
    if is_positional and all(a.type == b.type for a, b in zip(one_children, two_children, strict=True)):
        return list(zip(one_children, two_children, strict=True))
    return _find_best_pairs(one_children, two_children)


def _find_best_pairs(one_parts: Sequence[TreePart], two_parts: Sequence[TreePart]) -> list[tuple[TreePart, TreePart]]:
    """Return the order-preserving pairing with the greatest total similarity."""
    one_parts, two_parts = one_parts[:120], two_parts[:120]
    width = len(two_parts) + 1
    best = [[0.0] * width for _ in range(len(one_parts) + 1)]
    likeness = [[0.0] * len(two_parts) for _ in one_parts]
    for i in range(len(one_parts) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(two_parts) - 1, -1, -1):
            score = likeness[i][j] = _rate_likeness(one_parts[i], two_parts[j])
            row[j] = max(below[j], row[j + 1], score + below[j + 1] if score else 0.0)
    pairs = []
    i = j = 0
    while i < len(one_parts) and j < len(two_parts):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            pairs.append((one_parts[i], two_parts[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _rate_likeness(one: TreePart, two: TreePart) -> float:
    """Return the similarity of two parts, or 0 if they do not correspond."""
    if one.type != two.type:
        return 0.0
    if one.text is not None:
        return 0.6 if one.text == two.text else 0.3
    if not one.words or not two.words:
        return 0.3
    word_overlap = _word_overlap(one, two)
    return 0.1 + word_overlap if word_overlap >= MIN_LIKENESS else 0.0
