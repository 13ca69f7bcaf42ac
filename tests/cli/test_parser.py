"""Arguments of `hunch`, in any order."""

from __future__ import annotations

import argparse
from itertools import permutations

import pytest

from hunchd.cli.command import Command
from hunchd.cli.commands import COMMANDS
from hunchd.cli.parser import build_parser, parse_arguments


def list_positional(command: Command) -> list[argparse.Action]:
    return build_parser(command)._get_positional_actions()


# With at most one word, options can stand only before and after it.
WITH_SEVERAL_WORDS = [
    command
    for command in COMMANDS
    if command.name not in ("run", "bench") and command.prints_data and len(list_positional(command)) > 1
]


@pytest.mark.parametrize(
    "parts",
    [
        (["team"], ["join"], ["s3://bucket/shop"], ["--yes"], ["--name", "Ada"]),
        (["contradictions"], ["resolve"], ["x1"], ["b"], ["--note", "CI says so"]),
        (["search"], ["retry", "policy"], ["-k", "3"]),
    ],
    ids=lambda parts: parts[0][0],
)
def test_options_stand_anywhere(parts: tuple[list[str], ...]) -> None:
    command, *words = parts
    positional = [part for part in words if not part[0].startswith("-")]
    parsed = [
        vars(parse_arguments([*command, *(word for part in order for word in part)]))
        for order in permutations(words)
        if [part for part in order if part in positional] == positional
    ]

    assert all(one == parsed[0] for one in parsed)


@pytest.mark.parametrize("command", WITH_SEVERAL_WORDS, ids=lambda command: str(command.name))
def test_every_command_takes_option_between(command: Command) -> None:
    parser = build_parser(command)
    words = [str(next(iter(one.choices))) if one.choices else "x" for one in list_positional(command)]

    between = parser.parse_args([words[0], "--json", *words[1:]], argparse.Namespace())

    assert between == parser.parse_args([*words, "--json"], argparse.Namespace())


def test_words_after_separator_are_no_options() -> None:
    assert parse_arguments(["search", "--", "-x"]).query == ["-x"]
    assert parse_arguments(["run", "--", "ls", "-l"]).words[-1] == "-l"
