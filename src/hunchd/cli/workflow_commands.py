"""Definitions of the commands for workflows and shell history.

The table in `commands` includes them.
"""

from __future__ import annotations

from typing import Final

from hunchd.cli.command import COMMANDS_PACKAGE, DATA_GROUP, KNOWLEDGE_GROUP, Command, argument

ROUTINE_COMMANDS: Final = (
    Command(
        "workflows",
        KNOWLEDGE_GROUP,
        "list workflows, step by step",
        "Lists what the project's makefiles, package scripts, CI files and hooks define.\n"
        "Run `hunch show ID` to print the steps of one.",
        f"{COMMANDS_PACKAGE}.workflows:workflows",
        (
            argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
            argument(
                "--purpose",
                metavar="WORD",
                help="only workflows with this purpose: test, lint, build, release, docs, …",
            ),
        ),
        ("hunch workflows", "hunch workflows --purpose release"),
    ),
    Command(
        "import-history",
        DATA_GROUP,
        "learn from your shell's history",
        "Reads a shell's history file and imports the commands that were run in this project, so that the next\n"
        "command is predicted at once. Shells do not record the folder: it is derived from earlier `cd` commands.\n"
        "Nothing is read unless you run this. Secrets are masked before anything is stored; known commands are\n"
        "skipped.",
        f"{COMMANDS_PACKAGE}.workflows:import_history",
        (
            argument("source", metavar="bash|zsh|fish|FILE", help="a shell, or its history file"),
            argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
            argument(
                "--all",
                action="store_true",
                help="import all commands, not only those run in the project, judging by `cd` commands",
            ),
            argument("--dry-run", action="store_true", help="print what would be imported without sending it"),
            argument("--yes", action="store_true", help="do not ask for confirmation"),
        ),
        ("hunch import-history zsh --dry-run", "hunch import-history ~/.bash_history --all --yes"),
    ),
)
