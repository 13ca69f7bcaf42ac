"""Templates of patterns: code with named holes and `…`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.patterns.alignment import LIST_TYPES, MIN_AGREEMENT, MIN_LIST_SHARE, Instance, TreePart, count_agreement
from hunchd.text.identifiers import split_name_pieces

GAP_MARK: Final = "…"
MAX_TEMPLATE_LINES: Final = 28  # lines
MAX_LINE: Final = 140  # characters
MAX_EXAMPLES: Final = 3  # examples per hole
MAX_EXAMPLE: Final = 40  # characters
MIN_LINKED_SHARE: Final = 0.8  # share of instances with equal content, from which two holes are one

_ROLES: Final = {
    "name": "name",
    "condition": "condition",
    "body": "body",
    "consequence": "body",
    "arguments": "arguments",
    "parameters": "parameters",
    "return_type": "type",
    "type": "type",
    "superclasses": "bases",
    "left": "variable",
    "right": "value",
    "value": "value",
    "function": "function",
    "attribute": "method",
    "property": "method",
    "field": "method",
    "object": "object",
    "receiver": "receiver",
    "result": "type",
    "key": "key",
    "pattern": "variable",
    "macro": "macro",
    "operand": "object",
}
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class Template:
    """Rendered template of a pattern.

    `fixed` and `holes` are numbers of leaves; `examples` maps the name of a hole to texts that fill it.
    """

    text: str
    fixed: int
    holes: int
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Hole:
    part: TreePart
    name: str
    prefix: str = ""  # common prefix of its contents
    suffix: str = ""


@dataclass(slots=True)
class _Replacements:
    """Replacements to make in the source of the typical instance."""

    gaps: list[tuple[int, int]] = field(default_factory=list)
    holes: list[_Hole] = field(default_factory=list)
    fixed_count: int = 0


def build_template(typical: Instance, others: Sequence[Instance]) -> Template:
    """Anti-unify `typical` with `others`, keeping the layout of `typical`."""
    count_agreement(typical, others)
    sketch = _Replacements()
    _collect_replacements(typical.tree, sketch, typical)
    _assign_names(sketch.holes)
    edits = [(start, end, GAP_MARK) for start, end in sketch.gaps]
    edits += [(hole.part.start, hole.part.end, _render_hole(hole)) for hole in sketch.holes]
    edits += _find_comments(typical)
    text = _apply_edits(typical, sorted(edits))
    return Template(_clean_up(text), sketch.fixed_count, len(sketch.holes), _collect_examples(sketch.holes))


def _collect_replacements(part: TreePart, sketch: _Replacements, typical: Instance) -> None:
    """Decide which parts of `part` are fixed; `part` occurs in most instances."""
    if part.text is not None:
        if part.same_text_count >= MIN_AGREEMENT * part.count:
            sketch.fixed_count += part.text[:1].isalnum() or part.text[:1] == "_"
        else:
            sketch.holes.append(_Hole(part, _find_role(part)))
        return
    inner = _Replacements()
    is_list = part.type in LIST_TYPES
    for child in part.children:
        if child.count >= (MIN_LIST_SHARE if is_list else MIN_AGREEMENT) * part.count:
            _collect_replacements(child, inner, typical)
        elif is_list or not child.role:
            inner.gaps.append((child.start, child.end))
        else:
            inner.holes.append(_Hole(child, _find_role(child)))
    if inner.fixed_count or not (inner.holes or inner.gaps):
        sketch.fixed_count += inner.fixed_count
        sketch.holes += inner.holes
        sketch.gaps += inner.gaps
    elif _is_bracketed(part) or is_list:  # nothing is fixed, but brackets say more than a hole
        inner_parts = part.children[1:-1] if _is_bracketed(part) else part.children
        if len(inner.holes) == 1 and not inner.gaps:
            sketch.holes += inner.holes
        elif inner_parts:
            sketch.gaps.append((inner_parts[0].start, inner_parts[-1].end))
    elif "\n" in typical.get_text(part):
        sketch.gaps.append((part.start, part.end))
    else:
        sketch.holes.append(_Hole(part, _find_role(part)))


def _is_bracketed(part: TreePart) -> bool:
    if len(part.children) < 2:
        return False
    return f"{part.children[0].text}{part.children[-1].text}" in ("()", "[]", "{}", "<>")


def _find_role(part: TreePart) -> str:
    """Return what a hole is for, judged by its position."""
    if part.text is not None and part.text[:1] in "\"'`":
        contents = [text for text in part.texts_by_instance.values() if text]
        return "path" if sum("/" in text for text in contents) * 2 > len(contents) else "text"
    if part.type in ("integer", "float", "number", "integer_literal", "int_literal", "decimal_integer_literal"):
        return "number"
    if part.type in ("type_identifier", "primitive_type", "type", "scoped_type_identifier", "generic_type"):
        return "type"
    return _ROLES.get(part.role, "value")


def _assign_names(holes: list[_Hole]) -> None:
    """Assign names to the holes.

    Holes with the same content share a name; other holes of the same role are numbered.
    """
    named_holes: list[_Hole] = []
    counts: Counter[str] = Counter()
    for hole in sorted(holes, key=lambda hole: (hole.name != "name", hole.part.start)):
        _trim_common_words(hole)
        linked_hole = next((other for other in named_holes if _are_linked(hole, other)), None)
        if linked_hole is not None:
            hole.name = linked_hole.name
            continue
        counts[hole.name] += 1
        if counts[hole.name] > 1:
            hole.name = f"{hole.name}{counts[hole.name]}"
        named_holes.append(hole)


def _are_linked(one: _Hole, two: _Hole) -> bool:
    one_texts, two_texts = one.part.texts_by_instance, two.part.texts_by_instance
    common_instances = one_texts.keys() & two_texts.keys()
    equal_count = sum(
        _strip_common_ends(one, one_texts[number]) == _strip_common_ends(two, two_texts[number])
        for number in common_instances
    )
    return len(common_instances) > 1 and equal_count >= MIN_LINKED_SHARE * len(common_instances)


def _trim_common_words(hole: _Hole) -> None:
    """Move common words at both ends out of the hole, as in `test_‹name›`."""
    texts = [text for text in dict.fromkeys(hole.part.texts_by_instance.values()) if text]
    if hole.part.text is None or len(texts) < 2 or not all(_IDENTIFIER.fullmatch(text) for text in texts):
        return
    pieces = [split_name_pieces(text) for text in texts]
    min_parts = min(map(len, pieces))
    min_count = MIN_AGREEMENT * len(pieces)
    prefix_length = 0
    while prefix_length < min_parts - 1 and sum(
        one[prefix_length] == pieces[0][prefix_length] for one in pieces
    ) >= len(pieces):
        prefix_length += 1
    suffix_length = 0
    while (
        suffix_length < min_parts - 1 - prefix_length
        and sum(one[-1 - suffix_length] == pieces[0][-1 - suffix_length] for one in pieces) >= min_count
    ):
        suffix_length += 1
    if sum(one[-1:] == pieces[0][-1:] for one in pieces) < len(pieces):
        suffix_length = 0
    hole.prefix = "".join(pieces[0][:prefix_length])
    hole.suffix = "".join(pieces[0][len(pieces[0]) - suffix_length :]) if suffix_length else ""


def _render_hole(hole: _Hole) -> str:
    text = hole.part.text or ""
    quote = text[0] if text[:1] in "\"'`" and text[:1] and len(text) > 1 and text[-1] == text[0] else ""
    return "".join((quote, hole.prefix, f"‹{hole.name}›", hole.suffix, quote))


def _strip_common_ends(hole: _Hole, text: str) -> str:
    """Return the text that fills the hole, without quotes and without its common ends."""
    return _unquote(text).removeprefix(hole.prefix).removesuffix(hole.suffix)


def _unquote(text: str) -> str:
    return text.strip("\"'`")


def _collect_examples(holes: Sequence[_Hole]) -> dict[str, tuple[str, ...]]:
    examples: dict[str, tuple[str, ...]] = {}
    for hole in holes:
        texts = (" ".join(_strip_common_ends(hole, text).split()) for text in hole.part.texts_by_instance.values())
        short = [text for text in dict.fromkeys(texts) if 0 < len(text) <= MAX_EXAMPLE]
        if short and hole.name not in examples:
            examples[hole.name] = tuple(short[:MAX_EXAMPLES])
    return examples


def _find_comments(typical: Instance) -> list[tuple[int, int, str]]:
    """Return edits that replace comments and documentation between nodes with whitespace."""
    edits: list[tuple[int, int, str]] = []
    pending = [typical.tree]
    while pending:
        part = pending.pop()
        pending += part.children
        edges = [part.start, *(edge for child in part.children for edge in (child.start, child.end)), part.end]
        if part.text is None and part.children:
            for start, end in zip(edges[::2], edges[1::2], strict=True):
                between = typical.source[start:end]
                if between.strip():
                    edits.append(
                        (start, end, "\n" + " " * _measure_indentation(typical, end) if b"\n" in between else " ")
                    )
    return edits


def _measure_indentation(typical: Instance, at: int) -> int:
    line_start = typical.source.rfind(b"\n", 0, at) + 1
    line = typical.source[line_start:at]
    return len(line) - len(line.lstrip())


def _apply_edits(typical: Instance, edits: Sequence[tuple[int, int, str]]) -> str:
    """Apply the edits to the source.

    An edit inside another one is skipped.
    """
    tree_start = typical.tree.start
    at = tree_start
    pieces = [" " * _measure_indentation(typical, tree_start)]
    for start, end, text in edits:
        if start < at:
            continue
        pieces.append(typical.source[at:start].decode("utf-8", "replace"))
        pieces.append(text)
        at = end
    pieces.append(typical.source[at : typical.tree.end].decode("utf-8", "replace"))
    return "".join(pieces)


_GAPS: Final = re.compile(r"…(?:\s*[,;]?\s*…)+")
_GAP_BEFORE_COMMA: Final = re.compile(r"…\s*,\s*(?=[)\]}])")


def _clean_up(text: str) -> str:
    """Remove empty lines, repeated gaps and common indentation, and limit the length."""
    text = _GAP_BEFORE_COMMA.sub(GAP_MARK, _GAPS.sub(GAP_MARK, text.expandtabs(4)))
    lines = [line.rstrip() for line in text.splitlines() if line.strip(" ;,\t")]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    shown_lines: list[str] = []
    for line in lines:
        line = line[margin:]
        line = line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + GAP_MARK
        if shown_lines and line.strip(" ;,") == GAP_MARK and shown_lines[-1].strip(" ;,") == GAP_MARK:
            continue
        shown_lines.append(line)
    if len(shown_lines) > MAX_TEMPLATE_LINES:
        shown_lines = [*shown_lines[: MAX_TEMPLATE_LINES - 1], GAP_MARK]
    return "\n".join(shown_lines)
