"""Authorship of lines, as found by `git blame`, which follows first parents only."""

from __future__ import annotations

import re
from typing import Final

from hunchd.repository.git import MAX_BLOB_BYTES, Git

_HEADER: Final = re.compile(rb"([0-9a-f]{40,64}) \d+ \d+")


def blame_lines(git: Git, path: str, rev: str | None = None) -> list[tuple[str, str]]:
    """Return (commit id, text) for each line of a file.

    The file is read from the working tree, or as it was at `rev` if that is given. Uncommitted lines have the zero id.
    Returns an empty list for files in the working tree that are larger than MAX_BLOB_BYTES. Raises RepositoryError if
    git fails, and OSError if the file cannot be accessed.
    """
    if rev is None and (git.path / path).stat().st_size > MAX_BLOB_BYTES:
        return []
    revision = [rev] if rev is not None else []
    blame_output = git.run("blame", "--no-textconv", "--first-parent", "--porcelain", *revision, "--", path)
    lines: list[tuple[str, str]] = []
    sha = ""
    for line in blame_output.split(b"\n"):
        if line.startswith(b"\t"):
            lines.append((sha, line[1:].decode("utf-8", "replace")))
        elif header := _HEADER.match(line):
            sha = header[1].decode()
    return lines
