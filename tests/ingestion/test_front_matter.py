"""Lenient parsing of front matter."""

from __future__ import annotations

import pytest

from hunchd.ingestion.front_matter import get_value, parse_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("globs: **/*.ts\nalwaysApply: false\n", {"globs": ["**/*.ts"], "alwaysApply": ["false"]}),
        ("description:\nglobs:\n", {"description": [], "globs": []}),
        ('paths:\n  - "src/**"\n  - docs/**  # ours\n- x\n', {"paths": ["src/**", "docs/**", "x"]}),
        ("globs: *.js, *.ts # a list\n# all of it\n", {"globs": ["*.js, *.ts"]}),
        ('globs: ["a/**", "b/**"]\n', {"globs": ['["a/**", "b/**"]']}),
        ('globs: [\n  "a/**",\n  "b/**",\n]\n', {"globs": ["[", '"a/**",', '"b/**",', "]"]}),
        ("applyTo: 'src/**/*.cs' # all\nname: \"it\"\n", {"applyTo": ["src/**/*.cs"], "name": ["it"]}),
        ("description: >\n  Use it\n  often.\n", {"description": [">", "Use it", "often."]}),
        ("a: 1\na: 2\n", {"a": ["1", "2"]}),
        ("description: It's ours: all of it\n", {"description": ["It's ours: all of it"]}),
    ],
)  # fmt: skip
def test_settings_are_parsed_per_line(text: str, expected: dict[str, list[str]]) -> None:
    assert parse_settings(text) == expected


@pytest.mark.parametrize(
    "text", ["- a list\n", "just words\n", "globs: a\nnever: b\nNever guess.\n", "  indented: first\n"]
)
def test_other_text_yields_none(text: str) -> None:
    assert parse_settings(text) is None


def test_folded_value_is_joined() -> None:
    assert get_value(parse_settings("description: >-\n  Use it\n  often.\n") or {}, "description") == "Use it often."
    assert get_value({}, "description") == ""
