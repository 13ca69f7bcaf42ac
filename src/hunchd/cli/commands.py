"""Table of all commands, with the purpose, the arguments and the function of each."""

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


def _add_context_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the file you open (default: your uncommitted change)")
    parser.add_argument(
        "--budget", type=parse_positive, metavar="TOKENS", help="at most this many tokens (default 8000)"
    )
    parser.add_argument("--activity", choices=ACTIVITIES, help="what you are doing; shifts the budget between tiers")
    parser.add_argument("--branch", help="answer as if this branch were checked out")
    parser.add_argument("--query", metavar="TEXT", help="what you are looking for")
    parser.add_argument(
        "--wait",
        type=parse_seconds,
        default=8.0,
        metavar="SECONDS",
        help="how long to wait while a new project is indexed (default 8)",
    )


def _add_predict_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the file you open; may be left out with --query")
    parser.add_argument("-k", type=parse_positive, default=10, metavar="N", help="how many files (default 10)")
    parser.add_argument("--query", metavar="TEXT", help="what you are looking for")
    parser.add_argument("--branch", help="answer as if this branch were checked out")


def _review(parser: ArgumentParser) -> None:
    parser.add_argument("--base", metavar="REV", help="include the commits since REV in the change")


def _add_project_option(parser: ArgumentParser) -> None:
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")


def _add_remember_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text to store; - reads it from standard input")
    parser.add_argument("--kind", choices=KINDS, default="fact", help="kind of memory (default: fact)")
    parser.add_argument("--title", help="title of one line (default: the beginning of TEXT)")
    parser.add_argument("--category", choices=CATEGORIES, help="category of a fact")
    parser.add_argument("--key", help="key of a fact; a new value for the same key replaces the old one")
    parser.add_argument("--value", help="value of a fact with a key (default: TEXT)")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="add a tag; may be given several times"
    )
    parser.add_argument("--importance", type=parse_fraction, metavar="0..1", help="importance (default 0.5)")
    parser.add_argument("--branch", help="the memory is valid on this branch only")
    parser.add_argument("--ref", metavar="NAME", help="your own id for the memory; the same id is not stored twice")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")
    whose.add_argument("--everywhere", action="store_true", help="the memory is about you and valid in every project")


def _add_search_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="WORD", help="what to look for")
    parser.add_argument("-k", type=parse_positive, default=5, metavar="N", help="how many results (default 5)")
    parser.add_argument(
        "--depth",
        choices=("shallow", "deep", "specific"),
        default="shallow",
        help="how thoroughly to search (default: shallow)",
    )
    kinds = ("code", *KINDS)
    parser.add_argument(
        "--kind", action="append", choices=kinds, default=[], help="only this kind; may be given several times"
    )
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="only this tag; may be given several times"
    )
    parser.add_argument("--path", metavar="PREFIX", help="only memories about paths with this prefix")
    parser.add_argument("--role", action="append", choices=ROLES, default=[], help="only code in files of this role")
    parser.add_argument("--language", action="append", default=[], metavar="NAME", help="only code in this language")
    parser.add_argument("--as-of", metavar="DATE", help="search what was valid on this date, e.g. 2026-03-01")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")
    where.add_argument("--all", action="store_true", help="search every project; each result names its project")


def _add_id_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID|PATH", help="id of a memory, as `hunch search` prints it, or path of a document"
    )


def _add_edit_arguments(parser: ArgumentParser) -> None:
    _add_id_argument(parser)
    parser.add_argument("--content", metavar="TEXT", help="the new text; - reads it from standard input")
    parser.add_argument("--title", help="new title of one line")
    parser.add_argument("--category", choices=CATEGORIES, help="new category of a fact")
    parser.add_argument("--key", help="new key of a fact")
    parser.add_argument("--value", help="new value of a fact")
    parser.add_argument("--branch", help="the fact is valid on this branch only")
    parser.add_argument("--tag", action="append", metavar="TAG", help="replace the tags; may be given several times")
    parser.add_argument(
        "--importance", type=parse_fraction, metavar="0..1", help="from 0.5 on, the memory is shown in contexts"
    )


def _add_forget_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID|PATH", help="id of a memory, or path of a document")


def _add_why_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "subject", metavar="ID|FILE|PATH", help="a memory, a file (explains its context), or a document"
    )


