"""Functions and classes that a past unit of work modified.

They are identified by the names that they had before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from hunchd.domain.code import Symbol
from hunchd.domain.history import Unit
from hunchd.repository.git import Git
from hunchd.store.code_cache import CodeCache

# Kinds of definitions whose signature is worth showing; keys and headings are found through their file.
KINDS = frozenset(("class", "interface", "struct", "trait", "enum", "type", "function", "method", "macro"))
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ")


def changed_symbols(git: Git, unit: Unit, paths: Collection[str], code: CodeCache) -> dict[str, set[str]]:
    """Map each path to the innermost definitions that the unit's diff touches.

    The definitions are taken from the outline in `code`, which describes the file before the change.
    """
    symbols_by_path: dict[str, set[str]] = {}
    for path, first, last in _touched_lines(git, unit, paths):
        outline = code.get(path)
        name = _innermost(outline.symbols, first, last) if outline is not None else None
        if name is not None:
            symbols_by_path.setdefault(path, set()).add(name)
    return symbols_by_path


def _touched_lines(git: Git, unit: Unit, paths: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the lines that each hunk of the diff replaces.

    Each item is (path, first line, last line) in the old version of the file.
    """
    if not unit.parents or not paths:
        return
    diff = git.run("diff", "--unified=0", "--no-color", "--no-ext-diff", "-M", unit.parents[0], unit.sha, "--")
    path = ""
    for line in diff.decode("utf-8", "replace").splitlines():
        if line.startswith("--- "):
            path = line[6:].rstrip("\t") if line.startswith("--- a/") else ""
        elif path in paths and (hunk := _HUNK.match(line)):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            yield path, first, first + max(count - 1, 0)


def _innermost(symbols: Collection[Symbol], first: int, last: int) -> str | None:
    around = [one for one in symbols if one.kind in KINDS and one.line <= first and last <= one.end_line]
    return min(around, key=lambda one: one.end_line - one.line).name if around else None
