"""File of a postings block, read by memory mapping.

It is written piece by piece. Only the parts that are accessed take memory. The file can always be rebuilt: a caller
that finds it missing, damaged or of another format does so.
"""

from __future__ import annotations

import logging
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from hunchd.store.files import Files, replace_file
from hunchd.store.indexes.postings import Block, Keys, Numbers, Piece
from hunchd.store.indexes.terms import RULES

logger = logging.getLogger(__name__)

_MAGIC: Final = b"hunchw01"
# Footer, because the numbers are known at the end: magic, rules, checksum of all before, counts of the three arrays.
_FOOT: Final = struct.Struct("<8sIIQQQ")
_READ_AT_ONCE: Final = 1 << 20


def write(files: Files, path: Path, pieces: Iterable[Piece], lengths: Numbers, keys: Keys) -> None:
    """Replace the file at `path` atomically. Raises OSError."""
    replace_file(files, path, _content(pieces, lengths, keys))


def read(path: Path) -> Block | None:
    """Map the block after verifying its checksum.

    Returns None if it has to be rebuilt.
    """
    try:
        with path.open("rb", buffering=0) as file:
            return _mapped(file, path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("the word index %s is rebuilt: %s", path, error)
        return None


def _content(pieces: Iterable[Piece], lengths: Numbers, keys: Keys) -> Iterator[bytes]:
    """Yield the content of the file in parts."""
    checksum, terms, counts, many = 0, [], [], 0
    for piece in pieces:
        part = piece.postings.astype("<u4").tobytes()
        checksum = zlib.crc32(part, checksum)
        yield part
        many += len(piece.postings)
        terms.append(piece.terms)
        counts.append(piece.counts)
    every = np.concatenate([np.zeros(0, np.uint64), *terms])
    begins = np.cumsum(np.concatenate([np.zeros(1, np.uint32), *counts]), dtype="<u4")
    for part in (
        bytes(-4 * many % 8),
        every.astype("<u8").tobytes(),
        keys.astype("<u8").tobytes(),
        begins.tobytes(),
        lengths.astype("<u4").tobytes(),
    ):
        checksum = zlib.crc32(part, checksum)
        yield part
    yield _FOOT.pack(_MAGIC, RULES, checksum, many, len(every), len(keys))


def _mapped(file: Any, path: Path) -> Block:
    size = os.fstat(file.fileno()).st_size
    if size < _FOOT.size:
        raise ValueError("it is too short")
    file.seek(size - _FOOT.size)
    magic, rules, checksum, many, terms, texts = _FOOT.unpack(file.read(_FOOT.size))
    if magic != _MAGIC or rules != RULES:
        raise ValueError("it has another format")
    padded = 4 * many + -4 * many % 8
    if size != padded + 8 * (terms + texts) + 4 * (terms + 1 + texts) + _FOOT.size:
        raise ValueError("its length does not match its footer")
    if _checksum(file, size - _FOOT.size) != checksum:
        raise ValueError("its checksum is wrong")
    # A mapped file cannot be replaced on Windows.
    content: Any = path.read_bytes() if sys.platform == "win32" else mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    begins = padded + 8 * (terms + texts)
    return Block(
        terms=np.frombuffer(content, "<u8", terms, padded),
        begins=np.frombuffer(content, "<u4", terms + 1, begins),
        postings=np.frombuffer(content, "<u4", many, 0),
        lengths=np.frombuffer(content, "<u4", texts, begins + 4 * (terms + 1)),
        keys=np.frombuffer(content, "<u8", texts, padded + 8 * terms),
    )


def _checksum(file: Any, size: int) -> int:
    """Return the CRC32 of the first `size` bytes.

    The file is read in chunks instead of through the mapping, whose pages take memory once they were accessed.
    """
    file.seek(0)
    found, left = 0, size
    buffer = bytearray(_READ_AT_ONCE)
    view = memoryview(buffer)
    while left:
        read = file.readinto(view[: min(left, _READ_AT_ONCE)])
        if not read:
            raise ValueError("it ends too early")
        found = zlib.crc32(view[:read], found)
        left -= read
    return found
