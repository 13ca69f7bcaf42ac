"""Argument parser of `hunch`.

Prints the overview, the help of each command, and one-line errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from hunchd import __version__
from hunchd.cli.command import GROUPS, Command
from hunchd.cli.commands import COMMANDS
from hunchd.cli.errors import WrongUsage


class CommandParser(argparse.ArgumentParser):
    """Parser that raises errors, for `main` to print like every other error."""

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(self._add_choices(message), hint=f"{self.prog} --help shows what it takes.")

    def _add_choices(self, message: str) -> str:
        """Add the allowed values to a message about required arguments."""
        head, marker, names = message.partition("are required: ")
        choices = {str(each.metavar or each.dest): each.choices for each in self._actions if not each.option_strings}
        descriptions = [
            f"{name} ({', '.join(map(str, argument_choices))})" if (argument_choices := choices.get(name)) else name
            for name in names.split(", ")
        ]
        return f"{head}{marker}{', '.join(descriptions)}"


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments.

    `runs` names the function to call. `--help` and `--version` print and exit.
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
    command = next((each for each in COMMANDS if each.name == name), None)
    if command is None:
        raise WrongUsage(_describe_unknown(name), hint="hunch --help lists the commands.")
    return build_parser(command).parse_args(argv[1:], argparse.Namespace(runs=command.runs))


def build_parser(command: Command) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=f"hunch {command.name}",
        description=command.description,
        epilog="\n".join(("examples:", *(f"  {example}" for example in command.examples)))
        if command.examples
        else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    if command.prints_data:
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    if command.asks_daemon:
        parser.add_argument("--no-start", action="store_true", help="fail (exit code 3) when no daemon is running")
    return parser


def render_overview() -> str:
    """Return the text that `hunch` alone prints: one line per command, by group."""
    width = max(len(command.name) for command in COMMANDS) + 2
    lines = [
        "hunch: what will you need next? A local daemon knows before you ask.",
        "",
        "usage: hunch COMMAND [ARGUMENTS]      hunch COMMAND --help explains one command",
    ]
    for group in GROUPS:
        lines += ["", f"{group}:"]
        lines += [f"  {command.name:<{width}}{command.summary}" for command in COMMANDS if command.group == group]
    lines += [
        "",
        "Commands start the daemon when it is not running. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon.",
    ]
    return "\n".join(lines)


def _describe_unknown(name: str) -> str:
    if name.startswith("-"):
        return f"options come after the command: hunch COMMAND {name}"
    import difflib  # only mistakes need it

    matches = difflib.get_close_matches(name, [command.name for command in COMMANDS], n=1)
    return f"unknown command {name!r}." + (f" Did you mean {matches[0]!r}?" if matches else "")
