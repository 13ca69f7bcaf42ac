"""Application of planned changes, and undoing them.

Each change is logged first, then committed in a small batch. Memories that someone else has changed in the meantime
are left alone. Requests and signals have priority over a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Final

from msgspec import convert

from hunchd.consolidation.plan import (
    ChangeEntry,
    compute_outcome,
    find_remaining,
    is_applicable,
    split_into_batches,
    weigh,
)
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.session_log import HEAD_TAG
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.domain.errors import Conflict, Overloaded, Unavailable
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Kind, Memory
from hunchd.protocol.malloc_tuning import release_free_memory
from hunchd.protocol.responses import to_json
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.run_log import RunLog

# Memories committed together: few enough that a request waits no more than 5 ms.
COMMIT_BATCH_SIZE: Final = 8
# Memories read and logged together; few enough that the store keeps pace and the queue stays short.
LOG_BATCH_SIZE: Final = 256
# Changes that may wait for the store while the next are applied, even in small batches: several
# changes of one memory are then stored once.
MIN_PENDING_CHANGES: Final = 8
LONG_CHANGE_TEXTS: Final = (
    16  # after a change with more text (see `weigh`), free memory is returned to the system at once
)
MAX_QUEUE_LENGTH: Final = 1_000  # queue length above which a run waits
QUEUE_POLL_SECONDS: Final = 0.1  # seconds
MAX_QUEUE_POLLS: Final = 5  # after that a run continues, however long the load lasts
MAX_TIMEOUTS: Final = 10  # timeouts of the writer before a run gives up for now


class ChangeApplier:
    """Service that applies and undoes the planned changes of a run.

    Each change is written to `log` before it is made; an undo reads the changes from this log.
    """

    def __init__(self, memory_cache: MemoryCache, memories: MemoryService, writer: StoreWriter, log: RunLog) -> None:
        self._memory_cache = memory_cache
        self._memories = memories
        self._writer = writer
        self._log = log
        self._temporarily_cached: list[str] = []  # memories cached only because they were changed

    async def wait_until_ready(self) -> None:
        """Wait until the records left by an earlier process are loaded from the journal."""
        await self._writer.wait_until_started()

    async def apply(self, run: str, entries: Sequence[ChangeEntry], stop_event: asyncio.Event) -> list[ChangeEntry]:
        """Log the applicable changes, apply them, and return those that were applied.

        Nothing more is applied once `stop_event` is set.
        """
        await self._wait_for_queue()
        memories = await self._load_memories(entries)
        applicable = _select_applicable(entries, memories)
        lines = [to_json(entry) for entry in applicable]
        await asyncio.to_thread(self._log.append, run, lines)
        applied_entries = await self._apply_batches(applicable, memories, stop_event)
        await self.wait_for_store(allowed_pending=max(len(applied_entries), MIN_PENDING_CHANGES))
        if any(weigh(entry) > len(entry.edits) + LONG_CHANGE_TEXTS for entry in entries):
            await asyncio.to_thread(release_free_memory)
        return applied_entries

    async def undo(
        self,
        run: str,
        *,
        owner: str | None = None,
        of_owner: bool = False,
        steps: Collection[str] = (),
    ) -> tuple[int, int]:
        """Undo the changes of a run in reverse order.

        By default, all changes are undone. With `of_owner`, only the changes for `owner` are undone; with `steps`,
        only the changes made in those steps. Returns how many changes were undone, and how many were left in place,
        fully or partly, because someone else has changed the memory since.
        """
        lines = (convert(one, ChangeEntry) for one in self._log.read_backwards(run) if one["type"] == "change")
        batches = split_into_batches(lines, LOG_BATCH_SIZE)
        undone_count = left_count = 0
        nothing: list[ChangeEntry] = []
        while entries := await asyncio.to_thread(next, batches, nothing):
            back = [
                entry.inverse
                for entry in entries
                if (not of_owner or entry.project == owner) and (not steps or entry.step in steps)
            ]
            memories = await self._load_memories(back)
            applicable, done_count, in_part = _select_remaining(back, memories, allow_partial=True)
            applied_entries = await self._apply_batches(applicable, memories)
            as_it_was = len(applied_entries) + done_count - in_part
            undone_count, left_count = undone_count + as_it_was, left_count + len(back) - as_it_was
            await self.wait_for_store(allowed_pending=max(len(applied_entries), MIN_PENDING_CHANGES))
        await self.wait_for_store(allowed_pending=0)
        return undone_count, left_count

    async def undo_changes(self, run: str, numbers: Collection[int]) -> AsyncIterator[int]:
        """Undo changes completely, last first, and yield their numbers.

        Raises Conflict, and undoes none, if one of them cannot be undone.
        """
        changes = await asyncio.to_thread(lambda: list(self._log.read_changes(run, ChangeEntry, numbers))[::-1])
        back = [entry.inverse for _, entry in changes]
        memories = await self._load_memories(back)
        applicable, done_count, _ = _select_remaining(back, memories, allow_partial=False)
        if len(applicable) + done_count < len(back):
            raise Conflict("a later change affects the same memory; undo that one first")
        for number, entry in changes:
            remaining, _, _ = _select_remaining([entry.inverse], memories, allow_partial=False)
            if len(await self._apply_batches(remaining, memories)) < len(remaining):
                raise Conflict("a memory was changed meanwhile; the other changes are undone")
            yield number
        await self.wait_for_store(allowed_pending=0)

    async def wait_for_store(self, *, allowed_pending: int) -> None:
        """Wait for the store, then release memories cached only because of the run.

        When the wait ends, at most `allowed_pending` records may still be unstored, so that the next changes are
        prepared while the last records are being stored and neither side idles. Memories that are cached only
        because a run changed them would otherwise evict memories that queries need.
        """
        await self.drain_writer(allowed_pending=allowed_pending)
        self._memory_cache.drop_committed(self._temporarily_cached)
        self._temporarily_cached = [one for one in self._temporarily_cached if self._memory_cache.get(one) is not None]

    async def drain_writer(self, *, allowed_pending: int = 0) -> None:
        """Wait until the store has nearly all of the accepted records, even under load.

        At most `allowed_pending` may still be missing. Raises Unavailable if the store is stuck.
        """
        for _ in range(MAX_TIMEOUTS):
            try:
                return await self._writer.drain(allowed_pending=allowed_pending)
            except Unavailable:
                if self._writer.trouble:
                    raise
        raise Unavailable("the store cannot keep up with the accepted records")

    async def _wait_for_queue(self) -> None:
        """Wait briefly while the store's queue is long, because signals have priority."""
        for _ in range(MAX_QUEUE_POLLS):
            if self._writer.pending <= MAX_QUEUE_LENGTH:
                return
            await asyncio.sleep(QUEUE_POLL_SECONDS)

    async def _commit(self, changes: Sequence[MemoryChange]) -> None:
        """Commit the changes, and retry while the queue is full."""
        for _ in range(MAX_TIMEOUTS):
            try:
                await self._memories.commit(changes)
                return
            except Overloaded as error:
                await asyncio.sleep(error.retry_after)
        await self._memories.commit(changes)

    async def _load_memories(self, entries: Sequence[ChangeEntry]) -> dict[str, Memory]:
        """Return the current versions of the memories in the changes, keyed by id."""
        memories: dict[str, Memory] = {}
        for owner in {entry.project for entry in entries}:
            ids = dict.fromkeys(one for entry in entries if entry.project == owner for one in entry.ids)
            memories |= await self._memories.find(list(ids), owner)
        self._temporarily_cached += [
            one for entry in entries for one in entry.ids if self._memory_cache.get(one) is None
        ]
        return memories

    async def _apply_batches(
        self, entries: Sequence[ChangeEntry], memories: dict[str, Memory], stop_event: asyncio.Event | None = None
    ) -> list[ChangeEntry]:
        """Apply changes in batches that are small enough not to delay requests.

        Changes to memories that someone else has changed in the meantime are skipped. Returns the applied changes, and
        updates `memories`.
        """
        applied_entries: list[ChangeEntry] = []
        for some in split_into_batches(entries, COMMIT_BATCH_SIZE):
            if stop_event is not None and stop_event.is_set():
                break
            async with self._memories.change_lock:
                present = {
                    one: memory for entry in some for one in entry.ids if (memory := self._get_current(one, memories))
                }
                applicable = _select_applicable(some, present)
                changes: list[MemoryChange] = []
                for entry in applicable:
                    written_memories, deleted_ids = compute_outcome(entry, present)
                    changes.append(
                        MemoryChange(
                            written_memories,
                            deleted_ids,
                            entry.project,
                            silent=not deleted_ids and all(map(_is_search_only, written_memories)),
                        )
                    )
                    _update_present(present, written_memories, deleted_ids)
                    _update_present(memories, written_memories, deleted_ids)
                applied_entries += applicable
                await self._commit(changes)
            await asyncio.sleep(0)
        return applied_entries

    def _get_current(self, identifier: str, memories: Mapping[str, Memory]) -> Memory | None:
        """Return the current version of a memory, if it exists."""
        if self._memory_cache.is_tombstoned(identifier):
            return None
        return self._memory_cache.get(identifier) or memories.get(identifier)


