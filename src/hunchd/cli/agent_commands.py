"""The commands that tie hunchd to coding agents; a part of the table in `commands`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from hunchd.cli.command import RUN, TOOLS, Command

AGENTS: Final = ("claude-code", "codex", "cursor", "gemini", "aider", "continue", "zed")


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one around the current folder)")


def _install(parser: ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", choices=AGENTS, metavar="AGENT", help=f"one of: {', '.join(AGENTS)}")
    parser.add_argument("--agents-md", action="store_true", help="the block in this repository's AGENTS.md")
    parser.add_argument("--dry-run", action="store_true", help="show the difference, change nothing")


def _agent_hook(parser: ArgumentParser) -> None:
    parser.add_argument("agent", choices=AGENTS, metavar="AGENT", help=f"one of: {', '.join(AGENTS)}")


AGENT_COMMANDS: Final = (
    Command(
        "install",
        TOOLS,
        "put hunchd into a coding agent's settings",
        "Adds the MCP server, and where the agent has them hooks, to the agent's own settings for you as its user:\n"
        "what it should know is there when a session begins, a file is opened or changed, a branch is checked out and\n"
        "a command fails, never on each prompt. Comments, order and everything else in the files stay; what they held\n"
        "is kept. Doing it twice does no harm.\n\n"
        f"agents: {', '.join(AGENTS)}",
        f"{RUN}.agents.install:install",
        _install,
        ("hunch install claude-code", "hunch install zed --dry-run", "hunch install --agents-md"),
        asks_daemon=False,
    ),
    Command(
        "uninstall",
        TOOLS,
        "take it out again",
        "Leaves the agent's settings as they were found, byte for byte where nobody changed them since.\n"
        "Where somebody did, only what is hunchd's is taken out.",
        f"{RUN}.agents.install:uninstall",
        _install,
        ("hunch uninstall claude-code", "hunch uninstall --agents-md"),
        asks_daemon=False,
    ),
    Command(
        "agent-hook",
        TOOLS,
        "what installed agents call; not for people",
        "Reads what an agent's hook is told from standard input and answers what the agent should know.\n"
        "It never fails, and waits a tenth of a second at most, or half a second when a session begins.",
        f"{RUN}.agents.hook:agent_hook",
        _agent_hook,
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "mcp",
        TOOLS,
        "the server that agents start (MCP over stdio)",
        "Speaks the Model Context Protocol over standard input and output: six tools, resources and prompts.\n"
        "Agents start it themselves: `hunch install AGENT` tells them how.",
        f"{RUN}.mcp:serve",
        _mcp,
        ("hunch mcp --project ~/src/flask",),
        prints_data=False,
    ),
)
