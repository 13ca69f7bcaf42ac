"""The life of the index of words beside a table: opened, caught up, merged, written, erased with what it was made of.

It can always be made again from the table. While it does not know every row yet, the database's own index answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from hunchd.store.database.mirror import NOWHERE, Mirror
from hunchd.store.files import Files, draft_of
from hunchd.store.indexes import postings_file
from hunchd.store.indexes.nearness import Mask
from hunchd.store.indexes.postings import Postings
from hunchd.store.indexes.terms import counts_of, forget_words

logger = logging.getLogger(__name__)

FILE: Final = "memories.words"
AT_ONCE: Final = 512  # rows that are caught up with at once: about fifty milliseconds
# Rows that are added before they are written: the tail takes some kilobytes for each, merging as long as the whole.
WRITE_AT: Final = 8_192

# The terms of each of the texts, perhaps counted in another thread.
Counting = Callable[[Sequence[str]], Awaitable[list[dict[int, int]]]]


class WordKeeping:
    """Used by one writer at a time. If it cannot be written, that is logged, and what was added stays in memory."""

    def __init__(self, folder: Path, files: Files) -> None:
        self._path = folder / FILE
        self._files = files
        self._failed = False

    async def open(self, mirror: Mirror) -> None:
        """Give the mirror what is known of its rows, and all of it if that is quickly done."""
        block = await asyncio.to_thread(postings_file.read, self._path)
        mirror.words = Postings(block, mirror.keys(), mirror.living())
        while not mirror.words.is_whole and len(mirror.words.waiting(AT_ONCE + 1)) <= AT_ONCE:
            await self.catch_up(mirror, counted)

    async def catch_up(self, mirror: Mirror, count: Counting) -> bool:
        """Index some more of the rows that are not known yet. Whether there are more."""
        words = mirror.words
        slots = words.waiting(AT_ONCE)
        if not slots or self._failed:
            return False
        living = mirror.living()
        places = {mirror.address(slot): slot for slot in slots if living[slot]}
        places.pop(NOWHERE, None)
        rows = await mirror.reader.at_addresses(list(places), ("text",))
        keys = mirror.keys()
        told = await count([row["text"] or "" for row in rows])
        terms = {places[row["_rowid"]]: one for row, one in zip(rows, told, strict=True)}
        for slot in places.values():
            words.add(slot, int(keys[slot]), terms.get(slot, {}))
        words.skip(len(slots))
        if words.added >= WRITE_AT or (words.is_whole and words.added > AT_ONCE):
            await self.write(mirror)
        if mirror.words.is_whole:
            forget_words()
        return not mirror.words.is_whole

    async def write(self, mirror: Mirror) -> None:
        """Merge what was added into the file, and leave out what is gone."""
        if not mirror.words.is_stale(living := mirror.living().copy()):
            return
        try:
            mirror.words = await asyncio.to_thread(self._written, mirror.words, mirror, living)
            self._failed = False
        except (OSError, ValueError):
            self._failed = True
            logger.exception("the index of words %s cannot be written; it is kept in memory", self._path)

    async def erase(self, mirror: Mirror) -> None:
        """No file says afterwards what words a row had that is gone. Raises OSError where one cannot be removed."""
        self._files.remove(draft_of(self._path))
        await self.write(mirror)
        if self._failed:
            mirror.words = Postings(None, mirror.keys(), mirror.living())
            self._files.remove(self._path)
            self._files.sync_folder(self._path.parent)

    def _written(self, words: Postings, mirror: Mirror, living: Mask) -> Postings:
        postings_file.write(self._files, self._path, *words.merged(living))
        if (block := postings_file.read(self._path)) is None:
            raise ValueError("it cannot be read again")
        return Postings(block, mirror.keys(), living)


async def counted(texts: Sequence[str]) -> list[dict[int, int]]:
    """The terms of each, counted at once."""
    return [counts_of(text) for text in texts]
