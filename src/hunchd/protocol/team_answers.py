"""JSON responses about teams."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from hunchd.protocol.responses import Count

TeamState = Literal["starting", "in step", "read-only", "unreachable"]


class TeamProgress(Struct, frozen=True, kw_only=True):
    """Progress of this machine in synchronising with a team."""

    state: TeamState
    in_step_at: datetime | None = None
    failure: Annotated[str, Meta(description="reason why the machine is not in step")] = ""
    next_attempt_at: Annotated[datetime | None, Meta(description="when it looks at the dataset again")] = None
    sent: Annotated[Count, Meta(description="records sent since the daemon started")] = 0
    received: Count = 0
    forged: Annotated[
        Count, Meta(description="records without a valid signature by their author; they are ignored")
    ] = 0


class TeamStatus(Struct, frozen=True, kw_only=True):
    """State of a project's team, as far as this machine knows."""

    joined: bool
    team: Annotated[str, Meta(description="id of the team")] = ""
    uri: str = ""
    name: Annotated[str, Meta(description="your name in the team")] = ""
    member: Annotated[str, Meta(description="your public key")] = ""
    members: Count = 0
    unsent: Annotated[Count, Meta(description="records that have not been sent to the team's store yet")] = 0
    unapplied: Annotated[Count, Meta(description="subjects that were received but are not shown yet")] = 0
    progress: TeamProgress | None = None


class TeamJoined(Struct, frozen=True, kw_only=True):
    """Team that the user founded or joined."""

    team: str
    uri: str
    address: Annotated[str, Meta(description="address to give to colleagues")]
    name: str
    member: str


class TeamLeft(Struct, frozen=True, kw_only=True):
    """Team that the user left; `unsent` records were never sent."""

    left: str
    unsent: Count


class TeamMember(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(description="public key")]
    name: str
    role: Literal["founder", "maintainer", "member"]
    state: Literal["active", "left", "excluded"]
    statements: Count
    last_at: datetime | None
    own: bool


class TeamMembers(Struct, frozen=True, kw_only=True):
    """Members of a team."""

    items: list[TeamMember]


class TeamMemberChanged(Struct, frozen=True, kw_only=True):
    """Decision about a member, which will be sent to all other members."""

    member: str
    name: str
    action: str


class PlannedRecord(Struct, frozen=True, kw_only=True):
    action: str
    memory: str | None
    content: Annotated[Mapping[str, Any], Meta(description="everything that would be sent")]


class TeamPreview(Struct, frozen=True, kw_only=True):
    """Everything that would be sent to the team."""

    joined: bool
    items: list[PlannedRecord]


class TeamStatement(Struct, frozen=True, kw_only=True):
    id: str
    by: Annotated[str, Meta(description="name of the member")]
    kind: str
    key: str | None
    value: str | None
    content: str
    said_at: datetime
    open: Annotated[bool, Meta(description="false: a resolution has decided about it")]


class TeamResolution(Struct, frozen=True, kw_only=True):
    by: str
    value: str | None
    note: str


class TeamSubject(Struct, frozen=True, kw_only=True):
    """Statements by members about the same subject, earliest first."""

    subject: str
    statements: list[TeamStatement]
    resolution: TeamResolution | None
    useful: Annotated[Count, Meta(description="members who found it useful")]
    wrong: Count


class TeamStatements(Struct, frozen=True, kw_only=True):
    """One page of a team's statements, grouped by subject."""

    items: list[TeamSubject]
    next: str | None
