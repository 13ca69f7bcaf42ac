"""Routes of the HTTP API.

Each handler parses the request, calls the engine and builds the response. One middleware runs before all handlers.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web
from msgspec import structs

from hunchd import PROTOCOL, __version__
from hunchd.domain.errors import HunchError, NotFound, StorageFull
from hunchd.protocol.decoding import reject_unstorable
from hunchd.protocol.exports import ExportLine
from hunchd.protocol.knowledge_answers import FeedbackAnswer, IdsAnswer
from hunchd.protocol.memories import memory_to_record, parse_drafts_body, parse_patch
from hunchd.protocol.requests import (
    parse_as_of_query,
    parse_context_body,
    parse_context_query,
    parse_expand_body,
    parse_feedback_body,
    parse_focus_query,
    parse_import_query,
    parse_memories_query,
    parse_predict_body,
    parse_project_body,
    parse_project_query,
    parse_search_body,
    parse_signals_body,
    parse_slice_query,
    review_of_body,
)
from hunchd.protocol.responses import ForgottenAnswer, HealthAnswer, Rejection, slice_page, sort_rejections
from hunchd.protocol.struct_decoding import refuse_query
from hunchd.serving.access import AccessControl
from hunchd.serving.agent_events import AgentHandlers
from hunchd.serving.consolidation_handlers import ConsolidationHandlers
from hunchd.serving.event_stream import EventListeners
from hunchd.serving.knowledge_handlers import KnowledgeHandlers
from hunchd.serving.limits import ConnectionPool, ServerLimits
from hunchd.serving.mcp_handler import McpHandler
from hunchd.serving.openapi import build_document, takes_query
from hunchd.serving.page_handlers import PageHandlers
from hunchd.serving.request_bodies import ImportLines, read_json_body
from hunchd.serving.request_metrics import RequestMetrics
from hunchd.serving.responses import (
    EncodedBundles,
    build_response,
    encode_json,
    error_response,
    internal_error_response,
    json_response,
    router_error_response,
    start_response,
)
from hunchd.serving.session_handlers import SessionHandlers
from hunchd.serving.team_handlers import TeamHandlers

if TYPE_CHECKING:
    from hunchd.engine import Engine

logger = logging.getLogger(__name__)

ACCESS: Final = web.AppKey("access", AccessControl)
CONNECTIONS: Final = web.AppKey("connections", ConnectionPool)
LIMITS: Final = web.AppKey("limits", ServerLimits)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
BatchAnswerT = TypeVar("BatchAnswerT", IdsAnswer, FeedbackAnswer)

# Parsed queries: an editor repeats the same few, and equal text parses equally.
_parse_cached_query = lru_cache(maxsize=256)(parse_context_query)


def make_app(engine: Engine, token: str, *, limits: ServerLimits | None = None) -> web.Application:
    """Build the application; `serve_app` serves it."""
    limits = limits or ServerLimits()
    handlers = Handlers(engine, limits)
    access, connections = AccessControl(token, handlers.page.sessions), ConnectionPool(limits.connections)
    app = web.Application(
        middlewares=[_build_middleware(access, connections, handlers.counts)], client_max_size=limits.body_bytes
    )
    app[ACCESS], app[CONNECTIONS], app[LIMITS] = access, connections, limits
    handlers.connections = connections
    for method, path, handler in handlers.routes():
        app.router.add_route(method, path, handler if takes_query(method, path) else _refuse_query_of(handler))

    async def close_listeners(_: web.Application) -> None:
        handlers.listeners.close()

    app.on_shutdown.append(close_listeners)
    return app


def _refuse_query_of(handler: Handler) -> Handler:
    """Wrap the handler of a route that has no query parameters.

    If a request has a parameter, it is rejected with an error that names the parameter.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        refuse_query(_get_query(request))
        return await handler(request)

    return handle


def _build_middleware(access: AccessControl, connections: ConnectionPool, counts: RequestMetrics) -> Any:
    """Build the middleware for access checks, error responses and metrics.

    One middleware does all three, for speed.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        started_at = perf_counter()
        connection = request.protocol
        connections.mark_busy(connection)
        response: web.StreamResponse | None = None
        try:
            access.check(request)
            response = await handler(request)
        except HunchError as error:
            response = error_response(error)
        except web.HTTPException as http_error:
            response = router_error_response(http_error, request)
        except ConnectionError:
            raise
        except OSError as error:
            response = _os_error_response(error, request)
        except Exception:
            logger.exception("%s %s failed", request.method, _get_route(request))
            response = internal_error_response()
        finally:
            connections.mark_idle(connection)
            status = 499 if response is None else response.status  # the client disconnected before the response
            counts.record(request.method, _get_route(request), status, perf_counter() - started_at)
        return response

    return guard


def _os_error_response(error: OSError, request: web.Request) -> web.Response:
    """Build the response to an error of the operating system.

    A full disk is reported as temporary, because it is not a bug.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error_response(StorageFull("the disk is full", hint="free some space; hunchd then continues by itself"))
    logger.error("%s %s failed", request.method, _get_route(request), exc_info=error)
    return internal_error_response()


