"""Fake engine that stores its input in memory and answers in the contract's shapes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fake_conversations import FakeConversations
from fake_knowledge import FakeKnowledge
from fake_runs import FakeRuns
from fake_team import FakeTeam
from msgspec.structs import asdict

from hunchd.domain.context import Bundle, ContextItem
from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.facts import ClaimOutcome
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Memory, Trust
from hunchd.protocol.exports import ExportLine, ImportCounts, ImportLine, build_export_line
from hunchd.protocol.knowledge_answers import FeedbackAnswer, IdsAnswer, MemoryUsageAnswer, UnderstoodAnswer
from hunchd.protocol.memories import (
    MemoryDraft,
    MemoryFields,
    MemoryRecord,
    memory_from_json,
    memory_to_json,
    memory_to_record,
)
from hunchd.protocol.predictions import PredictionAnswer
from hunchd.protocol.requests import (
    ContextRequest,
    ExpandRequest,
    FeedbackItem,
    PredictRequest,
    ReviewRequest,
    SearchRequest,
)
from hunchd.protocol.responses import (
    AcceptedAnswer,
    FileAnswer,
    FocusAnswer,
    ForgottenAnswer,
    PageAnswer,
    ProgressAnswer,
    ProjectAnswer,
    ProjectPatternsAnswer,
    RemovedAnswer,
    ReviewAnswer,
    StageAnswer,
    make_rejection,
)
from hunchd.protocol.search_results import ExpandAnswer, SearchAnswer, SearchResult, find_status
from hunchd.protocol.settings_answers import CheckAnswer, ProjectChange, SettingChange, SettingsAnswer
from hunchd.protocol.signals import parse_signal, signal_to_json
from hunchd.protocol.status_answers import ProjectStatusAnswer, QueuesAnswer, ResourcesAnswer, StatusAnswer, StoreAnswer

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def make_project(identifier: str, path: str) -> ProjectAnswer:
    stage = StageAnswer(done=0, total=0)
    return ProjectAnswer(
        id=identifier,
        path=path,
        name=path.rpartition("/")[2],
        branch="main",
        state="ready",
        progress=ProgressAnswer(commits=stage, files=stage, embeddings=stage, patterns=stage),
        worktrees=[],
        patterns=ProjectPatternsAnswer(known=0, state="ready"),
    )


class FakeEngine:
    def __init__(self) -> None:
        self.signals: list[dict[str, Any]] = []
        self.known: dict[str, Memory] = {}
        self.project_ids: dict[str, str] = {}
        self.asked: list[Any] = []
        self.trouble: Exception | None = None  # raised by every call
        self.listening: set[asyncio.Queue[dict[str, Any]]] = set()
        self.prefetched = False
        self.conversations = FakeConversations()
        self.knowledge = FakeKnowledge(self.known)
        self.contradictions = self.knowledge.contradictions
        self.runs = FakeRuns()
        self.intake = self.transfer = self.events = self  # each a part of the engine
        self.knowledge.edit = self.edit
        self.team = FakeTeam()
        self._ids = itertools.count(1)

    def _work(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    async def add_project(self, path: str) -> ProjectAnswer:
        self._work()
        self.project_ids.setdefault(path, f"p{next(self._ids)}")
        return self._project(path)

    def _project(self, path: str) -> ProjectAnswer:
        return make_project(self.project_ids[path], path)

    async def list_projects(self) -> list[ProjectAnswer]:
        self._work()
        return [self._project(path) for path in self.project_ids]

    async def remove_project(self, identifier: str) -> RemovedAnswer:
        self._work()
        known = next((each for each in await self.list_projects() if each.id == identifier), None)
        if known is None:
            raise NotFound(f"there is no project {identifier!a}")
        del self.project_ids[known.path]
        return RemovedAnswer(removed=identifier)

    async def accept(self, raw: list[Any]) -> AcceptedAnswer:
        self._work()
        accepted, rejected = 0, []
        for index, each in enumerate(raw):
            try:
                signal = signal_to_json(parse_signal(each, now=NOW, prefix=f"signals[{index}]."))
            except HunchError as error:
                rejected.append(make_rejection(index, error))
                continue
            self.signals.append(signal)
            accepted += 1
            for queue in self.listening:
                queue.put_nowait({"type": "signal", "signal": signal})
        return AcceptedAnswer(accepted=accepted, rejected=rejected)

    async def get_context(self, request: ContextRequest) -> Bundle:
        self._work()
        self.asked.append(request)
        text = f"# {request.file}\n" + "".join(f"- line {n}: something that matters · why\n" for n in range(100))
        items = tuple(
            ContextItem(
                id=f"f{n}", kind="file", tier=2, level="summary", tokens=20, score=0.5, reasons=("changed together",),
                source={"path": f"src/{n}.py"}, trust=Trust.PROJECT, text="…",
            )
            for n in range(20)
        )  # fmt: skip
        return Bundle(
            status="ok",
            context=text,
            token_count=min(request.budget, 1000),
            budget=request.budget,
            tiers={2: 400},
            items=items,
            prefetched=self.prefetched,
            etag=f"e{request.file}-{request.budget}".encode().hex(),
        )

    def get_focus(self, project: str) -> FocusAnswer:
        self._work()
        return FocusAnswer(branch="main", open_files=[], opened=[], ready_files=[])

    async def find_file(self, project: str, path: str) -> FileAnswer:
        self._work()
        return FileAnswer(path=path, exists=True, similar=[])

    def describe_settings(self) -> SettingsAnswer:
        return SettingsAnswer(file="/config.toml", problem="", items=[])

    def change_setting(self, change: SettingChange) -> SettingsAnswer:
        self._work()
        return self.describe_settings()

    def change_project(self, identifier: str, change: ProjectChange) -> ProjectAnswer:
        self._work()
        raise NotFound(f"there is no project {identifier!a}")

    async def run_doctor(self, *, fix: bool) -> list[CheckAnswer]:
        self._work()
        return []

    async def predict(self, request: PredictRequest) -> PredictionAnswer:
        self._work()
        self.asked.append(request)
        return PredictionAnswer(predicted_files=[], predicted_memories=[], predicted_commands=[], confidence=0.0)

    async def review(self, request: ReviewRequest) -> ReviewAnswer:
        self._work()
        self.asked.append(request)
        return ReviewAnswer(missing=[], changed=[])

    async def search(self, request: SearchRequest) -> SearchAnswer:
        self._work()
        self.asked.append(request)
        found = [each for each in self.known.values() if request.query in each.content]
        results = [
            SearchResult(
                id=each.id, ref=each.ref, kind=each.kind, title=each.title, snippet=each.content[:200],
                score=1.0, reasons=["says so"], source=dict(each.source),
            )
            for each in found[: request.k]
        ]  # fmt: skip
        return SearchAnswer(results=results, status=find_status(results, ()), degraded=[], took_ms=0.1)

    async def expand(self, request: ExpandRequest) -> ExpandAnswer:
        self._work()
        if request.id is None:
            return ExpandAnswer(topic=request.topic, level=request.level, text="")
        memory = await self.get_memory(request.id)
        return ExpandAnswer(id=request.id, level=request.level, text=memory.content)

    async def store_drafts(self, drafts: list[MemoryDraft]) -> IdsAnswer:
        self._work()
        ids = [self._kept(draft).id for draft in drafts]
        return IdsAnswer(ids=ids, understood=[UnderstoodAnswer(id=each, verdict=ClaimOutcome.NEW) for each in ids])

    def _kept(self, draft: MemoryDraft) -> Memory:
        known = next((each for each in self.known.values() if draft.ref and each.ref == draft.ref), None)
        fields = {name: getattr(draft, name) for name in draft.__slots__ if name not in ("at", "number")}
        identifier = known.id if known else f"m{next(self._ids)}"
        memory = Memory(id=identifier, at=draft.at or NOW, created=NOW, updated=NOW, **fields)
        self.known[identifier] = memory
        return memory

    async def list_memories(self, filters: Filters, limit: int, cursor: str | None) -> PageAnswer[MemoryRecord]:
        self._work()
        begin = int(cursor) if cursor and cursor.isdigit() else 0
        found = [memory_to_record(each) for each in self.known.values() if matches(each, filters)]
        following = str(begin + limit) if begin + limit < len(found) else None
        return PageAnswer(items=found[begin : begin + limit], next=following, total=len(found))

    async def get_memory(self, identifier: str) -> Memory:
        self._work()
        if identifier not in self.known:
            raise NotFound(f"there is no memory {identifier!a}")
        return self.known[identifier]

    async def edit(self, identifier: str, patch: MemoryFields) -> Memory:
        self.known[identifier] = replace(await self.get_memory(identifier), **patch)
        return self.known[identifier]

    async def forget(self, identifiers: Sequence[str]) -> list[ForgottenAnswer]:
        known_ids = [one for one in identifiers if one in self.known] or [(await self.get_memory(identifiers[0])).id]
        for one in known_ids:
            del self.known[one]
        return [ForgottenAnswer(forgotten=one) for one in known_ids]

    async def get_memory_history(self, identifier: str) -> list[Memory]:
        return [await self.get_memory(identifier)]

    async def get_memory_usage(self, identifier: str) -> MemoryUsageAnswer:
        usage = memory_to_record(await self.get_memory(identifier)).usage
        return MemoryUsageAnswer(usage=usage, events=[], changes=[])

    def require_project(self, project: str) -> None:
        pass

    async def record_feedback(self, items: list[FeedbackItem]) -> FeedbackAnswer:
        self._work()
        return FeedbackAnswer(accepted=len(items), unknown=[])

    async def export(self, project: str | None) -> AsyncIterator[ExportLine]:
        self._work()
        for memory in self.known.values():
            yield build_export_line("memory", memory_to_json(memory))

    async def import_lines(self, lines: AsyncIterator[ImportLine]) -> ImportCounts:
        self._work()
        memories = 0
        async for line in lines:
            if line.type == "memory":
                memory = memory_from_json(line.data)
                self.known[memory.id] = memory
                memories += 1
        return ImportCounts(projects=0, memories=memories, signals=0, known=0, skipped=0, rejected=[])

    async def status(self) -> StatusAnswer:
        self._work()
        return StatusAnswer(
            status="ok",
            degraded=[],
            projects=[ProjectStatusAnswer(**asdict(each)) for each in await self.list_projects()],
            queues=QueuesAnswer(journal=0, writer=0, embedding=0),
            store=StoreAnswer(bytes=0, running=False),
            resources=ResourcesAnswer(
                pid=1, memory_bytes=0, front_memory_bytes=0, cpu_seconds=0, threads=1, processes=1
            ),
            tasks=[],
            uptime_seconds=0,
        )

    async def metrics(self) -> str:
        self._work()
        return "hunchd_memories 0\n"

    async def subscribe(self) -> AsyncIterator[dict[str, Any]]:
        self._work()
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.listening.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self.listening.discard(queue)
