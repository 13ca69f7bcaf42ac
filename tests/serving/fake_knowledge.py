"""Documents, facts and contradictions as the doors see them, kept in dictionaries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Memory
from hunchd.protocol.answers import page_json
from hunchd.protocol.documents import DocumentDraft, DocumentsRequest, document_json
from hunchd.protocol.requests import ConflictsRequest, FactRequest, Resolution, ShareRequest

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
        return page_json((document_json(page, content=False) for page in found), next_cursor=None, total=len(found))

    async def forget(self, path: str) -> None:
        await self.get(path)
        del self.pages[path]


class FakeKnowledge:
    def __init__(self, known: dict[str, Memory]) -> None:
        self.known = known
        self.documents = FakeDocuments()
        self.asked: list[Any] = []
        self.resolutions: dict[str, Resolution] = {}

    async def fact(self, request: FactRequest) -> dict[str, Any]:
        self.asked.append(request)
        return {"fact": None, "changes": [], "rejected": []}

    async def as_of(self, identifier: str, moment: datetime) -> Memory:
        self.asked.append(moment)
        return await self.undo(identifier)

    async def undo(self, identifier: str) -> Memory:
        if identifier not in self.known:
            raise NotFound(f"there is no memory {identifier!a}")
        return self.known[identifier]

    async def conflicts(self, request: ConflictsRequest) -> dict[str, Any]:
        self.asked.append(request)
        return page_json([], next_cursor=None, total=0)

    async def resolve(self, identifier: str, asked: Resolution) -> dict[str, Any]:
        self.resolutions[identifier] = asked
        return {"id": identifier, "resolution": asked.resolution}

    async def share(self, request: ShareRequest) -> dict[str, Any]:
        self.asked.append(request)
        return {"files": [], "refused": [{"name": name, "reason": "it is yours"} for name in request.names]}

    async def unresolve(self, identifier: str) -> dict[str, Any]:
        if identifier not in self.resolutions:
            raise NotFound(f"there is no contradiction {identifier!a}")
        del self.resolutions[identifier]
        return {"id": identifier}
