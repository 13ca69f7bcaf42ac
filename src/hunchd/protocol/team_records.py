"""Records of a team's memory, as stored, signed and sent.

Each record holds, for example, a statement, a vote or a membership, and is immutable. Its id is a hash of the signed
bytes, so the same record always has the same id, and a record signed for one team is invalid in any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from hunchd.domain.memory import Kind

ContentT = TypeVar("ContentT", bound=Struct)

MAX_PAYLOAD_CHARACTERS: Final = 64 * 1024  # characters; equal to the maximum number of bytes of a shared file
_MAX_IDENTIFIER: Final = 128  # characters


class RecordKind(StrEnum):
    """Kind of a record, which determines its purpose and the form of its content."""

    FOUND = "found"  # creates the team; its author is the first maintainer
    JOIN = "join"  # names a member
    LEAVE = "leave"
    APPOINT = "appoint"  # makes a member a maintainer
    EXCLUDE = "exclude"  # voids all statements of a member
    READMIT = "readmit"
    STATE = "state"  # states, or changes, what the author says about a subject
    RETRACT = "retract"  # withdraws the statement; the text stays in the history
    ERASE = "erase"  # withdraws the statement; the text is removed everywhere
    RESOLVE = "resolve"  # decides between the statements of several members
    UNRESOLVE = "unresolve"
    VOTE = "vote"  # rates a statement


Identifier = Annotated[str, Meta(max_length=_MAX_IDENTIFIER)]


class TeamRecord(Struct, frozen=True, kw_only=True):
    """Signed record of a team.

    `author` is the author's public key, so that no directory is needed to verify the signature.
    """

    id: Identifier
    author: Identifier
    machine: Identifier
    clock: int  # hybrid logical clock
    version: int  # number of the record among those from its machine
    kind: RecordKind
    subject: Identifier  # hash of the subject, because an erased subject must not be readable
    payload: Annotated[str, Meta(max_length=MAX_PAYLOAD_CHARACTERS)] = ""  # JSON of one of the Structs below
    signature: Identifier = ""


class Statement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of a STATE record: a memory without its origin, usage and local ids."""

    kind: Kind
    title: str
    content: str
    at: datetime
    category: str | None = None
    key: str | None = None
    value: str | None = None
    confidence: float = 1.0
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    files: tuple[str, ...] = ()
    error: str | None = None  # for a fix: fingerprint of the error
    helped: int = 0  # times that a fix helped …
    tried: int = 0  # … and was tried


class Resolution(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of a RESOLVE record about the STATE records in `over`."""

    over: tuple[str, ...]
    chosen: Statement | None = None  # None: each of them holds
    quoted: dict[str, int] = msgspec.field(default_factory=dict)  # authors who stated `chosen` → their records' clocks
    note: str = ""
    question: str = ""  # id of the contradiction on the author's machine


class Vote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of a VOTE record: totals, safe to receive twice."""

    useful: int = 0
    wrong: int = 0


class Membership(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of a JOIN record: the name of the member."""

    name: str


class Founding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of a FOUND record, which determines the team's id."""

    nonce: str
    title: str = ""


def compute_team_id(founder: str, nonce: str) -> str:
    """Return the id of the team that `founder` creates with `nonce`.

    Because the id is a hash of the founder's public key, nobody else can create a team with this id.
    """
    return blake2b(f"{founder}:{nonce}".encode(), digest_size=10).hexdigest()


def build_signed_bytes(record: TeamRecord, team: str) -> bytes:
    """Return the bytes that the author signs."""
    fields = (team, record.author, record.machine, record.clock, record.version, record.kind, record.subject)
    return msgspec.json.encode([*fields, record.payload])


def compute_record_id(record: TeamRecord, team: str) -> str:
    """Return the id of a record: a hash of the signed bytes."""
    return blake2b(build_signed_bytes(record, team), digest_size=16).hexdigest()


def encode_payload(content: Struct) -> str:
    return msgspec.json.encode(content).decode()


def find_erased_quotations(records: Iterable[TeamRecord]) -> list[TeamRecord]:
    """Return the resolutions that quote a statement which nobody makes any more.

    All authors whose statements a resolution quotes have erased them since.
    """
    records = tuple(records)
    erasures: dict[tuple[str, str], int] = {}  # clock of the last one, by author and subject
    for record in records:
        if record.kind is RecordKind.ERASE:
            place = (record.author, record.subject)
            erasures[place] = max(record.clock, erasures.get(place, record.clock))
    return [record for record in records if record.kind is RecordKind.RESOLVE and _quotes_only(record, erasures)]


def _quotes_only(record: TeamRecord, erasures: Mapping[tuple[str, str], int]) -> bool:
    resolution = decode_payload(record, Resolution)
    quoted = resolution.quoted if resolution is not None else {}
    return bool(quoted) and all(
        erasures.get((author, record.subject), clock) > clock for author, clock in quoted.items()
    )


def decode_payload(record: TeamRecord, content: type[ContentT]) -> ContentT | None:
    """Return the content of a record, or None if it is not valid."""
    try:
        return msgspec.json.decode(record.payload, type=content)
    except msgspec.MsgspecError:
        return None
