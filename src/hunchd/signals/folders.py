"""What happens in single folders, as the system tells it. The only module that imports watchdog.

Watchdog's observers spend a thread on each folder that is watched without its subfolders, and tell nobody when the
kernel's queue overflowed. So on Linux its inotify binding is used directly: one descriptor for any number of folders,
a mask without opens, an overflow that is told. Elsewhere a watchdog observer watches the whole tree.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

logger = logging.getLogger(__name__)

# What one read takes from the kernel: some 4,000 events. Large, because draining fast prevents overflows.
_READ_BYTES = 256 * 1024
_HEADER = struct.Struct("iIII")  # watch descriptor, mask, cookie, length of the name


class Unwatchable(Exception):
    """A folder cannot be watched. `full`: the system's watches are used up; otherwise the folder is not there."""

    def __init__(self, message: str, *, full: bool) -> None:
        super().__init__(message)
        self.full = full


class Listener(Protocol):
    """Whoever watches folders. Every method is called on the watching thread."""

    def changed(self, folder: str, name: str, *, is_dir: bool, gone: bool, opened: bool) -> None:
        """The entry `name` of a watched folder was written, created, moved or removed (`gone`), or only opened."""

    def vanished(self, folder: str) -> None:
        """The watched folder itself was removed, moved or unmounted; it is no longer watched."""

    def lost(self) -> None:
        """The kernel dropped events: anything may have changed."""


class Host(Protocol):
    """The thread that folders are watched for."""

    def submit(self, call: Callable[[], None]) -> None: ...
    def report(self, call: Callable[..., None], *args: Any, **named: Any) -> None: ...
    def overflowed(self) -> None: ...


class Folders(Protocol):
    """How a system tells what happens in folders."""

    def __len__(self) -> int: ...
    def descriptors(self) -> list[int]: ...
    def listeners(self) -> list[Listener]: ...
    def add(self, folder: str, listener: Listener, *, opens: bool) -> None: ...
    def remove(self, folder: str, listener: Listener) -> None: ...
    def read(self) -> None: ...
    def close(self) -> None: ...


class InotifyFolders:
    """Folders watched by inotify, one watch each."""

    def __init__(self, host: Host) -> None:
        from watchdog.observers.inotify_c import (  # not importable where there is no inotify
            InotifyConstants,
            inotify_add_watch,
            inotify_init,
            inotify_rm_watch,
        )

        flags = InotifyConstants
        self._flags = flags
        self._add_watch: Callable[..., int] = inotify_add_watch
        self._rm_watch: Callable[..., int] = inotify_rm_watch
        self._mask = (
            flags.IN_CLOSE_WRITE | flags.IN_CREATE | flags.IN_DELETE | flags.IN_MOVED_FROM | flags.IN_MOVED_TO
            | flags.IN_DELETE_SELF | flags.IN_MOVE_SELF | flags.IN_ONLYDIR | flags.IN_DONT_FOLLOW
            | flags.IN_EXCL_UNLINK
        )  # fmt: skip
        self._self_gone = flags.IN_DELETE_SELF | flags.IN_MOVE_SELF | flags.IN_UNMOUNT
        self._gone = flags.IN_DELETE | flags.IN_MOVED_FROM
        self._host = host
        self._watches: dict[int, tuple[str, tuple[Listener, ...]]] = {}
        self._numbers: dict[str, int] = {}
        self._descriptor: int = inotify_init()
        if self._descriptor < 0:
            code = ctypes.get_errno()
            raise Unwatchable(f"inotify: {os.strerror(code)}", full=True)
        os.set_inheritable(self._descriptor, False)
        os.set_blocking(self._descriptor, False)

    def __len__(self) -> int:
        return len(self._numbers)

    def descriptors(self) -> list[int]:
        return [self._descriptor]

    def listeners(self) -> list[Listener]:
        return list({id(one): one for _, listeners in self._watches.values() for one in listeners}.values())

    def add(self, folder: str, listener: Listener, *, opens: bool) -> None:
        mask = self._mask | (self._flags.IN_OPEN if opens else 0)
        if folder in self._numbers:
            mask |= self._flags.IN_MASK_ADD  # another listener may want more than this one
        number = self._add_watch(self._descriptor, os.fsencode(folder), mask)
        if number < 0:
            code = ctypes.get_errno()
            raise Unwatchable(f"{folder}: {os.strerror(code)}", full=code in (errno.ENOSPC, errno.ENOMEM))
        name, listeners = self._watches.get(number, (folder, ()))
        if name != folder and self._numbers.get(name) == number:
            del self._numbers[name]  # the same folder under its old name
        if listener not in listeners:
            listeners = (*listeners, listener)
        self._watches[number] = (folder, listeners)
        self._numbers[folder] = number

    def remove(self, folder: str, listener: Listener) -> None:
        number = self._numbers.get(folder)
        if number is None:
            return
        left = tuple(one for one in self._watches[number][1] if one is not listener)
        if left:
            self._watches[number] = (folder, left)
        else:
            self._forget(number, folder, rm=True)

    def read(self) -> None:
        """Pass on everything that has been waiting up to now."""
        flags = self._flags
        try:
            buffer = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        offset = 0
        while offset < len(buffer):
            number, mask, _, length = _HEADER.unpack_from(buffer, offset)
            name = buffer[offset + _HEADER.size : offset + _HEADER.size + length].rstrip(b"\0")
            offset += _HEADER.size + length
            if mask & flags.IN_Q_OVERFLOW:
                self._host.overflowed()
                continue
            watch = self._watches.get(number)
            if watch is None:
                continue
            folder, listeners = watch
            if mask & (self._self_gone | flags.IN_IGNORED):
                current = self._numbers.get(folder) == number  # otherwise another folder took the name
                self._forget(number, folder, rm=not mask & flags.IN_IGNORED)
                for listener in listeners if current else ():
                    self._host.report(listener.vanished, folder)
            elif name:
                for listener in listeners:
                    self._host.report(
                        listener.changed,
                        folder,
                        os.fsdecode(name),
                        is_dir=bool(mask & flags.IN_ISDIR),
                        gone=bool(mask & self._gone),
                        opened=bool(mask & flags.IN_OPEN),
                    )

    def close(self) -> None:
        self._watches.clear()
        self._numbers.clear()
        os.close(self._descriptor)

    def _forget(self, number: int, folder: str, *, rm: bool) -> None:
        self._watches.pop(number, None)
        if self._numbers.get(folder) == number:
            del self._numbers[folder]
        if rm:
            self._rm_watch(self._descriptor, number)


