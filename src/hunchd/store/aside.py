"""Lines that are read once more, in their order, and are too many to be held meanwhile: in a file without a name, which
is gone with whoever opened it."""

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

_LEVEL: Final = 1  # of packing: a quarter of the size, and hardly longer than writing it
_SIZE: Final = 4  # bytes in front of each line that say how long it is


class Aside:
    """Every call blocks: use it in a thread, one at a time."""

    def __init__(self, folder: Path) -> None:
        """Raises StorageFull."""
        try:
            self._file = tempfile.TemporaryFile(dir=private_folder(folder))  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise _told(error) from error

    def append(self, line: Any) -> None:
        """What JSON can say. Raises StorageFull."""
        packed = zlib.compress(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass"), _LEVEL)
        try:
            self._file.write(len(packed).to_bytes(_SIZE, "big") + packed)
        except OSError as error:
            raise _told(error) from error

    def lines(self) -> Iterator[Any]:
        """All of them, from the first on. Raises StorageFull."""
        try:
            self._file.seek(0)
        except OSError as error:  # what was written last had not left the buffer
            raise _told(error) from error
        while size := self._file.read(_SIZE):
            yield json.loads(zlib.decompress(self._file.read(int.from_bytes(size, "big"))))

    def close(self) -> None:
        """It is gone."""
        with suppress(OSError):  # what a full disk did not take is of no use any more
            self._file.close()


def _told(error: OSError) -> Exception:
    return StorageFull("the disk is full: what is planned cannot be kept") if error.errno in FULL else error
