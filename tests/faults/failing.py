"""File operations with injected delays and failures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hunchd.store.files import FileOperations


class SlowFiles(FileOperations):
    """File operations with slow syncs, which are counted."""

    def __init__(self, *, seconds: float) -> None:
        self.syncs = 0
        self._seconds = seconds

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        time.sleep(self._seconds)
        super().sync(descriptor)


class FailingFiles(FileOperations):
    """File operations of which the n-th of some kinds fails, or all from then on until `heal()`."""

    KINDS = ("open", "write", "sync", "truncate", "rename", "remove", "allocate", "sync_folder", "read")

    def __init__(self, *, at: int, error: int, kinds: tuple[str, ...] = KINDS, lasting: bool = False) -> None:
        self.asked = 0
        self.failed = 0
        self._at = at
        self._error = error
        self._kinds = kinds
        self._lasting = lasting
        self._armed = True

    def heal(self) -> None:
        self._armed = False

    def rearm(self) -> None:
        self._armed = True

    def create(self, path: Path) -> int:
        return self._try("open", super().create, path)

    def open_for_append(self, path: Path) -> int:
        return self._try("open", super().open_for_append, path)

    def read(self, path: Path) -> bytes:
        return self._try("read", super().read, path)

    def write(self, descriptor: int, content: bytes) -> None:
        if self._fails("write"):
            os.write(descriptor, content[: len(content) // 2])  # a disk that fails has often taken a part
            raise OSError(self._error, os.strerror(self._error))
        super().write(descriptor, content)

    def sync(self, descriptor: int) -> None:
        self._try("sync", super().sync, descriptor)

    def sync_folder(self, path: Path) -> None:
        self._try("sync_folder", super().sync_folder, path)

    def truncate(self, descriptor: int, size: int) -> None:
        self._try("truncate", super().truncate, descriptor, size)

    def allocate(self, descriptor: int, size: int) -> None:
        self._try("allocate", super().allocate, descriptor, size)

    def rename(self, source: Path, target: Path) -> None:
        self._try("rename", super().rename, source, target)

    def remove(self, path: Path) -> None:
        self._try("remove", super().remove, path)

    def _try(self, kind: str, operation: Callable[..., Any], *arguments: Any) -> Any:
        if self._fails(kind):
            raise OSError(self._error, os.strerror(self._error))
        return operation(*arguments)

    def _fails(self, kind: str) -> bool:
        if kind not in self._kinds or not self._armed:
            return False
        self.asked += 1
        failing = self.asked >= self._at if self._lasting else self.asked == self._at
        self.failed += failing
        return failing
