"""HTTP handlers for a project's team."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hunchd.protocol.team_requests import (
    parse_join_body,
    parse_member_action_body,
    parse_statements_query,
    parse_team_query,
)
from hunchd.serving.responses import json_response

if TYPE_CHECKING:
    from hunchd.features.team.feature import TeamFeature

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class TeamHandlers:
    """Handlers for a project's team, one method per route.

    `body` reads the JSON body of a request within the limits.
    """

    def __init__(self, team: TeamFeature, body: Callable[[web.Request], Awaitable[Any]]) -> None:
        self._team = team
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "/team", self.join),
            ("GET", "/team", self.get_status),
            ("DELETE", "/team", self.leave),
            ("GET", "/team/members", self.list_members),
            ("POST", "/team/members", self.change_member),
            ("GET", "/team/preview", self.preview),
            ("GET", "/team/statements", self.list_statements),
        ]

    async def join(self, request: web.Request) -> web.Response:
        return json_response(await self._team.join(parse_join_body(await self._body(request))), status=201)

    async def get_status(self, request: web.Request) -> web.Response:
        return json_response(await self._team.get_status(parse_team_query(_get_query(request))))

    async def leave(self, request: web.Request) -> web.Response:
        return json_response(await self._team.leave(parse_team_query(_get_query(request))))

    async def list_members(self, request: web.Request) -> web.Response:
        return json_response(await self._team.list_members(parse_team_query(_get_query(request))))

    async def change_member(self, request: web.Request) -> web.Response:
        return json_response(await self._team.change_member(parse_member_action_body(await self._body(request))))

    async def preview(self, request: web.Request) -> web.Response:
        return json_response(await self._team.preview(parse_team_query(_get_query(request))))

    async def list_statements(self, request: web.Request) -> web.Response:
        return json_response(await self._team.list_statements(parse_statements_query(_get_query(request))))


def _get_query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]
