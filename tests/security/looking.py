"""File events in a folder, as reported by the kernel."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

_CREATED, _MOVED_TO, _MODIFIED = 0x100, 0x80, 0x2
_HEAD = struct.Struct("iIII")


class Inotify:
    """Names created, moved in or written in `folders` since the beginning of the block."""

    def __init__(self, *folders: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._descriptor >= 0
        for folder in folders:
            watched = libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _CREATED | _MOVED_TO | _MODIFIED)
            assert watched >= 0, folder

    def __enter__(self) -> Inotify:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def names(self) -> set[str]:
        found: set[str] = set()
        while True:
            try:
                raw = os.read(self._descriptor, 65_536)
            except BlockingIOError:
                return found
            at = 0
            while at < len(raw):
                _, _, _, length = _HEAD.unpack_from(raw, at)
                found.add(os.fsdecode(raw[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0")))
                at += _HEAD.size + length
