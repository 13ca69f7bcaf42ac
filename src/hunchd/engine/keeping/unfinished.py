"""Record of erasures in progress.

A crash leaves them to the next start. Only ids are stored, no text.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hunchd.config.places import make_private
from hunchd.store.files import Files, replace_file

logger = logging.getLogger(__name__)


class Unfinished:
    """Files below `folder`, one for each erasure in progress."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def promised(self, ids: Sequence[str], project: str | None) -> AsyncIterator[None]:
        """Record the ids while the block erases them.

        A failure is left to the next start. A full disk that does not take the note does not prevent the erasure.
        """
        note = self._folder / secrets.token_hex(8)
        told = json.dumps({"project": project, "ids": list(ids)}).encode()
        try:
            await asyncio.to_thread(self._note, note, told)
        except OSError as error:
            logger.warning("erasure in progress could not be recorded: %s", error)
        yield
        note.unlink(missing_ok=True)

    def left(self) -> list[tuple[Path, str | None, list[str]]]:
        """Return the erasures that earlier processes began: note, project, ids.

        Notes that cannot be read are skipped and deleted.
        """
        told: list[tuple[Path, str | None, list[str]]] = []
        for note in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            try:
                noted = json.loads(note.read_bytes())
                told.append((note, noted["project"], [str(one) for one in noted["ids"]]))
            except (OSError, ValueError, TypeError, KeyError):
                logger.warning("%s is not readable: erased memories may still be on disk", note)
                note.unlink(missing_ok=True)
        return told

    def _note(self, note: Path, told: bytes) -> None:
        make_private(self._folder)
        replace_file(Files(), note, told)
