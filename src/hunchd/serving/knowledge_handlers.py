"""HTTP handlers for documents, facts, contradictions, sharing and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from hunchd.protocol.documents import (
    DocumentAnswer,
    DocumentDraft,
    DocumentsRequest,
    NewDocument,
    document_answer,
    normalize_document_path,
    normalize_lookup_path,
)
from hunchd.protocol.knowledge_answers import ContradictionAnswer, FactAnswer, NearMemoriesAnswer, SharedFilesAnswer
from hunchd.protocol.memories import MemoryRecord, memory_to_record
from hunchd.protocol.requests import (
    AsOfQuery,
    ContradictionReport,
    ContradictionsRequest,
    FactRequest,
    NearQuery,
    ResolutionRequest,
    ShareRequest,
)
from hunchd.protocol.responses import ForgottenAnswer, PageAnswer
from hunchd.serving.responses import json_response
from hunchd.serving.routes import JSON, route

if TYPE_CHECKING:
    from hunchd.features.contradictions.contradiction_service import ContradictionService
    from hunchd.features.knowledge.knowledge_service import KnowledgeService


class KnowledgeHandlers:
    """Handlers for documents, facts, contradictions, sharing and undo, one method per route."""

    def __init__(self, knowledge: KnowledgeService, contradictions: ContradictionService) -> None:
        self._knowledge = knowledge
        self._contradictions = contradictions

    @route("GET /facts", "fact", errors=(404,))
    async def get_fact(self, query: FactRequest) -> FactAnswer:
        """Look up a fact by its exact key.

        The response contains the value of the fact, the time since which it has been valid, and its earlier values.
        """
        return await self._knowledge.get_fact(query)

    @route("POST /memories/{id}/undo", "undoMemory", errors=(404, 409, 507))
    async def undo_change(self, id: str) -> MemoryRecord:
        """Undo the last change to a memory or document, or the resolution of a contradiction."""
        return memory_to_record(await self._knowledge.undo(id))

    @route("GET /documents", "listDocuments")
    async def list_documents(self, query: DocumentsRequest) -> PageAnswer[DocumentAnswer]:
        """List the documents whose path starts with a prefix, without their texts."""
        return await self._knowledge.documents.list(query)

    @route("PUT /documents/{path:.+}", "putDocument", errors=(409, 507))
    async def put_document(self, path: str, body: NewDocument) -> DocumentAnswer:
        """Store a text under a path; the previous text stays in the history."""
        draft = DocumentDraft(
            path=normalize_document_path(path), content=body.content, tags=body.tags, metadata=body.metadata
        )
        return document_answer(await self._knowledge.documents.put(draft))

    @route("GET /documents/{path:.+}", "document", errors=(404,))
    async def get_document(self, query: AsOfQuery, path: str) -> DocumentAnswer:
        """Return a document as it is now, or as it was in the past."""
        return document_answer(await self._knowledge.documents.get(normalize_lookup_path(path), query.as_of))

    @route("DELETE /documents/{path:.+}", "forgetDocument", errors=(404, 507))
    async def forget_document(self, path: str) -> ForgottenAnswer:
        """Erase a document and its history."""
        path = normalize_lookup_path(path)
        await self._knowledge.documents.forget(path)
        return ForgottenAnswer(forgotten=path)

    @route("GET /contradictions", "listContradictions", errors=(404,))
    async def list_contradictions(self, query: ContradictionsRequest) -> PageAnswer[ContradictionAnswer]:
        """List memories that contradict each other."""
        return await self._contradictions.list(query)

    @route(
        "POST /contradictions",
        "openContradiction",
        status=201,
        answers={JSON: ContradictionAnswer},
        errors=(404, 409, 507),
    )
    async def report_contradiction(self, body: ContradictionReport) -> web.Response:
        """Report that two memories contradict each other.

        Returns 200 if this contradiction is already known or was resolved before.
        """
        contradiction, is_new = await self._contradictions.open(body)
        return json_response(contradiction, status=201 if is_new else 200)

    @route("GET /memories/{id}/near", "nearMemories", errors=(404,))
    async def list_similar(self, id: str, query: NearQuery) -> NearMemoriesAnswer:
        """List statements on the same subject.

        The caller can then judge whether all of them can be true.
        """
        return await self._contradictions.find_similar(id, query.limit)

    @route("POST /contradictions/{id}/resolve", "resolveContradiction", errors=(404, 409, 507))
    async def resolve_contradiction(self, id: str, body: ResolutionRequest) -> ContradictionAnswer:
        """Resolve a contradiction in favour of one memory, both, or a merged value."""
        return await self._contradictions.resolve(id, body)

    @route("POST /share", "share", errors=(404,))
    async def render_shared_files(self, body: ShareRequest) -> SharedFilesAnswer:
        """Render memories as text files for the repository.

        The client has to write the files.
        """
        return await self._knowledge.build_shared_files(body)

    @route("POST /contradictions/{id}/undo", "unresolveContradiction", errors=(404, 409, 507))
    async def reopen_contradiction(self, id: str) -> ContradictionAnswer:
        """Undo the resolution of a contradiction."""
        return await self._contradictions.unresolve(id)
