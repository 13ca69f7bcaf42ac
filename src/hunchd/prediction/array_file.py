"""File format for packed arrays.

A file consists of a magic word, a JSON header with the offset of each array, and the arrays.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.domain.errors import StoreError
from hunchd.prediction.packed_arrays import Arrays

MAGIC = b"hunch-predictor\n"
VERSION = 2
ALIGNMENT = 16  # bytes
MAX_HEADER_BYTES = 1 << 20  # bytes; ours is a few thousand


def write_arrays(path: Path, arrays: Arrays, about: dict[str, Any]) -> None:
    """Write the arrays atomically.

    After a power failure, the file contains either the old or the new arrays. `about` is the description stored in
    the header.
    """
    entries: list[list[Any]] = []
    position = 0
    contiguous_arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in contiguous_arrays.items():
        position += -position % ALIGNMENT
        entries.append([name, array.dtype.descr if array.dtype.names else array.dtype.str, list(array.shape), position])
        position += array.nbytes
    header = json.dumps({"version": VERSION, "about": about, "arrays": entries}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + len(header).to_bytes(8, "little") + header)
            start = file.tell() + -file.tell() % ALIGNMENT
            for (_, _, _, at), array in zip(entries, contiguous_arrays.values(), strict=True):
                file.write(b"\0" * (start + at - file.tell()))
                file.write(array.tobytes())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_arrays(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays, which are writable, and the description from the header.

    Raises StoreError if the file cannot be read, has a different format or is incomplete.
    """
    try:
        content = bytearray(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    try:
        if not content.startswith(MAGIC):
            raise ValueError("it is not a predictor file")
        begin = len(MAGIC) + 8
        length = int.from_bytes(content[len(MAGIC) : begin], "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError("its header is damaged")
        header = json.loads(content[begin : begin + length])
        if (version := int(header["version"])) != VERSION:
            which = "an earlier" if version < VERSION else "a later"
            raise ValueError(f"it was written by {which} version of hunchd (format {version}, expected {VERSION})")
        start = begin + length + -(begin + length) % ALIGNMENT
        return {entry[0]: _read_array(content, start, entry) for entry in header["arrays"]}, header["about"]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise StoreError(
            f"{path} cannot be used: {error}", hint="it will be rebuilt from the repository automatically"
        ) from error


def _read_array(content: bytearray, start: int, entry: list[Any]) -> np.ndarray[Any, Any]:
    _, dtype_name, shape, at = entry
    dtype = np.dtype(dtype_name if isinstance(dtype_name, str) else [tuple(column) for column in dtype_name])
    if dtype.hasobject:
        raise ValueError("it contains Python objects")
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(content, dtype, count, start + at).reshape(shape)
