"""Movements of HEAD and parents of commits.

Both are read from git's files, within limits and without a git process.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from hunchd.repository.layout import RepositoryLayout
from hunchd.repository.safe_reading import read_bounded

# A rebase of a thousand commits writes about 200 kB; of longer logs only the end is read.
_MAX_READ_BYTES = 1_000_000
_OBJECT_BYTES = 1_000_000
_HEADER_BYTES = 16_384  # a commit's parents are in its first lines

_TAIL_BYTES = 8_192  # end of the log that is searched for the author
_WRITER = re.compile(rb"[0-9a-f]{40,64} [0-9a-f]{40,64} [^<\n]*<([^<>\n]*)> \d+ [+-]\d{4}(?:\t[^\n]*)?\n")
_ENTRY = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t\n]*(?:\t([^\n]*))?\n")


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """Movement of HEAD from one commit to another.

    `old` is None for the first commit.
    """

    old: str | None
    new: str
    message: str  # `commit: subject`, `rebase (pick): subject`, `checkout: moving from a to b`, …


def get_log_end(layout: RepositoryLayout) -> int:
    """Return the size of the reflog in bytes, which is the offset of the next entry.

    Returns 0 if there is no reflog.
    """
    try:
        return _log_path(layout).stat().st_size if layout.git_dir is not None else 0
    except OSError:
        return 0


def read_steps_since(layout: RepositoryLayout, offset: int) -> tuple[tuple[ReflogEntry, ...], int]:
    """Return the reflog entries written after `offset`, and the new end of the log.

    The entries are ordered from the oldest to the newest. If the log has been truncated, no entries are returned.
    """
    end = get_log_end(layout)
    if end <= offset:
        return (), end
    start = max(offset, end - _MAX_READ_BYTES)
    try:
        descriptor = os.open(_log_path(layout), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return (), end
    try:
        os.lseek(descriptor, start, os.SEEK_SET)
        content = os.read(descriptor, end - start)
    except OSError:
        return (), end
    finally:
        os.close(descriptor)
    complete_lines = content[: content.rfind(b"\n") + 1]  # a line may be half written
    return tuple(_build_step(match) for match in _ENTRY.finditer(complete_lines)), start + len(complete_lines)


def find_last_author(layout: RepositoryLayout) -> str:
    """Return the mail address of the person who last moved HEAD.

    This person is taken to be the user of the working tree. Returns "" if the address is unknown.
    """
    end = get_log_end(layout)
    if not end:
        return ""
    try:
        with _log_path(layout).open("rb") as log:
            log.seek(max(end - _TAIL_BYTES, 0))
            addresses = _WRITER.findall(log.read(_TAIL_BYTES))
    except OSError:
        return ""
    return addresses[-1].decode("utf-8", "replace") if addresses else ""


def read_parents(layout: RepositoryLayout, sha: str) -> tuple[str, ...] | None:
    """Return the ids of a commit's parents.

    Returns None if they cannot be read, for example because the commit is no longer a loose object.
    """
    if layout.common_dir is None or not re.fullmatch(r"[0-9a-f]{40,64}", sha):
        return None
    compressed_bytes = read_bounded(layout.common_dir / "objects" / sha[:2] / sha[2:], limit=_OBJECT_BYTES)
    if compressed_bytes is None:
        return None
    try:
        content = zlib.decompressobj().decompress(compressed_bytes, _HEADER_BYTES)
    except zlib.error:
        return None
    kind, _, body = content.partition(b"\0")
    if not kind.startswith(b"commit "):
        return None
    lines = body.partition(b"\n\n")[0].splitlines()
    return tuple(line[7:].decode("ascii", "replace") for line in lines if line.startswith(b"parent "))


def _log_path(layout: RepositoryLayout) -> Path:
    assert layout.git_dir is not None
    return layout.git_dir / "logs" / "HEAD"


def _build_step(match: re.Match[bytes]) -> ReflogEntry:
    old, new, message = match[1].decode(), match[2].decode(), (match[3] or b"").decode("utf-8", "replace")
    return ReflogEntry(None if set(old) == {"0"} else old, new, message)