class ObservedFolders(FileSystemEventHandler):
    """Folders watched by a watchdog observer: one that lies below a watched one is covered by that."""

    def __init__(self, host: Host, observer: BaseObserver | None = None) -> None:
        self._host = host
        self._observer = observer or Observer()
        self._observer.start()
        self._listeners: dict[str, tuple[str, tuple[Listener, ...]]] = {}  # by path as the system writes it
        self._opens: set[str] = set()
        self._roots: dict[str, ObservedWatch] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def descriptors(self) -> list[int]:
        return []

    def listeners(self) -> list[Listener]:
        return list({id(one): one for _, listeners in self._listeners.values() for one in listeners}.values())

    def add(self, folder: str, listener: Listener, *, opens: bool) -> None:
        key = os.path.normcase(os.path.normpath(folder))
        if not any(key == root or key.startswith(root + os.sep) for root in self._roots):
            try:
                self._roots[key] = self._observer.schedule(self, folder, recursive=True)
            except OSError as error:
                raise Unwatchable(f"{folder}: {error}", full=error.errno in (errno.ENOSPC, errno.EMFILE)) from error
        listeners = self._listeners.get(key, (folder, ()))[1]
        self._listeners[key] = (folder, listeners if listener in listeners else (*listeners, listener))
        if opens:
            self._opens.add(key)

    def remove(self, folder: str, listener: Listener) -> None:
        key = os.path.normcase(os.path.normpath(folder))
        left = tuple(one for one in self._listeners.get(key, (folder, ()))[1] if one is not listener)
        if left:
            self._listeners[key] = (folder, left)
            return
        self._listeners.pop(key, None)
        self._opens.discard(key)
        watch = self._roots.pop(key, None)
        if watch is not None:
            self._observer.unschedule(watch)

    def read(self) -> None:
        """Nothing to do: events arrive as calls."""

    def close(self) -> None:
        self._listeners.clear()
        self._observer.stop()
        self._observer.join(1.0)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called on the observer's thread: pass on to ours."""
        kind = event.event_type
        if kind == "closed_no_write" or (event.is_directory and kind in ("modified", "opened", "closed")):
            return
        paths = [(os.fsdecode(event.src_path), kind in ("deleted", "moved"))]
        if event.dest_path:
            paths.append((os.fsdecode(event.dest_path), False))
        for path, gone in paths:
            self._host.submit(partial(self._pass_on, path, gone, event.is_directory, kind == "opened"))

    def _pass_on(self, path: str, gone: bool, is_dir: bool, opened: bool) -> None:
        place, name = os.path.split(path)
        key = os.path.normcase(os.path.normpath(place))
        folder, listeners = self._listeners.get(key, ("", ()))
        if not opened or key in self._opens:
            for listener in listeners:
                self._host.report(listener.changed, folder, name, is_dir=is_dir, gone=gone, opened=opened)
        itself = self._listeners.get(os.path.normcase(os.path.normpath(path))) if gone else None
        if itself is not None:
            for listener in itself[1]:
                self.remove(itself[0], listener)
                self._host.report(listener.vanished, itself[0])


class NoFolders:
    """Where the system gives us nothing to watch with: every folder has to be looked at again and again."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __len__(self) -> int:
        return 0

    def descriptors(self) -> list[int]:
        return []

    def listeners(self) -> list[Listener]:
        return []

    def add(self, folder: str, listener: Listener, *, opens: bool) -> None:
        raise Unwatchable(f"{folder}: {self._reason}", full=True)

    def remove(self, folder: str, listener: Listener) -> None:
        """Nothing was added."""

    def read(self) -> None:
        """Nothing arrives."""

    def close(self) -> None:
        """Nothing was opened."""


def folders(host: Host) -> Folders:
    """The best that this system has."""
    try:
        return InotifyFolders(host) if sys.platform.startswith("linux") else ObservedFolders(host)
    except (Unwatchable, OSError) as error:
        logger.warning("files cannot be watched and are polled instead: %s", error)
        return NoFolders(str(error))
