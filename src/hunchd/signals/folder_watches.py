"""Folder watches, as the operating system provides them.

This is the only module that imports watchdog. Watchdog's observers use a thread for each folder that is watched
without its subfolders, and do not report overflows of the kernel's queue. On Linux, its inotify binding is therefore
used directly: it needs one descriptor for any number of folders, its mask can exclude opens, and it reports overflows.
On other systems, a watchdog observer watches the whole tree.
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

# Size of one read from the kernel: some 4,000 events. It is large because fast draining prevents overflows.
_READ_BYTES = 256 * 1024
_HEADER = struct.Struct("iIII")  # watch descriptor, mask, cookie, length of the name


class UnwatchableFolder(Exception):
    """Raised if a folder cannot be watched.

    `is_exhausted` is True if the system has no watches left; otherwise the folder does not exist.
    """

    def __init__(self, message: str, *, is_exhausted: bool) -> None:
        super().__init__(message)
        self.is_exhausted = is_exhausted


class FolderListener(Protocol):
    """Receiver of folder events.

    Every method is called on the watcher thread.
    """

    def handle_change(self, folder: str, name: str, *, is_dir: bool, is_removed: bool, is_open: bool) -> None:
        """Handle a change to the entry `name` of a watched folder.

        The entry was written, created, moved, removed (`is_removed`), or only opened (`is_open`).
        """

    def handle_folder_removed(self, folder: str) -> None:
        """Handle the removal of a watched folder, which ends its watch.

        The folder was removed, moved or unmounted.
        """

    def handle_overflow(self) -> None:
        """Handle an overflow of the kernel's event queue.

        The kernel has dropped events, so anything may have changed.
        """


class WatchHost(Protocol):
    """Thread that watches folders with a backend and calls the listeners."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the thread soon; thread-safe."""

    def call_listener(self, call: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        """Call a listener; if it raises an exception, log it."""

    def handle_overflow(self) -> None:
        """Notify every listener that events were dropped."""


class FolderBackend(Protocol):
    """Mechanism that watches folders, such as inotify."""

    def __len__(self) -> int: ...
    def list_descriptors(self) -> list[int]: ...
    def list_listeners(self) -> list[FolderListener]: ...
    def add_watch(self, folder: str, listener: FolderListener, *, opens: bool) -> None: ...
    def remove_watch(self, folder: str, listener: FolderListener) -> None: ...

    def dispatch_events(self) -> None:
        """Dispatch all pending events."""

    def close(self) -> None: ...


class InotifyBackend:
    """Backend for Linux that uses one inotify watch for each folder."""

    def __init__(self, host: WatchHost) -> None:
        from watchdog.observers.inotify_c import (  # not importable on systems without inotify
            InotifyConstants,
            inotify_add_watch,
            inotify_init,
            inotify_rm_watch,
        )

        flags = InotifyConstants
        self._flags = flags
        self._inotify_add_watch: Callable[..., int] = inotify_add_watch
        self._inotify_rm_watch: Callable[..., int] = inotify_rm_watch
        self._mask = (
            flags.IN_CLOSE_WRITE | flags.IN_CREATE | flags.IN_DELETE | flags.IN_MOVED_FROM | flags.IN_MOVED_TO
            | flags.IN_DELETE_SELF | flags.IN_MOVE_SELF | flags.IN_ONLYDIR | flags.IN_DONT_FOLLOW
            | flags.IN_EXCL_UNLINK
        )  # fmt: skip
        self._self_removed_mask = flags.IN_DELETE_SELF | flags.IN_MOVE_SELF | flags.IN_UNMOUNT
        self._removed_mask = flags.IN_DELETE | flags.IN_MOVED_FROM
        self._host = host
        self._watches: dict[int, tuple[str, tuple[FolderListener, ...]]] = {}
        self._numbers: dict[str, int] = {}
        self._descriptor: int = inotify_init()
        if self._descriptor < 0:
            code = ctypes.get_errno()
            raise UnwatchableFolder(f"inotify: {os.strerror(code)}", is_exhausted=True)
        os.set_inheritable(self._descriptor, False)
        os.set_blocking(self._descriptor, False)

    def __len__(self) -> int:
        return len(self._numbers)

    def list_descriptors(self) -> list[int]:
        return [self._descriptor]

    def list_listeners(self) -> list[FolderListener]:
        return list({id(one): one for _, listeners in self._watches.values() for one in listeners}.values())

    def add_watch(self, folder: str, listener: FolderListener, *, opens: bool) -> None:
        mask = self._mask | (self._flags.IN_OPEN if opens else 0)
        if folder in self._numbers:
            mask |= self._flags.IN_MASK_ADD  # another listener may need more events than this one
        number = self._inotify_add_watch(self._descriptor, os.fsencode(folder), mask)
        if number < 0:
            code = ctypes.get_errno()
            raise UnwatchableFolder(f"{folder}: {os.strerror(code)}", is_exhausted=code in (errno.ENOSPC, errno.ENOMEM))
        name, listeners = self._watches.get(number, (folder, ()))
        if name != folder and self._numbers.get(name) == number:
            del self._numbers[name]  # the same folder under its old name
        if listener not in listeners:
            listeners = (*listeners, listener)
        self._watches[number] = (folder, listeners)
        self._numbers[folder] = number

    def remove_watch(self, folder: str, listener: FolderListener) -> None:
        number = self._numbers.get(folder)
        if number is None:
            return
        remaining = tuple(one for one in self._watches[number][1] if one is not listener)
        if remaining:
            self._watches[number] = (folder, remaining)
        else:
            self._remove_number(number, folder, rm=True)

    def dispatch_events(self) -> None:
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
                self._host.handle_overflow()
                continue
            watch = self._watches.get(number)
            if watch is None:
                continue
            folder, listeners = watch
            if mask & (self._self_removed_mask | flags.IN_IGNORED):
                is_current = self._numbers.get(folder) == number  # otherwise another folder has taken the name
                self._remove_number(number, folder, rm=not mask & flags.IN_IGNORED)
                for listener in listeners if is_current else ():
                    self._host.call_listener(listener.handle_folder_removed, folder)
            elif name:
                for listener in listeners:
                    self._host.call_listener(
                        listener.handle_change,
                        folder,
                        os.fsdecode(name),
                        is_dir=bool(mask & flags.IN_ISDIR),
                        is_removed=bool(mask & self._removed_mask),
                        is_open=bool(mask & flags.IN_OPEN),
                    )

    def close(self) -> None:
        self._watches.clear()
        self._numbers.clear()
        os.close(self._descriptor)

    def _remove_number(self, number: int, folder: str, *, rm: bool) -> None:
        self._watches.pop(number, None)
        if self._numbers.get(folder) == number:
            del self._numbers[folder]
        if rm:
            self._inotify_rm_watch(self._descriptor, number)


class ObserverBackend(FileSystemEventHandler):
    """Backend that uses a recursive watchdog observer.

    A watch on a folder covers its subfolders.
    """

    def __init__(self, host: WatchHost, observer: BaseObserver | None = None) -> None:
        self._host = host
        self._observer = observer or Observer()
        self._observer.start()
        self._listeners: dict[str, tuple[str, tuple[FolderListener, ...]]] = {}  # by normalised path
        self._folders_with_opens: set[str] = set()
        self._roots: dict[str, ObservedWatch] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def list_descriptors(self) -> list[int]:
        return []

    def list_listeners(self) -> list[FolderListener]:
        return list({id(one): one for _, listeners in self._listeners.values() for one in listeners}.values())

    def add_watch(self, folder: str, listener: FolderListener, *, opens: bool) -> None:
        key = os.path.normcase(os.path.normpath(folder))
        if not any(key == root or key.startswith(root + os.sep) for root in self._roots):
            try:
                self._roots[key] = self._observer.schedule(self, folder, recursive=True)
            except OSError as error:
                raise UnwatchableFolder(
                    f"{folder}: {error}", is_exhausted=error.errno in (errno.ENOSPC, errno.EMFILE)
                ) from error
        listeners = self._listeners.get(key, (folder, ()))[1]
        self._listeners[key] = (folder, listeners if listener in listeners else (*listeners, listener))
        if opens:
            self._folders_with_opens.add(key)

    def remove_watch(self, folder: str, listener: FolderListener) -> None:
        key = os.path.normcase(os.path.normpath(folder))
        remaining = tuple(one for one in self._listeners.get(key, (folder, ()))[1] if one is not listener)
        if remaining:
            self._listeners[key] = (folder, remaining)
            return
        self._listeners.pop(key, None)
        self._folders_with_opens.discard(key)
        watch = self._roots.pop(key, None)
        if watch is not None:
            self._observer.unschedule(watch)

    def dispatch_events(self) -> None:
        """Do nothing: the observer's thread forwards each event itself."""

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
        for path, is_removed in paths:
            self._host.call_soon(partial(self._dispatch_event, path, is_removed, event.is_directory, kind == "opened"))

    def _dispatch_event(self, path: str, is_removed: bool, is_dir: bool, is_open: bool) -> None:
        place, name = os.path.split(path)
        key = os.path.normcase(os.path.normpath(place))
        folder, listeners = self._listeners.get(key, ("", ()))
        if not is_open or key in self._folders_with_opens:
            for listener in listeners:
                self._host.call_listener(
                    listener.handle_change, folder, name, is_dir=is_dir, is_removed=is_removed, is_open=is_open
                )
        own_watch = self._listeners.get(os.path.normcase(os.path.normpath(path))) if is_removed else None
        if own_watch is not None:
            for listener in own_watch[1]:
                self.remove_watch(own_watch[0], listener)
                self._host.call_listener(listener.handle_folder_removed, own_watch[0])


class NullBackend:
    """Backend for systems that cannot watch folders: all folders must be polled."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __len__(self) -> int:
        return 0

    def list_descriptors(self) -> list[int]:
        return []

    def list_listeners(self) -> list[FolderListener]:
        return []

    def add_watch(self, folder: str, listener: FolderListener, *, opens: bool) -> None:
        raise UnwatchableFolder(f"{folder}: {self._reason}", is_exhausted=True)

    def remove_watch(self, folder: str, listener: FolderListener) -> None:
        """Do nothing: no folder is watched."""

    def dispatch_events(self) -> None:
        """Do nothing: no events arrive."""

    def close(self) -> None:
        """Do nothing: nothing was opened."""


def create_backend(host: WatchHost) -> FolderBackend:
    """Return the best backend that this system supports."""
    try:
        return InotifyBackend(host) if sys.platform.startswith("linux") else ObserverBackend(host)
    except (UnwatchableFolder, OSError) as error:
        logger.warning("files cannot be watched (%s); polling them instead", error)
        return NullBackend(str(error))
