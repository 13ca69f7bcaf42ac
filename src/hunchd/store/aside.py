"""Temporary spill file for JSON values that are read back once.

It has no name on disk, so it disappears with the process that opened it.
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
from hunchd.store.files import FULL, private_folder

_LEVEL: Final = 1  # zlib: a quarter of the size, and hardly slower than writing
_SIZE: Final = 4  # bytes of the length prefix of each value


class Aside:
    """Temporary file of JSON values, too many to be held in memory.

    Every call blocks: use it in a thread, one call at a time.
    """

    def __init__(self, folder: Path) -> None:
        """Create the file in `folder`. Raises StorageFull."""
        try:
            self._file = tempfile.TemporaryFile(dir=private_folder(folder))  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise _told(error) from error

    def append(self, line: Any) -> None:
        """Append a JSON value. Raises StorageFull."""
        packed = zlib.compress(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass"), _LEVEL)
        try:
            self._file.write(len(packed).to_bytes(_SIZE, "big") + packed)
        except OSError as error:
            raise _told(error) from error

    def lines(self) -> Iterator[Any]:
        """Yield all values from the first on. Raises StorageFull."""
        try:
            self._file.seek(0)
        except OSError as error:  # the last value was still in the buffer
            raise _told(error) from error
        while size := self._file.read(_SIZE):
            yield json.loads(zlib.decompress(self._file.read(int.from_bytes(size, "big"))))

    def close(self) -> None:
        """Close the file, which deletes it."""
        with suppress(OSError):  # a buffer that a full disk refused is not needed any more
            self._file.close()


def _told(error: OSError) -> Exception:
    return StorageFull("the disk is full; the planned changes cannot be stored") if error.errno in FULL else error
