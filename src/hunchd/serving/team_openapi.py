"""OpenAPI operations and schemas of the team routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from hunchd.protocol.struct_schemas import list_query_parameters
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
from hunchd.serving.schemas import schema_reference

_JSON: Final = "application/json"

TEAM_STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "JoinTeamRequest": JoinTeamRequest,
    "MemberActionRequest": MemberActionRequest,
    "TeamStatus": TeamStatus,
    "TeamJoined": TeamJoined,
    "TeamLeft": TeamLeft,
    "TeamMembers": TeamMembers,
    "TeamMemberChanged": TeamMemberChanged,
    "TeamPreview": TeamPreview,
    "TeamStatements": TeamStatements,
}

# (method, path) → the fields of an Operation
TEAM_OPERATIONS: Final[dict[tuple[str, str], Mapping[str, Any]]] = {
    ("POST", "/team"): {
        "id": "joinTeam",
        "summary": "Share a project's memory with a team: create the team, or join it.",
        "body": schema_reference("JoinTeamRequest"),
        "status": 201,
        "answers": ((_JSON, schema_reference("TeamJoined")),),
        "errors": (404, 409),
    },
    ("GET", "/team"): {
        "id": "teamStatus",
        "summary": "Return whether a project has a team, and how far behind this machine is.",
        "query": list_query_parameters(TeamQuery),
        "answers": ((_JSON, schema_reference("TeamStatus")),),
        "errors": (404,),
    },
    ("DELETE", "/team"): {
        "id": "leaveTeam",
        "summary": "Leave the team: members' statements are removed here, your own stay in the team.",
        "query": list_query_parameters(TeamQuery),
        "answers": ((_JSON, schema_reference("TeamLeft")),),
        "errors": (404,),
    },
    ("GET", "/team/members"): {
        "id": "teamMembers",
        "summary": "List the members with role, number of statements and time of the latest one.",
        "query": list_query_parameters(TeamQuery),
        "answers": ((_JSON, schema_reference("TeamMembers")),),
        "errors": (404,),
    },
    ("POST", "/team/members"): {
        "id": "changeTeamMember",
        "summary": "Exclude or readmit a member, or appoint a maintainer.",
        "body": schema_reference("MemberActionRequest"),
        "answers": ((_JSON, schema_reference("TeamMemberChanged")),),
        "errors": (404, 409),
    },
    ("GET", "/team/preview"): {
        "id": "teamPreview",
        "summary": "Show exactly what would be sent, without sending it.",
        "query": list_query_parameters(TeamQuery),
        "answers": ((_JSON, schema_reference("TeamPreview")),),
        "errors": (404,),
    },
    ("GET", "/team/statements"): {
        "id": "teamStatements",
        "summary": "List the members' statements by subject, with resolutions and votes.",
        "query": list_query_parameters(StatementsQuery),
        "answers": ((_JSON, schema_reference("TeamStatements")),),
        "errors": (404,),
    },
}
