"""Argument parsing for `hunch`.

The parser prints the overview and the help for each command, and reports errors as one line.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from hunchd import __version__
from hunchd.cli.command import GROUPED_COMMANDS, GROUPS, NOUNS, Argument, Command, Noun, OneOf
from hunchd.cli.commands import COMMANDS
from hunchd.cli.errors import WrongUsage


class CommandParser(argparse.ArgumentParser):
    """Argument parser that raises WrongUsage, for `main` to print, instead of exiting.

    Options may stand before, between and after the positional arguments.
    """

    _is_intermixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # `parse_known_intermixed_args` calls this method for the options, and then for the positional arguments.
        has_rest = any(each.nargs in (argparse.PARSER, argparse.REMAINDER) for each in self._get_positional_actions())
        if self._is_intermixing or has_rest or "--" in args:
            return super().parse_known_args(args, namespace)
        self._is_intermixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixing = False

    def error(self, message: str) -> NoReturn:
        message = self._add_choices(message)
        if (wrong := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message)) is not None:
            message += _suggest(wrong[1], re.findall(r"'(.*?)'", wrong[2]))
        raise WrongUsage(message, hint=f"Run `{self.prog} --help` to see its arguments.")

    def _add_choices(self, message: str) -> str:
        """Add the allowed values of the arguments that an error message names.

        Only messages about missing arguments name arguments.
        """
        head, marker, names = message.partition("are required: ")
        choices = {str(each.metavar or each.dest): each.choices for each in self._actions if not each.option_strings}
        descriptions = [
            f"{name} ({', '.join(map(str, argument_choices))})" if (argument_choices := choices.get(name)) else name
            for name in names.split(", ")
        ]
        return f"{head}{marker}{', '.join(descriptions)}"


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the words after `hunch`.

    In the result, `runs` names the function to call. For `--help` and `--version`, this prints the text and raises
    SystemExit.
    """
    if not argv:
        print(render_overview())
        raise SystemExit(0)
    name = argv[0]
    if name in ("-h", "--help", "help"):
        if name == "help" and len(argv) > 1:
            return parse_arguments([argv[1], "--help"])
        print(render_overview())
        raise SystemExit(0)
    if name in ("-V", "--version"):
        print(f"hunch {__version__}")
        raise SystemExit(0)
    noun = next((each for each in NOUNS if each.name == name), None)
    if noun is not None:
        return _parse_verb(noun, argv[1:])
    command = find_command(name)
    if command is None:
        raise WrongUsage(_describe_unknown(name), hint="Run `hunch --help` to list the commands.")
    return build_parser(command).parse_args(argv[1:], argparse.Namespace(runs=command.runs))


def _parse_verb(noun: Noun, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the words after a noun: a verb and the verb's own arguments."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(render_noun(noun))
        raise SystemExit(0)
    command = find_command(noun.verbs.get(argv[0], ""))
    if command is None:
        raise WrongUsage(
            f"hunch {noun.name} has no command {argv[0]!r}.", hint=f"Available commands: {', '.join(noun.verbs)}."
        )
    parser = build_parser(command, f"hunch {noun.name} {argv[0]}")
    return parser.parse_args(argv[1:], argparse.Namespace(runs=command.runs))


def find_command(name: str) -> Command | None:
    """Return the command whose full name is `name`, or None."""
    return next((each for each in COMMANDS if each.name == name), None)


def build_parser(command: Command, prog: str | None = None) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=prog or f"hunch {command.name}",
        description=command.description,
        epilog="\n".join(("examples:", *(f"  {example}" for example in command.examples)))
        if command.examples
        else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if callable(command.arguments):
        command.arguments(parser)
    else:
        _add_arguments(parser, command.arguments)
    if command.prints_data:
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    if command.asks_daemon:
        parser.add_argument("--no-start", action="store_true", help="fail (exit code 3) when no daemon is running")
    return parser


def _add_arguments(parser: argparse.ArgumentParser, arguments: Iterable[Argument | OneOf]) -> None:
    for each in arguments:
        if isinstance(each, Argument):
            parser.add_argument(*each.names, **each.options)
            continue
        group = parser.add_mutually_exclusive_group(required=each.required)
        for one in each.arguments:
            group.add_argument(*one.names, **one.options)


def render_overview() -> str:
    """Return the text that `hunch` prints if it is called without arguments.

    It has one line for each command or group of commands (noun), arranged by topic.
    """
    commands = [command for command in COMMANDS if command.name not in GROUPED_COMMANDS]
    width = max(len(command.name) for command in commands) + 2
    lines = [
        "hunch: what will you need next? A local daemon knows before you ask.",
        "",
        "usage: hunch COMMAND [ARGUMENTS]      hunch COMMAND --help explains one command",
    ]
    for group in GROUPS:
        lines += ["", f"{group}:"]
        lines += [f"  {command.name:<{width}}{command.summary}" for command in commands if command.group == group]
        lines += [f"  {noun.name:<{width}}{', '.join(noun.verbs)}" for noun in NOUNS if noun.group == group]
    lines += [
        "",
        "Commands start the daemon if it is not running. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon.",
    ]
    return "\n".join(lines)


def render_noun(noun: Noun) -> str:
    """Return the help text for a noun, with one line for each of its verbs."""
    width = max(map(len, noun.verbs)) + 2
    summaries = {command.name: command.summary for command in COMMANDS}
    return "\n".join(
        (
            f"usage: hunch {noun.name} VERB [ARGUMENTS]      hunch {noun.name} VERB --help explains one",
            "",
            *(f"  {verb:<{width}}{summaries[name]}" for verb, name in noun.verbs.items()),
        )
    )


def _describe_unknown(name: str) -> str:
    if name.startswith("-"):
        return f"options must come after the command: hunch COMMAND {name}"
    names = [*(command.name for command in COMMANDS), *(noun.name for noun in NOUNS)]
    return f"unknown command {name!r}.{_suggest(name, names)}"


def _suggest(word: str, choices: Sequence[str]) -> str:
    import difflib  # needed only if the user made a mistake

    matches = difflib.get_close_matches(word, choices, n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""
