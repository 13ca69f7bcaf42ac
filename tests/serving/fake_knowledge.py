"""Fakes of the ports for documents, facts and contradictions, in dictionaries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Memory
from hunchd.protocol.documents import DocumentAnswer, DocumentDraft, DocumentsRequest, document_answer
from hunchd.protocol.knowledge_answers import (
    ContradictionAnswer,
    FactAnswer,
    NearMemoriesAnswer,
    RefusedName,
    SharedFilesAnswer,
)
from hunchd.protocol.memories import memory_to_record
from hunchd.protocol.requests import (
    ContradictionReport,
    ContradictionsRequest,
    FactRequest,
    ResolutionRequest,
    ShareRequest,
)
from hunchd.protocol.responses import PageAnswer

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


class FakeDocuments:
    def __init__(self) -> None:
        self.pages: dict[str, Memory] = {}

    async def put(self, draft: DocumentDraft) -> Memory:
        page = Memory(
            id=f"d{draft.path}", kind=Kind.DOCUMENT, title=draft.path, content=draft.content, at=NOW, created=NOW,
            updated=NOW, key=draft.path, tags=draft.tags, source={"metadata": dict(draft.metadata)},
        )  # fmt: skip
        self.pages[draft.path] = page
        return page

    async def get(self, path: str, moment: datetime | None = None) -> Memory:
        if path not in self.pages or (moment is not None and moment < NOW):
            raise NotFound(f"there is no document {path}")
        return self.pages[path]

    async def list(self, request: DocumentsRequest) -> PageAnswer[DocumentAnswer]:
        found = [page for path, page in sorted(self.pages.items()) if path.startswith(request.prefix)]
        items = [document_answer(page, content=False) for page in found]
        return PageAnswer(items=items, next=None, total=len(found))

    async def forget(self, path: str) -> None:
        await self.get(path)
        del self.pages[path]


class FakeContradictions:
    def __init__(self, known: dict[str, Memory], asked: list[Any]) -> None:
        self.known = known
        self.asked = asked
        self.opened: dict[str, ContradictionAnswer] = {}
        self.resolutions: dict[str, ResolutionRequest] = {}

    async def find_similar(self, identifier: str, most: int) -> NearMemoriesAnswer:
        if identifier not in self.known:
            raise NotFound(f"there is no memory {identifier!a}")
        others = [memory_to_record(memory) for name, memory in self.known.items() if name != identifier]
        return NearMemoriesAnswer(items=others[:most], degraded=[])

    async def open(self, asked: ContradictionReport) -> tuple[ContradictionAnswer, bool]:
        name = f"x{asked.a}{asked.b}"
        is_new = name not in self.opened
        self.opened[name] = self._answer(name, asked.a, asked.b, asked.note)
        return self.opened[name], is_new

    def _answer(self, name: str, a: str = "", b: str = "", reason: str = "") -> ContradictionAnswer:
        unknown = Memory(id="?", kind=Kind.FACT, title="", content="", at=NOW, created=NOW, updated=NOW)
        a_record, b_record = (memory_to_record(self.known.get(side, unknown)) for side in (a, b))
        return ContradictionAnswer(
            id=name, status="open", a=a_record, b=b_record, reason=reason, confidence=0.9, detected_at="", project=None
        )

    async def list(self, request: ContradictionsRequest) -> PageAnswer[ContradictionAnswer]:
        self.asked.append(request)
        return PageAnswer(items=[], next=None, total=0)

    async def resolve(self, identifier: str, asked: ResolutionRequest) -> ContradictionAnswer:
        self.resolutions[identifier] = asked
        return replace(self._answer(identifier), resolution=asked.resolution)

    async def unresolve(self, identifier: str) -> ContradictionAnswer:
        if identifier not in self.resolutions:
            raise NotFound(f"there is no contradiction {identifier!a}")
        del self.resolutions[identifier]
        return self._answer(identifier)


class FakeKnowledge:
    def __init__(self, known: dict[str, Memory]) -> None:
        self.known = known
        self.documents = FakeDocuments()
        self.asked: list[Any] = []
        self.contradictions = FakeContradictions(known, self.asked)

    async def get_fact(self, request: FactRequest) -> FactAnswer:
        self.asked.append(request)
        return FactAnswer(fact=None, changes=[], rejected=[])

    async def get_memory_as_of(self, identifier: str, moment: datetime) -> Memory:
        self.asked.append(moment)
        return await self.undo(identifier)

    async def undo(self, identifier: str) -> Memory:
        if identifier not in self.known:
            raise NotFound(f"there is no memory {identifier!a}")
        return self.known[identifier]

    async def build_shared_files(self, request: ShareRequest) -> SharedFilesAnswer:
        self.asked.append(request)
        return SharedFilesAnswer(
            files=[], refused=[RefusedName(name=name, reason="it is yours") for name in request.names]
        )
