"""In-memory cache of compressed row bodies, which are the JSON of memories.

With this cache, reading fifty bodies takes 0.5 ms instead of 4 ms. The body of a deleted row is removed immediately.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

# Enough for some 140,000 memories. The rest of a larger table is read from disk, which takes at least 4 ms; a query
# reads sixty bodies, so it has to read from disk as soon as a few bodies in a hundred are not cached.
MAX_BYTES: Final = 48 * 1024 * 1024
# A body is a kilobyte: a larger window finds no more in it, and takes longer to set up.
_COMPRESSION_LEVEL: Final = 6
_WINDOW_BITS: Final = -13  # 8 kB, without a header
_MEMORY_LEVEL: Final = 5
# Preset dictionary of text that most bodies share. It contains no memories, so no memory outlives its deletion here.
_DICTIONARY: Final = (
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
_COMPRESSOR: Final = zlib.compressobj(
    _COMPRESSION_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY
)
_DECOMPRESSOR: Final = zlib.decompressobj(_WINDOW_BITS, _DICTIONARY)


class BodyCache:
    """Cache of the JSON bodies of rows, keyed by slot.

    A slot is a zero-based number that the caller assigns to a row.
    """

    def __init__(self) -> None:
        self._compressed_bodies: list[bytes | None] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._bytes >= MAX_BYTES

    def get(self, slot: int) -> str | None:
        """Return the body in this slot, or None if it is not cached."""
        data = self._compressed_bodies[slot] if slot < len(self._compressed_bodies) else None
        return None if data is None else _DECOMPRESSOR.copy().decompress(data).decode("utf-8", "surrogatepass")

    def put(self, slot: int, data: bytes) -> None:
        """Store a compressed body, even if the cache is full.

        The body must have been compressed by `compress_bodies`.
        """
        if slot >= len(self._compressed_bodies):
            self._compressed_bodies += [None] * (slot + slot // 4 + 1 - len(self._compressed_bodies))
        self.drop(slot)
        self._compressed_bodies[slot] = data
        self._bytes += len(data)

    def drop(self, slot: int) -> None:
        if slot < len(self._compressed_bodies) and (data := self._compressed_bodies[slot]) is not None:
            self._compressed_bodies[slot] = None
            self._bytes -= len(data)


def compress_bodies(bodies: Iterable[str]) -> list[bytes]:
    """Compress bodies for `BodyCache.put`; thread-safe."""
    result = []
    for body in bodies:
        compressor = _COMPRESSOR.copy()
        result.append(compressor.compress(body.encode("utf-8", "surrogatepass")) + compressor.flush())
    return result