def _select_applicable(entries: Sequence[ChangeEntry], memories: Mapping[str, Memory]) -> list[ChangeEntry]:
    """Return the changes that can be applied in sequence."""
    present = dict(memories)
    applicable: list[ChangeEntry] = []
    for entry in entries:
        if is_applicable(entry, present):
            _update_present(present, *compute_outcome(entry, present))
            applicable.append(entry)
    return applicable


def _select_remaining(
    entries: Sequence[ChangeEntry], memories: Mapping[str, Memory], *, allow_partial: bool
) -> tuple[list[ChangeEntry], int, int]:
    """Return, for each change, the part that can still be applied in sequence.

    Changes without such a part are left out, and so are partial changes unless `allow_partial` is True. Also
    returns how many changes have already been applied, and how many of the returned changes are partial.
    """
    present = dict(memories)
    applicable: list[ChangeEntry] = []
    done_count = in_part = 0
    for entry in entries:
        rest, whole = find_remaining(entry, present)
        if rest.edits and (whole or allow_partial):
            _update_present(present, *compute_outcome(rest, present))
            applicable.append(rest)
            in_part += not whole
        else:
            done_count += whole
    return applicable, done_count, in_part


def _is_search_only(memory: Memory) -> bool:
    """Return True if bundles show the memory only as a search result.

    This excludes session metadata (`HEAD_TAG`), which is also cached elsewhere.
    """
    return memory.kind is Kind.EPISODE and HEAD_TAG not in memory.tags


def _update_present(present: dict[str, Memory], written_memories: Sequence[Memory], deleted_ids: Sequence[str]) -> None:
    present.update({memory.id: memory for memory in written_memories})
    for identifier in deleted_ids:
        present.pop(identifier, None)
