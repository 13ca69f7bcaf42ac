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
        """Share a project's memory with a team, by creating or joining the team."""
        return await self._team.join(body)

    @route("GET /team", "teamStatus", errors=(404,))
    async def get_status(self, query: TeamQuery) -> TeamStatus:
        """Return a team's state, and how far this machine has come."""
        return await self._team.get_status(query.project)

    @route("DELETE /team", "leaveTeam", errors=(404,))
    async def leave(self, query: TeamQuery) -> TeamLeft:
        """Leave the team.

        The other members' statements are removed from this machine; your own statements stay in the team.
        """
        return await self._team.leave(query.project)

    @route("GET /team/members", "teamMembers", errors=(404,))
    async def list_members(self, query: TeamQuery) -> TeamMembers:
        """List the members of the team.

        Each member is listed with a role, the number of statements, and the time of the latest statement.
        """
        return await self._team.list_members(query.project)

    @route("POST /team/members", "changeTeamMember", errors=(404, 409))
    async def change_member(self, body: MemberActionRequest) -> TeamMemberChanged:
        """Exclude or readmit a member, or appoint a maintainer."""
        return await self._team.change_member(body)

    @route("GET /team/preview", "teamPreview", errors=(404,))
    async def preview(self, query: TeamQuery) -> TeamPreview:
        """Show the exact data that would be sent to the team, without sending it."""
        return await self._team.preview(query.project)

    @route("GET /team/statements", "teamStatements", errors=(404,))
    async def list_statements(self, query: StatementsQuery) -> TeamStatements:
        """List the members' statements by subject, with the resolutions and votes on them."""
        return await self._team.list_statements(query)
