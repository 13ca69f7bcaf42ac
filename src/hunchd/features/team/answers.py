"""Answers to requests about a team.

All functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hunchd.features.team.clock import to_datetime
from hunchd.features.team.merge import Member, SubjectView, count_votes
from hunchd.features.team.mirror import OwnRecord
from hunchd.features.team.sync import SyncFigures
from hunchd.protocol.team_answers import (
    PlannedRecord,
    TeamMember,
    TeamProgress,
    TeamResolution,
    TeamStatement,
    TeamSubject,
)
from hunchd.protocol.team_records import Statement, TeamRecord, decode_payload


def describe_progress(figures: SyncFigures) -> TeamProgress:
    if figures.failures_in_row:
        state = "unreachable"
    elif figures.push_failure:
        state = "read-only"
    else:
        state = "in step" if figures.last_success is not None else "starting"
    return TeamProgress(
        state=state,  # type: ignore[arg-type]
        in_step_at=figures.last_success,
        failure=figures.failure,
        next_attempt_at=figures.next_attempt,
        sent=figures.sent,
        received=figures.received,
        forged=figures.forged,
    )


def describe_member(member: Member, *, statements: int, clock: int, is_own: bool) -> TeamMember:
    return TeamMember(
        id=member.author,
        name=member.name,
        role=member.role,
        state="excluded" if member.is_excluded else "left" if member.has_left else "active",
        statements=statements,
        last_at=to_datetime(clock) if clock else None,
        own=is_own,
    )


def describe_planned(record: OwnRecord) -> PlannedRecord:
    """Describe a record that is about to be sent, with its full content."""
    content = msgspec.json.decode(record.payload) if record.payload else {}
    return PlannedRecord(action=str(record.kind), memory=record.memory, content=content)


def describe_subject(view: SubjectView, records: Sequence[TeamRecord], roster: Mapping[str, Member]) -> TeamSubject:
    open_ids = {record.id for record in view.open_statements}
    votes = count_votes(records, roster)
    return TeamSubject(
        subject=view.subject,
        statements=[
            _describe_statement(record, statement, roster, is_open=record.id in open_ids)
            for record in view.statements
            if (statement := decode_payload(record, Statement)) is not None
        ],
        resolution=_describe_resolution(view, roster),
        useful=votes.useful,
        wrong=votes.wrong,
    )


def _describe_statement(
    record: TeamRecord, statement: Statement, roster: Mapping[str, Member], *, is_open: bool
) -> TeamStatement:
    return TeamStatement(
        id=record.id,
        by=roster[record.author].name,
        kind=str(statement.kind),
        key=statement.key,
        value=statement.value,
        content=statement.content,
        said_at=to_datetime(record.clock),
        open=is_open,
    )


def _describe_resolution(view: SubjectView, roster: Mapping[str, Member]) -> TeamResolution | None:
    resolution = view.decode_resolution()
    if resolution is None or view.resolution is None:
        return None
    chosen = resolution.chosen
    return TeamResolution(
        by=roster[view.resolution.author].name,
        value=chosen.value or chosen.content if chosen is not None else None,
        note=resolution.note,
    )
