"""Source locations in error texts.

A location is a stack frame, in any of many languages, or has the form `path:line`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Frames that name path, line and function. Compilers, linters and most traces write path:line; pytest and Ruby add the
# function after it.
_PYTHON_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)(?:, in (\S+))?')
_JS_FRAME = re.compile(
    r"^\s+at (?:async )?(?:new )?([\w.$<>]+)(?: \[as \w+\])? ?\(([^\s()]*\w\.\w{1,5}):(\d+)", re.MULTILINE
)
# Java puts the module before its own classes: "java.base/java.util.Objects.requireNonNull(Objects.java:235)".
_JAVA_MODULE_FRAME = re.compile(r"^\s+at [\w.]+(?:@[\w.]+)?/+([\w.$<>]+)\((\w+\.\w{1,6}):(\d+)\)", re.MULTILINE)
# Go prints the function on the line above the location; race reports are indented.
_GO_FRAME = re.compile(r"^ *([\w./*()-]{1,200}?)\([^()\n]*\)\n[\t ]+(\S{1,300}\.go):(\d+)", re.MULTILINE)
# Sanitizers and gdb: "#1 0x55bf in fill /w/main.c:3", "#0  total (n=1) at main.c:5".
_NATIVE_FRAME = re.compile(
    r"^ *(?:#\d+ +(?:0x[0-9a-f]+ +(?:in +)?)?|(?:at|by) 0x[0-9A-F]+: )([\w:~<>*&]+)(?: \([^\n]*\) at)?"
    r" \(?(\S+\.\w{1,4}):(\d+)",
    re.MULTILINE,
)
_DOTNET_FRAME = re.compile(r"^ +at ([\w.`<>+|\[\]]+)\([^\n]*\) in ([^\n]{1,300}?\.\w{2,4}):line (\d+)", re.MULTILINE)
_PHP_FRAME = re.compile(r"^#\d+ ([^\s(]{1,300}\.php)\((\d+)\): (?:[\w\\]+(?:->|::))?([\w{}]+)\(", re.MULTILINE)
_VITEST_FRAME = re.compile(r"^ *❯ (?:([\w.$<>]+) )?([^\s:]+\.\w{2,4}):(\d+):\d+$", re.MULTILINE)
_IN_FUNCTION = re.compile(r"(?::\d+)?: in (\S+)|:in [`'](?:[\w ()]+ in )?(?:[\w:]+[#.])?([^'\n]+)'")
_ELIXIR_FUNCTION = re.compile(r": (?:anonymous fn/\d+ in )?((?:[A-Z]\w*\.)+\w+[?!]?)/\d")
# Frames of Elixir's own libraries begin with their names.
_ELIXIR_LIBRARY = re.compile(r"\((?:elixir|stdlib|kernel|ex_unit|mix|logger|iex) [\d.]+\) $")
_PYTHON_DEFINITION = re.compile(r"^\s*(?:async )?def (\w+)\(", re.MULTILINE)
_PATH_LINE = re.compile(
    r"(?<![\w@])((?:[A-Za-z]:)?[\w./\\@+-]*\w\.[A-Za-z]\w{0,5})(?::(\d+)(?:[:,]\d+)?|\((\d+)(?:,\d+)?\):)"
)
# Patterns, each with the numbers of its groups for path, line and function.
_FRAMES: Final = (
    (_PYTHON_FRAME, 1, 2, 3),
    (_JS_FRAME, 2, 3, 1),
    (_JAVA_MODULE_FRAME, 2, 3, 1),
    (_GO_FRAME, 2, 3, 1),
    (_NATIVE_FRAME, 2, 3, 1),
    (_DOTNET_FRAME, 2, 3, 1),
    (_PHP_FRAME, 1, 2, 3),
    (_VITEST_FRAME, 2, 3, 1),
)


@dataclass(frozen=True, slots=True)
class ErrorLocation:
    """Source location named in an error text, with the path as written there."""

    path: str
    line: int
    function: str = ""


def find_locations(text: str) -> tuple[tuple[int, ErrorLocation], ...]:
    """Return all locations with their offsets, in the order of the text."""
    location_by_offset: dict[int, ErrorLocation] = {}
    for pattern, path, line, function in _FRAMES:
        for match in pattern.finditer(text):
            place = ErrorLocation(_normalize_path(match[path]), int(match[line][:9]), match[function] or "")
            location_by_offset.setdefault(match.start(path), place)
    location_by_offset |= dict(_find_path_lines(text, location_by_offset))
    return tuple((start, location_by_offset[start]) for start in sorted(location_by_offset))


def _find_path_lines(text: str, location_by_offset: dict[int, ErrorLocation]) -> Iterator[tuple[int, ErrorLocation]]:
    definitions = list(_PYTHON_DEFINITION.finditer(text))
    for match in _PATH_LINE.finditer(text):
        if match.start(1) in location_by_offset or _ELIXIR_LIBRARY.search(
            text, max(match.start(1) - 40, 0), match.start(1)
        ):
            continue
        function = _IN_FUNCTION.match(text, match.end()) or _ELIXIR_FUNCTION.match(text, match.end())
        name = function[function.lastindex or 1] if function else _find_enclosing_function(match.start(), definitions)
        yield match.start(1), ErrorLocation(_normalize_path(match[1]), int((match[2] or match[3])[:9]), name)


def _normalize_path(path: str) -> str:
    return path.replace("\\", "/")


def _find_enclosing_function(position: int, definitions: list[re.Match[str]]) -> str:
    """Return the name of the last function defined before `position`, or "".

    pytest prints the source of a function down to the failing line, and then the location.
    """
    before = [match for match in definitions if match.start() < position]
    return before[-1][1] if before else ""
