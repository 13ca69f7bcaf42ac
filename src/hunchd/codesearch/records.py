"""Packing of the chunks of one file into bytes, and unpacking of these bytes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from hunchd.codesearch.chunks import Chunk

_HEAD = struct.Struct("<III")  # size of the JSON in bytes, number of chunks, total number of terms


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Chunks of one file as arrays.

    The terms and weights of chunk `n` are those from `begins[n]` to `begins[n + 1]`, so `begins` has one extra entry.
    """

    texts: list[list[str]]  # name, kind, title, container of each chunk
    lines: npt.NDArray[np.uint32]  # start, end, line of each chunk
    begins: npt.NDArray[np.uint32]
    terms: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint64]  # hash of each chunk's card
    packed_cards: bytes

    def unpack_cards(self) -> list[str]:
        """Return the card of each chunk."""
        return zlib.decompress(self.packed_cards).decode("utf-8", "replace").split("\n")


def pack(chunks: Sequence[Chunk]) -> bytes:
    """Pack `chunks` into bytes."""
    texts = json.dumps(
        [[one.name, one.kind, one.title, one.container] for one in chunks], ensure_ascii=False, separators=(",", ":")
    ).encode("utf-8", "surrogatepass")
    lines = np.array([(one.start, one.end, one.line) for one in chunks], "<u4").reshape(-1, 3)
    counts = np.array([len(one.terms) for one in chunks], "<u4")
    terms = np.array([term for one in chunks for term in one.terms], "<u4")
    weights = np.array([weight for one in chunks for weight in one.weights], "<u1")
    keys = b"".join(blake2b(one.card.encode("utf-8", "replace"), digest_size=8).digest() for one in chunks)
    cards = zlib.compress("\n".join(one.card for one in chunks).encode("utf-8", "replace"))
    head = _HEAD.pack(len(texts), len(chunks), len(terms))
    return b"".join((head, texts, lines.tobytes(), counts.tobytes(), terms.tobytes(), weights.tobytes(), keys, cards))


def unpack(packed_record: bytes) -> FileRecord:
    """Unpack bytes returned by `pack` into arrays that share their memory."""
    size, chunks, terms = _HEAD.unpack_from(packed_record)
    at = _HEAD.size
    texts = json.loads(packed_record[at : at + size].decode("utf-8", "surrogatepass"))
    at += size
    lines = np.frombuffer(packed_record, "<u4", chunks * 3, at).reshape(-1, 3)
    at += lines.nbytes
    counts = np.frombuffer(packed_record, "<u4", chunks, at)
    at += counts.nbytes
    words = np.frombuffer(packed_record, "<u4", terms, at)
    weights = np.frombuffer(packed_record, "<u1", terms, at + words.nbytes)
    at += words.nbytes + weights.nbytes
    keys = np.frombuffer(packed_record, "<u8", chunks, at)
    begins = np.concatenate((np.zeros(1, "<u4"), np.cumsum(counts, dtype="<u4")))
    return FileRecord(texts, lines, begins, words, weights, keys, packed_record[at + keys.nbytes :])
