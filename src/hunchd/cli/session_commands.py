"""The commands about agents' sessions; a part of the table in `commands`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from hunchd.cli.command import DATA, KNOWN, RUN, Command
from hunchd.cli.values import date, positive

AGENTS: Final = ("claude-code", "codex", "gemini", "cursor", "aider")
ACTIONS: Final = ("list", "show", "end", "delete", "compile")


def _sessions(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="of the session; list takes none")
    parser.add_argument("message", nargs="?", default="", metavar="MESSAGE", help="compile: what the user says now")
    parser.add_argument("--project", metavar="DIR", help="list: of this project only")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="list: how many (default 20)")
    parser.add_argument("--full", action="store_true", help="show: whole messages instead of a line each")
    parser.add_argument("--budget", type=positive, default=32_000, metavar="TOKENS", help="compile: default 32000")
    parser.add_argument("--yes", action="store_true", help="delete: do not ask")


def _import_transcripts(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="*", metavar="FILE", help="read these files instead of where agents keep theirs")
    parser.add_argument("--from", dest="agents", action="append", choices=AGENTS, default=[], help="of this agent only")
    parser.add_argument("--project", metavar="DIR", help="only what was said in this project")
    parser.add_argument("--since", type=date, metavar="DATE", help="only sessions that began on this day or later")
    parser.add_argument("--all", action="store_true", help="sessions of unknown projects too, as your own")
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken in, send nothing")


SESSION_COMMANDS: Final = (
    Command(
        "sessions",
        KNOWN,
        "sessions of agents: list, show, end, delete, compile",
        "Sessions that agents and plugins have told hunchd of. Their logs are kept word by word until you delete\n"
        "them; older turns are condensed only in the prompts that are compiled of them.",
        f"{RUN}.sessions:sessions",
        _sessions,
        ("hunch sessions list --project .", "hunch sessions show 3f2b8c1e", "hunch sessions delete 3f2b8c1e --yes"),
    ),
    Command(
        "import-transcripts",
        DATA,
        "take in what agents have kept of earlier sessions",
        "Reads the transcripts that coding agents left on this machine (Claude Code, Codex, Gemini CLI, Cursor,\n"
        "aider) and takes them in as sessions, so that memory does not start empty. Nothing is read unless you\n"
        "run this; secrets are taken out before anything is stored; what was taken in before is recognised.",
        f"{RUN}.transcripts:import_transcripts",
        _import_transcripts,
        ("hunch import-transcripts --dry-run", "hunch import-transcripts --from claude-code --project ."),
    ),
)
