"""What a command of `hunch` is, and the groups that the overview lists them by."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Final, NamedTuple

GROUPS: Final = ("What comes next", "What is known", "Projects", "Editors, agents, git", "The daemon", "Your data")
NEXT, KNOWN, PROJECTS, TOOLS, DAEMON, DATA = GROUPS
RUN: Final = "hunchd.cli"  # where the functions are


class Command(NamedTuple):
    name: str
    group: str
    summary: str
    description: str
    runs: str  # "module:function", imported when it runs
    arguments: Callable[[ArgumentParser], None]
    examples: tuple[str, ...] = ()
    prints_data: bool = True
    asks_daemon: bool = True
