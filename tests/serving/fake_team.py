"""A team of one, as the routes see it."""

from __future__ import annotations

from hunchd.protocol.team_answers import (
    TeamJoined,
    TeamLeft,
    TeamMemberChanged,
    TeamMembers,
    TeamPreview,
    TeamStatements,
    TeamStatus,
)
from hunchd.protocol.team_requests import JoinTeamRequest, MemberActionRequest, StatementsQuery


class FakeTeam:
    async def join(self, request: JoinTeamRequest) -> TeamJoined:
        return TeamJoined(team="t1", uri=request.uri, address=f"{request.uri}#t1", name=request.name, member="key")

    async def leave(self, project: str) -> TeamLeft:
        return TeamLeft(left="t1", unsent=0)

    async def get_status(self, project: str) -> TeamStatus:
        return TeamStatus(joined=False)

    async def list_members(self, project: str) -> TeamMembers:
        return TeamMembers(items=[])

    async def change_member(self, request: MemberActionRequest) -> TeamMemberChanged:
        return TeamMemberChanged(member="key", name=request.member, action=request.action)

    async def preview(self, project: str) -> TeamPreview:
        return TeamPreview(joined=False, items=[])

    async def list_statements(self, query: StatementsQuery) -> TeamStatements:
        return TeamStatements(items=[], next=None)
