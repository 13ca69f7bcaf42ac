"""Merging of team records, and the views that result.

A subject is what a statement is about: the key of a fact, or a single memory. A register contains the latest record
by one author about one subject; nobody can write to the register of a different author. Merging therefore takes the
maximum of each register, regardless of the order in which records arrive and of how often they arrive (a
state-based CRDT). The functions are pure and deterministic, and merging is commutative and idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from msgspec import structs

from hunchd.protocol.shared_files import clean_person_name
from hunchd.protocol.team_records import (
    Founding,
    Membership,
    RecordKind,
    Resolution,
    TeamRecord,
    Vote,
    compute_team_id,
    decode_payload,
    find_erased_quotations,
)

STATEMENTS: Final = "statement"
ERASURES: Final = "erasure"
RESOLUTIONS: Final = "resolution"
VOTES: Final = "vote"
MEMBERSHIPS: Final = "membership"
FOUNDINGS: Final = "founding"
APPOINTMENTS: Final = "appointment"
EXCLUSIONS: Final = "exclusion"
_GROUPS: Final[Mapping[RecordKind, str]] = {
    RecordKind.STATE: STATEMENTS,
    RecordKind.RETRACT: STATEMENTS,
    RecordKind.ERASE: ERASURES,
    RecordKind.RESOLVE: RESOLUTIONS,
    RecordKind.UNRESOLVE: RESOLUTIONS,
    RecordKind.VOTE: VOTES,
    RecordKind.JOIN: MEMBERSHIPS,
    RecordKind.LEAVE: MEMBERSHIPS,
    RecordKind.FOUND: FOUNDINGS,
    RecordKind.APPOINT: APPOINTMENTS,
    RecordKind.EXCLUDE: EXCLUSIONS,
    RecordKind.READMIT: EXCLUSIONS,
}
ROSTER_GROUPS: Final = (MEMBERSHIPS, FOUNDINGS, APPOINTMENTS, EXCLUSIONS)  # groups that say who is who
FINGERPRINT_LENGTH: Final = 8  # characters of a public key that people compare


class RegisterKey(NamedTuple):
    """Key of a register.

    `group` is the group of record kinds of which a register keeps only the latest record, such as statements and
    their retractions.
    """

    group: str
    subject: str
    author: str


@dataclass(frozen=True, slots=True)
class Member:
    """Member of a team, identified by the public key `author`.

    `name` is unique in the team: if two members claim the same name, part of the public key is added to both.
    """

    author: str
    name: str
    role: Literal["founder", "maintainer", "member"]
    is_excluded: bool = False
    has_left: bool = False


@dataclass(frozen=True, slots=True)
class SubjectView:
    """Statements about a subject, earliest first, and the valid resolution."""

    subject: str
    statements: tuple[TeamRecord, ...] = ()
    resolution: TeamRecord | None = None

    @property
    def open_statements(self) -> tuple[TeamRecord, ...]:
        """Statements that the resolution does not cover."""
        resolution = self.decode_resolution()
        covered_ids = resolution.over if resolution is not None else ()
        return tuple(one for one in self.statements if one.id not in covered_ids)

    def decode_resolution(self) -> Resolution | None:
        return decode_payload(self.resolution, Resolution) if self.resolution is not None else None


def get_register_key(record: TeamRecord) -> RegisterKey:
    return RegisterKey(_GROUPS[record.kind], record.subject, record.author)


def is_later(one: TeamRecord, other: TeamRecord) -> bool:
    """Return True if `one` replaces `other` in a register."""
    return (one.clock, one.id) > (other.clock, other.id)


def merge_records(
    registers: Mapping[RegisterKey, TeamRecord], records: Iterable[TeamRecord]
) -> dict[RegisterKey, TeamRecord]:
    """Return the registers after merging `records` into them.

    A statement older than its author's erasure is dropped, even if it arrives after the erasure. The erasure is
    kept beside a later statement, so that it reaches everybody who received the earlier one. A resolution that only
    quotes erased statements loses its payload: it decides nothing any more, but still replaces what it replaced.
    """
    latest = dict(registers)
    for record in records:
        key = get_register_key(record)
        if (current := latest.get(key)) is None or is_later(record, current):
            latest[key] = record
    for record in find_erased_quotations(latest.values()):
        latest[get_register_key(record)] = structs.replace(record, payload="")
    return {key: record for key, record in latest.items() if not _is_erased(key, record, latest)}


def _is_erased(key: RegisterKey, record: TeamRecord, registers: Mapping[RegisterKey, TeamRecord]) -> bool:
    erasure = registers.get(key._replace(group=ERASURES)) if key.group == STATEMENTS else None
    return erasure is not None and is_later(erasure, record)


def build_roster(team: str, records: Iterable[TeamRecord]) -> dict[str, Member]:
    """Return the members, keyed by author, from the latest records in `ROSTER_GROUPS`.

    Only the founder can appoint maintainers, only the founder and maintainers can exclude members, and nobody can
    exclude the founder.
    """
    records = tuple(records)
    founder = next((one.author for one in records if _is_founding(one, team)), "")
    appointed_ids = {one.subject for one in records if one.kind is RecordKind.APPOINT and one.author == founder}
    maintainers = {founder, *appointed_ids}
    exclusions = {
        subject: _pick_latest(one for one in rulings if one.author in maintainers)
        for subject, rulings in _group_by_subject(one for one in records if _GROUPS[one.kind] == EXCLUSIONS).items()
        if subject != founder
    }
    excluded_ids = {
        name for name, ruling in exclusions.items() if ruling is not None and ruling.kind is RecordKind.EXCLUDE
    }
    memberships = {one.author: one for one in records if _GROUPS[one.kind] == MEMBERSHIPS and one.subject == one.author}
    claims = {author: decode_payload(one, Membership) for author, one in memberships.items()}
    claimed_names = {author: clean_person_name(one.name) if one is not None else "" for author, one in claims.items()}
    uses = Counter(name.casefold() for name in claimed_names.values())
    return {
        author: Member(
            author,
            name if name and uses[name.casefold()] == 1 else f"{name or 'member'} {get_fingerprint(author)}",
            "founder" if author == founder else "maintainer" if author in maintainers else "member",
            is_excluded=author in excluded_ids,
            has_left=memberships[author].kind is RecordKind.LEAVE,
        )
        for author, name in claimed_names.items()
    }


def get_fingerprint(author: str) -> str:
    """Return the beginning of a member's public key, which is the part shown to people."""
    return author[:FINGERPRINT_LENGTH]


