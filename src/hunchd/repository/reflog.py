"""Movements of HEAD and parents of commits.

Read from git's files, bounded, without a git process.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from hunchd.repository.layout import Layout
from hunchd.repository.reading import read_bounded

# A rebase of a thousand commits writes about 200 kB; of longer logs only the end is read.
_MOST_BYTES = 1_000_000
_OBJECT_BYTES = 1_000_000
_HEADER_BYTES = 16_384  # a commit's parents stand in its first lines

_LAST_BYTES = 8_192  # end of the log that is searched for the author
_WRITER = re.compile(rb"[0-9a-f]{40,64} [0-9a-f]{40,64} [^<\n]*<([^<>\n]*)> \d+ [+-]\d{4}(?:\t[^\n]*)?\n")
_ENTRY = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t\n]*(?:\t([^\n]*))?\n")


@dataclass(frozen=True, slots=True)
class Step:
    """Movement of HEAD; `old` is None for the first commit."""

    old: str | None
    new: str
    message: str  # `commit: subject`, `rebase (pick): subject`, `checkout: moving from a to b`, …


def end_of_log(layout: Layout) -> int:
    """Return the offset of the next step, in bytes."""
    try:
        return _log(layout).stat().st_size if layout.git_dir is not None else 0
    except OSError:
        return 0


def steps_since(layout: Layout, offset: int) -> tuple[tuple[Step, ...], int]:
    """Return the steps written after `offset`, oldest first, and the new end.

    A truncated log yields nothing.
    """
    end = end_of_log(layout)
    if end <= offset:
        return (), end
    start = max(offset, end - _MOST_BYTES)
    try:
        descriptor = os.open(_log(layout), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return (), end
    try:
        os.lseek(descriptor, start, os.SEEK_SET)
        content = os.read(descriptor, end - start)
    except OSError:
        return (), end
    finally:
        os.close(descriptor)
    whole = content[: content.rfind(b"\n") + 1]  # a line may be half written
    return tuple(_step(match) for match in _ENTRY.finditer(whole)), start + len(whole)


def writer(layout: Layout) -> str:
    """Return the mail address of whoever moved HEAD last, the tree's user.

    Returns "" if unknown.
    """
    end = end_of_log(layout)
    if not end:
        return ""
    try:
        with _log(layout).open("rb") as log:
            log.seek(max(end - _LAST_BYTES, 0))
            written = _WRITER.findall(log.read(_LAST_BYTES))
    except OSError:
        return ""
    return written[-1].decode("utf-8", "replace") if written else ""


def parents(layout: Layout, sha: str) -> tuple[str, ...] | None:
    """Return the parents of a commit that is still a loose object.

    Returns None if unknown.
    """
    if layout.common_dir is None or not re.fullmatch(r"[0-9a-f]{40,64}", sha):
        return None
    packed = read_bounded(layout.common_dir / "objects" / sha[:2] / sha[2:], limit=_OBJECT_BYTES)
    if packed is None:
        return None
    try:
        content = zlib.decompressobj().decompress(packed, _HEADER_BYTES)
    except zlib.error:
        return None
    kind, _, body = content.partition(b"\0")
    if not kind.startswith(b"commit "):
        return None
    lines = body.partition(b"\n\n")[0].splitlines()
    return tuple(line[7:].decode("ascii", "replace") for line in lines if line.startswith(b"parent "))


def _log(layout: Layout) -> Path:
    assert layout.git_dir is not None
    return layout.git_dir / "logs" / "HEAD"


def _step(match: re.Match[bytes]) -> Step:
    old, new, message = match[1].decode(), match[2].decode(), (match[3] or b"").decode("utf-8", "replace")
    return Step(None if set(old) == {"0"} else old, new, message)
