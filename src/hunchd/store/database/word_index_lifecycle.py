"""Lifecycle of the word index: opening, completing, merging, writing and erasing it.

The index can always be rebuilt from the table. Until it contains every row, word searches find fewer rows and
report that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from hunchd.store.database.mirror import NO_ADDRESS, TableMirror
from hunchd.store.files import FileOperations, temporary_path
from hunchd.store.indexes import postings_file
from hunchd.store.indexes.postings import WordPostings
from hunchd.store.indexes.terms import clear_stem_cache, count_terms
from hunchd.store.indexes.vector_scan import Mask

logger = logging.getLogger(__name__)

INDEX_FILE: Final = "memories.words"
BATCH_ROWS: Final = 512  # rows that are indexed in one step: about 50 ms
MAX_QUICK_ROWS: Final = 4_096  # rows that are indexed before the next query: about half a second
# Rows that are added before they are written: each takes some kilobytes in the tail, but a merge rewrites all rows.
WRITE_THRESHOLD: Final = 8_192

# Counts the terms of each text, possibly in another thread.
CountTerms = Callable[[Sequence[str]], Awaitable[list[dict[int, int]]]]


class WordIndexMaintainer:
    """Maintainer of the word index, to be used by one writer at a time.

    If the file cannot be written, the failure is logged and the additions stay in memory.
    """

    def __init__(self, folder: Path, files: FileOperations) -> None:
        self._path = folder / INDEX_FILE
        self._files = files
        self._has_failed = False

    async def open(self, mirror: TableMirror) -> None:
        """Load the index into the mirror, and complete it if that is quick."""
        block = await asyncio.to_thread(postings_file.read_block, self._path)
        mirror.words = WordPostings(block, mirror.get_row_keys(), mirror.mask_living())
        await self._complete_if_quick(mirror)

    async def _complete_if_quick(self, mirror: TableMirror) -> None:
        while len(mirror.words.list_unindexed(MAX_QUICK_ROWS + 1)) <= MAX_QUICK_ROWS:
            if not await self.index_missing(mirror, count_all_terms):
                return

    async def index_missing(self, mirror: TableMirror, count: CountTerms) -> bool:
        """Index up to BATCH_ROWS missing rows; return True if more rows remain.

        Also returns False if the file cannot be written and the index has reached its limit in memory.
        """
        words = mirror.words
        slots = words.list_unindexed(BATCH_ROWS)
        if not slots or (self._has_failed and words.added_count >= WRITE_THRESHOLD):
            return False
        living = mirror.mask_living()
        slots_by_address = {mirror.get_address(slot): slot for slot in slots if living[slot]}
        slots_by_address.pop(NO_ADDRESS, None)
        rows = await mirror.reader.load_rows(list(slots_by_address), ("text",))
        keys = mirror.get_row_keys()
        counts = await count([row["text"] or "" for row in rows])
        terms = {slots_by_address[row["_rowid"]]: term_counts for row, term_counts in zip(rows, counts, strict=True)}
        for slot in slots_by_address.values():
            words.add(slot, int(keys[slot]), terms.get(slot, {}))
        words.drop_unindexed(len(slots))
        if words.added_count >= WRITE_THRESHOLD or (words.is_complete and words.added_count > BATCH_ROWS):
            await self.write(mirror)
        if mirror.words.is_complete:
            clear_stem_cache()
        return not mirror.words.is_complete

    async def write(self, mirror: TableMirror) -> None:
        """Merge additions into the file and drop deleted rows from it."""
        if not mirror.words.needs_merge(living := mirror.mask_living().copy()):
            return
        try:
            mirror.words = await asyncio.to_thread(self._write_merged, mirror.words, mirror, living)
            self._has_failed = False
        except (OSError, ValueError):
            self._has_failed = True
            logger.exception("the word index %s cannot be written; keeping it in memory", self._path)

    async def erase(self, mirror: TableMirror) -> None:
        """Remove the words of deleted rows from all files of the index.

        Raises OSError if a file cannot be removed.
        """
        self._files.remove(temporary_path(self._path))
        await self.write(mirror)
        if self._has_failed:
            mirror.words = WordPostings(None, mirror.get_row_keys(), mirror.mask_living())
            self._files.remove(self._path)
            self._files.sync_folder(self._path.parent)
            await self._complete_if_quick(mirror)

    def _write_merged(self, words: WordPostings, mirror: TableMirror, living: Mask) -> WordPostings:
        postings_file.write_block(self._files, self._path, *words.merge_blocks(living))
        if (block := postings_file.read_block(self._path)) is None:
            raise ValueError("the written file cannot be read")
        return WordPostings(block, mirror.get_row_keys(), living)


async def count_all_terms(texts: Sequence[str]) -> list[dict[int, int]]:
    """Count the terms of each text."""
    return [count_terms(text) for text in texts]
