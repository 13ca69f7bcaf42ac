"""Temporary file for JSON values that are written and then read back.

The file has no name on disk, so it disappears with the process that opened it.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StorageFull
from hunchd.store.files import DISK_FULL_ERRORS, create_private_folder

_COMPRESSION_LEVEL: Final = 1  # zlib: a quarter of the size, and hardly slower than writing
_LENGTH_BYTES: Final = 4  # bytes of the length prefix of each value


class SpillFile:
    """Temporary file for JSON values that would take too much memory.

    Every call blocks: use the file in a thread, one call at a time.
    """

    def __init__(self, folder: Path) -> None:
        """Create the file in `folder`; raises StorageFull."""
        try:
            self._file = tempfile.TemporaryFile(dir=create_private_folder(folder))  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise _translate_error(error) from error

    def append(self, line: Any) -> None:
        """Append a JSON value; raises StorageFull."""
        compressed_block = zlib.compress(
            json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass"), _COMPRESSION_LEVEL
        )
        try:
            self._file.write(len(compressed_block).to_bytes(_LENGTH_BYTES, "big") + compressed_block)
        except OSError as error:
            raise _translate_error(error) from error

    def read_lines(self) -> Iterator[Any]:
        """Yield all values in the order of appending.

        The last value may still have to be written to disk. Raises StorageFull if the disk is full.
        """
        try:
            self._file.seek(0)
        except OSError as error:  # the last value was still in the buffer
            raise _translate_error(error) from error
        while size := self._file.read(_LENGTH_BYTES):
            yield json.loads(zlib.decompress(self._file.read(int.from_bytes(size, "big"))))

    def close(self) -> None:
        """Close the file, which deletes it."""
        with suppress(OSError):  # a buffer that a full disk refused is not needed any more
            self._file.close()


def _translate_error(error: OSError) -> Exception:
    return (
        StorageFull("the disk is full; the planned changes cannot be stored")
        if error.errno in DISK_FULL_ERRORS
        else error
    )
