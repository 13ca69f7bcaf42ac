"""Matching of the globs that coding agents use in rules: `src/**/*.{ts,tsx}`, `docs/`, `!**/*.test.ts`.

Globs are normalized once, when they are read, and matched often. No regular expression is compiled, and matching a
glob of n parts against a path of m parts takes at most n · m steps.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

MAX_GLOBS: Final = 40  # globs per rule, counting each choice in braces; people write about ten
MAX_GLOB_LENGTH: Final = 300  # characters of one glob
MAX_LIST_LENGTH: Final = 8_000  # characters of a list

_MATCH_ALL: Final = frozenset({"**", "**/*", "**/**", "**/*.*", "*/**"})
_BRACES: Final = re.compile(r"\{([^{}]*)\}")  # innermost braces
_ESCAPE: Final = re.compile(r"\\(?=[\[\](){}])")  # elsewhere a backslash separates folders
_MISSING_SLASH: Final = re.compile(r"(?<![^/])\*\*(?=[^/*])")  # `**.ts` means `**/*.ts`


def split_list(text: str) -> list[str]:
    """Split a comma-separated list of globs, with or without brackets and quotes.

    A comma inside braces belongs to the glob.
    """
    text = text[:MAX_LIST_LENGTH].strip()
    if text.startswith("[") and text.endswith("]") and ("," in text or text[1:2] in "\"']"):
        text = text[1:-1]
    globs, depth, start = list[str](), 0, 0
    for at, character in enumerate(text):
        depth = max(0, depth + (character == "{") - (character == "}"))
        if character == "," and not depth:
            globs.append(text[start:at])
            start = at + 1
    return [glob for each in (*globs, text[start:]) if (glob := each.strip().strip("\"'").strip())]


def normalize_globs(globs: Iterable[str], *, names_anywhere: bool) -> tuple[str, ...]:
    """Expand the braces in globs and normalize them, without duplicates.

    Returns an empty tuple if the globs match every file. With `names_anywhere`, a glob without a slash matches
    files with that name in every folder.
    """
    unique_globs: dict[str, None] = {}
    for glob in globs:
        for expanded_glob in _expand_braces(glob[:MAX_GLOB_LENGTH]):
            unique_globs[_anchor(expanded_glob, names_anywhere=names_anywhere)] = None
            if len(unique_globs) >= MAX_GLOBS:
                break
    return (
        ()
        if _MATCH_ALL & unique_globs.keys() and not any(glob.startswith("!") for glob in unique_globs)
        else tuple(unique_globs)[:MAX_GLOBS]
    )


def matches_any(globs: Collection[str], path: str) -> bool:
    """Return True if normalized globs match the file at `path`.

    At least one positive glob must match, unless there are only exclusions ("!…"), and no exclusion may match.
    """
    parts = path.split("/")
    positive_globs = [glob for glob in globs if not glob.startswith("!")]
    if positive_globs and not any(_matches(glob, parts) for glob in positive_globs):
        return False
    return not any(_matches(glob[1:], parts) for glob in globs if glob.startswith("!"))


def common_folder(glob: str) -> str:
    """Return the deepest folder that contains all matches of a normalized glob.

    Returns "" if that is the root.
    """
    head = re.split(r"[*?\[!]", glob, maxsplit=1)[0]
    return head.rpartition("/")[0]


def _expand_braces(glob: str) -> list[str]:
    """Expand the braces in a glob, and use slashes as separators.

    If the expansion would have more than MAX_GLOBS globs, it is incomplete; the globs that still contain braces
    match nothing.
    """
    expanded_globs, pending = list[str](), [_ESCAPE.sub("", glob).replace("\\", "/")]
    while pending and len(expanded_globs) + len(pending) < MAX_GLOBS:
        current = pending.pop()
        match = _BRACES.search(current)
        if match is None:
            expanded_globs.append(current)
        else:
            choices = match[1].split(",")[:MAX_GLOBS]
            pending += [
                current[: match.start()] + choice.strip() + current[match.end() :] for choice in reversed(choices)
            ]
    return (expanded_globs + pending[::-1])[:MAX_GLOBS]


def _anchor(glob: str, *, names_anywhere: bool) -> str:
    """Make a glob relative to the project's root and normalize its spelling."""
    negation, glob = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    from_root = glob.startswith("/")
    glob = glob.removeprefix("./").lstrip("/")
    if glob.endswith("/"):
        glob += "**"
    if names_anywhere and "/" not in glob and not from_root:
        glob = f"**/{glob}"
    return negation + _MISSING_SLASH.sub("**/*", glob).replace("[^", "[!")


def _matches(glob: str, parts: Sequence[str]) -> bool:
    """Return True if a glob matches a path, given as its parts.

    After a mismatch, the last `**` is extended by one folder; backtracking to an earlier one cannot help.
    """
    glob_parts = glob.split("/")
    glob_index = path_index = star_end = 0
    star_index = -1  # index after the last `**`
    while path_index < len(parts):
        if glob_index < len(glob_parts) and glob_parts[glob_index] == "**":
            glob_index += 1
            star_index, star_end = glob_index, path_index
        elif glob_index < len(glob_parts) and _matches_part(glob_parts[glob_index], parts[path_index]):
            glob_index, path_index = glob_index + 1, path_index + 1
        elif star_index >= 0:
            star_end += 1
            glob_index, path_index = star_index, star_end
        else:
            return False
    return all(part == "**" for part in glob_parts[glob_index:])


def _matches_part(pattern: str, part: str) -> bool:
    """Return True if one part of a glob matches one part of a path.

    A name in brackets such as `[id]` is tried both as a literal folder name and as a set of characters, since both
    are common.
    """
    if pattern in ("*", part):
        return True
    if "?" in pattern or "[" in pattern:
        return fnmatchcase(part, pattern)
    first, *middle = pattern.split("*")
    if not middle or not part.startswith(first):
        return False
    at = len(first)
    for piece in middle[:-1]:
        position = part.find(piece, at)
        if position < 0:
            return False
        at = position + len(piece)
    return len(part) - len(middle[-1]) >= at and part.endswith(middle[-1])
