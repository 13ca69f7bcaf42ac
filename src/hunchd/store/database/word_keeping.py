"""Lifecycle of the word index: open, catch up, merge, write, erase.

It can always be rebuilt from the table. Until it contains every row, the database's own index is searched.
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
AT_ONCE: Final = 512  # rows that are indexed in one step: about 50 ms
# Rows that are added before they are written: each takes some kilobytes in the tail, a merge as long as for all rows.
WRITE_AT: Final = 8_192

# Counts the terms of each text, possibly in another thread.
Counting = Callable[[Sequence[str]], Awaitable[list[dict[int, int]]]]


class WordKeeping:
    """Maintainer of the word index, used by one writer at a time.

    If the file cannot be written, that is logged and the additions stay in memory.
    """

    def __init__(self, folder: Path, files: Files) -> None:
        self._path = folder / FILE
        self._files = files
        self._failed = False

    async def open(self, mirror: Mirror) -> None:
        """Load the index into the mirror.

        Completes it if that is quick.
        """
        block = await asyncio.to_thread(postings_file.read, self._path)
        mirror.words = Postings(block, mirror.keys(), mirror.living())
        while not mirror.words.is_whole and len(mirror.words.waiting(AT_ONCE + 1)) <= AT_ONCE:
            await self.catch_up(mirror, counted)

    async def catch_up(self, mirror: Mirror, count: Counting) -> bool:
        """Index up to AT_ONCE missing rows; return True if more remain."""
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
        """Merge additions into the file and leave out deleted rows."""
        if not mirror.words.is_stale(living := mirror.living().copy()):
            return
        try:
            mirror.words = await asyncio.to_thread(self._written, mirror.words, mirror, living)
            self._failed = False
        except (OSError, ValueError):
            self._failed = True
            logger.exception("the word index %s cannot be written; keeping it in memory", self._path)

    async def erase(self, mirror: Mirror) -> None:
        """Remove the words of deleted rows from all files.

        Raises OSError if a file cannot be removed.
        """
        self._files.remove(draft_of(self._path))
        await self.write(mirror)
        if self._failed:
            mirror.words = Postings(None, mirror.keys(), mirror.living())
            self._files.remove(self._path)
            self._files.sync_folder(self._path.parent)

    def _written(self, words: Postings, mirror: Mirror, living: Mask) -> Postings:
        postings_file.write(self._files, self._path, *words.merged(living))
        if (block := postings_file.read(self._path)) is None:
            raise ValueError("it cannot be read back")
        return Postings(block, mirror.keys(), living)


async def counted(texts: Sequence[str]) -> list[dict[int, int]]:
    """Count the terms of each text."""
    return [counts_of(text) for text in texts]
