"""Cache of compressed row bodies.

Reading fifty takes 0.5 ms instead of 4 ms. Nothing of it is on disk. A deleted body is removed at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

# For some 140,000 memories. The rest of a larger table is read from disk, which takes 4 ms and more; a query reads
# sixty bodies, so that it hits the disk as soon as a few in a hundred are not cached.
MOST_BYTES: Final = 48 * 1024 * 1024
# A body is a kilobyte: a larger window finds no more in it, and takes longer to set up.
_LEVEL: Final = 6
_WINDOW: Final = -13  # 8 kB, without a header
_MEMORY: Final = 5
# Preset dictionary of text that most bodies share. It contains no memories, so that none outlives its deletion.
_COMMON: Final = (
    b'"type":"session"}"name":"session:message the and for with this that from into when not error test fix add '
    b"src/tests/docs/packages/lib/index.test.ts.js.py.md.go.rs.json\\n\\nM \\nA \\nD \\n\\n- README.md CHANGELOG.md"
    b'{"artifacts":[["commit",["file","src/"],["file","tests/"],["file","docs/"]],"at":1700000000,"branch":null,'
    b'"category":null,"cited":0,"confidence":1.0,"content":"\\n\\nM ","created":17,"id":"m","ignored":0,'
    b'"importance":0.4,"key":null,"kind":"episode","levels":["",". In ","20","(.py)",""],"links":[],"project":"p",'
    b'"ref":"commit:","retrieved":0,"scope":"project-shared","source":{"author":"","sha":"","type":"commit"},"status":"active",'
    b'"superseded_by":null,"supersedes":null,"tags":[],"title":"","trust":"untrusted","updated":17,"valid_from":null,'
    b'"valid_to":null,"value":null}'
)
# Copying a primed compressor is faster than priming a new one for each body.
_PACKING: Final = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _COMMON)
_UNPACKING: Final = zlib.decompressobj(_WINDOW, _COMMON)


class Bodies:
    """Bodies by slot, a number from 0 up that the owner assigns."""

    def __init__(self) -> None:
        self._packed: list[bytes | None] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._bytes >= MOST_BYTES

    def get(self, slot: int) -> str | None:
        """Return the body in this slot, or None."""
        packed = self._packed[slot] if slot < len(self._packed) else None
        return None if packed is None else _UNPACKING.copy().decompress(packed).decode("utf-8", "surrogatepass")

    def put(self, slot: int, packed: bytes) -> None:
        """Store a body compressed by `packed`, even if the cache is full."""
        if slot >= len(self._packed):
            self._packed += [None] * (slot + slot // 4 + 1 - len(self._packed))
        self.drop(slot)
        self._packed[slot] = packed
        self._bytes += len(packed)

    def drop(self, slot: int) -> None:
        if slot < len(self._packed) and (packed := self._packed[slot]) is not None:
            self._packed[slot] = None
            self._bytes -= len(packed)


def packed(bodies: Iterable[str]) -> list[bytes]:
    """Compress bodies for `Bodies.put`. Thread-safe."""
    found = []
    for body in bodies:
        packing = _PACKING.copy()
        found.append(packing.compress(body.encode("utf-8", "surrogatepass")) + packing.flush())
    return found
