"""Records derived from memories: statements, retractions, votes, resolutions.

All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hunchd.consolidation.contradiction_records import parse_sides
from hunchd.domain.memory import Memory, Status
from hunchd.features.team.merge import SubjectView
from hunchd.features.team.mirror import OwnRecord
from hunchd.features.team.selection import SharingScope, build_statement, explain_not_sent, is_from_team
from hunchd.ingestion.redaction import redact
from hunchd.protocol.team_records import (
    RecordKind,
    Resolution,
    Statement,
    TeamRecord,
    Vote,
    decode_payload,
    encode_payload,
)


def plan_statement(
    memory: Memory,
    subject: str,
    view: SubjectView,
    scope: SharingScope,
    author: str,
    now: datetime,
    error: str | None,
    *,
    is_unapplied: bool = False,
) -> OwnRecord | None:
    """Return the record to send about a change to a memory.

    `memory` is one of the user's own memories. Returns None if the team already has the same statement. If a
    colleague's resolution replaced the user's value on this machine, the team keeps the user's original statement
    until the user changes the value. If the changed value differs from the resolution, it is a new statement, which
    reopens the question. `is_unapplied` is True while the memory may not show yet what the view contains.
    """
    own = next((one for one in view.statements if one.author == author), None)
    if is_from_team(memory):
        return None
    if explain_not_sent(memory, scope, now):
        if own is None or is_unapplied or own not in view.open_statements:
            return None
        return OwnRecord(RecordKind.RETRACT, subject, memory=memory.id)
    statement = build_statement(memory, scope, error)
    payload = encode_payload(statement)
    if own is not None and own.payload == payload and (is_unapplied or not _is_overruled(own, statement, view)):
        return None
    return OwnRecord(RecordKind.STATE, subject, payload, memory.id)


def _is_overruled(own: TeamRecord, statement: Statement, view: SubjectView) -> bool:
    resolution = view.decode_resolution()
    if resolution is None or own.id not in resolution.over:
        return False
    return resolution.chosen is None or resolution.chosen.value != statement.value


def plan_missing(subject: str, records: Iterable[TeamRecord], author: str) -> list[OwnRecord]:
    """Return the records to send about a forgotten memory.

    This machine must have sent a statement about the memory. If a resolution by the same author may quote the
    memory, the resolution is withdrawn as well.
    """
    quotes = any(one.author == author and one.kind is RecordKind.RESOLVE for one in records)
    withdrawn = [OwnRecord(RecordKind.UNRESOLVE, subject)] if quotes else []
    return [OwnRecord(RecordKind.ERASE, subject), *withdrawn]


def plan_withdrawals(records: Iterable[TeamRecord], author: str) -> list[OwnRecord]:
    """Return the records that withdraw the author's resolutions whose quotations were erased."""
    erased = [one for one in records if one.kind is RecordKind.RESOLVE and not one.payload]
    return [OwnRecord(RecordKind.UNRESOLVE, one.subject) for one in erased if one.author == author]


def plan_resolution(
    conflict: Memory,
    head: Memory | None,
    subject: str,
    view: SubjectView,
    records: Sequence[TeamRecord],
    scope: SharingScope,
    author: str,
) -> OwnRecord | None:
    """Return the record with the user's resolution of a contradiction about a key.

    If the contradiction was reopened, the record that withdraws the resolution is returned instead. Returns None if
    there is nothing to send. `head` is the current memory for the key; `records` are the latest records about the
    subject.
    """
    mine = next((one for one in records if one.author == author and one.kind is RecordKind.RESOLVE), None)
    known = decode_payload(mine, Resolution) if mine is not None else None
    if conflict.status is Status.ACTIVE:
        return OwnRecord(RecordKind.UNRESOLVE, subject) if known and known.question == conflict.id else None
    if "before" not in conflict.source or head is None or head.status is not Status.ACTIVE:
        return None  # it was closed without a resolution by the user
    sides = parse_sides(conflict)
    if (known and known.question == conflict.id) or not any(map(is_from_team, sides)):
        return None
    earlier = view.decode_resolution()
    over = set(earlier.over if earlier else ())
    # One's own statement may be older than the side that lost, if that was stated since records were last created.
    over |= {one.id for one in view.statements if one.author == author or _states_one_of(one, sides)}
    quoted = {one.author: one.clock for one in view.statements if _states_one_of(one, [head])}
    if is_from_team(head) and not quoted:  # its author has said something else since, or erased it
        return None
    resolution = Resolution(
        over=tuple(sorted(over)),
        chosen=build_statement(head, scope),
        quoted=quoted,
        note=redact(str(conflict.source.get("note", ""))).text,
        question=conflict.id,
    )
    return OwnRecord(RecordKind.RESOLVE, subject, encode_payload(resolution))


def _states_one_of(record: TeamRecord, sides: Iterable[Memory]) -> bool:
    statement = decode_payload(record, Statement)
    return statement is not None and any(
        _normalize(statement.value or statement.content) == _normalize(side.value or side.content) for side in sides
    )


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()


def plan_dismissals(conflict: Memory, sides: Iterable[Memory], own: Iterable[TeamRecord]) -> list[OwnRecord]:
    """Return the records that end members' statements which lost a contradiction, or restore them.

    This applies to statements without a key. `sides` are the contradicting memories in their current state, and `own`
    are the user's latest records about them. If the contradiction was reopened, its resolutions are withdrawn.
    """
    decisions = {one.subject: decode_payload(one, Resolution) for one in own if one.kind is RecordKind.RESOLVE}
    decided_subjects = {name for name, one in decisions.items() if one is not None and one.question == conflict.id}
    if conflict.status is Status.ACTIVE:
        return [OwnRecord(RecordKind.UNRESOLVE, subject) for subject in sorted(decided_subjects)]
    if "before" not in conflict.source:
        return []
    losers = {
        str(side.source["subject"]): str(side.source["record"])
        for side in sides
        if is_from_team(side) and side.status is Status.SUPERSEDED
    }
    note = redact(str(conflict.source.get("note", ""))).text
    return [
        OwnRecord(
            RecordKind.RESOLVE, subject, encode_payload(Resolution(over=(record,), note=note, question=conflict.id))
        )
        for subject, record in losers.items()
        if subject not in decided_subjects
    ]


def plan_vote(memory: Memory, subject: str, mine: TeamRecord | None) -> OwnRecord | None:
    """Return the record with the user's vote if it changed."""
    vote = Vote(useful=min(memory.usage.cited, 1), wrong=min(memory.usage.wrong, 1))
    known = (decode_payload(mine, Vote) if mine is not None else None) or Vote()
    return OwnRecord(RecordKind.VOTE, subject, encode_payload(vote)) if vote != known else None
