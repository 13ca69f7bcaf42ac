"""Folder watches of the operating system. The only module that imports watchdog.

Watchdog's observers use a thread for each folder that is watched without its subfolders, and do not report
overflows of the kernel's queue. So on Linux its inotify binding is used directly: one descriptor for any number of
folders, a mask without opens, overflows reported. On other systems a watchdog observer watches the whole tree.
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

# Size of one read from the kernel: some 4,000 events. Large, because draining fast prevents overflows.
_READ_BYTES = 256 * 1024
_HEADER = struct.Struct("iIII")  # watch descriptor, mask, cookie, length of the name


class Unwatchable(Exception):
    """A folder cannot be watched.

    `full` means that the system's watches are used up; otherwise the folder does not exist.
    """

    def __init__(self, message: str, *, full: bool) -> None:
        super().__init__(message)
        self.full = full


class Listener(Protocol):
    """Receiver of folder events. Every method is called on the watcher thread."""

    def changed(self, folder: str, name: str, *, is_dir: bool, gone: bool, opened: bool) -> None:
        """Handle a change of the entry `name` of a watched folder.

        It was written, created, moved or removed (`gone`), or only opened (`opened`).
        """

    def vanished(self, folder: str) -> None:
        """Handle the loss of a watched folder and its watch.

        It was removed, moved or unmounted.
        """

    def lost(self) -> None:
        """Handle an overflow: the kernel dropped events, so anything may have changed."""


class Host(Protocol):
    """Thread on whose behalf folders are watched."""

    def submit(self, call: Callable[[], None]) -> None:
        """Run `call` on the thread soon; thread-safe."""

    def report(self, call: Callable[..., None], *args: Any, **named: Any) -> None:
        """Call a listener; log its exceptions."""

    def overflowed(self) -> None:
        """Tell every listener that events were dropped."""


class Folders(Protocol):
    """Backend that watches folders."""

    def __len__(self) -> int: ...
    def descriptors(self) -> list[int]: ...
    def listeners(self) -> list[Listener]: ...
    def add(self, folder: str, listener: Listener, *, opens: bool) -> None: ...
    def remove(self, folder: str, listener: Listener) -> None: ...

    def read(self) -> None:
        """Dispatch all pending events."""

    def close(self) -> None: ...


class InotifyFolders:
    """Backend for Linux: one inotify watch for each folder."""

    def __init__(self, host: Host) -> None:
        from watchdog.observers.inotify_c import (  # not importable on systems without inotify
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
            mask |= self._flags.IN_MASK_ADD  # another listener may need more events than this one
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
        """Dispatch all pending events."""
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
                current = self._numbers.get(folder) == number  # otherwise another folder has taken the name
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
    """Backend with a recursive watchdog observer.

    Subfolders of a watched folder are covered.
    """

    def __init__(self, host: Host, observer: BaseObserver | None = None) -> None:
        self._host = host
        self._observer = observer or Observer()
        self._observer.start()
        self._listeners: dict[str, tuple[str, tuple[Listener, ...]]] = {}  # by normalised path
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
        """Do nothing: events arrive as calls."""

    def close(self) -> None:
        self._listeners.clear()
        self._observer.stop()
        self._observer.join(1.0)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Forward an event from the observer's thread to the watcher thread."""
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
    """Backend for systems without watches: every folder has to be polled."""

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
        """Do nothing: no folder was added."""

    def read(self) -> None:
        """Do nothing: no events arrive."""

    def close(self) -> None:
        """Do nothing: nothing was opened."""


def folders(host: Host) -> Folders:
    """Return the best backend of this system."""
    try:
        return InotifyFolders(host) if sys.platform.startswith("linux") else ObservedFolders(host)
    except (Unwatchable, OSError) as error:
        logger.warning("files cannot be watched (%s); polling them instead", error)
        return NoFolders(str(error))
