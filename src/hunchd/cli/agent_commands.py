"""The commands that tie hunchd to coding agents; a part of the table in `commands`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from hunchd.cli.command import RUN, TOOLS, Command


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one around the current folder)")


AGENT_COMMANDS: Final = (
    Command(
        "mcp",
        TOOLS,
        "the server that agents start (MCP over stdio)",
        "Speaks the Model Context Protocol over standard input and output: six tools, resources and prompts.\n"
        "Agents start it themselves.",
        f"{RUN}.mcp:serve",
        _mcp,
        ("hunch mcp --project ~/src/flask",),
        prints_data=False,
    ),
)
