"""Bytes of the journal that could not be read: kept for a person to look at, and counted."""

from __future__ import annotations

import logging
from pathlib import Path

from hunchd.store.files import Files, opened, private_folder
from hunchd.store.journal.segments import Damage

logger = logging.getLogger(__name__)

# A broken disk must not fill itself with copies of broken files.
_MAX_COPIES = 64
_MAX_COPY_BYTES = 4 * 1024 * 1024


class SetAside:
    """`count` damaged stretches were met since the journal was opened, of which copies lie in `folder`."""

    def __init__(self, files: Files, folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._seen: set[tuple[str, int]] = set()
        self.count = 0

    def keep(self, path: Path, content: bytes, damage: Damage, *, at: int = 0) -> None:
        """Counts a stretch once, says so and copies it; `content` begins `at` bytes into the file.

        A torn end was never acknowledged: it is no loss.
        """
        begin = at + damage.offset
        if (path.name, begin) in self._seen:
            return
        self._seen.add((path.name, begin))
        if damage.torn:
            logger.info("%s ended in %d bytes of an unfinished write", path.name, damage.end - damage.offset)
            return
        self.count += 1
        logger.warning("%s is damaged from byte %d to %d; the rest was read", path, begin, at + damage.end)
        try:
            self._copy(path.name, begin, content[damage.offset : damage.end][:_MAX_COPY_BYTES])
        except OSError as error:
            logger.warning("the damaged bytes of %s could not be copied aside: %s", path.name, error)

    def missing(self, path: Path, first: int, last: int) -> None:
        """Counts a gap in the chain of segments: a file between was removed or emptied."""
        if (path.name, -1) not in self._seen:
            self._seen.add((path.name, -1))
            self.count += 1
            logger.warning("records %d to %d are missing before %s", first, last, path)

    def unreadable(self, path: Path, error: OSError) -> None:
        """Counts a file that the disk does not give back."""
        if (path.name, -2) not in self._seen:
            self._seen.add((path.name, -2))
            self.count += 1
            logger.warning("%s cannot be read: %s", path, error)

    def move(self, path: Path) -> None:
        """Takes a whole file out of the way."""
        try:
            private_folder(self._folder)
            self._files.rename(path, self._folder / path.name)
        except OSError as error:
            logger.warning("%s could not be moved aside: %s", path, error)

    def clear(self) -> None:
        """Removes every copy: what was erased must not survive here."""
        for copy in self._copies():
            self._files.remove(copy)

    def _copy(self, name: str, offset: int, stretch: bytes) -> None:
        private_folder(self._folder)
        target = self._folder / f"{name}-{offset}.bad"
        if target.exists() or len(self._copies()) >= _MAX_COPIES:
            return
        with opened(self._files, self._files.create(target)) as descriptor:
            self._files.write(descriptor, stretch)

    def _copies(self) -> list[Path]:
        return sorted(self._folder.glob("*"))
