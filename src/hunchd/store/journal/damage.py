"""Counting and copying of journal bytes that cannot be read."""

from __future__ import annotations

import logging
from pathlib import Path

from hunchd.store.files import FileOperations, closing_descriptor, create_private_folder
from hunchd.store.journal.segments import DamagedRange

logger = logging.getLogger(__name__)

# A broken disk must not fill itself with copies of broken files.
_MAX_COPIES = 64
_MAX_COPY_BYTES = 4 * 1024 * 1024


class DamageRecorder:
    """Recorder of the damage found since the journal was opened. It copies the damaged bytes to `folder`."""

    def __init__(self, files: FileOperations, folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._reported_damage: set[tuple[str, int]] = set()
        self.count = 0

    def record_range(self, path: Path, content: bytes, damage: DamagedRange, *, base_offset: int = 0) -> None:
        """Count and log a damaged range and save a copy of it.

        Nothing is done for a range that has been recorded already. An incomplete write at the end of a file is only
        logged, because it was never acknowledged. `content` starts `base_offset` bytes into the file.
        """
        begin = base_offset + damage.offset
        if (path.name, begin) in self._reported_damage:
            return
        self._reported_damage.add((path.name, begin))
        if damage.is_torn:
            logger.info(
                "%s ended with an incomplete write; removed its last %d bytes",
                path.name,
                damage.end - damage.offset,
            )
            return
        self.count += 1
        logger.warning("%s is damaged from byte %d to %d; the rest was read", path, begin, base_offset + damage.end)
        try:
            self._copy(path.name, begin, content[damage.offset : damage.end][:_MAX_COPY_BYTES])
        except OSError as error:
            logger.warning("could not save a copy of the damaged bytes of %s: %s", path.name, error)

    def record_gap(self, path: Path, first: int, last: int) -> None:
        """Count a gap between segments, left by a file that was removed or emptied."""
        if (path.name, -1) not in self._reported_damage:
            self._reported_damage.add((path.name, -1))
            self.count += 1
            logger.warning("records %d to %d are missing before %s", first, last, path)

    def record_unreadable(self, path: Path, error: OSError) -> None:
        """Count a file that cannot be read."""
        if (path.name, -2) not in self._reported_damage:
            self._reported_damage.add((path.name, -2))
            self.count += 1
            logger.warning("%s cannot be read: %s", path, error)

    def move_file(self, path: Path) -> None:
        """Move a whole damaged file into `folder`."""
        try:
            create_private_folder(self._folder)
            self._files.rename(path, self._folder / path.name)
        except OSError as error:
            logger.warning("could not move the damaged file %s aside: %s", path, error)

    def delete_copies(self) -> None:
        """Delete all copies, because erased records must not survive in them."""
        for copy in self._list_copies():
            self._files.remove(copy)

    def _copy(self, name: str, offset: int, stretch: bytes) -> None:
        create_private_folder(self._folder)
        target = self._folder / f"{name}-{offset}.bad"
        if target.exists() or len(self._list_copies()) >= _MAX_COPIES:
            return
        with closing_descriptor(self._files, self._files.create(target)) as descriptor:
            self._files.write(descriptor, stretch)

    def _list_copies(self) -> list[Path]:
        return sorted(self._folder.glob("*"))
