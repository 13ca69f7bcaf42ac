"""Detection of reverts in commit messages, and of git commands that discard changes.

These are pure functions.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

_REVERT_LINE: Final = re.compile(r"\b[Rr]everts? (?:commit )?([0-9a-f]{7,40})\b")
_STAGED_FLAGS: Final = frozenset({"--staged", "-S"})
_GIT_OPTIONS_WITH_VALUE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
WHOLE_TREE: Final = "."


def find_reverted_commits(message: str) -> list[str]:
    """Return the ids of the commits that a commit message says it reverts.

    The ids may be full or abbreviated.
    """
    return _REVERT_LINE.findall(message)


def find_discarded_paths(command: str) -> tuple[str, ...]:
    """Return the paths whose changes a git command discards.

    The paths are as written in the command; "." means the whole working tree. Returns () if the command discards
    nothing. The command is assumed to have succeeded.
    """
    try:
        words = shlex.split(command)
    except ValueError:  # unbalanced quotes
        return ()
    words = _strip_git(words)
    match words[:1]:
        case ["restore"]:
            return (
                () if _STAGED_FLAGS.intersection(words) and "--worktree" not in words else _normalize_paths(words[1:])
            )
        case ["checkout"]:
            return (
                _normalize_paths(words[words.index("--") + 1 :])
                if "--" in words
                else _whole_tree_if(words[1:] == ["."])
            )
        case ["reset"]:
            return _whole_tree_if("--hard" in words)
        case ["stash"]:
            return _whole_tree_if(words[1:2] == ["drop"])
    return ()


def _strip_git(words: list[str]) -> list[str]:
    """Return the git subcommand and its arguments.

    Returns [] if the command runs a program other than git.
    """
    if not words or words[0].rpartition("/")[2] != "git":
        return []
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_OPTIONS_WITH_VALUE else 1
    return words[at:]


def _normalize_paths(words: list[str]) -> tuple[str, ...]:
    return tuple(word.removeprefix("./") or WHOLE_TREE for word in words if not word.startswith("-"))


def _whole_tree_if(applies: bool) -> tuple[str, ...]:
    return (WHOLE_TREE,) if applies else ()
