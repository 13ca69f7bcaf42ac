"""HTTP handlers for a project's team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunchd.protocol.team_answers import (
    TeamJoined,
    TeamLeft,
    TeamMemberChanged,
    TeamMembers,
    TeamPreview,
    TeamStatements,
    TeamStatus,
)
from hunchd.protocol.team_requests import JoinTeamRequest, MemberActionRequest, StatementsQuery, TeamQuery
from hunchd.serving.routes import route

if TYPE_CHECKING:
    from hunchd.features.team.feature import TeamFeature


class TeamHandlers:
    """Handlers for a project's team, one method per route."""

    def __init__(self, team: TeamFeature) -> None:
        self._team = team

    @route("POST /team", "joinTeam", status=201, errors=(404, 409))
    async def join(self, body: JoinTeamRequest) -> TeamJoined:
        """Share a project's memory with a team: create the team, or join it."""
        return await self._team.join(body)

    @route("GET /team", "teamStatus", errors=(404,))
    async def get_status(self, query: TeamQuery) -> TeamStatus:
        """Return whether a project has a team, and how far behind this machine is."""
        return await self._team.get_status(query.project)

    @route("DELETE /team", "leaveTeam", errors=(404,))
    async def leave(self, query: TeamQuery) -> TeamLeft:
        """Leave the team: members' statements are removed here, your own stay in the team."""
        return await self._team.leave(query.project)

    @route("GET /team/members", "teamMembers", errors=(404,))
    async def list_members(self, query: TeamQuery) -> TeamMembers:
        """List the members with role, number of statements and time of the latest one."""
        return await self._team.list_members(query.project)

    @route("POST /team/members", "changeTeamMember", errors=(404, 409))
    async def change_member(self, body: MemberActionRequest) -> TeamMemberChanged:
        """Exclude or readmit a member, or appoint a maintainer."""
        return await self._team.change_member(body)

    @route("GET /team/preview", "teamPreview", errors=(404,))
    async def preview(self, query: TeamQuery) -> TeamPreview:
        """Show exactly what would be sent, without sending it."""
        return await self._team.preview(query.project)

    @route("GET /team/statements", "teamStatements", errors=(404,))
    async def list_statements(self, query: StatementsQuery) -> TeamStatements:
        """List the members' statements by subject, with resolutions and votes."""
        return await self._team.list_statements(query)
