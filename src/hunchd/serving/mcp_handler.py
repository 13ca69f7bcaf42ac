"""POST /mcp: the Model Context Protocol over streamable HTTP.

Both kinds of protocol versions are supported: those that start with a handshake, and the stateless ones without a
handshake. This server needs no sessions for either. The server's own checks (Host, Origin, token) come first, as for
every route. `protocol/mcp` implements the protocol; this module handles its HTTP headers and statuses, and calls the
engine.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from aiohttp import web
from msgspec import Struct
from multidict import CIMultiDictProxy

from hunchd.domain.errors import NotFound
from hunchd.protocol.decoding import MalformedRequest
from hunchd.protocol.documents import DocumentsRequest, document_answer, normalize_document_path
from hunchd.protocol.mcp import jsonrpc
from hunchd.protocol.mcp.project_resolver import ProjectResolver
from hunchd.protocol.memories import parse_drafts_body
from hunchd.protocol.requests import (
    AssembleRequest,
    ContradictionReport,
    ExpandRequest,
    McpQuery,
    NearQuery,
    NewProject,
    PredictRequest,
    ReviewRequest,
    SearchBody,
    parse_feedback_body,
)
from hunchd.protocol.responses import PageAnswer, bundle_answer, to_json
from hunchd.protocol.struct_decoding import decode, decode_query
from hunchd.repository.layout import find_root
from hunchd.serving.limits import ServerLimits
from hunchd.serving.request_bodies import read_json_body
from hunchd.serving.responses import json_response
from hunchd.serving.routes import ANY_OBJECT, JSON, route

if TYPE_CHECKING:
    from hunchd.engine import Engine

_VERSION_HEADER: Final = "MCP-Protocol-Version"
_METHOD_HEADER: Final = "Mcp-Method"
_NAME_HEADER: Final = "Mcp-Name"
# Parameter that a request of this method repeats in the header Mcp-Name.
_NAME_PARAMETERS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_SIMILAR_PATH: Final = re.compile(r"/memories/(?P<id>[^/]+)/near")
# In the stateless protocol, an error caused by the request has an HTTP status, too.
_STATUSES: Final = {
    jsonrpc.METHOD_NOT_FOUND: 404,
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.HEADER_MISMATCH: 400,
    jsonrpc.UNSUPPORTED_VERSION: 400,
}


class McpHandler:
    """Handler for the MCP requests of all agents.

    It keeps no sessions, because each request is self-contained.
    """

    def __init__(self, engine: Engine, limits: ServerLimits) -> None:
        self._engine = engine
        self._limits = limits

    @route(
        "POST /mcp",
        "mcp",
        body={"type": "object", "description": "one JSON-RPC 2.0 message"},
        answers={JSON: ANY_OBJECT},
        errors=(404,),
    )
    async def serve(self, request: web.Request, query: McpQuery) -> web.Response:
        """Serve the Model Context Protocol over streamable HTTP.

        Versions of the protocol with a handshake and stateless versions are supported; no sessions are used. With
        `folder`, the message comes from `hunch mcp`, where neither headers nor statuses are used.
        """
        if not _accepts_json(request.headers.get("Accept")):
            return web.Response(status=406)
        try:
            message = await read_json_body(request, self._limits)
        except MalformedRequest as error:
            return _error_response(None, jsonrpc.JsonRpcError(jsonrpc.PARSE_ERROR, error.message), query)
        version = request.headers.get(_VERSION_HEADER)
        if jsonrpc.is_notification(message):
            if version is None or version in (*jsonrpc.HANDSHAKE_VERSIONS, *jsonrpc.STATELESS_VERSIONS):
                return web.Response(status=202)
            return _error_response(None, jsonrpc.unsupported_version(version), query)
        stateless = (version is not None and version not in jsonrpc.HANDSHAKE_VERSIONS) or (
            isinstance(message, dict) and jsonrpc.is_stateless(message)
        )
        if not jsonrpc.is_request(message):
            if not stateless and isinstance(message, dict) and ("result" in message or "error" in message):
                return web.Response(status=202)  # a response, although no request was sent
            refusal = jsonrpc.JsonRpcError(jsonrpc.INVALID_REQUEST, "the body must be one JSON-RPC 2.0 message")
            return _error_response(None, refusal, query)
        if stateless and query.folder is None:
            try:
                _check_headers(request.headers, message)
            except jsonrpc.JsonRpcError as refusal:
                return _error_response(message["id"], refusal, query)
        resolver = ProjectResolver(query.folder, find_root, self._send)
        reference = f"mcp-{query.key or token_hex(8)}"
        response = await jsonrpc.answer_request(message, resolver, stateless=stateless, reference=reference)
        error_code = response.get("error", {}).get("code", 0) if stateless and query.folder is None else 0
        return json_response(response, status=_STATUSES.get(error_code, 200))

    async def _send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """Call the engine as the HTTP route for `path` does, and return its answer as plain JSON values."""
        return to_json(await self._call_engine(path, body))

    async def _call_engine(self, target: str, body: Mapping[str, Any] | None) -> Struct:
        engine = self._engine
        path, _, query = target.partition("?")
        match path:
            case "/projects" if body is None:
                projects = await engine.list_projects()
                return PageAnswer(items=projects, next=None, total=len(projects))
            case "/projects":
                return await engine.add_project(decode(body, NewProject).path)
            case "/context/assemble":
                return bundle_answer(await engine.get_context(decode(body, AssembleRequest).to_context_request()))
            case "/context/predict":
                return await engine.predict(decode(body, PredictRequest))
            case "/context/review":
                return await engine.review(decode(body, ReviewRequest))
            case "/search":
                return await engine.search(decode(body, SearchBody).to_search_request())
            case "/expand":
                return await engine.expand(decode(body, ExpandRequest))
            case "/memories":
                return await engine.store_drafts(parse_drafts_body(body)[0])
            case "/contradictions":
                return (await engine.contradictions.open(decode(body, ContradictionReport)))[0]
            case _ if (similar := _SIMILAR_PATH.fullmatch(path)) is not None:
                return await engine.contradictions.find_similar(similar["id"], decode_query(query, NearQuery).limit)
            case "/feedback":
                return await engine.record_feedback(parse_feedback_body(body)[0])
            case "/documents":
                return await engine.knowledge.documents.list(decode_query(query, DocumentsRequest))
            case _ if path.startswith("/documents/"):
                document_path_requested = normalize_document_path(unquote(path.removeprefix("/documents/")))
                return document_answer(await engine.knowledge.documents.get(document_path_requested))
            case _:
                raise NotFound(f"unknown path {target}")


def _check_headers(headers: CIMultiDictProxy[str], message: Mapping[str, Any]) -> None:
    """Check that the headers match the body.

    Proxies use these headers for routing. Raises JsonRpcError if a header is missing, repeated, or contradicts the
    body.
    """
    params = message.get("params", {})
    version = jsonrpc.get_version(params)
    expected_headers = {_VERSION_HEADER: version, _METHOD_HEADER: message["method"]}
    name_parameter = _NAME_PARAMETERS.get(message["method"])
    if name_parameter is not None and isinstance(params.get(name_parameter), str):
        expected_headers[_NAME_HEADER] = params[name_parameter]
    for name, value in expected_headers.items():
        received_values = headers.getall(name, [])
        if len(received_values) != 1:
            raise jsonrpc.JsonRpcError(jsonrpc.HEADER_MISMATCH, f"the header {name} must be present exactly once")
        if received_values[0] != value and (name != _NAME_HEADER or _decode_header(received_values[0]) != value):
            raise jsonrpc.JsonRpcError(jsonrpc.HEADER_MISMATCH, f"the header {name} does not match the body")


def _decode_header(header: str) -> str | None:
    """Decode a header value of the form =?base64?…?=.

    Returns None if the value does not have this form or cannot be decoded.
    """
    if not (header.startswith("=?base64?") and header.endswith("?=")):
        return None
    try:
        return base64.b64decode(header[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _accepts_json(accept: str | None) -> bool:
    if accept is None:
        return True
    media = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return not media.isdisjoint(("application/json", "application/*", "*/*"))


def _error_response(identifier: Any, refusal: jsonrpc.JsonRpcError, query: McpQuery) -> web.Response:
    status = _STATUSES.get(refusal.code, 200) if query.folder is None else 200
    return json_response(jsonrpc.error_response(identifier, refusal), status=status)
