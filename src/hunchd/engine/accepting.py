"""Intake of signals: parsed, redacted, made durable, and applied."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.signal import SessionEnded, Signal
from hunchd.engine.answering.answers import Answers
from hunchd.engine.conversing.conversations import Conversations
from hunchd.engine.keeping.writing import Write, Writer
from hunchd.engine.learning.learning import Learning
from hunchd.engine.learning.projects import Projects
from hunchd.engine.nightly.housekeeping import Housekeeping
from hunchd.engine.state.absorbing import absorb, cleaned, event_id, signal_row, without_secrets_in
from hunchd.engine.state.events import Events
from hunchd.engine.state.project import Project, Tree
from hunchd.protocol.answers import rejection_json
from hunchd.protocol.messages import parse_signal, signal_json
from hunchd.protocol.paths import relative_path
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Record

UNDERSTOOD_AT_ONCE: Final = 50  # signals of one request before questions get a turn: about 5 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepting:
    """Service that accepts signals of clients and watchers."""

    projects: Projects
    hot: HotTier
    writer: Writer
    answers: Answers
    conversations: Conversations
    housekeeping: Housekeeping
    learning: Learning
    events: Events
    now: Callable[[], datetime]

    async def signals(self, raw: Sequence[Any]) -> dict[str, Any]:
        """Accept valid signals and report invalid ones; return when they are durable."""
        accepted: list[tuple[Signal, Project, Tree]] = []
        rejected = []
        for index, one in enumerate(raw):
            if index % UNDERSTOOD_AT_ONCE == UNDERSTOOD_AT_ONCE - 1:
                await asyncio.sleep(0)
            try:
                accepted.append(self._understood(one, f"signals[{index}]."))
            except HunchError as error:
                rejected.append(rejection_json(index, error))
        await self._take(accepted)
        return {"accepted": len(accepted), "rejected": rejected}

    def _understood(self, raw: Any, where: str) -> tuple[Signal, Project, Tree]:
        told = without_secrets_in(raw)
        signal = parse_signal(told, now=self.now(), place=self._place, known=self.projects.find, where=where)
        project, tree = self.projects.find(signal.project)
        known = event_id(signal) if signal.source == "hook" else signal.id
        return replace(signal, id=known or signal.id or secrets.token_hex(8)), project, tree

    def _place(self, raw: str, project: str, /, *, field: str) -> str:
        return relative_path(raw, self.projects.find(project)[1].root, field=field)

    async def seen(self, seen: Sequence[Signal]) -> None:
        """Accept signals of the watchers, on a par with those of clients."""
        known = []
        for signal in seen:
            try:
                project, tree = self.projects.find(signal.project)
            except NotFound:  # removed a moment ago
                continue
            if tree.look():
                project.touch()
                self.learning.moved(project)
            known.append((replace(cleaned(signal), id=event_id(signal) or secrets.token_hex(8)), project, tree))
        await self._take(known)

    async def _take(self, understood: Sequence[tuple[Signal, Project, Tree]]) -> None:
        accepted = [one for one in understood if self.projects.known(one[1].id) is not None]  # removed a moment ago
        if not accepted:
            return
        at = self.now().timestamp()
        records = [
            Record(id=signal.id, type="signal", project=project.id, data=signal_json(signal), at=at)
            for signal, project, _ in accepted
        ]

        def queue(sequences: list[int]) -> None:
            for sequence, record, (signal, project, tree) in zip(sequences, records, accepted, strict=True):
                if not self.writer.knows(sequence):
                    self.answers.noticed(signal, project, tree)
                    self.housekeeping.happened(signal)
                self.absorb(sequence, record, signal, project, tree)

        await self.writer.accept(records, queue)

    def absorb(self, sequence: int, record: Record, signal: Signal, project: Project, tree: Tree) -> None:
        """Apply a durable signal, once."""
        if self.writer.knows(sequence):  # sent twice: it happened once
            return
        effect = absorb(signal, project, tree)
        for memory in effect.memories:
            self.hot.upsert(memory)
        self.writer.add(Write(sequence, effect.memories, (signal_row(signal, record.data, project, effect),)))
        self.answers.wish(project, tree, effect.prefetch)
        if isinstance(signal, SessionEnded) and signal.session:
            self.conversations.wish_end(signal.session)
        self.learning.happened(signal, effect, project, tree)
        self.events.tell("signal", project=project.id, signal=record.data)
