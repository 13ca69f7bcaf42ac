"""Editor for JSON text that keeps comments, order, indentation and trailing commas."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}/]+', re.DOTALL)


class InvalidJson(ValueError):
    """Raised if a text is not valid JSON. Comments and trailing commas are allowed."""


@dataclass(slots=True)
class JsonNode:
    """JSON value, with its position in the text from which it was parsed."""

    start: int
    end: int
    value: Any = None  # of a scalar
    members: dict[str, JsonMember] | None = None  # of an object
    items: list[JsonNode] = field(default_factory=list)
    is_list: bool = False

    def to_value(self) -> Any:
        if self.members is not None:
            return {name: member.node.to_value() for name, member in self.members.items()}
        return [item.to_value() for item in self.items] if self.is_list else self.value


@dataclass(slots=True)
class JsonMember:
    """Member of a JSON object, with its name's position."""

    start: int  # of its name
    node: JsonNode


def parse(text: str) -> JsonNode:
    """Parse JSON text, which may contain comments and trailing commas.

    Raises InvalidJson if the text is malformed.
    """
    node = _parse_value(text, _skip_space(text, 0))
    if _skip_space(text, node.end) != len(text):
        raise InvalidJson(f"unexpected text after the value at character {node.end}")
    return node


def set_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return `text` with the value at `path` set to `value`.

    Missing objects on the path are created; an existing value is replaced.
    """
    node = parse(text)
    for depth, name in enumerate(path):
        if node.members is None:
            raise InvalidJson(f"{'.'.join(path[:depth]) or 'the top-level value'} is not an object")
        member = node.members.get(name)
        if member is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _insert_entry(text, node, [member.start for member in node.members.values()], value, name)
        node = member.node
    if node.to_value() == value:
        return text
    return (
        text[: node.start]
        + _dump_value(value, _get_indent(text, node.start), _detect_indent_unit(text))
        + text[node.end :]
    )


def append_item(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return `text` with `value` appended to the list at `path`.

    The list is created if it is missing.
    """
    node = find_node(text, path)
    if node is None:
        return set_value(text, path, [value])
    if not node.is_list:
        raise InvalidJson(f"{'.'.join(path)} is not a list")
    return _insert_entry(text, node, [item.start for item in node.items], value)