def _add_expand_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("subject", metavar="TOPIC|ID", help="a topic from the end of a bundle, or a memory")
    parser.add_argument("--level", choices=LEVELS, default="full", help="length of the text (default: full)")
    _add_project_option(parser)


def _add_add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", default=".", metavar="DIR", help="folder to watch (default: the current one)"
    )
    parser.add_argument("--wait", action="store_true", help="wait until everything is indexed and embedded")


def _add_remove_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "project", nargs="?", default=".", metavar="DIR|ID", help="the project (default: the one you are in)"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _add_start_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--foreground", action="store_true", help="run in this terminal; Ctrl-C stops the daemon")


def _add_ui_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--read-only", action="store_true", help="open a page that shows everything but cannot change anything"
    )
    parser.add_argument(
        "--print", action="store_true", dest="prints", help="print the address instead of opening a browser"
    )


def _add_logs_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="print new lines as they are written; Ctrl-C stops")
    parser.add_argument(
        "-n", "--lines", type=parse_count, default=50, metavar="N", help="number of lines to print (default 50)"
    )


def _add_doctor_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="apply safe fixes: permissions, stale files")


def _add_export_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="file to write (default: standard output)")
    parser.add_argument("--project", metavar="DIR|ID", help="export this project only")


def _add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="JSON Lines from `hunch export`; - reads standard input")
    parser.add_argument(
        "--colleague", metavar="NAME", help="import a colleague's export of one project, under this name"
    )
    parser.add_argument(
        "--project",
        metavar="DIR|ID",
        default=".",
        help="with --colleague: your own project to import into (default: .)",
    )


