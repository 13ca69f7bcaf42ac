"""Templates of patterns: code with named holes and `…`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.patterns.alignment import AGREED, LISTS, USUAL, Instance, Part, compare
from hunchd.text.identifiers import name_pieces

GAP: Final = "…"
LONGEST_TEMPLATE: Final = 28  # lines
LONGEST_LINE: Final = 140  # characters
EXAMPLES: Final = 3  # examples per hole
LONGEST_EXAMPLE: Final = 40  # characters
LINKED: Final = 0.8  # share of instances with equal content, from which two holes are one

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

    `fixed` and `holes` count leaves; `examples` maps holes to what fills them.
    """

    text: str
    fixed: int
    holes: int
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Hole:
    part: Part
    name: str
    before: str = ""  # common prefix of its contents
    after: str = ""


@dataclass(slots=True)
class _Sketch:
    """Replacements in the source of the typical instance."""

    gaps: list[tuple[int, int]] = field(default_factory=list)
    holes: list[_Hole] = field(default_factory=list)
    fixed: int = 0


def template_of(typical: Instance, others: Sequence[Instance]) -> Template:
    """Anti-unify `typical` with `others`, in the layout of `typical`."""
    compare(typical, others)
    sketch = _Sketch()
    _sketch(typical.tree, sketch, typical)
    _name(sketch.holes)
    edits = [(start, end, GAP) for start, end in sketch.gaps]
    edits += [(hole.part.start, hole.part.end, _shown(hole)) for hole in sketch.holes]
    edits += _comments(typical)
    text = _replaced(typical, sorted(edits))
    return Template(_tidy(text), sketch.fixed, len(sketch.holes), _examples(sketch.holes))


def _sketch(part: Part, sketch: _Sketch, typical: Instance) -> None:
    """Decide which parts of `part` are fixed; most instances have `part`."""
    if part.text is not None:
        if part.same >= AGREED * part.seen:
            sketch.fixed += part.text[:1].isalnum() or part.text[:1] == "_"
        else:
            sketch.holes.append(_Hole(part, _role(part)))
        return
    inner = _Sketch()
    listed = part.type in LISTS
    for child in part.children:
        if child.seen >= (USUAL if listed else AGREED) * part.seen:
            _sketch(child, inner, typical)
        elif listed or not child.role:
            inner.gaps.append((child.start, child.end))
        else:
            inner.holes.append(_Hole(child, _role(child)))
    if inner.fixed or not (inner.holes or inner.gaps):
        sketch.fixed += inner.fixed
        sketch.holes += inner.holes
        sketch.gaps += inner.gaps
    elif _bracketed(part) or listed:  # nothing is fixed, but brackets say more than a hole
        inside = part.children[1:-1] if _bracketed(part) else part.children
        if len(inner.holes) == 1 and not inner.gaps:
            sketch.holes += inner.holes
        elif inside:
            sketch.gaps.append((inside[0].start, inside[-1].end))
    elif "\n" in typical.text(part):
        sketch.gaps.append((part.start, part.end))
    else:
        sketch.holes.append(_Hole(part, _role(part)))


def _bracketed(part: Part) -> bool:
    if len(part.children) < 2:
        return False
    return f"{part.children[0].text}{part.children[-1].text}" in ("()", "[]", "{}", "<>")


def _role(part: Part) -> str:
    """Return the purpose of a hole by its position."""
    if part.text is not None and part.text[:1] in "\"'`":
        filled = [text for text in part.others.values() if text]
        return "path" if sum("/" in text for text in filled) * 2 > len(filled) else "text"
    if part.type in ("integer", "float", "number", "integer_literal", "int_literal", "decimal_integer_literal"):
        return "number"
    if part.type in ("type_identifier", "primitive_type", "type", "scoped_type_identifier", "generic_type"):
        return "type"
    return _ROLES.get(part.role, "value")


def _name(holes: list[_Hole]) -> None:
    """Assign names to the holes.

    Holes with equal content share a name, others of one role are numbered.
    """
    known: list[_Hole] = []
    counts: Counter[str] = Counter()
    for hole in sorted(holes, key=lambda hole: (hole.name != "name", hole.part.start)):
        _trim(hole)
        twin = next((other for other in known if _linked(hole, other)), None)
        if twin is not None:
            hole.name = twin.name
            continue
        counts[hole.name] += 1
        if counts[hole.name] > 1:
            hole.name = f"{hole.name}{counts[hole.name]}"
        known.append(hole)


