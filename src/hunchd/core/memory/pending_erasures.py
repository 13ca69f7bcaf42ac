"""Record of erasures in progress.

An erasure interrupted by a crash is completed at the next start. The record contains only ids, no text.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hunchd.config.app_paths import ensure_private_folder
from hunchd.store.files import FileOperations, replace_file

logger = logging.getLogger(__name__)


class PendingErasures:
    """Folder with one file for each erasure in progress."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def record(self, ids: Sequence[str], project: str | None) -> AsyncIterator[None]:
        """Keep the ids on record while the body of the `with` block erases them.

        If the block fails, the erasure is repeated at the next start. If the disk is too full to write the record,
        the erasure goes ahead anyway.
        """
        note = self._folder / secrets.token_hex(8)
        content = json.dumps({"project": project, "ids": list(ids)}).encode()
        try:
            await asyncio.to_thread(self._write_note, note, content)
        except OSError as error:
            logger.warning("could not record the pending erasure: %s", error)
        yield
        note.unlink(missing_ok=True)

    def list_pending(self) -> list[tuple[Path, str | None, list[str]]]:
        """Return the erasures that earlier processes started, as (file, project, ids).

        Files that cannot be read are skipped and deleted.
        """
        pending: list[tuple[Path, str | None, list[str]]] = []
        for note in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            try:
                note_content = json.loads(note.read_bytes())
                pending.append((note, note_content["project"], [str(one) for one in note_content["ids"]]))
            except (OSError, ValueError, TypeError, KeyError):
                logger.warning("could not read %s; erased memories may still be on disk", note)
                note.unlink(missing_ok=True)
        return pending

    def _write_note(self, note: Path, content: bytes) -> None:
        ensure_private_folder(self._folder)
        replace_file(FileOperations(), note, content)