class Handlers:
    """Handlers of the HTTP API, one method per route."""

    def __init__(self, engine: Engine, limits: ServerLimits) -> None:
        self._engine = engine
        self._limits = limits
        self._bundles = EncodedBundles()
        self._sessions = SessionHandlers(engine.conversations, self._read_body)
        self._knowledge = KnowledgeHandlers(engine.knowledge, engine.contradictions, self._read_body)
        self._runs = ConsolidationHandlers(engine.runs, self._read_body)
        self._team = TeamHandlers(engine.team, self._read_body)
        self._mcp = McpHandler(engine, limits)
        self._agents = AgentHandlers(engine, self._read_body)
        self.page = PageHandlers(self._read_body)
        self._document = encode_json(build_document())
        self.listeners = EventListeners(limits)
        self.connections = ConnectionPool(limits.connections)
        self.counts = RequestMetrics()

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/health", self.get_health),
            ("GET", "/status", self.get_status),
            ("POST", "/projects", self.add_project),
            ("GET", "/projects", self.list_projects),
            ("DELETE", "/projects/{id}", self.remove_project),
            ("POST", "/signals", self.accept_signals),
            ("GET", "/context", self.get_context),
            ("GET", "/focus", self.get_focus),
            ("GET", "/settings", self.get_settings),
            ("POST", "/context/assemble", self.assemble_context),
            ("POST", "/context/predict", self.predict_files),
            ("POST", "/context/review", self.review),
            ("POST", "/memories", self.add_memories),
            ("GET", "/memories", self.list_memories),
            ("GET", "/memories/{id}", self.get_memory),
            ("PATCH", "/memories/{id}", self.edit_memory),
            ("DELETE", "/memories/{id}", self.forget_memory),
            ("GET", "/memories/{id}/history", self.get_memory_history),
            ("GET", "/memories/{id}/usage", self.get_memory_usage),
            ("POST", "/expand", self.expand),
            ("POST", "/search", self.search),
            ("POST", "/feedback", self.add_feedback),
            ("GET", "/export", self.export_lines),
            ("POST", "/import", self.import_lines),
            ("GET", "/events", self.stream_events),
            ("GET", "/metrics", self.get_metrics),
            ("POST", "/mcp", self._mcp.serve),
            ("GET", "/openapi.json", self.get_openapi),
            *self._sessions.routes(),
            *self._knowledge.routes(),
            *self._agents.routes(),
            *self._runs.routes(),
            *self.page.routes(),
            *self._team.routes(),
        ]

    async def get_health(self, _: web.Request) -> web.Response:
        return json_response(HealthAnswer(status="ok", protocol=PROTOCOL, version=__version__))

    async def get_status(self, _: web.Request) -> web.Response:
        return json_response(await self._engine.status())

    async def add_project(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.add_project(parse_project_body(await self._read_body(request))))

    async def list_projects(self, request: web.Request) -> web.Response:
        part = parse_slice_query(_get_query(request))
        projects = await self._engine.list_projects()
        return json_response(slice_page(projects, lambda one: one, offset=part.offset, limit=part.limit))

    async def remove_project(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.remove_project(_get_identifier(request)))

    async def accept_signals(self, request: web.Request) -> web.Response:
        return json_response(
            await self._engine.accept_signals(parse_signals_body(await self._read_body(request))), status=202
        )

    async def get_context(self, request: web.Request) -> web.Response:
        context_request, form = _parse_cached_query(_get_query(request))
        return self._bundles.respond(await self._engine.get_context(context_request), form, request.headers)

    async def get_settings(self, _: web.Request) -> web.Response:
        return json_response(self._engine.describe_settings())

    async def get_focus(self, request: web.Request) -> web.Response:
        return json_response(self._engine.get_focus(parse_focus_query(_get_query(request))))

    async def assemble_context(self, request: web.Request) -> web.Response:
        bundle = await self._engine.get_context(parse_context_body(await self._read_body(request)))
        return self._bundles.respond(bundle, "json", request.headers)

    async def predict_files(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.predict(parse_predict_body(await self._read_body(request))))

    async def review(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.review(review_of_body(await self._read_body(request))))

    async def add_memories(self, request: web.Request) -> web.Response:
        drafts, rejections = parse_drafts_body(await self._read_body(request), self._engine.require_project)
        return json_response(_add_rejected(await self._engine.store_drafts(drafts), rejections), status=201)

    async def list_memories(self, request: web.Request) -> web.Response:
        memories_request = parse_memories_query(_get_query(request))
        return json_response(
            await self._engine.list_memories(memories_request.filters, memories_request.limit, memories_request.cursor)
        )

    async def get_memory(self, request: web.Request) -> web.Response:
        identifier, moment = _get_identifier(request), parse_as_of_query(_get_query(request))
        lookup = (
            self._engine.get_memory(identifier)
            if moment is None
            else self._engine.knowledge.get_memory_as_of(identifier, moment)
        )
        return json_response(memory_to_record(await lookup))

    async def edit_memory(self, request: web.Request) -> web.Response:
        patch = parse_patch(await self._read_body(request))
        return json_response(memory_to_record(await self._engine.edit(_get_identifier(request), patch)))

    async def forget_memory(self, request: web.Request) -> web.Response:
        await self._engine.forget(_get_identifier(request))
        return json_response(ForgottenAnswer(forgotten=_get_identifier(request)))

    async def get_memory_history(self, request: web.Request) -> web.Response:
        part, versions = (
            parse_slice_query(_get_query(request)),
            await self._engine.get_memory_history(_get_identifier(request)),
        )
        return json_response(slice_page(versions, memory_to_record, offset=part.offset, limit=part.limit))

    async def get_memory_usage(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.get_memory_usage(_get_identifier(request)))

    async def expand(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.expand(parse_expand_body(await self._read_body(request))))

    async def search(self, request: web.Request) -> web.Response:
        return json_response(await self._engine.search(parse_search_body(await self._read_body(request))))

    async def add_feedback(self, request: web.Request) -> web.Response:
        items, rejections = parse_feedback_body(await self._read_body(request), self._engine.require_project)
        return json_response(_add_rejected(await self._engine.record_feedback(items), rejections), status=202)

    async def export_lines(self, request: web.Request) -> web.StreamResponse:
        return await _stream_json_lines(request, self._engine.export(parse_project_query(_get_query(request))))

    async def import_lines(self, request: web.Request) -> web.Response:
        lines = ImportLines(request, self._limits)
        colleague, project = parse_import_query(_get_query(request))
        if colleague is not None and project is not None:
            result = await self._engine.import_from_colleague(colleague, lines.read_lines(), project)
        else:
            result = await self._engine.import_lines(lines.read_lines())
        return json_response(lines.summarize(result))

    async def stream_events(self, request: web.Request) -> web.StreamResponse:
        return await self.listeners.serve(request, self._engine.subscribe())

    async def get_metrics(self, _: web.Request) -> web.Response:
        text = await self._engine.metrics() + self.counts.render(self.connections, self.listeners)
        return build_response(text.encode(), type_="text/plain; version=0.0.4; charset=utf-8")

    async def get_openapi(self, _: web.Request) -> web.Response:
        return build_response(self._document)

    async def _read_body(self, request: web.Request) -> Any:
        return await read_json_body(request, self._limits)