def _linked(one: _Hole, two: _Hole) -> bool:
    mine, others = one.part.others, two.part.others
    both = mine.keys() & others.keys()
    same = sum(_inner(one, mine[number]) == _inner(two, others[number]) for number in both)
    return len(both) > 1 and same >= LINKED * len(both)


def _trim(hole: _Hole) -> None:
    """Move common words at both ends out of the hole.

    For example `test_‹name›`.
    """
    texts = [text for text in dict.fromkeys(hole.part.others.values()) if text]
    if hole.part.text is None or len(texts) < 2 or not all(_IDENTIFIER.fullmatch(text) for text in texts):
        return
    pieces = [name_pieces(text) for text in texts]
    shortest = min(map(len, pieces))
    needed = AGREED * len(pieces)
    front = 0
    while front < shortest - 1 and sum(one[front] == pieces[0][front] for one in pieces) >= len(pieces):
        front += 1
    back = 0
    while back < shortest - 1 - front and sum(one[-1 - back] == pieces[0][-1 - back] for one in pieces) >= needed:
        back += 1
    if sum(one[-1:] == pieces[0][-1:] for one in pieces) < len(pieces):
        back = 0
    hole.before = "".join(pieces[0][:front])
    hole.after = "".join(pieces[0][len(pieces[0]) - back :]) if back else ""


def _shown(hole: _Hole) -> str:
    text = hole.part.text or ""
    quote = text[0] if text[:1] in "\"'`" and text[:1] and len(text) > 1 and text[-1] == text[0] else ""
    return "".join((quote, hole.before, f"‹{hole.name}›", hole.after, quote))


def _inner(hole: _Hole, text: str) -> str:
    """Return the text that fills the hole, without quotes and common ends."""
    return _unquoted(text).removeprefix(hole.before).removesuffix(hole.after)


def _unquoted(text: str) -> str:
    return text.strip("\"'`")


def _examples(holes: Sequence[_Hole]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for hole in holes:
        texts = (" ".join(_inner(hole, text).split()) for text in hole.part.others.values())
        short = [text for text in dict.fromkeys(texts) if 0 < len(text) <= LONGEST_EXAMPLE]
        if short and hole.name not in found:
            found[hole.name] = tuple(short[:EXAMPLES])
    return found


def _comments(typical: Instance) -> list[tuple[int, int, str]]:
    """Return edits for comments and documentation between the parts of the tree."""
    ends: list[tuple[int, int, str]] = []
    waiting = [typical.tree]
    while waiting:
        part = waiting.pop()
        waiting += part.children
        edges = [part.start, *(edge for child in part.children for edge in (child.start, child.end)), part.end]
        if part.text is None and part.children:
            for start, end in zip(edges[::2], edges[1::2], strict=True):
                between = typical.source[start:end]
                if between.strip():
                    ends.append((start, end, "\n" + " " * _indentation(typical, end) if b"\n" in between else " "))
    return ends


def _indentation(typical: Instance, at: int) -> int:
    begin = typical.source.rfind(b"\n", 0, at) + 1
    line = typical.source[begin:at]
    return len(line) - len(line.lstrip())


def _replaced(typical: Instance, edits: Sequence[tuple[int, int, str]]) -> str:
    """Apply the edits to the source.

    An edit inside another one is skipped.
    """
    begin = typical.tree.start
    at = begin
    pieces = [" " * _indentation(typical, begin)]
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


def _tidy(text: str) -> str:
    """Remove empty lines, repeated gaps and common indentation, and limit the length."""
    text = _GAP_BEFORE_COMMA.sub(GAP, _GAPS.sub(GAP, text.expandtabs(4)))
    lines = [line.rstrip() for line in text.splitlines() if line.strip(" ;,\t")]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    shown: list[str] = []
    for line in lines:
        line = line[margin:]
        line = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + GAP
        if shown and line.strip(" ;,") == GAP and shown[-1].strip(" ;,") == GAP:
            continue
        shown.append(line)
    if len(shown) > LONGEST_TEMPLATE:
        shown = [*shown[: LONGEST_TEMPLATE - 1], GAP]
    return "\n".join(shown)
