"""HTTP handlers for consolidation: runs, their changes, and undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hunchd.protocol.consolidation_requests import parse_changes_query, parse_consolidate_body, parse_undo_body
from hunchd.protocol.requests import parse_slice_query
from hunchd.serving.request_bodies import is_bodiless
from hunchd.serving.responses import json_response

if TYPE_CHECKING:
    from hunchd.features.consolidation.run_manager import RunManager

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsolidationHandlers:
    """Handlers for consolidation, one method per route.

    `body` reads the JSON body of a request within the limits.
    """

    def __init__(self, runs: RunManager, body: Callable[[web.Request], Awaitable[Any]]) -> None:
        self._runs = runs
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "/consolidate", self.consolidate),
            ("GET", "/consolidate", self.list_runs),
            ("GET", "/consolidate/{id}", self.get_run),
            ("POST", "/consolidate/{id}/undo", self.undo_run),
            ("POST", "/consolidate/{id}/stop", self.stop_run),
        ]

    async def consolidate(self, request: web.Request) -> web.Response:
        return json_response(await self._runs.consolidate(parse_consolidate_body(await self._body(request))))

    async def list_runs(self, request: web.Request) -> web.Response:
        return json_response(await self._runs.list_runs(parse_slice_query(request.raw_path.partition("?")[2])))

    async def get_run(self, request: web.Request) -> web.Response:
        after, limit = parse_changes_query(request.raw_path.partition("?")[2])
        return json_response(await self._runs.get_run(request.match_info["id"], after=after, limit=limit))

    async def undo_run(self, request: web.Request) -> web.Response:
        change = None if is_bodiless(request) else parse_undo_body(await self._body(request))
        return json_response(await self._runs.undo(request.match_info["id"], change))

    async def stop_run(self, request: web.Request) -> web.Response:
        return json_response(await self._runs.stop(request.match_info["id"]))
