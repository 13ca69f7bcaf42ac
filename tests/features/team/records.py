"""Records for tests of the team feature, unsigned where nobody looks at the signature."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from hunchd.domain.memory import Kind
from hunchd.protocol.team_records import (
    Founding,
    Membership,
    RecordKind,
    Resolution,
    Statement,
    TeamRecord,
    compute_record_id,
    compute_team_id,
    decode_payload,
    encode_payload,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NONCE = "n1"
FOUNDER = "ada"
TEAM = compute_team_id(FOUNDER, NONCE)


def record(kind: RecordKind, author: str, subject: str = "s", clock: int = 1, payload: str = "") -> TeamRecord:
    draft = TeamRecord(
        id="",
        author=author,
        machine=f"of {author}",
        clock=clock,
        version=clock,
        kind=kind,
        subject=subject,
        payload=payload,
    )
    return msgspec.structs.replace(draft, id=compute_record_id(draft, TEAM))


def statement(text: str, **fields: Any) -> Statement:
    given = {"kind": Kind.FACT, "title": f"queue: {text}", "content": f"queue: {text}", "at": NOW, "key": "queue"}
    return Statement(**{**given, "value": text, "category": "decision", **fields})


def stated(author: str, text: str, clock: int = 1, subject: str = "s", **fields: Any) -> TeamRecord:
    return record(RecordKind.STATE, author, subject, clock, encode_payload(statement(text, **fields)))


def resolved(
    author: str, value: str, over: list[TeamRecord], clock: int = 9, subject: str = "s", **quoted: int
) -> TeamRecord:
    content = Resolution(over=tuple(one.id for one in over), chosen=statement(value), quoted=quoted)
    return record(RecordKind.RESOLVE, author, subject, clock, encode_payload(content))


def joined(author: str, name: str = "", clock: int = 1) -> TeamRecord:
    payload = encode_payload(Membership(name=name or author.capitalize()))
    return record(RecordKind.JOIN, author, author, clock, payload)


def founded() -> TeamRecord:
    return record(RecordKind.FOUND, FOUNDER, TEAM, payload=encode_payload(Founding(nonce=NONCE)))


def decode_value(record: TeamRecord) -> str | None:
    content = decode_payload(record, Statement)
    return content.value if content is not None else None