def remove_member(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the object member at `path`.

    Objects that become empty are removed as well. If there is no such member, the text is returned unchanged.
    """
    parent = find_node(text, path[:-1])
    if parent is None or parent.members is None or path[-1] not in parent.members:
        return text
    if len(parent.members) == 1 and len(path) > 1:
        return remove_member(text, path[:-1])
    names = list(parent.members)
    spans = [(member.start, member.node.end) for member in parent.members.values()]
    return _cut_entry(text, spans, names.index(path[-1]))


def remove_items(text: str, path: tuple[str, ...], is_unwanted: Callable[[Any], bool]) -> str:
    """Return `text` without the list items for which `is_unwanted` returns True.

    If the list at `path` or the objects around it become empty, they are removed as well.
    """
    while (node := find_node(text, path)) is not None and node.is_list:
        index = next((number for number, item in enumerate(node.items) if is_unwanted(item.to_value())), None)
        if index is None:
            return text
        if len(node.items) == 1:
            return remove_member(text, path)
        text = _cut_entry(text, [(item.start, item.end) for item in node.items], index)
    return text


def find_node(text: str, path: tuple[str, ...]) -> JsonNode | None:
    """Return the node at `path`, or None if there is no node at that path."""
    node = parse(text)
    for name in path:
        if node.members is None or name not in node.members:
            return None
        node = node.members[name].node
    return node


def _insert_entry(text: str, parent: JsonNode, starts: list[int], value: Any, name: str | None = None) -> str:
    """Append an entry to an object or a list.

    It is formatted like the entry before it. `name` is None for a list.
    """
    unit = _detect_indent_unit(text)
    label = f"{json.dumps(name)}: " if name is not None else ""
    outer = _get_indent(text, parent.start)
    if not starts:
        closing = parent.end - 1
        inside = text[parent.start + 1 : closing].rstrip()  # comments stay
        entry = f"\n{outer}{unit}{label}{_dump_value(value, outer + unit, unit)}\n{outer}"
        return text[: parent.start + 1] + inside + entry + text[closing:]
    ends = [item.end for item in parent.items] or [m.node.end for m in (parent.members or {}).values()]
    last = ends[-1]
    if "\n" not in text[parent.start : starts[-1]]:  # all on one line
        return f"{text[:last]}, {label}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    indent = _get_indent(text, starts[-1])
    comma = _SPACE.match(text, last)
    trailing = comma is not None and text[comma.end()] == ","
    after = comma.end() + 1 if trailing and comma is not None else last
    line = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)?[ \t]*(?=\n)").match(text, after)
    position = line.end() if line is not None else after
    entry = f"\n{indent}{label}{_dump_value(value, indent, unit)}" + ("," if trailing else "")
    return text[:last] + ("" if trailing else ",") + text[last:position] + entry + text[position:]


def _cut_entry(text: str, spans: list[tuple[int, int]], index: int) -> str:
    """Remove an entry together with its line and the comma that is no longer needed."""
    start, end = spans[index]
    comma = _SPACE.match(text, end)
    if comma is not None and text[comma.end() : comma.end() + 1] == ",":
        end = comma.end() + 1
    elif index > 0:
        before = text.rindex(",", spans[index - 1][1], start)
        if not text[before + 1 : start].strip():
            return text[:before] + text[end:]
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    begin = start - len(text[:start]) + len(text[:start].rstrip(" \t"))
    if text[begin - 1 : begin] == "\n" and text[end : end + 1] in ("\n", "\r"):
        return text[: begin - 1] + text[end:]
    remaining = text[end:].lstrip(" ")
    return (text[:start].rstrip(" ") if remaining[:1] in ("}", "]") else text[:start]) + remaining


def _dump_value(value: Any, indent: str, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + indent)


def _get_indent(text: str, position: int) -> str:
    """Return the indentation of the line that contains `position`."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


def _detect_indent_unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match.group(1) if match is not None else "  "


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match is not None else position


def _parse_value(text: str, position: int) -> JsonNode:
    if position >= len(text):
        raise InvalidJson("the text ends too early")
    if text[position] in "{[":
        return _parse_container(text, position)
    match = _SCALAR.match(text, position)
    if match is None:
        raise InvalidJson(f"a value is missing at character {position}")
    try:
        return JsonNode(position, match.end(), json.loads(match.group(), strict=False))
    except ValueError as error:
        raise InvalidJson(f"a value is missing at character {position}") from error


def _parse_container(text: str, start: int) -> JsonNode:
    is_list = text[start] == "["
    node = JsonNode(start, start, members=None if is_list else {}, is_list=is_list)
    position = _skip_space(text, start + 1)
    while position < len(text) and text[position] not in "]}":
        if is_list:
            item = _parse_value(text, position)
            node.items.append(item)
            position = _skip_space(text, item.end)
        else:
            position = _parse_member(text, position, node)
        if position < len(text) and text[position] == ",":
            position = _skip_space(text, position + 1)
        elif position < len(text) and text[position] not in "]}":
            raise InvalidJson(f"a comma is missing at character {position}")
    if text[position : position + 1] != ("]" if is_list else "}"):
        raise InvalidJson(
            "the text ends too early" if position >= len(text) else f"wrong bracket at character {position}"
        )
    node.end = position + 1
    return node


def _parse_member(text: str, position: int, node: JsonNode) -> int:
    name = _parse_value(text, position)
    colon = _skip_space(text, name.end)
    if not isinstance(name.value, str) or text[colon : colon + 1] != ":":
        raise InvalidJson(f"a name is missing at character {position}")
    value = _parse_value(text, _skip_space(text, colon + 1))
    assert node.members is not None
    node.members[name.value] = JsonMember(position, value)
    return _skip_space(text, value.end)
