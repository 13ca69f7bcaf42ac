"""Intake of signals: they are parsed, redacted, made durable and applied."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.core.memory.store_writer import PendingWrite, StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.activity import ActivityClock
from hunchd.core.state.apply_signal import (
    apply_signal,
    build_signal_row,
    derive_event_id,
    redact_raw_signal,
    redact_signal,
)
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import AppliedSignal, Features
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.errors import Conflict, HunchError, NotFound
from hunchd.domain.signal import Signal
from hunchd.protocol.paths import to_relative_path
from hunchd.protocol.responses import AcceptedAnswer, make_rejection
from hunchd.protocol.signals import parse_signal, signal_to_json
from hunchd.store.journal.journal import JournalRecord
from hunchd.store.memory_cache import MemoryCache

PARSE_SLICE: Final = 50  # signals parsed before yielding to other requests: about 5 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalIntake:
    """Service that accepts signals from clients and watchers."""

    projects: OpenProjects
    memory_cache: MemoryCache
    writer: StoreWriter
    features: Features
    events: EventBus
    activity: ActivityClock
    now: Callable[[], datetime]

    async def accept(self, raw: Sequence[Any]) -> AcceptedAnswer:
        """Accept valid signals and report invalid ones.

        Returns once the valid signals are durable.
        """
        self.activity.touch()
        accepted_signals: list[tuple[Signal, Project, WorkingTree]] = []
        rejections = []
        for index, one in enumerate(raw):
            if index % PARSE_SLICE == PARSE_SLICE - 1:
                await asyncio.sleep(0)
            try:
                accepted_signals.append(self._parse(one, f"signals[{index}]."))
            except HunchError as error:
                rejections.append(make_rejection(index, error))
        await self._persist(accepted_signals)
        return AcceptedAnswer(accepted=len(accepted_signals), rejected=rejections)

    def _parse(self, raw: Any, where: str) -> tuple[Signal, Project, WorkingTree]:
        signal = parse_signal(
            redact_raw_signal(raw),
            now=self.now(),
            resolve_path=self._relative_path,
            lookup=self.projects.find,
            prefix=where,
        )
        project, tree = self.projects.find(signal.project)
        if project.is_paused:
            raise Conflict(f"{project.name} is paused", field="project", hint="resume it in the settings of `hunch ui`")
        event_id = derive_event_id(signal) if signal.source == "hook" else signal.id
        return replace(signal, id=event_id or signal.id or secrets.token_hex(8)), project, tree

    def _relative_path(self, raw: str, project: str, /, *, field: str) -> str:
        return to_relative_path(raw, self.projects.find(project)[1].root, field=field)

    async def accept_observed(self, signals: Sequence[Signal]) -> None:
        """Accept signals from watchers and treat them like those from clients."""
        located_signals = []
        for signal in signals:
            try:
                project, tree = self.projects.find(signal.project)
            except NotFound:  # removed a moment ago
                continue
            if tree.refresh_head():
                project.bump_revision()
                self.features.on_head_moved(project)
            located_signals.append(
                (replace(redact_signal(signal), id=derive_event_id(signal) or secrets.token_hex(8)), project, tree)
            )
        await self._persist(located_signals)

    async def _persist(self, located_signals: Sequence[tuple[Signal, Project, WorkingTree]]) -> None:
        accepted_signals = [
            one for one in located_signals if self.projects.find_by_id(one[1].id) is not None
        ]  # removed a moment ago
        if not accepted_signals:
            return
        at = self.now().timestamp()
        records = [
            JournalRecord(id=signal.id, type="signal", project=project.id, data=signal_to_json(signal), at=at)
            for signal, project, _ in accepted_signals
        ]

        def queue(sequences: list[int]) -> None:
            for sequence, record, (signal, project, tree) in zip(sequences, records, accepted_signals, strict=True):
                if not self.writer.is_queued(sequence):
                    self.features.before_signal(signal, project, tree)
                self.apply(sequence, record, signal, project, tree)

        await self.writer.accept(records, queue)

    def apply(self, sequence: int, record: JournalRecord, signal: Signal, project: Project, tree: WorkingTree) -> None:
        """Apply a durable signal unless it has already been applied."""
        if self.writer.is_queued(sequence):  # a duplicate must not count twice
            return
        effect = apply_signal(signal, project, tree)
        for memory in effect.memories:
            self.memory_cache.upsert(memory)
        self.writer.add(
            PendingWrite(sequence, effect.memories, (build_signal_row(signal, record.data, project, effect),))
        )
        self.features.on_signal(AppliedSignal(signal, effect, project, tree))
        self.events.publish("signal", project=project.id, signal=record.data)
