"""Which commit of the first-parent line wrote each line of a file, told by git."""

from __future__ import annotations

import re
from typing import Final

from hunchd.repository.git import LARGEST_BLOB, Git

_HEADER: Final = re.compile(rb"([0-9a-f]{40,64}) \d+ \d+")


def written(git: Git, path: str, rev: str | None = None) -> list[tuple[str, str]]:
    """By line the commit that wrote it, and its text; as it is in the working tree, or as of `rev`. Lines that are in
    no commit have the id zero. Nothing of a file too large for a person to read. Raises RepositoryError, OSError."""
    if rev is None and (git.path / path).stat().st_size > LARGEST_BLOB:
        return []
    revision = [rev] if rev is not None else []
    told = git.run("blame", "--no-textconv", "--first-parent", "--porcelain", *revision, "--", path)
    lines: list[tuple[str, str]] = []
    sha = ""
    for line in told.split(b"\n"):
        if line.startswith(b"\t"):
            lines.append((sha, line[1:].decode("utf-8", "replace")))
        elif header := _HEADER.match(line):
            sha = header[1].decode()
    return lines
