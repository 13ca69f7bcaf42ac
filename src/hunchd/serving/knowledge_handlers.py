"""HTTP handlers for documents, facts, contradictions, sharing and undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hunchd.domain.errors import NotFound
from hunchd.protocol.decoding import reject_unstorable
from hunchd.protocol.documents import (
    document_answer,
    normalize_lookup_path,
    parse_document_body,
    parse_documents_query,
)
from hunchd.protocol.memories import memory_to_record
from hunchd.protocol.requests import (
    parse_as_of_query,
    parse_contradiction_body,
    parse_contradictions_query,
    parse_fact_query,
    parse_resolution_body,
    parse_share_body,
    parse_similar_query,
)
from hunchd.protocol.responses import ForgottenAnswer
from hunchd.serving.responses import json_response

if TYPE_CHECKING:
    from hunchd.features.contradictions.contradiction_service import ContradictionService
    from hunchd.features.knowledge.knowledge_service import KnowledgeService

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class KnowledgeHandlers:
    """Handlers for knowledge, one method per route.

    `body` reads the JSON body of a request within the limits.
    """

    def __init__(
        self,
        knowledge: KnowledgeService,
        contradictions: ContradictionService,
        body: Callable[[web.Request], Awaitable[Any]],
    ) -> None:
        self._knowledge = knowledge
        self._contradictions = contradictions
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/facts", self.get_fact),
            ("POST", "/memories/{id}/undo", self.undo_change),
            ("GET", "/memories/{id}/near", self.list_similar),
            ("GET", "/documents", self.list_documents),
            ("PUT", "/documents/{path:.+}", self.put_document),
            ("GET", "/documents/{path:.+}", self.get_document),
            ("DELETE", "/documents/{path:.+}", self.forget_document),
            ("GET", "/contradictions", self.list_contradictions),
            ("POST", "/contradictions", self.report_contradiction),
            ("POST", "/contradictions/{id}/resolve", self.resolve_contradiction),
            ("POST", "/contradictions/{id}/undo", self.reopen_contradiction),
            ("POST", "/share", self.render_shared_files),
        ]

    async def get_fact(self, request: web.Request) -> web.Response:
        return json_response(await self._knowledge.get_fact(parse_fact_query(_get_query(request))))

    async def undo_change(self, request: web.Request) -> web.Response:
        return json_response(memory_to_record(await self._knowledge.undo(_get_identifier(request))))

    async def list_documents(self, request: web.Request) -> web.Response:
        return json_response(await self._knowledge.documents.list(parse_documents_query(_get_query(request))))

    async def put_document(self, request: web.Request) -> web.Response:
        draft = parse_document_body(_get_path(request), await self._body(request))
        return json_response(document_answer(await self._knowledge.documents.put(draft)))

    async def get_document(self, request: web.Request) -> web.Response:
        moment = parse_as_of_query(_get_query(request))
        return json_response(
            document_answer(await self._knowledge.documents.get(normalize_lookup_path(_get_path(request)), moment))
        )

    async def forget_document(self, request: web.Request) -> web.Response:
        path = normalize_lookup_path(_get_path(request))
        await self._knowledge.documents.forget(path)
        return json_response(ForgottenAnswer(forgotten=path))

    async def list_contradictions(self, request: web.Request) -> web.Response:
        return json_response(await self._contradictions.list(parse_contradictions_query(_get_query(request))))

    async def list_similar(self, request: web.Request) -> web.Response:
        return json_response(
            await self._contradictions.find_similar(_get_identifier(request), parse_similar_query(_get_query(request)))
        )

    async def report_contradiction(self, request: web.Request) -> web.Response:
        contradiction, is_new = await self._contradictions.open(parse_contradiction_body(await self._body(request)))
        return json_response(contradiction, status=201 if is_new else 200)

    async def resolve_contradiction(self, request: web.Request) -> web.Response:
        resolution = parse_resolution_body(await self._body(request))
        return json_response(await self._contradictions.resolve(_get_identifier(request), resolution))

    async def reopen_contradiction(self, request: web.Request) -> web.Response:
        return json_response(await self._contradictions.unresolve(_get_identifier(request)))

    async def render_shared_files(self, request: web.Request) -> web.Response:
        return json_response(await self._knowledge.build_shared_files(parse_share_body(await self._body(request))))


def _get_query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _get_path(request: web.Request) -> str:
    path = request.match_info["path"]
    reject_unstorable(path, "path")
    return path


def _get_identifier(request: web.Request) -> str:
    identifier = request.match_info["id"]
    reject_unstorable(identifier, "id")
    if len(identifier) > 200:
        raise NotFound("not found: the id is too long to be valid")
    return identifier
