"""Which files a glob names, as coding agents write them in their rules: `src/**/*.{ts,tsx}`, `docs/`, `!**/*.test.ts`.

A glob is made plain once, when it is read, and matched often: no expression is compiled for it, and matching takes at
most as many steps as the glob has parts times the path has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

MOST: Final = 40  # globs of one rule, each choice in braces counted: people write ten
LONGEST: Final = 300  # characters of one
LONGEST_LIST: Final = 8_000  # characters of a list

EVERYWHERE: Final = "**"
_ALL: Final = frozenset({"**", "**/*", "**/**", "**/*.*", "*/**"})
_BRACES: Final = re.compile(r"\{([^{}]*)\}")  # those without any in them
_ESCAPE: Final = re.compile(r"\\(?=[\[\](){}])")  # before anything else it parts folders
_GLUED: Final = re.compile(r"(?<![^/])\*\*(?=[^/*])")  # `**.ts` is meant as `**/*.ts`


def listed(text: str) -> list[str]:
    """The globs of a list with commas, in brackets and quotes or not; a comma in braces is part of a glob."""
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
    """The globs without braces, each once; none if they name every file. `names_anywhere`: one without a slash is about
    files of that name in all folders."""
    told: dict[str, None] = {}
    for glob in globs:
        for one in _unfolded(glob[:LONGEST]):
            told[_anchored(one, names_anywhere=names_anywhere)] = None
            if len(told) >= MOST:
                break
    return () if _ALL & told.keys() and not any(glob.startswith("!") for glob in told) else tuple(told)[:MOST]


def name(globs: Collection[str], path: str) -> bool:
    """Whether plain globs name the file: one of them does, or all of them only leave files out, and none leaves it
    out."""
    parts = path.split("/")
    named = [glob for glob in globs if not glob.startswith("!")]
    if named and not any(_matches(glob, parts) for glob in named):
        return False
    return not any(_matches(glob[1:], parts) for glob in globs if glob.startswith("!"))


def folder_of(glob: str) -> str:
    """The folder in which all files are that a plain glob names; "" for one that names files anywhere."""
    head = re.split(r"[*?\[!]", glob, maxsplit=1)[0]
    return head.rpartition("/")[0]


def _unfolded(glob: str) -> list[str]:
    """The globs that one with braces stands for; what is more than anybody writes is left as it is, and names
    nothing."""
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
    """A glob as it is matched: from the root, without the many ways to write that."""
    denied, glob = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    from_root = glob.startswith("/")
    glob = glob.removeprefix("./").lstrip("/")
    if glob.endswith("/"):
        glob += "**"
    if names_anywhere and "/" not in glob and not from_root:
        glob = f"**/{glob}"
    return denied + _GLUED.sub("**/*", glob).replace("[^", "[!")


def _matches(glob: str, parts: Sequence[str]) -> bool:
    """Part by part; after a part that did not fit, the last `**` takes one folder more. Nothing before it can help."""
    wanted = glob.split("/")
    at = here = taken = 0
    again = -1  # behind the last `**`
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
    """Whether one part of a path is as wanted. A folder that is called `[id]` is meant as often as a set of letters."""
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
