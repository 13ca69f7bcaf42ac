"""POST /mcp: the Model Context Protocol over streamable HTTP.

Supports both eras of the protocol, without sessions. The server's own checks (Host, Origin, token) come first, as for
every route. `protocol/mcp` implements the protocol; this module handles its headers and statuses, and calls the
engine.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import web
from multidict import CIMultiDictProxy

from hunchd.domain.errors import HunchError, NotFound
from hunchd.protocol.answers import bundle_json, page_json
from hunchd.protocol.decoding import Malformed
from hunchd.protocol.documents import document_json, document_path, documents_of_query
from hunchd.protocol.mcp import wire
from hunchd.protocol.mcp.asking import Answer, Ask, Conversation, Pause, Trouble
from hunchd.protocol.mcp.focus import Focus
from hunchd.protocol.memories import drafts_of_body
from hunchd.protocol.requests import (
    context_of_body,
    expand_of_body,
    feedback_of_body,
    near_of_query,
    oppose_of_body,
    predict_of_body,
    project_of_body,
    review_of_body,
    search_of_body,
)
from hunchd.repository.layout import find
from hunchd.serving.answering import json_answer, status_of
from hunchd.serving.asking import Asked
from hunchd.serving.bodies import json_body
from hunchd.serving.limits import Limits

_VERSION: Final = "MCP-Protocol-Version"
_METHOD: Final = "Mcp-Method"
_NAME: Final = "Mcp-Name"
# Parameter that a request of this method repeats in the header Mcp-Name.
_NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NEAR: Final = re.compile(r"/memories/(?P<id>[^/]+)/near")
# In the stateless era an error caused by the request has an HTTP status too.
_STATUSES: Final = {
    wire.METHOD_NOT_FOUND: 404,
    wire.PARSE_ERROR: 400,
    wire.INVALID_REQUEST: 400,
    wire.INVALID_PARAMS: 400,
    wire.HEADER_MISMATCH: 400,
    wire.UNSUPPORTED_VERSION: 400,
}


class Mcp:
    """Handler for all agents; each of their requests is self-contained."""

    def __init__(self, engine: Asked, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        self._focus = Focus(None, _root_of)

    async def serve(self, request: web.Request) -> web.Response:
        if not _takes_json(request.headers.get("Accept")):
            return web.Response(status=406)
        try:
            message = await json_body(request, self._limits)
        except Malformed as error:
            return _refused(None, wire.Refusal(wire.PARSE_ERROR, error.message))
        version = request.headers.get(_VERSION)
        if wire.is_notification(message):
            if version is None or version in (*wire.HANDSHAKE, *wire.STATELESS):
                return web.Response(status=202)
            return _refused(None, wire.unsupported(version))
        stateless = (version is not None and version not in wire.HANDSHAKE) or (
            isinstance(message, dict) and wire.is_stateless(message)
        )
        if not wire.is_request(message):
            if not stateless and isinstance(message, dict) and ("result" in message or "error" in message):
                return web.Response(status=202)  # a response, although no request was sent
            return _refused(None, wire.Refusal(wire.INVALID_REQUEST, "the body must be one JSON-RPC 2.0 message"))
        if stateless:
            try:
                _check_headers(request.headers, message)
            except wire.Refusal as refusal:
                return _refused(message["id"], refusal)
        response = await self._held(wire.answer(message, self._focus, stateless=stateless))
        failed = response.get("error", {}).get("code", 0) if stateless else 0
        return json_answer(response, status=_STATUSES.get(failed, 200))

    async def _held(self, conversation: Conversation[Answer]) -> Answer:
        """Drive the conversation to its result."""
        step: Ask | Pause
        try:
            step = next(conversation)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = conversation.send(None)
                    continue
                try:
                    told = await self._told(step)
                except HunchError as error:
                    trouble = Trouble(error.message, hint=error.hint, status=status_of(error))
                    step = conversation.throw(trouble)
                else:
                    step = conversation.send(told)
        except StopIteration as done:
            outcome: Answer = done.value
            return outcome

    async def _told(self, ask: Ask) -> Any:
        """Carry out a request with the engine.

        The result equals that of the HTTP route.
        """
        engine, body = self._engine, ask.body
        path, _, query = ask.path.partition("?")
        match path:
            case "/projects" if body is None:
                projects = await engine.projects()
                return page_json(projects, next_cursor=None, total=len(projects))
            case "/projects":
                return await engine.add_project(project_of_body(body))
            case "/context/assemble":
                return bundle_json(await engine.context(context_of_body(body)))
            case "/context/predict":
                return await engine.predict(predict_of_body(body))
            case "/context/review":
                return await engine.review(review_of_body(body))
            case "/search":
                return await engine.search(search_of_body(body))
            case "/expand":
                return await engine.expand(expand_of_body(body))
            case "/memories":
                return await engine.file(drafts_of_body(body)[0])
            case "/contradictions":
                return (await engine.contradictions.open(oppose_of_body(body)))[0]
            case _ if (near := _NEAR.fullmatch(path)) is not None:
                return await engine.contradictions.near(near["id"], near_of_query(query))
            case "/feedback":
                return await engine.feedback(feedback_of_body(body)[0])
            case "/documents":
                return await engine.knowledge.documents.list(documents_of_query(query))
            case _ if path.startswith("/documents/"):
                named = document_path(unquote(path.removeprefix("/documents/")))
                return document_json(await engine.knowledge.documents.get(named))
            case _:
                raise NotFound(f"unknown path {ask.path}")


def _check_headers(headers: CIMultiDictProxy[str], message: Mapping[str, Any]) -> None:
    """Raise Refusal if the headers, which proxies use for routing, contradict the body."""
    params = message.get("params", {})
    version = wire.version_of(params)
    expected = {_VERSION: version, _METHOD: message["method"]}
    named = _NAMES.get(message["method"])
    if named is not None and isinstance(params.get(named), str):
        expected[_NAME] = params[named]
    for name, value in expected.items():
        given = headers.getall(name, [])
        if len(given) != 1:
            raise wire.Refusal(wire.HEADER_MISMATCH, f"the header {name} must be present exactly once")
        if given[0] != value and (name != _NAME or _decoded(given[0]) != value):
            raise wire.Refusal(wire.HEADER_MISMATCH, f"the header {name} does not match the body")


def _decoded(header: str) -> str | None:
    """Decode a header value of the form =?base64?…?=.

    Returns None if it is invalid.
    """
    if not (header.startswith("=?base64?") and header.endswith("?=")):
        return None
    try:
        return base64.b64decode(header[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _takes_json(accept: str | None) -> bool:
    if accept is None:
        return True
    media = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return not media.isdisjoint(("application/json", "application/*", "*/*"))


def _refused(identifier: Any, refusal: wire.Refusal) -> web.Response:
    return json_answer(wire.error(identifier, refusal), status=_STATUSES.get(refusal.code, 200))


def _root_of(path: str) -> str | None:
    layout = find(Path(path))
    return str(layout.root) if layout is not None and not layout.trouble else None
