"""Fakes of the ports for documents, facts and contradictions, in dictionaries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Memory
from hunchd.protocol.documents import DocumentDraft, DocumentsRequest, document_to_json
from hunchd.protocol.memories import memory_to_json
from hunchd.protocol.requests import (
    ContradictionReport,
    ContradictionsRequest,
    FactRequest,
    ResolutionRequest,
    ShareRequest,
)
from hunchd.protocol.responses import page_to_json

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

    async def list(self, request: DocumentsRequest) -> dict[str, Any]:
        found = [page for path, page in sorted(self.pages.items()) if path.startswith(request.prefix)]
        return page_to_json(
            (document_to_json(page, content=False) for page in found), next_cursor=None, total=len(found)
        )

    async def forget(self, path: str) -> None:
        await self.get(path)
        del self.pages[path]


class FakeContradictions:
    def __init__(self, known: dict[str, Memory], asked: list[Any]) -> None:
        self.known = known
        self.asked = asked
        self.opened: dict[str, dict[str, Any]] = {}
        self.resolutions: dict[str, ResolutionRequest] = {}

    async def find_similar(self, identifier: str, most: int) -> dict[str, Any]:
        if identifier not in self.known:
            raise NotFound(f"there is no memory {identifier!a}")
        others = [memory_to_json(memory) for name, memory in self.known.items() if name != identifier]
        return {"items": others[:most], "degraded": []}

    async def open(self, asked: ContradictionReport) -> tuple[dict[str, Any], bool]:
        name = f"x{asked.a}{asked.b}"
        is_new = name not in self.opened
        sides = {
            side: memory_to_json(self.known[getattr(asked, side)])
            for side in "ab"
            if getattr(asked, side) in self.known
        }
        self.opened[name] = {"id": name, "status": "open", "reason": asked.note, **sides}
        return self.opened[name], is_new

    async def list(self, request: ContradictionsRequest) -> dict[str, Any]:
        self.asked.append(request)
        return page_to_json([], next_cursor=None, total=0)

    async def resolve(self, identifier: str, asked: ResolutionRequest) -> dict[str, Any]:
        self.resolutions[identifier] = asked
        return {"id": identifier, "resolution": asked.resolution}

    async def unresolve(self, identifier: str) -> dict[str, Any]:
        if identifier not in self.resolutions:
            raise NotFound(f"there is no contradiction {identifier!a}")
        del self.resolutions[identifier]
        return {"id": identifier}


class FakeKnowledge:
    def __init__(self, known: dict[str, Memory]) -> None:
        self.known = known
        self.documents = FakeDocuments()
        self.asked: list[Any] = []
        self.contradictions = FakeContradictions(known, self.asked)

    async def get_fact(self, request: FactRequest) -> dict[str, Any]:
        self.asked.append(request)
        return {"fact": None, "changes": [], "rejected": []}

    async def get_memory_as_of(self, identifier: str, moment: datetime) -> Memory:
        self.asked.append(moment)
        return await self.undo(identifier)

    async def undo(self, identifier: str) -> Memory:
        if identifier not in self.known:
            raise NotFound(f"there is no memory {identifier!a}")
        return self.known[identifier]

    async def build_shared_files(self, request: ShareRequest) -> dict[str, Any]:
        self.asked.append(request)
        return {"files": [], "refused": [{"name": name, "reason": "it is yours"} for name in request.names]}
