"""Editor for JSON as text: comments, order, indentation and trailing commas stay unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}/]+', re.DOTALL)


class NotJson(ValueError):
    """The text is not JSON, even with comments and trailing commas allowed."""


@dataclass(slots=True)
class Node:
    """JSON value with its position in the text."""

    start: int
    end: int
    value: Any = None  # of a scalar
    members: dict[str, Member] | None = None  # of an object
    items: list[Node] = field(default_factory=list)
    is_list: bool = False

    def plain(self) -> Any:
        if self.members is not None:
            return {name: member.node.plain() for name, member in self.members.items()}
        return [item.plain() for item in self.items] if self.is_list else self.value


@dataclass(slots=True)
class Member:
    """Member of an object with the position of its name."""

    start: int  # of its name
    node: Node


def parse(text: str) -> Node:
    """Parse the text. Raises NotJson."""
    node = _value(text, _skip(text, 0))
    if _skip(text, node.end) != len(text):
        raise NotJson(f"something follows the value at character {node.end}")
    return node


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Set the value at the path.

    Create missing objects, replace an existing value.
    """
    node = parse(text)
    for depth, name in enumerate(path):
        if node.members is None:
            raise NotJson(f"{'.'.join(path[:depth]) or 'the whole'} is not an object")
        member = node.members.get(name)
        if member is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _inserted(text, node, [member.start for member in node.members.values()], value, name)
        node = member.node
    if node.plain() == value:
        return text
    return text[: node.start] + _dumped(value, _indent(text, node.start), _unit(text)) + text[node.end :]


def append(text: str, path: tuple[str, ...], value: Any) -> str:
    """Append a value to the list at the path.

    Create the list if it is missing.
    """
    node = find(text, path)
    if node is None:
        return put(text, path, [value])
    if not node.is_list:
        raise NotJson(f"{'.'.join(path)} is not a list")
    return _inserted(text, node, [item.start for item in node.items], value)


def remove(text: str, path: tuple[str, ...]) -> str:
    """Remove the member at the path, and objects that this leaves empty."""
    parent = find(text, path[:-1])
    if parent is None or parent.members is None or path[-1] not in parent.members:
        return text
    if len(parent.members) == 1 and len(path) > 1:
        return remove(text, path[:-1])
    names = list(parent.members)
    spans = [(member.start, member.node.end) for member in parent.members.values()]
    return _cut(text, spans, names.index(path[-1]))


def remove_items(text: str, path: tuple[str, ...], unwanted: Callable[[Any], bool]) -> str:
    """Remove unwanted items of the list at the path, and what this leaves empty."""
    while (node := find(text, path)) is not None and node.is_list:
        index = next((number for number, item in enumerate(node.items) if unwanted(item.plain())), None)
        if index is None:
            return text
        if len(node.items) == 1:
            return remove(text, path)
        text = _cut(text, [(item.start, item.end) for item in node.items], index)
    return text


def find(text: str, path: tuple[str, ...]) -> Node | None:
    """Return the node at the path, or None."""
    node = parse(text)
    for name in path:
        if node.members is None or name not in node.members:
            return None
        node = node.members[name].node
    return node


def _inserted(text: str, parent: Node, starts: list[int], value: Any, name: str | None = None) -> str:
    """Insert an entry into an object or a list, formatted like its neighbours."""
    unit = _unit(text)
    label = f"{json.dumps(name)}: " if name is not None else ""
    outer = _indent(text, parent.start)
    if not starts:
        closing = parent.end - 1
        inside = text[parent.start + 1 : closing].rstrip()  # comments stay
        entry = f"\n{outer}{unit}{label}{_dumped(value, outer + unit, unit)}\n{outer}"
        return text[: parent.start + 1] + inside + entry + text[closing:]
    ends = [item.end for item in parent.items] or [m.node.end for m in (parent.members or {}).values()]
    last = ends[-1]
    if "\n" not in text[parent.start : starts[-1]]:  # all on one line
        return f"{text[:last]}, {label}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    indent = _indent(text, starts[-1])
    comma = _SPACE.match(text, last)
    trailing = comma is not None and text[comma.end()] == ","
    after = comma.end() + 1 if trailing and comma is not None else last
    line = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)?[ \t]*(?=\n)").match(text, after)
    place = line.end() if line is not None else after
    entry = f"\n{indent}{label}{_dumped(value, indent, unit)}" + ("," if trailing else "")
    return text[:last] + ("" if trailing else ",") + text[last:place] + entry + text[place:]


def _cut(text: str, spans: list[tuple[int, int]], index: int) -> str:
    """Cut an entry, its line and the comma that is no longer needed."""
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
    rest = text[end:].lstrip(" ")
    return (text[:start].rstrip(" ") if rest[:1] in ("}", "]") else text[:start]) + rest


def _dumped(value: Any, indent: str, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + indent)


def _indent(text: str, place: int) -> str:
    """Return the indentation of the line that contains `place`."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found is not None else "  "


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found is not None else place


def _value(text: str, place: int) -> Node:
    if place >= len(text):
        raise NotJson("the text ends early")
    if text[place] in "{[":
        return _container(text, place)
    found = _SCALAR.match(text, place)
    if found is None:
        raise NotJson(f"no value at character {place}")
    try:
        return Node(place, found.end(), json.loads(found.group(), strict=False))
    except ValueError as error:
        raise NotJson(f"no value at character {place}") from error


def _container(text: str, start: int) -> Node:
    is_list = text[start] == "["
    node = Node(start, start, members=None if is_list else {}, is_list=is_list)
    place = _skip(text, start + 1)
    while place < len(text) and text[place] not in "]}":
        if is_list:
            item = _value(text, place)
            node.items.append(item)
            place = _skip(text, item.end)
        else:
            place = _member(text, place, node)
        if place < len(text) and text[place] == ",":
            place = _skip(text, place + 1)
        elif place < len(text) and text[place] not in "]}":
            raise NotJson(f"a comma is missing at character {place}")
    if text[place : place + 1] != ("]" if is_list else "}"):
        raise NotJson("the text ends early" if place >= len(text) else f"a wrong bracket at character {place}")
    node.end = place + 1
    return node


def _member(text: str, place: int, node: Node) -> int:
    name = _value(text, place)
    colon = _skip(text, name.end)
    if not isinstance(name.value, str) or text[colon : colon + 1] != ":":
        raise NotJson(f"no name at character {place}")
    value = _value(text, _skip(text, colon + 1))
    assert node.members is not None
    node.members[name.value] = Member(place, value)
    return _skip(text, value.end)
