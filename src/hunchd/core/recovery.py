"""Recovery when the daemon starts: replay of the journal and loading of memories from the store."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from hunchd.core.memory.journal_records import change_from_record
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.store_writer import PendingWrite, StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.signal_intake import SignalIntake
from hunchd.core.state.apply_signal import load_errors
from hunchd.core.state.feature import Features
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Kind
from hunchd.protocol.signals import signal_from_json
from hunchd.store.journal.journal import Journal, JournalRecord

logger = logging.getLogger(__name__)

REPLAY_SLICE_RECORDS = 100  # records applied before yielding to requests: about 5 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Service that recovers the state that the daemon had when it last ran."""

    journal: Journal
    writer: StoreWriter
    memories: MemoryService
    projects: OpenProjects
    intake: SignalIntake
    features: Features

    async def replay(self) -> None:
        """Replay the journal in slices.

        Requests can be answered in between. The writer must not be started until the replay has finished: if a
        newer record were stored first, the checkpoint would move past the older ones.
        """
        last = self.journal.last_sequence
        for number, (sequence, record) in enumerate(self.journal.iterate_records()):
            if sequence > last:
                break
            try:
                self._apply_record(sequence, record)
            except Exception:  # one invalid record must not block all others
                logger.exception("could not apply a journal record of type %r; skipping it", record.type)
                self.writer.add(PendingWrite(sequence))
            if number % REPLAY_SLICE_RECORDS == REPLAY_SLICE_RECORDS - 1:
                await asyncio.sleep(0)

    def _apply_record(self, sequence: int, record: JournalRecord) -> None:
        """Apply a journal record that has not been stored yet."""
        if (change := change_from_record(record)) is not None:
            self.memories.apply(sequence, change, is_replay=True)
        elif record.type == "signal" and (project := self.projects.find_by_id(record.project)) is not None:
            signal = signal_from_json(record.data)
            self.intake.apply(sequence, record, signal, project, project.tree_of(signal.project))
        else:  # from a removed project or a later version: skipped, since it would otherwise be queued forever
            logger.warning("skipping a journal record of type %r: its project or type is unknown", record.type)
            self.writer.add(PendingWrite(sequence))

    async def load_memories(self) -> None:
        """Load the stored memories of the user and of each project."""
        for identifier in (None, *self.projects.ids):
            memories = await self.memories.load_into_cache(identifier)
            project = self.projects.find_by_id(identifier)
            if project is None:
                self.projects.own.apply_change(MemoryChange(tuple(memories)))
            else:
                project.facts = {memory.id: memory for memory in memories if memory.kind is Kind.FACT}
                project.apply_change(MemoryChange(tuple(memories), project=project.id))
                load_errors(project, memories)
                self.features.on_project_restored(project)
                project.bump_revision()
