"""Recovery at start: replay of the journal, and loading of memories from the store."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from hunchd.domain.facts import Change
from hunchd.domain.memory import Kind
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.records import change_of
from hunchd.engine.keeping.writing import Write, Writer
from hunchd.engine.learning.projects import Projects
from hunchd.engine.signal_intake import SignalIntake
from hunchd.engine.state.absorbing import recall_errors
from hunchd.engine.state.feature import Features
from hunchd.protocol.messages import signal_from_json
from hunchd.store.journal.journal import Journal, Record

logger = logging.getLogger(__name__)

REPLAY_SLICE = 100  # records applied before yielding to requests: about 5 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Service that recovers the state of the last run."""

    journal: Journal
    writer: Writer
    memories: Memories
    projects: Projects
    intake: SignalIntake
    features: Features

    async def replay(self) -> None:
        """Replay the journal in slices, so that requests are answered meanwhile.

        The writer must start afterwards: if a newer record were stored first, the checkpoint would pass the older
        ones.
        """
        last = self.journal.last
        for number, (sequence, record) in enumerate(self.journal.replay()):
            if sequence > last:
                break
            try:
                self._absorb(sequence, record)
            except Exception:  # one invalid record must not block all others
                logger.exception("journal record of type %r is skipped", record.type)
                self.writer.add(Write(sequence))
            if number % REPLAY_SLICE == REPLAY_SLICE - 1:
                await asyncio.sleep(0)

    def _absorb(self, sequence: int, record: Record) -> None:
        """Apply a journal record that is not stored yet."""
        if (change := change_of(record)) is not None:
            self.memories.apply(sequence, change, replayed=True)
        elif record.type == "signal" and (project := self.projects.known(record.project)) is not None:
            signal = signal_from_json(record.data)
            self.intake.apply(sequence, record, signal, project, project.tree_of(signal.project))
        else:  # of a project that is gone, or of a later version of ours: passed over, or it would wait for ever
            logger.warning("a record of type %r in the journal concerns nothing that is known", record.type)
            self.writer.add(Write(sequence))

    async def recall(self) -> None:
        """Load the stored memories of the user and of each project."""
        for identifier in (None, *self.projects.ids):
            memories = await self.memories.warm(identifier)
            project = self.projects.known(identifier)
            if project is None:
                self.projects.own.notice(Change(tuple(memories)))
            else:
                project.facts = {memory.id: memory for memory in memories if memory.kind is Kind.FACT}
                project.notice(Change(tuple(memories), project=project.id))
                recall_errors(project, memories)
                self.features.on_project_restored(project)
                project.touch()
