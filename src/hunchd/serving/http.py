"""HTTP application that serves all routes.

The handlers in the `*_handlers.py` modules do the work; one middleware runs before all of them.
"""

from __future__ import annotations

import errno
import logging
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from hunchd.domain.errors import HunchError, StorageFull
from hunchd.serving.access import AccessControl
from hunchd.serving.agent_events import AgentHandlers
from hunchd.serving.consolidation_handlers import ConsolidationHandlers
from hunchd.serving.knowledge_handlers import KnowledgeHandlers
from hunchd.serving.limits import ConnectionPool, ServerLimits
from hunchd.serving.mcp_handler import McpHandler
from hunchd.serving.memory_handlers import MemoryHandlers
from hunchd.serving.openapi import build_document
from hunchd.serving.page_handlers import PageHandlers
from hunchd.serving.request_metrics import RequestMetrics
from hunchd.serving.responses import encode_json, error_response, internal_error_response, router_error_response
from hunchd.serving.routes import Handler, bind_routes
from hunchd.serving.server_handlers import ServerHandlers
from hunchd.serving.session_handlers import SessionHandlers
from hunchd.serving.team_handlers import TeamHandlers

if TYPE_CHECKING:
    from hunchd.engine import Engine

logger = logging.getLogger(__name__)

ACCESS: Final = web.AppKey("access", AccessControl)
CONNECTIONS: Final = web.AppKey("connections", ConnectionPool)
LIMITS: Final = web.AppKey("limits", ServerLimits)


def make_app(engine: Engine, token: str, *, limits: ServerLimits | None = None) -> web.Application:
    """Build the application, which `serve_app` then serves."""
    limits = limits or ServerLimits()
    connections = ConnectionPool(limits.connections)
    server = ServerHandlers(engine, limits, connections, encode_json(build_document()))
    page = PageHandlers()
    access = AccessControl(token, page.sessions)
    app = web.Application(
        middlewares=[_build_middleware(access, connections, server.counts)], client_max_size=limits.body_bytes
    )
    app[ACCESS], app[CONNECTIONS], app[LIMITS] = access, connections, limits
    for handlers in (
        server,
        MemoryHandlers(engine),
        SessionHandlers(engine.conversations),
        KnowledgeHandlers(engine.knowledge, engine.contradictions),
        ConsolidationHandlers(engine.runs),
        TeamHandlers(engine.team),
        McpHandler(engine, limits),
        AgentHandlers(engine),
        page,
    ):
        for route, handler in bind_routes(handlers, limits):
            app.router.add_route(route.method, route.pattern, handler)

    async def close_listeners(_: web.Application) -> None:
        server.listeners.close()

    app.on_shutdown.append(close_listeners)
    return app


def _build_middleware(access: AccessControl, connections: ConnectionPool, counts: RequestMetrics) -> Any:
    """Build the middleware for access checks, error responses and metrics.

    A single middleware does all three, because that is faster than three of them.
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
    """Build the response to an operating system error.

    A full disk is reported as a temporary condition, because it is not a bug in hunchd.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error_response(
            StorageFull("the disk is full", hint="free some disk space; hunchd then continues by itself")
        )
    logger.error("%s %s failed", request.method, _get_route(request), exc_info=error)
    return internal_error_response()


def _get_route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return "other" if resource is None else resource.canonical
