"""Definitions of the commands that connect hunchd to coding agents.

The table in `commands` includes them.
"""

from __future__ import annotations

from typing import Final

from hunchd.cli.command import COMMANDS_PACKAGE, TOOLS_GROUP, Command, argument

AGENTS: Final = ("claude-code", "codex", "cursor", "gemini", "aider", "continue", "zed")


AGENT_COMMANDS: Final = (
    Command(
        "install",
        TOOLS_GROUP,
        "add hunchd to a coding agent's settings",
        "Adds the MCP server, and hooks if the agent supports them, to the agent's user settings: the agent gets\n"
        "context when a session begins, a file is opened or changed, a branch is checked out or a command fails,\n"
        "never on each prompt. The rest of the files stays as it is, including comments and order; a backup is made.\n"
        "It is safe to run this again.\n\n"
        f"agents: {', '.join(AGENTS)}",
        f"{COMMANDS_PACKAGE}.agents.install:install",
        (
            argument("agent", nargs="?", choices=AGENTS, metavar="AGENT", help=f"one of: {', '.join(AGENTS)}"),
            argument("--agents-md", action="store_true", help="add hunchd's section to this repository's AGENTS.md"),
            argument("--dry-run", action="store_true", help="show the diff without changing anything"),
        ),
        ("hunch install claude-code", "hunch install zed --dry-run", "hunch install --agents-md"),
        asks_daemon=False,
    ),
    Command(
        "uninstall",
        TOOLS_GROUP,
        "remove hunchd from an agent's settings",
        "Restores the agent's settings byte for byte. If they have been changed since the installation,\n"
        "only hunchd's entries are removed.",
        f"{COMMANDS_PACKAGE}.agents.install:uninstall",
        (
            argument("agent", nargs="?", choices=AGENTS, metavar="AGENT", help=f"one of: {', '.join(AGENTS)}"),
            argument(
                "--agents-md", action="store_true", help="remove hunchd's section from this repository's AGENTS.md"
            ),
            argument("--dry-run", action="store_true", help="show the diff without changing anything"),
        ),
        ("hunch uninstall claude-code", "hunch uninstall --agents-md"),
        asks_daemon=False,
    ),
    Command(
        "agent-hook",
        TOOLS_GROUP,
        "called by agents' hooks; not meant for people",
        "Reads the payload of an agent's hook from standard input and prints the context for the agent.\n"
        "It never fails, and waits at most a tenth of a second, or half a second when a session begins.",
        f"{COMMANDS_PACKAGE}.agents.agent_hook_client:agent_hook",
        (argument("agent", choices=AGENTS, metavar="AGENT", help=f"one of: {', '.join(AGENTS)}"),),
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "mcp",
        TOOLS_GROUP,
        "run the MCP server for agents (stdio)",
        "Serves the Model Context Protocol over standard input and output: six tools, resources and prompts.\n"
        "Agents start it themselves: `hunch install AGENT` configures that.",
        f"{COMMANDS_PACKAGE}.mcp_server:serve",
        (argument("--project", metavar="DIR", help="the project (default: that of the current folder)"),),
        ("hunch mcp --project ~/src/flask",),
        prints_data=False,
    ),
)
