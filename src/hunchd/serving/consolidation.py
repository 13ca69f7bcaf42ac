"""HTTP handlers for consolidation: runs, their changes, undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from hunchd.protocol.consolidation import changes_of_query, consolidate_of_body, undo_of_body
from hunchd.protocol.requests import part_of_query
from hunchd.serving.answering import json_answer
from hunchd.serving.asking import AskedRuns
from hunchd.serving.bodies import is_bodiless

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsolidationDoors:
    """Handlers, one method per route.

    `body` reads the JSON of a request within the limits.
    """

    def __init__(self, runs: AskedRuns, body: Callable[[web.Request], Awaitable[Any]]) -> None:
        self._runs = runs
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "/consolidate", self.consolidate),
            ("GET", "/consolidate", self.list_runs),
            ("GET", "/consolidate/{id}", self.run),
            ("POST", "/consolidate/{id}/undo", self.undo),
            ("POST", "/consolidate/{id}/stop", self.stop),
        ]

    async def consolidate(self, request: web.Request) -> web.Response:
        return json_answer(await self._runs.consolidate(consolidate_of_body(await self._body(request))))

    async def list_runs(self, request: web.Request) -> web.Response:
        return json_answer(await self._runs.runs(part_of_query(request.raw_path.partition("?")[2])))

    async def run(self, request: web.Request) -> web.Response:
        after, limit = changes_of_query(request.raw_path.partition("?")[2])
        return json_answer(await self._runs.run(request.match_info["id"], after=after, limit=limit))

    async def undo(self, request: web.Request) -> web.Response:
        change = None if is_bodiless(request) else undo_of_body(await self._body(request))
        return json_answer(await self._runs.undo(request.match_info["id"], change))

    async def stop(self, request: web.Request) -> web.Response:
        return json_answer(await self._runs.stop(request.match_info["id"]))
