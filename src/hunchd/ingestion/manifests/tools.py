"""Known tools for each purpose, and validation of the values in statements.

Only names, versions and numbers are accepted.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Statement:
    """Value that a manifest states for a key, such as "pytest" for "tests".

    `confidence` is below 1 if the statement is only a hint. `origins` are the files that name its commands.
    """

    key: str
    value: str
    confidence: float = 1.0
    origins: tuple[str, ...] = ()


def split_names(names: str) -> tuple[str, ...]:
    return tuple(names.split(", "))


CI_PREFIX: Final = "ci "  # prefix of keys for values tested in CI, which several files may give
MAX_VERSIONS: Final = 8  # versions listed, the newest ones
_VERSION = re.compile(r"^[\w.*<>=!~^, |+-]{1,60}$")
_NAME = re.compile(r"^[@\w./-]{1,60}$")
_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TESTS, LINTERS = tuple(_TABLE["tests"]), tuple(_TABLE["linters"])
FORMATTERS, TYPE_CHECKERS = tuple(_TABLE["formatters"]), tuple(_TABLE["type_checkers"])
_LANGUAGES: Final = tuple((re.compile(rf"\b(?:{names})\b"), tuple(of.split())) for names, of in _TABLE["languages"])
TOOLS_BY_PURPOSE = (("tests", _TESTS), ("lint", LINTERS), ("format", FORMATTERS), ("types", TYPE_CHECKERS))


def find_needed_tools(names: Set[str], language: str) -> Iterator[Statement]:
    """Yield, for each purpose, the known tools among a project's dependencies.

    `names` are the dependencies. Only tools for `language` are considered: the gem `mocha` is not a test runner.
    """
    for key, tool_names in TOOLS_BY_PURPOSE:
        used_tools = [name for name in tool_names if name in names and language in find_languages(name)]
        if used_tools:
            yield Statement(key, ", ".join(used_tools[:4]), 0.9)


def state_formatter(name: str, width: object) -> Iterator[Statement]:
    yield Statement("format", name)
    yield from state_line_length(width)


def state_line_length(width: object) -> Iterator[Statement]:
    if isinstance(width, int) and is_line_length(str(width)):
        yield Statement("line length", str(width))


def is_line_length(text: str) -> bool:
    return text.isdigit() and 40 <= int(text) <= 400


def is_version(text: str) -> bool:
    return _VERSION.match(text) is not None and any(map(str.isdigit, text))


def parse_ini(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(text)
    return parser


def mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", text) is not None


def find_languages(text: str) -> tuple[str, ...]:
    """Return the languages of the tools that `text` names.

    Returns an empty tuple if none of these tools is specific to a language.
    """
    return tuple(language for pattern, languages in _LANGUAGES if pattern.search(text) for language in languages)


def count_files(tools: str, files_by_language: Mapping[str | None, int]) -> int:
    """Return the number of files in the languages of `tools`."""
    return sum(files_by_language.get(language, 0) for language in find_languages(tools))


def version_sort_key(value: str) -> tuple[list[int], str]:
    """Return a key that sorts version strings by the numbers in them."""
    return [int(number) for number in re.findall(r"\d+", value)], value


def state_version(key: str, value: object) -> Iterator[Statement]:
    if isinstance(value, str) and is_version(value.strip()):
        yield Statement(key, value.strip())


def state_name(key: str, value: str | None) -> Iterator[Statement]:
    if value and _NAME.match(value):
        yield Statement(key, value)


def parse_number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None
