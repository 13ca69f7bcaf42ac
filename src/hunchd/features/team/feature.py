"""Sharing of a project's memory with a team.

A project without a team costs nothing: it needs no task, no process and no dataset.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import Feature, Features, StatusFields
from hunchd.core.state.project import Project
from hunchd.domain.errors import Conflict, HunchError, InvalidInput, NotFound
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory
from hunchd.domain.team_address import CREDENTIALS_FILE, split_address
from hunchd.features.team.answers import describe_member, describe_planned, describe_progress, describe_subject
from hunchd.features.team.membership import TeamFolders, TeamMembership, create_machine_id
from hunchd.features.team.mirror import Mirror, OwnRecord
from hunchd.features.team.selection import is_from_team
from hunchd.features.team.sync import TeamSync
from hunchd.features.team.team_client import StoreAddress, TeamClient
from hunchd.protocol.shared_files import clean_person_name
from hunchd.protocol.team_answers import (
    TeamJoined,
    TeamLeft,
    TeamMemberChanged,
    TeamMembers,
    TeamPreview,
    TeamStatements,
    TeamStatus,
)
from hunchd.protocol.team_records import (
    Founding,
    Membership,
    RecordKind,
    TeamRecord,
    compute_team_id,
    decode_payload,
    encode_payload,
)
from hunchd.protocol.team_requests import JoinTeamRequest, MemberActionRequest, StatementsQuery

LEAVE_TIMEOUT_SECONDS: Final = 15.0  # for the last records, if the store cannot be reached


class TeamFeature(Feature):
    """Feature that manages the teams of all projects."""

    def __init__(
        self, parts: Dependencies, memories: MemoryService, projects: OpenProjects, features: Features
    ) -> None:
        self._parts = parts
        self._memories = memories
        self._projects = projects
        self._features = features
        self._folders = TeamFolders(parts.paths.data / "teams")
        self._store = TeamClient(parts.team_process)
        self._syncs: dict[str, TeamSync] = {}  # by project id

    # Life of the daemon

    def start(self, tasks: TaskSupervisor) -> None:
        for membership in self._folders.list_memberships():
            self._start_sync(membership)

    async def stop(self) -> None:
        for project in tuple(self._syncs):
            await self._stop_sync(project)

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        if not self._syncs:
            return
        for identifier, sync in self._syncs.items():
            if change.project in (identifier, None):
                sync.notice_change(change)

    async def leave_project(self, project_id: str) -> None:
        await self._stop_sync(project_id)

    async def forget_project(self, project_id: str) -> None:
        await self._folders.forget(project_id)

    def project_status(self, project: Project) -> StatusFields:
        sync = self._syncs.get(project.id)
        return {"team": describe_progress(sync.figures)} if sync is not None else {}

    def _start_sync(self, membership: TeamMembership) -> None:
        mirror = self._folders.get(membership.project).open_mirror()
        sync = self._syncs[membership.project] = self._create_sync(membership, mirror)
        self._parts.tasks.start(_name_task(membership.project), sync.run)

    def _create_sync(self, membership: TeamMembership, mirror: Mirror) -> TeamSync:
        settings = self._parts.settings.team
        return TeamSync(
            membership,
            mirror,
            self._store,
            self._get_address(membership.uri),
            self._folders.get(membership.project).key_file,
            memories=self._memories,
            find_project=self._projects.find_by_id,
            features=self._features,
            poll_seconds=settings.poll_seconds,
            care_seconds=settings.care_minutes * 60,
        )

    async def _stop_sync(self, project: str) -> None:
        sync = self._syncs.pop(project, None)
        if sync is not None:
            self._parts.tasks.end(_name_task(project))
            await sync.close()

    def _get_address(self, uri: str) -> StoreAddress:
        return StoreAddress(uri, self._parts.paths.config / CREDENTIALS_FILE)

    # Requests

    async def join(self, request: JoinTeamRequest) -> TeamJoined:
        """Create or join a team for a project.

        Raises Conflict if the project already has a team, or if `create` is set and there is already a team at the
        address.
        """
        project, _ = self._projects.find(request.project)
        uri, expected_team = split_address(request.uri)
        name = clean_person_name(request.name)
        if not name:
            raise InvalidInput("'name' must be the name of a person: letters, at most five words", field="name")
        if project.id in self._syncs:
            raise Conflict(f"{project.name} already has a team", hint="to leave it, run `hunch team leave`")
        address = self._get_address(uri)
        foundings = await self._store.open(address, create=request.create)
        if request.create and foundings:
            raise Conflict(f"there is already a team at {uri}", hint=f"to join it, run `hunch team join {uri}`")
        folder = self._folders.get(project.id)
        joined_team = "" if request.create else _choose_team(foundings, expected_team)
        if (earlier := await asyncio.to_thread(folder.load_left, joined_team)) is None:
            await self._folders.forget(project.id)
        await asyncio.to_thread(folder.create)
        author = await self._store.create_key(folder.key_file)
        nonce = secrets.token_hex(8)
        team = joined_team or compute_team_id(author, nonce)
        machine = earlier.machine if earlier is not None else create_machine_id()
        membership = TeamMembership(project=project.id, uri=uri, team=team, name=name, author=author, machine=machine)
        news = [OwnRecord(RecordKind.JOIN, author, encode_payload(Membership(name=name)))]
        if request.create:
            founding = Founding(nonce=nonce, title=project.name)
            news.insert(0, OwnRecord(RecordKind.FOUND, team, encode_payload(founding)))
        await asyncio.to_thread(folder.save, membership)
        self._start_sync(membership)
        for new in news:
            await self._syncs[project.id].add_records([new])
        return TeamJoined(team=team, uri=uri, address=f"{uri}#{team}", name=name, member=author)

    async def leave(self, project_name: str) -> TeamLeft:
        """Leave a team and withdraw the other members' statements here."""
        sync = self._find_sync(project_name)
        membership = sync.membership
        payload = encode_payload(Membership(name=membership.name))
        await sync.add_records([OwnRecord(RecordKind.LEAVE, membership.author, payload)])
        self._parts.tasks.end(_name_task(membership.project))
        with suppress(TimeoutError, HunchError):
            async with asyncio.timeout(LEAVE_TIMEOUT_SECONDS):
                await sync.sync()
        waiting, _ = await sync.count_waiting()
        await sync.withdraw_all()
        await self._stop_sync(membership.project)
        await asyncio.to_thread(self._folders.get(membership.project).leave)
        return TeamLeft(left=membership.team, unsent=waiting)

    async def hide_statements(self, memories: Iterable[Memory]) -> list[str]:
        """Hide members' statements on this machine until their authors change them.

        Returns the ids of those memories in whose place the user had stated something as well.
        """
        hidden = [
            (memory.id, sync, str(memory.source["subject"]))
            for memory in memories
            if (sync := self._syncs.get(memory.project or "")) and is_from_team(memory) and "." not in memory.id
        ]
        return [identifier for identifier, sync, subject in hidden if await sync.hide(subject)]

    async def get_status(self, project_name: str) -> TeamStatus:
        """Return a team's status and its pending work."""
        project, _ = self._projects.find(project_name)
        sync = self._syncs.get(project.id)
        if sync is None:
            return TeamStatus(joined=False)
        waiting, pending = await sync.count_waiting()
        membership = sync.membership
        return TeamStatus(
            joined=True,
            team=membership.team,
            uri=membership.uri,
            name=membership.name,
            member=membership.author,
            members=sum(not (member.has_left or member.is_excluded) for member, _, _ in await sync.load_members()),
            unsent=waiting,
            unapplied=pending,
            progress=describe_progress(sync.figures),
        )

    async def list_members(self, project_name: str) -> TeamMembers:
        """Return the members with their statements' number and last time."""
        sync = self._find_sync(project_name)
        entries = sorted(await sync.load_members(), key=lambda entry: entry[0].name.casefold())
        own_author = sync.membership.author
        return TeamMembers(
            items=[
                describe_member(member, statements=count, clock=clock, is_own=member.author == own_author)
                for member, count, clock in entries
            ]
        )

    async def change_member(self, request: MemberActionRequest) -> TeamMemberChanged:
        """Appoint a member as maintainer, or exclude or readmit a member.

        The statements of an excluded member are void until the member is readmitted. Raises Conflict if the user
        does not have the required role, and NotFound if not exactly one member matches.
        """
        sync = self._find_sync(request.project)
        roster = await sync.get_roster()
        matching = [
            one
            for one in roster.values()
            if request.member in (one.author, one.name) or one.author.startswith(request.member)
        ]
        if len(matching) != 1:
            raise NotFound(
                f"'{request.member}' does not identify exactly one member",
                field="member",
                hint="`hunch team members` lists them",
            )
        own = roster.get(sync.membership.author)
        needed_roles = ("founder",) if request.action == "appoint" else ("founder", "maintainer")
        if own is None or own.role not in needed_roles:
            raise Conflict(f"only a {' or '.join(needed_roles)} of the team can {request.action} a member")
        if matching[0].role == "founder":
            raise Conflict("the founder cannot be excluded or appointed")
        await sync.add_records([OwnRecord(RecordKind(request.action), matching[0].author)])
        return TeamMemberChanged(member=matching[0].author, name=matching[0].name, action=request.action)

    async def preview(self, project_name: str) -> TeamPreview:
        """Return the exact data that would be sent to a team now."""
        project, _ = self._projects.find(project_name)
        joined_sync = self._syncs.get(project.id)
        sync = joined_sync or self._build_unjoined_sync(project)
        try:
            planned = await sync.plan_everything()
        finally:
            if joined_sync is None:
                await sync.close()
        return TeamPreview(joined=joined_sync is not None, items=[describe_planned(one) for one in planned])

    def _build_unjoined_sync(self, project: Project) -> TeamSync:
        """Return a synchroniser for a preview, which sends nothing."""
        return self._create_sync(TeamMembership(project=project.id, uri="", team="preview", name=""), Mirror(None))

    async def list_statements(self, query: StatementsQuery) -> TeamStatements:
        """Return a page of statements and resolutions by subject."""
        sync = self._find_sync(query.project)
        views = await sync.load_views(query.after, query.limit)
        roster = await sync.get_roster()
        return TeamStatements(
            items=[describe_subject(view, records, roster) for view, records in views],
            next=views[-1][0].subject if len(views) == query.limit else None,
        )

    def _find_sync(self, project_name: str) -> TeamSync:
        project, _ = self._projects.find(project_name)
        if (sync := self._syncs.get(project.id)) is None:
            raise NotFound(f"{project.name} has no team", hint="run `hunch team create URI` or `hunch team join URI`")
        return sync


def _name_task(project: str) -> str:
    return f"team:{project}"


def _choose_team(foundings: list[TeamRecord], expected_team: str) -> str:
    """Return the id of the team to join.

    Raises NotFound if there is no such team, and Conflict if there are several and the address names none of them.
    """
    teams = {
        compute_team_id(record.author, founding.nonce)
        for record in foundings
        if (founding := decode_payload(record, Founding)) is not None
    }
    if expected_team:
        if expected_team not in teams:
            raise NotFound(f"there is no team {expected_team} at this address", field="uri")
        return expected_team
    if not teams:
        raise NotFound("there is no team at this address", hint="to create one, run `hunch team create URI`")
    if len(teams) > 1:  # somebody with write access founded another one
        raise Conflict(
            f"there are {len(teams)} teams at this address: {', '.join(sorted(teams))}",
            hint="ask the founder for the id of the team, and join with URI#ID",
        )
    return teams.pop()
