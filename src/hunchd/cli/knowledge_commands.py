"""The commands for what was, and for the knowledge base; a part of the table in `commands`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from hunchd.cli.command import KNOWN, RUN, Command
from hunchd.protocol.steps import STEPS


def _documents(parser: ArgumentParser) -> None:
    parser.add_argument("prefix", nargs="?", default="/", metavar="PREFIX", help="such as /profile/ (default: all)")


def _history(parser: ArgumentParser) -> None:
    parser.add_argument("subject", metavar="KEY|ID|PATH", help="the key of a fact, a memory, or a document")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")
    whose.add_argument("--everywhere", action="store_true", help="about you, in every project")


def _undo(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID|PATH", help="a memory, a document, or a settled contradiction")


def _contradictions(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("resolve", "open"), help="say which of the two holds, or that two cannot both"
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="as `hunch contradictions` prints it; for open a memory")
    parser.add_argument(
        "other", nargs="?", metavar="a|b|both|merged|ID", help="what holds; with open: the other memory"
    )
    parser.add_argument("--value", help="what holds when both are merged")
    parser.add_argument("--note", help="why")
    parser.add_argument("--all", action="store_true", help="settled ones too")


def _share(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="ID|KEY", help="what to share; without any: a list")
    parser.add_argument("--all", action="store_true", help="all that may be shared and that you said yourself")
    parser.add_argument("--list", action="store_true", help="what is shared, and what could be")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")
    parser.add_argument("--project", metavar="DIR", help="the repository (default: the one you are in)")


def _unshare(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="FILE|KEY", help="as `hunch share --list` shows it")
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, remove nothing")
    parser.add_argument("--project", metavar="DIR", help="the repository (default: the one you are in)")


def _consolidate(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="tell what it would change, and change nothing")
    what.add_argument("--undo", metavar="RUN", help="take back a run")
    what.add_argument("--runs", dest="listing", action="store_true", help="list the runs that can be taken back")
    what.add_argument("--show", metavar="RUN", help="what a run changed")
    what.add_argument("--stop", action="store_true", help="have the run under way stop")
    parser.add_argument("--change", type=int, metavar="NO", help="with --undo: only this change of the run")
    parser.add_argument("--step", action="append", choices=STEPS, help="only this step; may be given several times")
    parser.add_argument("--project", metavar="DIR", help="only this project (default: everything that is kept)")


KNOWLEDGE_COMMANDS: Final = (
    Command(
        "documents",
        KNOWN,
        "what is kept by path: profile, reference, …",
        "Lists the documents of the knowledge base. `hunch edit PATH` opens one in your editor, new or not;\n"
        "`hunch show`, `history`, `undo` and `forget` take paths too.",
        f"{RUN}.documents:documents",
        _documents,
        ("hunch documents /profile/", "hunch edit /profile/preferences"),
    ),
    Command(
        "history",
        KNOWN,
        "when something changed, from what to what",
        "For the key of a fact: every value it had, since when, and by whose word. For a memory or a document:\n"
        "what it said before.",
        f"{RUN}.past:history",
        _history,
        ('hunch history "package manager"', "hunch history /profile/preferences"),
    ),
    Command(
        "undo",
        KNOWN,
        "take back the last change of a memory",
        "What a memory or a document said before its last change holds again; a contradiction that was settled is\n"
        "open again. What is taken back is kept as history. What was forgotten is gone and does not come back.",
        f"{RUN}.past:undo",
        _undo,
        ("hunch undo /profile/preferences",),
    ),
    Command(
        "contradictions",
        KNOWN,
        "what cannot both hold, and which of it does",
        "Lists facts that two sources tell differently and equally surely. `resolve` says which holds; the other is\n"
        "kept as history. `open` says of two memories that they cannot both hold.",
        f"{RUN}.past:contradictions",
        _contradictions,
        (
            "hunch contradictions",
            'hunch contradictions resolve x01J9Z a --note "CI says so"',
            "hunch contradictions open m3f2 m81c",
        ),
    ),
    Command(
        "consolidate",
        KNOWN,
        "condense, judge and forget what is kept",
        "Merges what says the same, shortens old episodes, links, doubts what lost its ground, and archives what\n"
        "nobody used for a quarter. Happens by itself at night. A run that costs answers is taken back by itself.",
        f"{RUN}.consolidation:consolidate",
        _consolidate,
        ("hunch consolidate --dry-run", "hunch consolidate", "hunch consolidate --undo r20260301030000ab12"),
    ),
    Command(
        "share",
        KNOWN,
        "give facts, decisions, workflows to your colleagues",
        "Writes what you name as small text files below .hunch/ in the repository: review and commit them like code.\n"
        "Colleagues' daemons read them after a pull, as the project's word, never as theirs. Only what belongs to the\n"
        "project is shared: nothing private, nothing about people, no sessions; secrets are masked once more.",
        f"{RUN}.sharing:share",
        _share,
        (
            "hunch share --list",
            'hunch share "package manager" --dry-run',
            "hunch share --all",
        ),
    ),
    Command(
        "unshare",
        KNOWN,
        "take a shared file out of the repository",
        "Deletes shared files, yours or others'. What you know of them stays with you; colleagues forget it when they\n"
        "pull the deletion.",
        f"{RUN}.sharing:unshare",
        _unshare,
        ('hunch unshare "package manager"', "hunch unshare .hunch/decisions/session-storage.md"),
        asks_daemon=False,
    ),
)
