"""Definitions of the commands for agents' sessions.

The table in `commands` includes them.
"""

from __future__ import annotations

from typing import Final

from hunchd.cli.argument_types import parse_date, parse_positive
from hunchd.cli.command import COMMANDS_PACKAGE, DATA_GROUP, KNOWLEDGE_GROUP, Command, argument

AGENTS: Final = ("claude-code", "codex", "gemini", "cursor", "aider")
ACTIONS: Final = ("list", "show", "end", "delete", "compile")


SESSION_COMMANDS: Final = (
    Command(
        "sessions",
        KNOWLEDGE_GROUP,
        "sessions of agents: list, show, end, delete, compile",
        "Sessions reported by agents and plugins. Their logs are stored verbatim until you delete them; older turns\n"
        "are condensed only in the prompts compiled from them.",
        f"{COMMANDS_PACKAGE}.sessions:sessions",
        (
            argument("action", nargs="?", default="list", choices=ACTIONS, help="default: list"),
            argument("id", nargs="?", metavar="ID", help="id of the session; not needed for list"),
            argument("message", nargs="?", default="", metavar="MESSAGE", help="compile: the user's new message"),
            argument("--project", metavar="DIR", help="list: only sessions of this project"),
            argument(
                "--limit", type=parse_positive, default=20, metavar="N", help="list: number of sessions (default 20)"
            ),
            argument("--full", action="store_true", help="show: print whole messages instead of one line each"),
            argument(
                "--budget",
                type=parse_positive,
                default=32_000,
                metavar="TOKENS",
                help="compile: size of the prompt (default 32000)",
            ),
            argument("--yes", action="store_true", help="delete: do not ask for confirmation"),
        ),
        ("hunch sessions list --project .", "hunch sessions show 3f2b8c1e", "hunch sessions delete 3f2b8c1e --yes"),
    ),
    Command(
        "import-transcripts",
        DATA_GROUP,
        "import earlier sessions of agents",
        "Reads the transcripts of coding agents on this machine (Claude Code, Codex, Gemini CLI, Cursor, aider) and\n"
        "imports them as sessions, so that memory does not start empty. Nothing is read unless you run this; secrets\n"
        "are removed before anything is stored; known sessions are skipped.",
        f"{COMMANDS_PACKAGE}.transcripts:import_transcripts",
        (
            argument("file", nargs="*", metavar="FILE", help="read these files instead of the agents' own folders"),
            argument(
                "--from", dest="agents", action="append", choices=AGENTS, default=[], help="only sessions of this agent"
            ),
            argument("--project", metavar="DIR", help="only sessions in this project"),
            argument("--since", type=parse_date, metavar="DATE", help="only sessions that began on this day or later"),
            argument("--all", action="store_true", help="import sessions of unknown projects too, as your own"),
            argument("--dry-run", action="store_true", help="show what would be imported without sending it"),
        ),
        ("hunch import-transcripts --dry-run", "hunch import-transcripts --from claude-code --project ."),
    ),
)
