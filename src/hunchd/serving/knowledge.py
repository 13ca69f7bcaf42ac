"""HTTP handlers for knowledge: documents, facts, contradictions, sharing, undone changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from hunchd.domain.errors import NotFound
from hunchd.protocol.decoding import refuse_unstorable
from hunchd.protocol.documents import document_json, document_of_body, documents_of_query, known_path
from hunchd.protocol.memories import memory_json
from hunchd.protocol.requests import (
    as_of_query,
    conflicts_of_query,
    fact_of_query,
    near_of_query,
    oppose_of_body,
    resolution_of_body,
    share_of_body,
)
from hunchd.serving.answering import json_answer
from hunchd.serving.asking import AskedContradictions, AskedKnowledge

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class KnowledgeDoors:
    """Handlers, one method per route.

    `body` reads the JSON of a request within the limits.
    """

    def __init__(
        self,
        knowledge: AskedKnowledge,
        contradictions: AskedContradictions,
        body: Callable[[web.Request], Awaitable[Any]],
    ) -> None:
        self._knowledge = knowledge
        self._contradictions = contradictions
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/facts", self.fact),
            ("POST", "/memories/{id}/undo", self.undo),
            ("GET", "/memories/{id}/near", self.near),
            ("GET", "/documents", self.list_documents),
            ("PUT", "/documents/{path:.+}", self.put_document),
            ("GET", "/documents/{path:.+}", self.document),
            ("DELETE", "/documents/{path:.+}", self.forget_document),
            ("GET", "/contradictions", self.contradictions),
            ("POST", "/contradictions", self.oppose),
            ("POST", "/contradictions/{id}/resolve", self.resolve),
            ("POST", "/contradictions/{id}/undo", self.unresolve),
            ("POST", "/share", self.share),
        ]

    async def fact(self, request: web.Request) -> web.Response:
        return json_answer(await self._knowledge.fact(fact_of_query(_query(request))))

    async def undo(self, request: web.Request) -> web.Response:
        return json_answer(memory_json(await self._knowledge.undo(_identifier(request))))

    async def list_documents(self, request: web.Request) -> web.Response:
        return json_answer(await self._knowledge.documents.list(documents_of_query(_query(request))))

    async def put_document(self, request: web.Request) -> web.Response:
        draft = document_of_body(_path(request), await self._body(request))
        return json_answer(document_json(await self._knowledge.documents.put(draft)))

    async def document(self, request: web.Request) -> web.Response:
        moment = as_of_query(_query(request))
        return json_answer(document_json(await self._knowledge.documents.get(known_path(_path(request)), moment)))

    async def forget_document(self, request: web.Request) -> web.Response:
        path = known_path(_path(request))
        await self._knowledge.documents.forget(path)
        return json_answer({"forgotten": path})

    async def contradictions(self, request: web.Request) -> web.Response:
        return json_answer(await self._contradictions.list(conflicts_of_query(_query(request))))

    async def near(self, request: web.Request) -> web.Response:
        return json_answer(await self._contradictions.near(_identifier(request), near_of_query(_query(request))))

    async def oppose(self, request: web.Request) -> web.Response:
        told, is_new = await self._contradictions.open(oppose_of_body(await self._body(request)))
        return json_answer(told, status=201 if is_new else 200)

    async def resolve(self, request: web.Request) -> web.Response:
        asked = resolution_of_body(await self._body(request))
        return json_answer(await self._contradictions.resolve(_identifier(request), asked))

    async def unresolve(self, request: web.Request) -> web.Response:
        return json_answer(await self._contradictions.unresolve(_identifier(request)))

    async def share(self, request: web.Request) -> web.Response:
        return json_answer(await self._knowledge.share(share_of_body(await self._body(request))))


def _query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _path(request: web.Request) -> str:
    path = request.match_info["path"]
    refuse_unstorable(path, "path")
    return path


def _identifier(request: web.Request) -> str:
    identifier = request.match_info["id"]
    refuse_unstorable(identifier, "id")
    if len(identifier) > 200:
        raise NotFound("no id is that long")
    return identifier