async def _stream_json_lines(request: web.Request, lines: AsyncIterator[ExportLine]) -> web.StreamResponse:
    """Stream the items as JSON, one line each.

    The first item is awaited before the response starts, so that an early error still gets its own status. A later
    failure cuts the response off, which
    the client notices because the last chunk is missing.
    """
    first = await anext(lines, None)
    response = await start_response(request, "application/x-ndjson; charset=utf-8")
    try:
        if first is not None:
            await response.write(encode_json(first) + b"\n")
        async for line in lines:
            await response.write(encode_json(line) + b"\n")
    except ConnectionError:  # the client disconnected
        return response
    except Exception:
        logger.exception("%s was cut off", _get_route(request))
        request.protocol.force_close()
        return response
    await response.write_eof()
    return response


def _add_rejected(result: BatchAnswerT, rejections: list[Rejection]) -> BatchAnswerT:
    """Add rejected entries to the result of a batch.

    The entries were rejected by parsing or by the engine; they are sorted by index.
    """
    return structs.replace(result, rejected=sort_rejections(rejections, result.rejected))


def _get_query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _get_identifier(request: web.Request) -> str:
    identifier = request.match_info["id"]
    reject_unstorable(identifier, "id")
    if len(identifier) > 200:
        raise NotFound("not found: the id is too long to be valid", field="id")
    return identifier


def _get_route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return "other" if resource is None else resource.canonical
