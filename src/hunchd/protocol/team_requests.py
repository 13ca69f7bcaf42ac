"""Requests about teams, with strict parsers for bodies and query strings."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from hunchd.protocol.struct_decoding import Name, ProjectRef, Request, RequiredName

MAX_SUBJECTS_PER_PAGE: Final = 1_000
MAX_ADDRESS_CHARACTERS: Final = 1_000

Address = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_ADDRESS_CHARACTERS,
        description="s3://…, az://…, gs://… or an absolute path, without credentials; #ID of the team may follow",
    ),
]


class JoinTeamRequest(Request, frozen=True, kw_only=True):
    """Request to share a project's memory with a team."""

    project: ProjectRef
    uri: Address
    name: Annotated[RequiredName, Meta(description="the name that colleagues see")]
    create: Annotated[bool, Meta(description="true: create the team there")] = False


class MemberActionRequest(Request, frozen=True, kw_only=True):
    """Decision by a maintainer about a member."""

    project: ProjectRef
    member: Annotated[RequiredName, Meta(description="name of the member, or the beginning of the id")]
    action: Annotated[
        Literal["exclude", "readmit", "appoint"],
        Meta(description="exclude: all of the member's statements become void everywhere"),
    ]


class TeamQuery(Request, frozen=True, kw_only=True):
    project: ProjectRef


class StatementsQuery(Request, frozen=True, kw_only=True):
    project: ProjectRef
    after: Annotated[Name, Meta(description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_SUBJECTS_PER_PAGE)] = 200
