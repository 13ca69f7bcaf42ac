"""File that stores a postings block and is read through memory mapping.

The file is written in pieces, and only the parts that are accessed take up memory. It can always be rebuilt;
callers do so if it is missing, damaged or in a different format.
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

from hunchd.store.files import FileOperations, replace_file
from hunchd.store.indexes.postings import KeyArray, NumberArray, PostingsBlock, PostingsChunk
from hunchd.store.indexes.terms import RULES_VERSION

logger = logging.getLogger(__name__)

_MAGIC: Final = b"hunchw01"
# A footer, because its numbers are known only at the end: magic, rules, checksum of everything before it, counts of the
# three arrays.
_FOOTER: Final = struct.Struct("<8sIIQQQ")
_READ_BYTES: Final = 1 << 20


def write_block(
    files: FileOperations, path: Path, pieces: Iterable[PostingsChunk], lengths: NumberArray, keys: KeyArray
) -> None:
    """Write a block of postings to `path`, atomically replacing any existing file.

    Raises OSError if writing fails.
    """
    replace_file(files, path, _iterate_content(pieces, lengths, keys))


def read_block(path: Path) -> PostingsBlock | None:
    """Verify the checksum of the file, and map the block into memory. Returns None if the block must be rebuilt."""
    try:
        with path.open("rb", buffering=0) as file:
            return _map_block(file, path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("rebuilding the word index %s: %s", path, error)
        return None


def _iterate_content(pieces: Iterable[PostingsChunk], lengths: NumberArray, keys: KeyArray) -> Iterator[bytes]:
    """Yield the content of the file in parts."""
    checksum, terms, counts, posting_count = 0, [], [], 0
    for piece in pieces:
        part = piece.postings.astype("<u4").tobytes()
        checksum = zlib.crc32(part, checksum)
        yield part
        posting_count += len(piece.postings)
        terms.append(piece.terms)
        counts.append(piece.counts)
    all_terms = np.concatenate([np.zeros(0, np.uint64), *terms])
    begins = np.cumsum(np.concatenate([np.zeros(1, np.uint32), *counts]), dtype="<u4")
    for part in (
        bytes(-4 * posting_count % 8),
        all_terms.astype("<u8").tobytes(),
        keys.astype("<u8").tobytes(),
        begins.tobytes(),
        lengths.astype("<u4").tobytes(),
    ):
        checksum = zlib.crc32(part, checksum)
        yield part
    yield _FOOTER.pack(_MAGIC, RULES_VERSION, checksum, posting_count, len(all_terms), len(keys))


def _map_block(file: Any, path: Path) -> PostingsBlock:
    size = os.fstat(file.fileno()).st_size
    if size < _FOOTER.size:
        raise ValueError("the file is too short")
    file.seek(size - _FOOTER.size)
    magic, rules, checksum, posting_count, terms, texts = _FOOTER.unpack(file.read(_FOOTER.size))
    if magic != _MAGIC or rules != RULES_VERSION:
        raise ValueError("the file has a different format")
    padded_size = 4 * posting_count + -4 * posting_count % 8
    if size != padded_size + 8 * (terms + texts) + 4 * (terms + 1 + texts) + _FOOTER.size:
        raise ValueError("the file's length does not match its footer")
    if _compute_checksum(file, size - _FOOTER.size) != checksum:
        raise ValueError("the file's checksum is wrong")
    # A mapped file cannot be replaced on Windows.
    content: Any = path.read_bytes() if sys.platform == "win32" else mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    begins = padded_size + 8 * (terms + texts)
    return PostingsBlock(
        terms=np.frombuffer(content, "<u8", terms, padded_size),
        begins=np.frombuffer(content, "<u4", terms + 1, begins),
        postings=np.frombuffer(content, "<u4", posting_count, 0),
        lengths=np.frombuffer(content, "<u4", texts, begins + 4 * (terms + 1)),
        keys=np.frombuffer(content, "<u8", texts, padded_size + 8 * terms),
    )


def _compute_checksum(file: Any, size: int) -> int:
    """Return the CRC32 of the first `size` bytes.

    The file is read in chunks instead of through the mapping, whose pages would occupy memory once accessed.
    """
    file.seek(0)
    crc, remaining = 0, size
    buffer = bytearray(_READ_BYTES)
    view = memoryview(buffer)
    while remaining:
        byte_count = file.readinto(view[: min(remaining, _READ_BYTES)])
        if not byte_count:
            raise ValueError("the file ends too early")
        crc = zlib.crc32(view[:byte_count], crc)
        remaining -= byte_count
    return crc
