"""Routes of the HTTP API.

Each handler parses, calls the engine and responds. One middleware guards them all.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from hunchd import PROTOCOL, __version__
from hunchd.domain.errors import HunchError, NotFound, StorageFull
from hunchd.protocol.answers import part_json
from hunchd.protocol.decoding import refuse_unstorable
from hunchd.protocol.memories import drafts_of_body, memory_json, memory_patch
from hunchd.protocol.requests import (
    as_of_query,
    context_of_body,
    context_of_query,
    expand_of_body,
    feedback_of_body,
    import_of_query,
    memories_of_query,
    part_of_query,
    predict_of_body,
    project_of_body,
    project_of_query,
    review_of_body,
    search_of_body,
    signals_of_body,
)
from hunchd.serving.access import Access
from hunchd.serving.agents import AgentDoors
from hunchd.serving.answering import (
    Bundles,
    answer,
    begun,
    encoded,
    error_answer,
    json_answer,
    router_answer,
    unexpected_answer,
)
from hunchd.serving.asking import Asked
from hunchd.serving.bodies import ImportLines, json_body
from hunchd.serving.consolidation import ConsolidationDoors
from hunchd.serving.counting import Counts
from hunchd.serving.events import Listeners
from hunchd.serving.knowledge import KnowledgeDoors
from hunchd.serving.limits import Connections, Limits
from hunchd.serving.mcp import Mcp
from hunchd.serving.openapi import document
from hunchd.serving.sessions import SessionDoors

logger = logging.getLogger(__name__)

ACCESS: Final = web.AppKey("access", Access)
CONNECTIONS: Final = web.AppKey("connections", Connections)
LIMITS: Final = web.AppKey("limits", Limits)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Parsed queries: an editor repeats the same few, and equal text parses equally.
_asked = lru_cache(maxsize=256)(context_of_query)


def make_app(engine: Asked, token: str, *, limits: Limits | None = None) -> web.Application:
    """Build the application; `open_doors` serves it."""
    limits = limits or Limits()
    doors = Doors(engine, limits)
    access, connections = Access(token), Connections(limits.connections)
    app = web.Application(middlewares=[_guard(access, connections, doors.counts)], client_max_size=limits.body)
    app[ACCESS], app[CONNECTIONS], app[LIMITS] = access, connections, limits
    doors.connections = connections
    for method, path, door in doors.routes():
        app.router.add_route(method, path, door)

    async def dismiss_listeners(_: web.Application) -> None:
        doors.listeners.dismiss()

    app.on_shutdown.append(dismiss_listeners)
    return app


def _guard(access: Access, connections: Connections, counts: Counts) -> Any:
    """Build the middleware for access checks, error responses and metrics.

    A single one, for speed.
    """

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = perf_counter()
        connection = request.protocol
        connections.begins(connection)
        response: web.StreamResponse | None = None
        try:
            access.check(request)
            response = await handler(request)
        except HunchError as error:
            response = error_answer(error)
        except web.HTTPException as refusal:
            response = router_answer(refusal, request)
        except ConnectionError:
            raise
        except OSError as error:
            response = _system_answer(error, request)
        except Exception:
            logger.exception("%s %s failed", request.method, _route(request))
            response = unexpected_answer()
        finally:
            connections.ends(connection)
            status = 499 if response is None else response.status  # the client disconnected before the response
            counts.add(request.method, _route(request), status, perf_counter() - began)
        return response

    return guarded


def _system_answer(error: OSError, request: web.Request) -> web.Response:
    """Respond to an error of the operating system.

    A full disk is temporary and no bug.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error_answer(StorageFull("the disk is full", hint="free some space; hunchd then continues by itself"))
    logger.error("%s %s failed", request.method, _route(request), exc_info=error)
    return unexpected_answer()