def build_view(subject: str, records: Iterable[TeamRecord], roster: Mapping[str, Member]) -> SubjectView:
    """Build the view of a subject from the records about it.

    `records` are the latest records of each author. Records by authors who are not members or are excluded are
    ignored.
    """
    valid = [one for one in records if (member := roster.get(one.author)) is not None and not member.is_excluded]
    statements = sorted(
        (one for one in valid if one.kind is RecordKind.STATE), key=lambda record: (record.clock, record.id)
    )
    by_author = {one.author: one for one in statements}
    # A member who stated something else after resolving has changed their mind.
    resolution = _pick_latest(
        one
        for one in valid
        if one.kind is RecordKind.RESOLVE
        and decode_payload(one, Resolution) is not None
        and not (one.author in by_author and is_later(by_author[one.author], one))
    )
    return SubjectView(subject, tuple(statements), resolution)


def count_votes(records: Iterable[TeamRecord], roster: Mapping[str, Member]) -> Vote:
    """Count the votes that a statement is useful or wrong."""
    votes = [
        decode_payload(one, Vote) or Vote()
        for one in records
        if one.kind is RecordKind.VOTE and (member := roster.get(one.author)) is not None and not member.is_excluded
    ]
    return Vote(useful=sum(vote.useful > 0 for vote in votes), wrong=sum(vote.wrong > 0 for vote in votes))


def _is_founding(record: TeamRecord, team: str) -> bool:
    founding = decode_payload(record, Founding) if record.kind is RecordKind.FOUND else None
    return founding is not None and compute_team_id(record.author, founding.nonce) == team


def _pick_latest(records: Iterable[TeamRecord]) -> TeamRecord | None:
    return max(records, key=lambda record: (record.clock, record.id), default=None)


def _group_by_subject(records: Iterable[TeamRecord]) -> dict[str, list[TeamRecord]]:
    by_subject: dict[str, list[TeamRecord]] = {}
    for record in records:
        by_subject.setdefault(record.subject, []).append(record)
    return by_subject
