"""Simulated disk that loses unsynced data at a power cut."""

from __future__ import annotations

import random
from pathlib import Path

from hunchd.store.files import FileOperations


class ForgetfulFiles(FileOperations):
    """File operations that track which bytes and names are durable.

    Bytes are durable after a sync of their file, names (created, renamed, removed) after a sync of their folder.
    `after_power_cut` writes a state that a disk may show afterwards.
    """

    def __init__(self) -> None:
        self._names: dict[Path, bytes] = {}  # durable name → durable content
        self._pending: list[tuple[Path, bytes | None]] = []  # name changes not yet synced, in order
        self._open: dict[int, Path] = {}
        self._durable: dict[Path, bytes] = {}  # content known to be on the device, by current name

    def create(self, path: Path) -> int:
        descriptor = super().create(path)
        self._open[descriptor] = path
        self._durable[path] = b""
        self._pending.append((path, b""))
        return descriptor

    def open_for_append(self, path: Path) -> int:
        new = not path.exists()
        descriptor = super().open_for_append(path)
        self._open[descriptor] = path
        if new:
            self._durable[path] = b""
            self._pending.append((path, b""))
        return descriptor

    def close(self, descriptor: int) -> None:
        self._open.pop(descriptor, None)
        super().close(descriptor)

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        path = self._open[descriptor]
        self._durable[path] = content = path.read_bytes()
        if path in self._names:
            self._names[path] = content

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._durable[target] = self._durable.pop(source)
        self._pending += [(target, self._durable[target]), (source, None)]

    def remove(self, path: Path) -> None:
        if path.exists():
            super().remove(path)
            self._durable.pop(path, None)
            self._pending.append((path, None))

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        for name, content in self._pending:
            self._apply(name, content)
        self._pending.clear()

    def after_power_cut(self, target: Path, chance: random.Random) -> None:
        """Fill `target` with durable data, some later name changes, and parts of unsynced writes."""
        names = dict(self._names)
        for name, content in self._pending[: chance.randint(0, len(self._pending))]:
            if content is None:
                names.pop(name, None)
            else:
                names[name] = self._durable.get(name, content)
        target.mkdir(mode=0o700)
        for name, content in names.items():
            (target / name.name).write_bytes(content + self._unsynced(name, len(content), chance))

    def _unsynced(self, path: Path, durable: int, chance: random.Random) -> bytes:
        """Return a prefix of the unsynced bytes, sometimes as zeros, as file systems leave it."""
        written = path.read_bytes()[durable:] if path.exists() else b""
        kept = written[: chance.randint(0, len(written))]
        return bytes(len(kept)) if chance.random() < 0.3 else kept

    def _apply(self, name: Path, content: bytes | None) -> None:
        if content is None:
            self._names.pop(name, None)
        else:
            self._names[name] = self._durable.get(name, content)
