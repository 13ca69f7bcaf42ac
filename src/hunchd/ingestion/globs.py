"""Glob matching as coding agents use it in rules: `src/**/*.{ts,tsx}`, `docs/`, `!**/*.test.ts`.

Globs are normalized once, when read, and matched often: no expression is compiled, and matching takes at most as
many steps as the glob has parts times the path has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

MOST: Final = 40  # globs per rule, each choice in braces counted; people write ten
LONGEST: Final = 300  # characters of one
LONGEST_LIST: Final = 8_000  # characters of a list

EVERYWHERE: Final = "**"
_ALL: Final = frozenset({"**", "**/*", "**/**", "**/*.*", "*/**"})
_BRACES: Final = re.compile(r"\{([^{}]*)\}")  # innermost braces
_ESCAPE: Final = re.compile(r"\\(?=[\[\](){}])")  # elsewhere a backslash separates folders
_GLUED: Final = re.compile(r"(?<![^/])\*\*(?=[^/*])")  # `**.ts` means `**/*.ts`


def listed(text: str) -> list[str]:
    """Split a comma-separated list of globs, with or without brackets and quotes.

    A comma inside braces belongs to the glob.
    """
    text = text[:LONGEST_LIST].strip()
    if text.startswith("[") and text.endswith("]") and ("," in text or text[1:2] in "\"']"):
        text = text[1:-1]
    globs, depth, begin = list[str](), 0, 0
    for at, character in enumerate(text):
        depth = max(0, depth + (character == "{") - (character == "}"))
        if character == "," and not depth:
            globs.append(text[begin:at])
            begin = at + 1
    return [glob for each in (*globs, text[begin:]) if (glob := each.strip().strip("\"'").strip())]


def plain(globs: Iterable[str], *, names_anywhere: bool) -> tuple[str, ...]:
    """Expand braces and normalize globs, without duplicates.

    Empty if they match every file. `names_anywhere`: a glob without a slash matches files of that name in all folders.
    """
    told: dict[str, None] = {}
    for glob in globs:
        for one in _unfolded(glob[:LONGEST]):
            told[_anchored(one, names_anywhere=names_anywhere)] = None
            if len(told) >= MOST:
                break
    return () if _ALL & told.keys() and not any(glob.startswith("!") for glob in told) else tuple(told)[:MOST]


def name(globs: Collection[str], path: str) -> bool:
    """Return True if normalized globs match the file.

    One positive glob must match, unless there are only exclusions, and no exclusion may match.
    """
    parts = path.split("/")
    named = [glob for glob in globs if not glob.startswith("!")]
    if named and not any(_matches(glob, parts) for glob in named):
        return False
    return not any(_matches(glob[1:], parts) for glob in globs if glob.startswith("!"))


def folder_of(glob: str) -> str:
    """Return the folder that contains all matches of a normalized glob.

    Returns "" if there is none.
    """
    head = re.split(r"[*?\[!]", glob, maxsplit=1)[0]
    return head.rpartition("/")[0]


def _unfolded(glob: str) -> list[str]:
    """Expand the braces of a glob.

    Globs with more than MOST choices are left unexpanded and match nothing.
    """
    done, waiting = list[str](), [_ESCAPE.sub("", glob).replace("\\", "/")]
    while waiting and len(done) + len(waiting) < MOST:
        one = waiting.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            choices = found[1].split(",")[:MOST]
            waiting += [one[: found.start()] + choice.strip() + one[found.end() :] for choice in reversed(choices)]
    return (done + waiting[::-1])[:MOST]


def _anchored(glob: str, *, names_anywhere: bool) -> str:
    """Anchor a glob at the root and normalize its spelling."""
    denied, glob = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    from_root = glob.startswith("/")
    glob = glob.removeprefix("./").lstrip("/")
    if glob.endswith("/"):
        glob += "**"
    if names_anywhere and "/" not in glob and not from_root:
        glob = f"**/{glob}"
    return denied + _GLUED.sub("**/*", glob).replace("[^", "[!")


def _matches(glob: str, parts: Sequence[str]) -> bool:
    """Match a glob against the parts of a path.

    After a mismatch the last `**` takes one more folder; backtracking further cannot help.
    """
    wanted = glob.split("/")
    at = here = taken = 0
    again = -1  # index after the last `**`
    while here < len(parts):
        if at < len(wanted) and wanted[at] == "**":
            at += 1
            again, taken = at, here
        elif at < len(wanted) and _fits(wanted[at], parts[here]):
            at, here = at + 1, here + 1
        elif again >= 0:
            taken += 1
            at, here = again, taken
        else:
            return False
    return all(part == "**" for part in wanted[at:])


def _fits(wanted: str, part: str) -> bool:
    """Return True if one part of a path matches.

    A name in brackets such as `[id]` is as often a literal folder as a set of letters.
    """
    if wanted in ("*", part):
        return True
    if "?" in wanted or "[" in wanted:
        return fnmatchcase(part, wanted)
    first, *middle = wanted.split("*")
    if not middle or not part.startswith(first):
        return False
    at = len(first)
    for piece in middle[:-1]:
        found = part.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(part) - len(middle[-1]) >= at and part.endswith(middle[-1])
