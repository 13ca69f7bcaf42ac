"""Data types for the definitions of `hunch` commands, and the groups in the command overview."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, Final, NamedTuple

GROUPS: Final = ("What comes next", "What is known", "Projects", "Editors, agents, git", "The daemon", "Your data")
NEXT_GROUP, KNOWLEDGE_GROUP, PROJECTS_GROUP, TOOLS_GROUP, DAEMON_GROUP, DATA_GROUP = GROUPS
COMMANDS_PACKAGE: Final = "hunchd.cli"  # package of the functions


class Noun(NamedTuple):
    """Commands about one thing, called as `hunch NOUN VERB`.

    Each command can also be called by its own name, but the overview lists few of those names.
    """

    name: str
    group: str
    verbs: dict[str, str]  # verb → name of the command


NOUNS: Final = (
    Noun("project", PROJECTS_GROUP, {"list": "projects", "add": "add", "remove": "remove"}),
    Noun("agent", TOOLS_GROUP, {"install": "install", "uninstall": "uninstall", "hook": "agent-hook", "mcp": "mcp"}),
    Noun("shell", TOOLS_GROUP, {"init": "shell-init", "completion": "completion"}),
    Noun(
        "daemon",
        DAEMON_GROUP,
        {"start": "start", "stop": "stop", "restart": "restart", "logs": "logs", "service": "service"},
    ),
    Noun(
        "data",
        DATA_GROUP,
        {
            "export": "export",
            "import": "import",
            "import-transcripts": "import-transcripts",
            "import-history": "import-history",
            "erase": "erase",
        },
    ),
)
# Whoever tries hunchd types these first, so the overview also lists them by their own names.
_FIRST_COMMANDS: Final = frozenset(("add", "install"))
GROUPED_COMMANDS: Final = frozenset(name for noun in NOUNS for name in noun.verbs.values()) - _FIRST_COMMANDS


class Argument(NamedTuple):
    """Positional argument or option of a command, in the form that argparse takes.

    `names` and `options` are the positional and keyword arguments of `add_argument`.
    """

    names: tuple[str, ...]
    options: dict[str, Any]


class OneOf(NamedTuple):
    """Mutually exclusive arguments.

    If `required` is True, the user must give one of them.
    """

    arguments: tuple[Argument, ...]
    required: bool = False


def argument(*names: str, **options: Any) -> Argument:
    return Argument(names, options)


def one_of(*arguments: Argument, required: bool = False) -> OneOf:
    return OneOf(arguments, required)


class Command(NamedTuple):
    """Definition of one `hunch` command.

    `prints_data` is False if the command has no --json option, and `asks_daemon` is False if it sends no request to
    the daemon.
    """

    name: str
    group: str
    summary: str
    description: str
    runs: str  # "module:function", imported when it runs
    arguments: tuple[Argument | OneOf, ...] | Callable[[ArgumentParser], None]  # a function if they are slow to load
    examples: tuple[str, ...] = ()
    prints_data: bool = True
    asks_daemon: bool = True