class Doors:
    """Handlers, one method per route."""

    def __init__(self, engine: Asked, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        self._bundles = Bundles()
        self._sessions = SessionDoors(engine.conversations, self._body)
        self._known = KnowledgeDoors(engine.knowledge, engine.contradictions, self._body)
        self._runs = ConsolidationDoors(engine.runs, self._body)
        self._mcp = Mcp(engine, limits)
        self._agents = AgentDoors(engine, self._body)
        self._document = encoded(document())
        self.listeners = Listeners(limits)
        self.connections = Connections(limits.connections)
        self.counts = Counts()

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/health", self.health),
            ("GET", "/status", self.status),
            ("POST", "/projects", self.add_project),
            ("GET", "/projects", self.list_projects),
            ("DELETE", "/projects/{id}", self.remove_project),
            ("POST", "/signals", self.take_signals),
            ("GET", "/context", self.context),
            ("POST", "/context/assemble", self.assemble),
            ("POST", "/context/predict", self.predict),
            ("POST", "/context/review", self.review),
            ("POST", "/memories", self.remember),
            ("GET", "/memories", self.list_memories),
            ("GET", "/memories/{id}", self.memory),
            ("PATCH", "/memories/{id}", self.edit),
            ("DELETE", "/memories/{id}", self.forget),
            ("GET", "/memories/{id}/history", self.history),
            ("GET", "/memories/{id}/usage", self.usage),
            ("POST", "/expand", self.expand),
            ("POST", "/search", self.search),
            ("POST", "/feedback", self.feedback),
            ("GET", "/export", self.export),
            ("POST", "/import", self.take_import),
            ("GET", "/events", self.events),
            ("GET", "/metrics", self.metrics),
            ("POST", "/mcp", self._mcp.serve),
            ("GET", "/openapi.json", self.openapi),
            *self._sessions.routes(),
            *self._known.routes(),
            *self._agents.routes(),
            *self._runs.routes(),
        ]

    async def health(self, _: web.Request) -> web.Response:
        return json_answer({"status": "ok", "protocol": PROTOCOL, "version": __version__})

    async def status(self, _: web.Request) -> web.Response:
        return json_answer(await self._engine.status())

    async def add_project(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.add_project(project_of_body(await self._body(request))))

    async def list_projects(self, request: web.Request) -> web.Response:
        part = part_of_query(_query(request))
        return json_answer(part_json(await self._engine.projects(), dict, offset=part.offset, limit=part.limit))

    async def remove_project(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.remove_project(_identifier(request)))

    async def take_signals(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.accept_signals(signals_of_body(await self._body(request))), status=202)

    async def context(self, request: web.Request) -> web.Response:
        question, form = _asked(_query(request))
        return self._bundles.answer(await self._engine.context(question), form, request.headers)

    async def assemble(self, request: web.Request) -> web.Response:
        bundle = await self._engine.context(context_of_body(await self._body(request)))
        return self._bundles.answer(bundle, "json", request.headers)

    async def predict(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.predict(predict_of_body(await self._body(request))))

    async def review(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.review(review_of_body(await self._body(request))))

    async def remember(self, request: web.Request) -> web.Response:
        drafts, rejected = drafts_of_body(await self._body(request), self._engine.refuse_unknown)
        return json_answer(_naming(await self._engine.file(drafts), rejected), status=201)

    async def list_memories(self, request: web.Request) -> web.Response:
        asked = memories_of_query(_query(request))
        return json_answer(await self._engine.memories(asked.filters, asked.limit, asked.cursor))

    async def memory(self, request: web.Request) -> web.Response:
        identifier, moment = _identifier(request), as_of_query(_query(request))
        found = self._engine.memory(identifier) if moment is None else self._engine.knowledge.as_of(identifier, moment)
        return json_answer(memory_json(await found))

    async def edit(self, request: web.Request) -> web.Response:
        patch = memory_patch(await self._body(request))
        return json_answer(memory_json(await self._engine.edit(_identifier(request), patch)))

    async def forget(self, request: web.Request) -> web.Response:
        await self._engine.forget(_identifier(request))
        return json_answer({"forgotten": _identifier(request)})

    async def history(self, request: web.Request) -> web.Response:
        part, versions = part_of_query(_query(request)), await self._engine.memory_history(_identifier(request))
        return json_answer(part_json(versions, dict, offset=part.offset, limit=part.limit))

    async def usage(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.memory_usage(_identifier(request)))

    async def expand(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.expand(expand_of_body(await self._body(request))))

    async def search(self, request: web.Request) -> web.Response:
        return json_answer(await self._engine.search(search_of_body(await self._body(request))))

    async def feedback(self, request: web.Request) -> web.Response:
        items, rejected = feedback_of_body(await self._body(request), self._engine.refuse_unknown)
        return json_answer(_naming(await self._engine.feedback(items), rejected), status=202)

    async def export(self, request: web.Request) -> web.StreamResponse:
        return await _json_lines(request, self._engine.export(project_of_query(_query(request))))

    async def take_import(self, request: web.Request) -> web.Response:
        lines = ImportLines(request, self._limits)
        colleague, project = import_of_query(_query(request))
        if colleague is not None and project is not None:
            done = await self._engine.import_of(colleague, lines.read(), project)
        else:
            done = await self._engine.import_lines(lines.read())
        return json_answer(lines.told(done))

    async def events(self, request: web.Request) -> web.StreamResponse:
        return await self.listeners.serve(request, self._engine.subscribe())

    async def metrics(self, _: web.Request) -> web.Response:
        text = await self._engine.metrics() + self.counts.text(self.connections, self.listeners)
        return answer(text.encode(), type_="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, _: web.Request) -> web.Response:
        return answer(self._document)

    async def _body(self, request: web.Request) -> Any:
        return await json_body(request, self._limits)


async def _json_lines(request: web.Request, lines: AsyncIterator[dict[str, Any]]) -> web.StreamResponse:
    """Stream one line of JSON per item.

    Waits for the first item, so that an early error still gets its status. A later failure cuts the response off,
    which
    the client notices because the last chunk is missing.
    """
    first = await anext(lines, None)
    response = await begun(request, "application/x-ndjson; charset=utf-8")
    try:
        if first is not None:
            await response.write(encoded(first) + b"\n")
        async for line in lines:
            await response.write(encoded(line) + b"\n")
    except ConnectionError:  # the client disconnected
        return response
    except Exception:
        logger.exception("%s was cut off", _route(request))
        request.protocol.force_close()
        return response
    await response.write_eof()
    return response


def _naming(done: dict[str, Any], rejected: list[dict[str, Any]]) -> dict[str, Any]:
    """Add the rejected entries of a batch to its result.

    They come from parsing and from the engine, sorted by index.
    """
    named = sorted([*rejected, *done.get("rejected", ())], key=lambda one: int(one["index"]))
    return done | ({"rejected": named} if named else {})


def _query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _identifier(request: web.Request) -> str:
    identifier = request.match_info["id"]
    refuse_unstorable(identifier, "id")
    if len(identifier) > 200:
        raise NotFound("no id is that long", field="id")
    return identifier


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return "other" if resource is None else resource.canonical
