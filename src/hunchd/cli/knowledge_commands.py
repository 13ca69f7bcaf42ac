"""Definitions of the commands for history and the knowledge base.

The table in `commands` includes them.
"""

from __future__ import annotations

from typing import Final

from hunchd.cli.command import COMMANDS_PACKAGE, KNOWLEDGE_GROUP, Command, argument, one_of
from hunchd.protocol.steps import STEPS

KNOWLEDGE_COMMANDS: Final = (
    Command(
        "documents",
        KNOWLEDGE_GROUP,
        "list documents by path: profile, reference, …",
        "Lists the documents of the knowledge base. `hunch edit PATH` opens one in your editor, or a new one;\n"
        "`hunch show`, `history`, `undo` and `forget` take paths too.",
        f"{COMMANDS_PACKAGE}.documents:documents",
        (
            argument(
                "prefix",
                nargs="?",
                default="/",
                metavar="PREFIX",
                help="start of the paths, such as /profile/ (default: all)",
            ),
        ),
        ("hunch documents /profile/", "hunch edit /profile/preferences"),
    ),
    Command(
        "history",
        KNOWLEDGE_GROUP,
        "show when something changed, from what to what",
        "For the key of a fact: every value it had, since when, and its source. For a memory or a document:\n"
        "its earlier versions.",
        f"{COMMANDS_PACKAGE}.history_commands:history",
        (
            argument("subject", metavar="KEY|ID|PATH", help="the key of a fact, a memory, or a document"),
            one_of(
                argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
                argument("--everywhere", action="store_true", help="a fact about you, valid in every project"),
            ),
        ),
        ('hunch history "package manager"', "hunch history /profile/preferences"),
    ),
    Command(
        "undo",
        KNOWLEDGE_GROUP,
        "undo the last change of a memory",
        "Restores a memory or a document as it was before its last change, or reopens a resolved contradiction.\n"
        "The undone version stays in the history. A forgotten memory cannot be restored.",
        f"{COMMANDS_PACKAGE}.history_commands:undo",
        (argument("id", metavar="ID|PATH", help="a memory, a document, or a resolved contradiction"),),
        ("hunch undo /profile/preferences",),
    ),
    Command(
        "contradictions",
        KNOWLEDGE_GROUP,
        "list and resolve contradictions",
        "Lists facts on which two equally trusted sources disagree. `resolve` decides which is right; the other stays\n"
        "in the history. `open` reports that two memories contradict each other.",
        f"{COMMANDS_PACKAGE}.history_commands:contradictions",
        (
            argument("action", nargs="?", choices=("resolve", "open"), help="resolve a contradiction, or report one"),
            argument("id", nargs="?", metavar="ID", help="as `hunch contradictions` prints it; with open: a memory"),
            argument(
                "other", nargs="?", metavar="a|b|both|merged|ID", help="which one is right; with open: the other memory"
            ),
            argument("--value", help="the merged value"),
            argument("--note", help="reason for the resolution"),
            argument("--all", action="store_true", help="list resolved contradictions too"),
        ),
        (
            "hunch contradictions",
            'hunch contradictions resolve x01J9Z a --note "CI says so"',
            "hunch contradictions open m3f2 m81c",
        ),
    ),
    Command(
        "consolidate",
        KNOWLEDGE_GROUP,
        "condense, assess and forget memories",
        "Merges duplicates, shortens old episodes, links related memories, marks statements about removed\n"
        "code as suspect, and archives what has not been used for three months. Runs every night. A run\n"
        "that makes search results worse is rolled back.",
        f"{COMMANDS_PACKAGE}.consolidation:consolidate",
        (
            one_of(
                argument("--dry-run", action="store_true", help="show what the run would change without changing it"),
                argument("--undo", metavar="RUN", help="undo a run"),
                argument("--runs", dest="listing", action="store_true", help="list the runs that can be undone"),
                argument("--show", metavar="RUN", help="list what a run changed"),
                argument("--stop", action="store_true", help="stop the run in progress"),
            ),
            argument("--change", type=int, metavar="NO", help="with --undo: only this change of the run"),
            argument("--step", action="append", choices=STEPS, help="run only this step; may be given several times"),
            argument("--project", metavar="DIR", help="only this project (default: everything)"),
        ),
        ("hunch consolidate --dry-run", "hunch consolidate", "hunch consolidate --undo r20260301030000ab12"),
    ),
    Command(
        "share",
        KNOWLEDGE_GROUP,
        "share facts, decisions, workflows with colleagues",
        "Writes the named memories as small text files below .hunch/ in the repository: review and commit them\n"
        "like code. Colleagues' daemons read them after a pull, as statements of the project, never as their own.\n"
        "Only what belongs to the project is shared: nothing private, nothing about people, no sessions; secrets\n"
        "are masked again.",
        f"{COMMANDS_PACKAGE}.sharing:share",
        (
            argument("names", nargs="*", metavar="ID|KEY", help="the memories to share; without any, lists them"),
            argument("--all", action="store_true", help="share everything shareable that you stated yourself"),
            argument("--list", action="store_true", help="list what is shared and what could be"),
            argument("--dry-run", action="store_true", help="show what would be written without writing it"),
            argument("--project", metavar="DIR", help="the repository (default: the one you are in)"),
        ),
        (
            "hunch share --list",
            'hunch share "package manager" --dry-run',
            "hunch share --all",
        ),
    ),
    Command(
        "unshare",
        KNOWLEDGE_GROUP,
        "delete a shared file from the repository",
        "Deletes shared files, yours or others'. Your own memories stay; colleagues lose theirs when they pull the\n"
        "deletion.",
        f"{COMMANDS_PACKAGE}.sharing:unshare",
        (
            argument("names", nargs="+", metavar="FILE|KEY", help="as `hunch share --list` shows it"),
            argument("--dry-run", action="store_true", help="show what would be removed without removing it"),
            argument("--project", metavar="DIR", help="the repository (default: the one you are in)"),
        ),
        ('hunch unshare "package manager"', "hunch unshare .hunch/decisions/session-storage.md"),
        asks_daemon=False,
    ),
    Command(
        "team",
        KNOWLEDGE_GROUP,
        "share a project's memory with a team, as it grows",
        "Keeps what you and your colleagues state about a project in one dataset on an object store or a shared\n"
        "folder. Every machine answers from its own copy. Nothing private, no sessions and no commands are sent;\n"
        "`preview` shows exactly what would be. Members' statements are shown with their names, and never replace\n"
        "yours. See docs/team.md.",
        f"{COMMANDS_PACKAGE}.team:team",
        (
            argument(
                "action",
                nargs="?",
                choices=("create", "join", "status", "members", "preview", "exclude", "readmit", "appoint", "leave"),
                default="status",
                help="default: status",
            ),
            argument(
                "target",
                nargs="?",
                metavar="URI|MEMBER",
                help="s3://…, az://…, gs://… or a folder; with exclude: a member",
            ),
            argument("--name", help="your name in the team (default: the one in git's settings)"),
            argument("--yes", action="store_true", help="do not ask for confirmation"),
            argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
        ),
        (
            "hunch team create s3://our-bucket/hunch/shop",
            "hunch team join s3://our-bucket/hunch/shop",
            "hunch team preview",
            "hunch team members",
        ),
    ),
)
