"""Intake of signals: parsed, redacted, made durable, and applied."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.signal import Signal
from hunchd.engine.keeping.writing import Write, Writer
from hunchd.engine.learning.projects import Projects
from hunchd.engine.state.absorbing import absorb, cleaned, event_id, signal_row, without_secrets_in
from hunchd.engine.state.activity import ActivityClock
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import AppliedSignal, Features
from hunchd.engine.state.project import Project, Tree
from hunchd.protocol.answers import rejection_json
from hunchd.protocol.messages import parse_signal, signal_json
from hunchd.protocol.paths import relative_path
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Record

UNDERSTOOD_AT_ONCE: Final = 50  # signals parsed before yielding to other requests: about 5 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalIntake:
    """Service that accepts signals of clients and watchers."""

    projects: Projects
    hot: HotTier
    writer: Writer
    features: Features
    events: Events
    activity: ActivityClock
    now: Callable[[], datetime]

    async def accept(self, raw: Sequence[Any]) -> dict[str, Any]:
        """Accept valid signals and report invalid ones; return when they are durable."""
        self.activity.touch()
        accepted: list[tuple[Signal, Project, Tree]] = []
        rejected = []
        for index, one in enumerate(raw):
            if index % UNDERSTOOD_AT_ONCE == UNDERSTOOD_AT_ONCE - 1:
                await asyncio.sleep(0)
            try:
                accepted.append(self._parse(one, f"signals[{index}]."))
            except HunchError as error:
                rejected.append(rejection_json(index, error))
        await self._persist(accepted)
        return {"accepted": len(accepted), "rejected": rejected}

    def _parse(self, raw: Any, where: str) -> tuple[Signal, Project, Tree]:
        signal = parse_signal(
            without_secrets_in(raw), now=self.now(), place=self._relative_path, known=self.projects.find, where=where
        )
        project, tree = self.projects.find(signal.project)
        known = event_id(signal) if signal.source == "hook" else signal.id
        return replace(signal, id=known or signal.id or secrets.token_hex(8)), project, tree

    def _relative_path(self, raw: str, project: str, /, *, field: str) -> str:
        return relative_path(raw, self.projects.find(project)[1].root, field=field)

    async def accept_observed(self, signals: Sequence[Signal]) -> None:
        """Accept signals of the watchers, on a par with those of clients."""
        located = []
        for signal in signals:
            try:
                project, tree = self.projects.find(signal.project)
            except NotFound:  # removed a moment ago
                continue
            if tree.look():
                project.touch()
                self.features.on_head_moved(project)
            located.append((replace(cleaned(signal), id=event_id(signal) or secrets.token_hex(8)), project, tree))
        await self._persist(located)

    async def _persist(self, located: Sequence[tuple[Signal, Project, Tree]]) -> None:
        accepted = [one for one in located if self.projects.known(one[1].id) is not None]  # removed a moment ago
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
                    self.features.before_signal(signal, project, tree)
                self.apply(sequence, record, signal, project, tree)

        await self.writer.accept(records, queue)

    def apply(self, sequence: int, record: Record, signal: Signal, project: Project, tree: Tree) -> None:
        """Apply a durable signal, once."""
        if self.writer.knows(sequence):  # duplicates count once
            return
        effect = absorb(signal, project, tree)
        for memory in effect.memories:
            self.hot.upsert(memory)
        self.writer.add(Write(sequence, effect.memories, (signal_row(signal, record.data, project, effect),)))
        self.features.on_signal(AppliedSignal(signal, effect, project, tree))
        self.events.tell("signal", project=project.id, signal=record.data)