def _add_erase_arguments(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--project", metavar="DIR|ID", help="erase everything stored about this project")
    what.add_argument("--everything", action="store_true", help="erase every file of hunchd, including the settings")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _add_no_arguments(_: ArgumentParser) -> None:
    """Add nothing, for commands without arguments."""


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
        _add_context_arguments,
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
        _add_predict_arguments,
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
        _review,
        ("hunch review", "hunch review --base main"),
    ),
    Command(
        "expand",
        NEXT_GROUP,
        "the full text behind a topic or a pointer",
        "Bundles end with topics and pointers of one word each. This prints the full text of one.",
        f"{COMMANDS_PACKAGE}.memories:expand",
        _add_expand_arguments,
        ("hunch expand testing",),
    ),
    Command(
        "why",
        NEXT_GROUP,
        "why something was shown, and where it comes from",
        "For a file: every item of its context with its reasons, its score and its tokens.\n"
        "For a memory: its source, its trust, its history and how often it helped.",
        f"{COMMANDS_PACKAGE}.memories:why",
        _add_why_arguments,
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
        _add_remember_arguments,
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
        _add_search_arguments,
        ("hunch search where are cookies signed", "hunch search tests for the session --kind code -k 3"),
    ),
    Command(
        "show",
        KNOWLEDGE_GROUP,
        "one memory in full",
        "Prints one memory in full.",
        f"{COMMANDS_PACKAGE}.memories:show",
        _add_id_argument,
    ),
    Command(
        "edit",
        KNOWLEDGE_GROUP,
        "change a memory",
        "Changes a memory, or the document at a PATH such as /profile/preferences; a missing document is created.\n"
        "Without options, the text opens in $VISUAL or $EDITOR. `hunch undo` restores the previous version.",
        f"{COMMANDS_PACKAGE}.memories:edit",
        _add_edit_arguments,
        ('hunch edit 01J9Z --title "Sessions stay cookies" --importance 0.9', "hunch edit /profile/preferences"),
    ),
    Command(
        "forget",
        KNOWLEDGE_GROUP,
        "delete memories",
        "Deletes memories for good. Once the command has returned, they are not shown any more.",
        f"{COMMANDS_PACKAGE}.memories:forget",
        _add_forget_arguments,
    ),
    Command(
        "add",
        PROJECTS_GROUP,
        "watch a repository or folder",
        "Registers the repository (or plain folder): its history and code are indexed and its files watched.\n"
        "Safe to repeat. `hunch context FILE` does it automatically.",
        f"{COMMANDS_PACKAGE}.projects:add",
        _add_add_arguments,
        ("hunch add", "hunch add ~/src/flask --wait"),
    ),
    Command(
        "remove",
        PROJECTS_GROUP,
        "stop watching, erase the project's data",
        "Stops watching a project and erases everything stored about it. The repository itself is not touched.",
        f"{COMMANDS_PACKAGE}.projects:remove",
        _add_remove_arguments,
    ),
    Command(
        "projects",
        PROJECTS_GROUP,
        "list the watched projects",
        "Lists the registered projects.",
        f"{COMMANDS_PACKAGE}.projects:list_projects",
        _add_no_arguments,
    ),
    *AGENT_COMMANDS,
    Command(
        "start",
        DAEMON_GROUP,
        "start the daemon, if it is not running",
        "Starts the daemon in the background and returns when it answers.",
        f"{COMMANDS_PACKAGE}.lifecycle:start",
        _add_start_arguments,
        asks_daemon=False,
    ),
    Command(
        "stop",
        DAEMON_GROUP,
        "stop the daemon",
        "Stops the daemon. Nothing that was accepted is lost; the next command starts it again.",
        f"{COMMANDS_PACKAGE}.lifecycle:stop",
        _add_no_arguments,
        asks_daemon=False,
    ),
    Command(
        "restart",
        DAEMON_GROUP,
        "stop and start the daemon",
        "Stops the daemon, even one that hangs, and starts a new one.",
        f"{COMMANDS_PACKAGE}.lifecycle:restart",
        _add_no_arguments,
        asks_daemon=False,
    ),
    Command(
        "status",
        DAEMON_GROUP,
        "show what the daemon is doing and what resources it uses",
        "Shows the projects and how far they are indexed, the store, queues, memory use, and what is degraded.",
        f"{COMMANDS_PACKAGE}.status:status",
        _add_no_arguments,
    ),
    Command(
        "ui",
        DAEMON_GROUP,
        "open a page in the browser: what hunchd knows, and why",
        "Opens a page that shows what hunchd knows and predicts, and on which you can correct it. Only this browser\n"
        "can use the page, until the browser or the daemon ends: the address contains a code that works once, within\n"
        "a minute. On a machine that you reach through SSH, use --print and forward the port in the address.",
        f"{COMMANDS_PACKAGE}.ui:ui",
        _add_ui_arguments,
        ("hunch ui", "hunch ui --read-only", "hunch ui --print"),
    ),
    Command(
        "logs",
        DAEMON_GROUP,
        "show the daemon's log",
        "Prints the end of the daemon's log. Works when the daemon does not. With --json each line is an object with\n"
        "at, level, part and message, or only with message if the line continues the previous entry.",
        f"{COMMANDS_PACKAGE}.logs:logs",
        _add_logs_arguments,
        ("hunch logs -f", "hunch logs --json -n 1000"),
        asks_daemon=False,
    ),
    Command(
        "doctor",
        DAEMON_GROUP,
        "find out what is wrong and how to fix it",
        "Checks everything hunchd depends on; shows what is wrong and how to fix it. Works when the daemon does not.",
        f"{COMMANDS_PACKAGE}.doctor:doctor",
        _add_doctor_arguments,
        asks_daemon=False,
    ),
    Command(
        "bench",
        DAEMON_GROUP,
        "measure predictions and search on a real history",
        "replay walks a repository's own history and scores the predictions against what really happened next.\n"
        "recall searches for the past work that later commits mention, compared with BM25.\n"
        "latency measures predictions on a large synthetic repository.\n"
        "bundle measures how much of a real change is named by the context of one of its files, and by a review of\n"
        "one half of it.\n"
        "code searches repositories for the questions in a file and scores the files found, compared with BM25.\n"
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
        _add_export_arguments,
        ("hunch export hunchd.jsonl", "hunch export --project . | wc -l"),
    ),
    Command(
        "import",
        DATA_GROUP,
        "import an export",
        "Imports an export. Known entries are skipped. With --colleague, somebody else's export of a project is\n"
        "imported as their statements, beside yours; conflicts become contradictions.",
        f"{COMMANDS_PACKAGE}.transfer:import_",
        _add_import_arguments,
        ("hunch import hunchd.jsonl", "hunch import ada.jsonl --colleague Ada"),
    ),
    Command(
        "erase",
        DATA_GROUP,
        "delete a project's data, or everything",
        "Deletes data for good. --everything stops the daemon and deletes every file of hunchd.",
        f"{COMMANDS_PACKAGE}.transfer:erase",
        _add_erase_arguments,
        ("hunch erase --project .", "hunch erase --everything"),
    ),
)
