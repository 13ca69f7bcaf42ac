"""Table of all commands: the purpose and arguments of each, and the function that it runs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from hunchd.cli.agent_commands import AGENT_COMMANDS
from hunchd.cli.argument_types import parse_count, parse_fraction, parse_positive, parse_seconds
from hunchd.cli.command import (
    COMMANDS_PACKAGE,
    DAEMON_GROUP,
    DATA_GROUP,
    KNOWLEDGE_GROUP,
    NEXT_GROUP,
    PROJECTS_GROUP,
    Command,
    argument,
    one_of,
)
from hunchd.cli.knowledge_commands import KNOWLEDGE_COMMANDS
from hunchd.cli.session_commands import SESSION_COMMANDS
from hunchd.cli.system_commands import SYSTEM_COMMANDS
from hunchd.cli.workflow_commands import ROUTINE_COMMANDS

ACTIVITIES: Final = ("coding", "debugging", "new_feature", "reviewing")
ROLES: Final = ("source", "test", "docs", "example", "generated", "vendored", "config", "changelog")
KINDS: Final = ("fact", "episode", "error", "pattern", "workflow", "document", "message")
CATEGORIES: Final = ("identity", "preference", "constraint", "instruction", "decision", "convention")
LEVELS: Final = ("full", "summary", "compressed", "index")


def _add_bench_arguments(parser: ArgumentParser) -> None:
    from hunchd.cli.benchmarks import add_arguments

    add_arguments(parser)


COMMANDS: Final = (
    Command(
        "context",
        NEXT_GROUP,
        "what you need to know when you open FILE",
        "Prints what a developer who opens FILE most likely needs next: recent errors and decisions, related files\n"
        "with their signatures, earlier changes, and topics to expand. Each item states its reasons. The repository\n"
        "is added the first time; while it is being indexed, the result is the best so far.",
        f"{COMMANDS_PACKAGE}.context:context",
        (
            argument("file", nargs="?", metavar="FILE", help="the file you open (default: your uncommitted change)"),
            argument("--budget", type=parse_positive, metavar="TOKENS", help="at most this many tokens (default 8000)"),
            argument("--activity", choices=ACTIVITIES, help="what you are doing; shifts the budget between tiers"),
            argument("--branch", help="answer as if this branch were checked out"),
            argument("--query", metavar="TEXT", help="what you are looking for"),
            argument(
                "--wait",
                type=parse_seconds,
                default=8.0,
                metavar="SECONDS",
                help="how long to wait while a new project is indexed (default 8)",
            ),
        ),
        (
            "hunch context src/app.py",
            "hunch context src/app.py --activity debugging --budget 4000",
            'hunch context --query "why are sessions signed cookies"',
        ),
    ),
    Command(
        "predict",
        NEXT_GROUP,
        "which files come next after FILE, or for a task",
        "Prints the files you will most likely touch after FILE, or for the task that --query describes,\n"
        "each with its probability and the reasons.",
        f"{COMMANDS_PACKAGE}.context:predict",
        (
            argument("file", nargs="?", metavar="FILE", help="the file you open; may be left out with --query"),
            argument("-k", type=parse_positive, default=10, metavar="N", help="how many files (default 10)"),
            argument("--query", metavar="TEXT", help="what you are looking for"),
            argument("--branch", help="answer as if this branch were checked out"),
        ),
        ("hunch predict src/app.py -k 3", 'hunch predict --query "sign the session cookie"'),
    ),
    Command(
        "review",
        NEXT_GROUP,
        "what your uncommitted change still lacks",
        "Prints the files that usually change together with those you changed, but that you have not changed: the\n"
        "test, the lock file, the change log. Each is shown with its probability and the evidence for it.\n"
        "Prints nothing if nothing seems to be missing.",
        f"{COMMANDS_PACKAGE}.context:review",
        (argument("--base", metavar="REV", help="include the commits since REV in the change"),),
        ("hunch review", "hunch review --base main"),
    ),
    Command(
        "expand",
        NEXT_GROUP,
        "the full text behind a topic or a pointer",
        "Bundles end with topics and pointers of one word each. This prints the full text of one.",
        f"{COMMANDS_PACKAGE}.memories:expand",
        (
            argument("subject", metavar="TOPIC|ID", help="a topic from the end of a bundle, or a memory"),
            argument("--level", choices=LEVELS, default="full", help="length of the text (default: full)"),
            argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
        ),
        ("hunch expand testing",),
    ),
    Command(
        "why",
        NEXT_GROUP,
        "why something was shown, and where it comes from",
        "For a file: every item of its context with its reasons, its score and its tokens.\n"
        "For a memory: its source, its trust, its history and how often it helped.",
        f"{COMMANDS_PACKAGE}.memories:why",
        (argument("subject", metavar="ID|FILE|PATH", help="a memory, a file (explains its context), or a document"),),
        ("hunch why src/app.py",),
    ),
    Command(
        "remember",
        KNOWLEDGE_GROUP,
        "store a fact, a decision, a note",
        "Stores TEXT as your own words; secrets in it are masked first. It is searchable at once.\n"
        "A plain statement is interpreted by rules, and the result is shown. A key has one value: a new value\n"
        "replaces the old one, which stays in the history.",
        f"{COMMANDS_PACKAGE}.memories:remember",
        (
            argument("text", metavar="TEXT", help="the text to store; - reads it from standard input"),
            argument("--kind", choices=KINDS, default="fact", help="kind of memory (default: fact)"),
            argument("--title", help="title of one line (default: the beginning of TEXT)"),
            argument("--category", choices=CATEGORIES, help="category of a fact"),
            argument("--key", help="key of a fact; a new value for the same key replaces the old one"),
            argument("--value", help="value of a fact with a key (default: TEXT)"),
            argument("--tag", action="append", default=[], metavar="TAG", help="add a tag; may be given several times"),
            argument("--importance", type=parse_fraction, metavar="0..1", help="importance (default 0.5)"),
            argument("--branch", help="the memory is valid on this branch only"),
            argument("--ref", metavar="NAME", help="your own id for the memory; the same id is not stored twice"),
            one_of(
                argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
                argument(
                    "--everywhere", action="store_true", help="the memory is about you and valid in every project"
                ),
            ),
        ),
        (
            'hunch remember "we use pnpm, not npm"',
            'hunch remember "sessions stay signed cookies: server side costs operations" --category decision',
            'hunch remember "4 spaces" --key indentation --category convention',
            'hunch remember "prefers short answers" --category preference --everywhere',
        ),
    ),
    Command(
        "search",
        KNOWLEDGE_GROUP,
        "search code, memories and history",
        "Searches the code of the current project and its memories: decisions, past work, workflows, documents.\n"
        "Code is printed as path:lines with its signature.\n"
        "shallow is fast, deep follows links and expands the query, specific looks for one exact name: a path, an id,\n"
        "a key. With - as WORD a long text, such as an issue with its traceback, is read from standard input.",
        f"{COMMANDS_PACKAGE}.memories:search",
        (
            argument("query", nargs="+", metavar="WORD", help="what to look for"),
            argument("-k", type=parse_positive, default=5, metavar="N", help="how many results (default 5)"),
            argument(
                "--depth",
                choices=("shallow", "deep", "specific"),
                default="shallow",
                help="how thoroughly to search (default: shallow)",
            ),
            argument(
                "--kind",
                action="append",
                choices=("code", *KINDS),
                default=[],
                help="only this kind; may be given several times",
            ),
            argument(
                "--tag", action="append", default=[], metavar="TAG", help="only this tag; may be given several times"
            ),
            argument("--path", metavar="PREFIX", help="only memories about paths with this prefix"),
            argument("--role", action="append", choices=ROLES, default=[], help="only code in files of this role"),
            argument("--language", action="append", default=[], metavar="NAME", help="only code in this language"),
            argument("--as-of", metavar="DATE", help="search what was valid on this date, e.g. 2026-03-01"),
            one_of(
                argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
                argument("--all", action="store_true", help="search every project; each result names its project"),
            ),
        ),
        ("hunch search where are cookies signed", "hunch search tests for the session --kind code -k 3"),
    ),
    Command(
        "show",
        KNOWLEDGE_GROUP,
        "one memory in full",
        "Prints one memory in full.",
        f"{COMMANDS_PACKAGE}.memories:show",
        (argument("id", metavar="ID|PATH", help="id of a memory, as `hunch search` prints it, or path of a document"),),
    ),
    Command(
        "edit",
        KNOWLEDGE_GROUP,
        "change a memory",
        "Changes a memory, or the document at a PATH such as /profile/preferences; a missing document is created.\n"
        "Without options, the text opens in $VISUAL or $EDITOR. `hunch undo` restores the previous version.",
        f"{COMMANDS_PACKAGE}.memories:edit",
        (
            argument(
                "id", metavar="ID|PATH", help="id of a memory, as `hunch search` prints it, or path of a document"
            ),
            argument("--content", metavar="TEXT", help="the new text; - reads it from standard input"),
            argument("--title", help="new title of one line"),
            argument("--category", choices=CATEGORIES, help="new category of a fact"),
            argument("--key", help="new key of a fact"),
            argument("--value", help="new value of a fact"),
            argument("--branch", help="the fact is valid on this branch only"),
            argument("--tag", action="append", metavar="TAG", help="replace the tags; may be given several times"),
            argument(
                "--importance", type=parse_fraction, metavar="0..1", help="from 0.5 on, the memory is shown in contexts"
            ),
        ),
        ('hunch edit 01J9Z --title "Sessions stay cookies" --importance 0.9', "hunch edit /profile/preferences"),
    ),
    Command(
        "forget",
        KNOWLEDGE_GROUP,
        "delete memories",
        "Deletes memories for good. Once the command has returned, they are no longer shown.",
        f"{COMMANDS_PACKAGE}.memories:forget",
        (argument("ids", nargs="+", metavar="ID|PATH", help="id of a memory, or path of a document"),),
    ),
    Command(
        "add",
        PROJECTS_GROUP,
        "watch a repository or folder",
        "Registers the repository (or plain folder): its history and code are indexed and its files watched.\n"
        "Safe to repeat. `hunch context FILE` does it automatically.",
        f"{COMMANDS_PACKAGE}.projects:add",
        (
            argument("path", nargs="?", default=".", metavar="DIR", help="folder to watch (default: the current one)"),
            argument("--wait", action="store_true", help="wait until everything is indexed and embedded"),
        ),
        ("hunch add", "hunch add ~/src/flask --wait"),
    ),
    Command(
        "remove",
        PROJECTS_GROUP,
        "stop watching a project and erase its data",
        "Stops watching a project and erases everything stored about it. The repository itself is not touched.",
        f"{COMMANDS_PACKAGE}.projects:remove",
        (
            argument(
                "project", nargs="?", default=".", metavar="DIR|ID", help="the project (default: the one you are in)"
            ),
            argument("--yes", action="store_true", help="do not ask for confirmation"),
        ),
    ),
    Command(
        "projects",
        PROJECTS_GROUP,
        "list the watched projects",
        "Lists the registered projects.",
        f"{COMMANDS_PACKAGE}.projects:list_projects",
        (),
    ),
    *AGENT_COMMANDS,
    Command(
        "start",
        DAEMON_GROUP,
        "start the daemon, if it is not running",
        "Starts the daemon in the background and returns when it answers.",
        f"{COMMANDS_PACKAGE}.lifecycle:start",
        (argument("--foreground", action="store_true", help="run in this terminal; Ctrl-C stops the daemon"),),
        asks_daemon=False,
    ),
    Command(
        "stop",
        DAEMON_GROUP,
        "stop the daemon",
        "Stops the daemon. Nothing that was accepted is lost; the next command starts it again.",
        f"{COMMANDS_PACKAGE}.lifecycle:stop",
        (),
        asks_daemon=False,
    ),
    Command(
        "restart",
        DAEMON_GROUP,
        "stop and start the daemon",
        "Stops the daemon, even one that hangs, and starts a new one.",
        f"{COMMANDS_PACKAGE}.lifecycle:restart",
        (),
        asks_daemon=False,
    ),
    Command(
        "status",
        DAEMON_GROUP,
        "show what the daemon is doing and what resources it uses",
        "Shows the projects and how far they are indexed, the store, queues, memory use, and what is degraded.",
        f"{COMMANDS_PACKAGE}.status:status",
        (),
    ),
    Command(
        "ui",
        DAEMON_GROUP,
        "open a page in the browser: what hunchd knows, and why",
        "Opens a page that shows what hunchd knows and predicts, and on which you can correct it. Only this browser\n"
        "can use the page, until the browser or the daemon ends: the address contains a code that works once, within\n"
        "a minute. On a machine that you reach through SSH, use --print and forward the port in the address.",
        f"{COMMANDS_PACKAGE}.ui:ui",
        (
            argument(
                "--read-only", action="store_true", help="open a page that shows everything but cannot change anything"
            ),
            argument(
                "--print", action="store_true", dest="prints", help="print the address instead of opening a browser"
            ),
        ),
        ("hunch ui", "hunch ui --read-only", "hunch ui --print"),
    ),
    Command(
        "logs",
        DAEMON_GROUP,
        "show the daemon's log",
        "Prints the end of the daemon's log. Works when the daemon does not. With --json each line is an object with\n"
        "at, level, part and message, or only with message if the line continues the previous entry.",
        f"{COMMANDS_PACKAGE}.logs:logs",
        (
            argument("-f", "--follow", action="store_true", help="print new lines as they are written; Ctrl-C stops"),
            argument(
                "-n", "--lines", type=parse_count, default=50, metavar="N", help="number of lines to print (default 50)"
            ),
        ),
        ("hunch logs -f", "hunch logs --json -n 1000"),
        asks_daemon=False,
    ),
    Command(
        "doctor",
        DAEMON_GROUP,
        "find out what is wrong and how to fix it",
        "Checks everything hunchd depends on; shows what is wrong and how to fix it. Works when the daemon does not.",
        f"{COMMANDS_PACKAGE}.doctor:doctor",
        (argument("--fix", action="store_true", help="apply safe fixes: permissions, stale files"),),
        asks_daemon=False,
    ),
    Command(
        "bench",
        DAEMON_GROUP,
        "measure predictions and search on a real history",
        "replay walks a repository's own history and scores the predictions against what really happened next.\n"
        "recall searches for past work that later commits mention, and compares the results with those of BM25.\n"
        "latency measures predictions on a large synthetic repository.\n"
        "bundle measures how many files of a real change are named by the context of one of them, and by a review\n"
        "of one half of the change.\n"
        "code searches repositories for the questions in a file, and compares the files found with those of BM25.\n"
        "No benchmark needs a daemon or changes anything.",
        f"{COMMANDS_PACKAGE}.benchmarks:run",
        _add_bench_arguments,
        ("hunch bench replay --repo . --task first-file --test-units 100",),
        asks_daemon=False,
        prints_data=False,
    ),
    *SYSTEM_COMMANDS,
    *KNOWLEDGE_COMMANDS,
    *SESSION_COMMANDS,
    *ROUTINE_COMMANDS,
    Command(
        "export",
        DATA_GROUP,
        "write everything stored, as JSON Lines",
        "Writes everything stored, one JSON object per line. The file is readable by you only.",
        f"{COMMANDS_PACKAGE}.transfer:export",
        (
            argument("file", nargs="?", metavar="FILE", help="file to write (default: standard output)"),
            argument("--project", metavar="DIR|ID", help="export this project only"),
        ),
        ("hunch export hunchd.jsonl", "hunch export --project . | wc -l"),
    ),
    Command(
        "import",
        DATA_GROUP,
        "import an export",
        "Imports an export. Known entries are skipped.",
        f"{COMMANDS_PACKAGE}.transfer:import_",
        (argument("file", metavar="FILE", help="JSON Lines from `hunch export`; - reads standard input"),),
        ("hunch import hunchd.jsonl",),
    ),
    Command(
        "erase",
        DATA_GROUP,
        "delete a project's data, or everything",
        "Deletes data for good. --everything stops the daemon and deletes every file of hunchd.",
        f"{COMMANDS_PACKAGE}.transfer:erase",
        (
            one_of(
                argument("--project", metavar="DIR|ID", help="erase everything stored about this project"),
                argument(
                    "--everything", action="store_true", help="erase every file of hunchd, including the settings"
                ),
                required=True,
            ),
            argument("--yes", action="store_true", help="do not ask for confirmation"),
        ),
        ("hunch erase --project .", "hunch erase --everything"),
    ),
)
