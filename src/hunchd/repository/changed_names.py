"""Names in the lines of a change, and the files that have them already."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from hunchd.domain.context import ChangedName
from hunchd.domain.errors import RepositoryError
from hunchd.repository.git import Git

MAX_NAMES = 400  # names that are searched for, those of removed lines first
MAX_HOLDERS = 25  # files: a name that more of them have ties none to the change
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}|\d+(?:\.\d+)+")  # identifiers, words and versions
_GREP_OPTIONS = ("--no-color", "--no-line-number", "--no-column", "-I", "-z", "-o", "-w", "-E")


def find_changed_names(
    git: Git, before: str, after: str, paths: Sequence[str], new_texts: Iterable[str] = ()
) -> tuple[ChangedName, ...]:
    """Return the names in a change of `paths`, with the files that had them before the change.

    `after` is a commit, or "" for the working tree; `new_texts` are the texts of files that git does not know. The
    cost is one search through the files of the commit `before`.
    """
    commits = (before, after) if after else (before,)
    output = git.run("diff", "--no-renames", "--no-color", "-U3", *commits, "--", *paths)
    lines = [
        *output.decode("utf-8", "replace").split("\n"),
        *(f"+{line}" for text in new_texts for line in text.split("\n")),
    ]
    roles = dict(islice(classify_names(lines), MAX_NAMES))
    holders = _find_holders(git, before, roles) if roles else {}
    return tuple(
        ChangedName(name, roles[name], tuple(sorted(files)))
        for name, files in holders.items()
        if name in roles and len(files) <= MAX_HOLDERS
    )


def classify_names(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the names in the lines of a diff, each with its role, an index into NAME_ROLES."""
    old_names, new_names, nearby = dict[str, None](), dict[str, None](), dict[str, None]()
    by_sign = {"-": old_names, "+": new_names, " ": nearby, "@": nearby}
    for line in lines:
        if line[:1] in by_sign and not line.startswith(("+++ ", "--- ")):
            text = line.split("@@", 2)[-1] if line.startswith("@@") else line[1:]
            by_sign[line[0]].update(dict.fromkeys(name for name in _NAME.findall(text) if len(name) > 3))
    for name in old_names | new_names | nearby:
        is_old, is_new = name in old_names, name in new_names
        yield name, 2 if is_old and is_new else 0 if is_old else 1 if is_new else 3


def _find_holders(git: Git, commit: str, names: Iterable[str]) -> dict[str, set[str]]:
    holders = defaultdict[str, set[str]](set)
    pattern = "|".join(name.replace(".", r"\.") for name in names)
    try:
        for line in git.stream("grep", *_GREP_OPTIONS, "-e", pattern, commit, separator=b"\n"):
            path, _, name = line.decode("utf-8", "replace").partition("\0")
            holders[name].add(path.partition(":")[2])
    except RepositoryError:  # git reports a search without results as an error
        return holders
    return holders
