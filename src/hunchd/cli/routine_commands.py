"""The commands about workflows; a part of the table in `commands`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from hunchd.cli.command import DATA, KNOWN, RUN, Command


def _workflows(parser: ArgumentParser) -> None:
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")
    parser.add_argument("--purpose", metavar="WORD", help="of this purpose only: test, lint, build, release, docs, …")


def _import_history(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="bash|zsh|fish|FILE", help="a shell, or the file it keeps its history in")
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")
    parser.add_argument(
        "--all", action="store_true", help="all commands, not only those that `cd` places in the project"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be taken in, send nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")


ROUTINE_COMMANDS: Final = (
    Command(
        "workflows",
        KNOWN,
        "how things are done here, step by step",
        "Lists what you do again and again, as far as your shell tells (hunch shell-init), and what CI files,\n"
        "makefiles, package scripts and hooks say. hunch show ID prints the steps of one.",
        f"{RUN}.routines:workflows",
        _workflows,
        ("hunch workflows", "hunch workflows --purpose release"),
    ),
    Command(
        "import-history",
        DATA,
        "learn from what your shell remembers",
        "Reads a shell's history file and takes in the commands that were given in this project, so that workflows\n"
        "are known at once. Shells do not keep the folder: what counts is the `cd` before. Nothing is read unless\n"
        "you run this; secrets are masked before anything is stored; what was taken in before is recognised.",
        f"{RUN}.routines:import_history",
        _import_history,
        ("hunch import-history zsh --dry-run", "hunch import-history ~/.bash_history --all --yes"),
    ),
)
