"""Definition of a `hunch` command, and the groups of the overview."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Final, NamedTuple

GROUPS: Final = ("What comes next", "What is known", "Projects", "Editors, agents, git", "The daemon", "Your data")
NEXT_GROUP, KNOWLEDGE_GROUP, PROJECTS_GROUP, TOOLS_GROUP, DAEMON_GROUP, DATA_GROUP = GROUPS
COMMANDS_PACKAGE: Final = "hunchd.cli"  # package of the functions


class Command(NamedTuple):
    """Command of `hunch`."""

    name: str
    group: str
    summary: str
    description: str
    runs: str  # "module:function", imported when it runs
    arguments: Callable[[ArgumentParser], None]
    examples: tuple[str, ...] = ()
    prints_data: bool = True
    asks_daemon: bool = True
