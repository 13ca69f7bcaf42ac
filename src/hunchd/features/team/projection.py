"""Projection of a team's statements into the memories of this machine.

On this machine, a key has one value: the user's own or, if there is none, the one stated first. Different values
stated by other members are shown as contradictions until they are resolved. Statements without a key are stored
separately, one memory for each statement. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.contradiction_records import close_lapsed, create_contradiction, parse_sides
from hunchd.core.memory.drafts import memory_id, redact_memory
from hunchd.core.state.known_errors import error_id
from hunchd.domain.facts import (
    CATEGORIES,
    MemoryChange,
    is_same_value,
    resolve_as_conflict,
    resolve_claim,
    restore_withdrawn,
    revise_fact,
    slot_of,
    withdraw_fact,
)
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.features.team.clock import to_datetime
from hunchd.features.team.merge import FINGERPRINT_LENGTH, Member, SubjectView, get_fingerprint
from hunchd.features.team.selection import MAX_LINE, MAX_TAGS, TEAM_KINDS, is_from_team
from hunchd.ingestion.fixes import FIX_TAG, FIXES_LINK
from hunchd.protocol.shared_files import MAX_IMPORTANCE, MAX_TEXT_CHARACTERS, strip_invisible, strip_invisible_line
from hunchd.protocol.team_records import Statement, TeamRecord, decode_payload

TEAM_SOURCE: Final = "team"  # prefix of the source type: each member is a separate source
_MAX_SUMMARY: Final = 400  # characters
_MIN_FACT_CONFIDENCE: Final = 0.5  # a member's statement is at least this likely


@dataclass(frozen=True, slots=True)
class ProjectionTarget:
    """Project into whose memories statements are projected.

    `project` is its local id, `own_author` is this machine's author, and `roster` maps authors to members.
    `hidden_ids` are the ids of the records that the user has hidden on this machine.
    """

    project: str
    own_author: str
    roster: Mapping[str, Member]
    now: datetime
    hidden_ids: frozenset[str] = frozenset()
    claims: dict[str, Claim | None] = field(default_factory=dict, compare=False)  # by record id: redaction is slow


@dataclass(frozen=True, slots=True)
class SlotState:
    """A key's current memory here, and its open contradictions."""

    head: Memory | None
    conflicts: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """Member's statement converted to a memory.

    `author` is the author of the statement's record, and `record` is the id of that record.
    """

    memory: Memory
    author: str
    record: str


def is_about_key(statement: Statement) -> bool:
    """Return True if a statement gives a value for a key."""
    return statement.kind is Kind.FACT and bool(statement.key)


def build_claim(record: TeamRecord, target: ProjectionTarget) -> Claim | None:
    """Convert a record's statement to a claim, if it is valid."""
    if record.id not in target.claims:
        statement = decode_payload(record, Statement)
        memory = _to_memory(statement, record, target) if statement is not None else None
        target.claims[record.id] = Claim(memory, record.author, record.id) if memory is not None else None
    return target.claims[record.id]


def _to_memory(statement: Statement, record: TeamRecord, target: ProjectionTarget) -> Memory | None:
    """Convert an untrusted statement to a memory, if it is shareable."""
    content = strip_invisible(statement.content).strip()[:MAX_TEXT_CHARACTERS]
    if statement.kind not in TEAM_KINDS or not content:
        return None
    is_fact, is_document = statement.kind is Kind.FACT, statement.kind is Kind.DOCUMENT
    member = target.roster[record.author]
    key = _clean_line(statement.key) if is_fact else None
    at = min(statement.at, target.now)
    line = f"{key}: {_clean_line(statement.value)}" if key and statement.value else _clean_line(statement.title)
    memory = Memory(
        id=memory_id(target.project, f"team:{record.author}:{record.subject}"),
        kind=statement.kind,
        title=_clean_line(statement.title) or line or "",
        content=content,
        at=at,
        created=target.now,
        updated=target.now,
        project=target.project,
        levels=Levels(summary=" ".join(content.split())[:_MAX_SUMMARY], compressed=line or "", index=(line or "")[:60]),
        category=statement.category if is_fact and statement.category in CATEGORIES else None,
        key=_build_document_path(statement, member) if is_document else key,
        value=_clean_line(statement.value) if is_fact else None,
        scope=Scope.PROJECT,
        confidence=max(min(statement.confidence, 1.0), _MIN_FACT_CONFIDENCE),
        importance=max(min(statement.importance, MAX_IMPORTANCE), 0.0),
        tags=tuple(filter(None, map(_clean_line, statement.tags)))[:MAX_TAGS],
        valid_from=at,
        valid_to=statement.valid_to,
        artifacts=tuple(Artifact("file", path) for path in statement.files if not path.startswith(("/", "~", ".."))),
        links=_build_links(statement, target.project),
        trust=Trust.TEAM,
        source=_describe_fix(statement),
    )
    memory = redact_memory(memory)  # not the origin, which holds names and ids: it took half of the time
    return replace(memory, id=slot_of(memory) or memory.id, source={**_build_source(record, member), **memory.source})


def _clean_line(text: str | None) -> str | None:
    return strip_invisible_line(text)[:MAX_LINE] or None if text else None


def _build_document_path(statement: Statement, member: Member) -> str:
    """Return the path for a member's document; it never collides with an own document."""
    name = "".join(each if each.isalnum() else "-" for each in member.name.casefold()).strip("-")
    return f"/reference/team/{name}/{(_clean_line(statement.key) or '').strip('/')}"


def _build_links(statement: Statement, project: str) -> tuple[Mapping[str, str], ...]:
    error = statement.error if statement.kind is Kind.ERROR else None
    return ({"type": FIXES_LINK, "ref": error_id(project, error)},) if error else ()


def _build_source(record: TeamRecord, member: Member) -> dict[str, object]:
    return {
        "type": f"{TEAM_SOURCE} {member.name}",
        "by": member.name,
        "member": get_fingerprint(record.author),
        "record": record.id,
        "subject": record.subject,
        "said_at": to_datetime(record.clock).isoformat(),
    }


def _describe_fix(statement: Statement) -> dict[str, object]:
    headline = _clean_line(statement.content.partition("\n")[0]) or ""
    is_fix = statement.kind is Kind.ERROR and FIX_TAG in statement.tags
    return {"headline": headline, "helped": statement.helped, "tried": statement.tried} if is_fix else {}


# Statements about a key


def plan_slot(view: SubjectView, state: SlotState, target: ProjectionTarget) -> list[MemoryChange]:
    """Return the changes that align a key with the team."""
    claims = _list_claims(view, target)
    own_record = next((one.id for one in view.statements if one.author == target.own_author), None)
    own_claim = _build_own_claim(view, target)
    resolution = view.decode_resolution()
    head = state.head
    is_active = head is not None and head.status is Status.ACTIVE
    chosen = _build_resolved_claim(view, target)
    others = [*([chosen] if chosen else []), *claims]
    if head is None or not is_active:
        return _plan_empty_slot(head, next(iter(others), None), claims, target)
    if is_from_team(head):
        if own_claim is not None:  # the resolution that had replaced it is no longer valid
            restored_change = revise_fact(head, _take_over(own_claim.memory, head), target.now)
            return [restored_change, *_plan_conflicts(restored_change.memories[-1], others, state, target)]
        return _plan_team_value(head, next(iter(others), None), claims, state, target)
    is_own_decided = resolution is not None and own_record in resolution.over
    if chosen is not None and is_own_decided and not is_same_value(head, chosen.memory):
        change = revise_fact(head, _take_over(chosen.memory, head), target.now)
        return [change, *_plan_conflicts(change.memories[-1], claims, state, target)]
    return _plan_conflicts(head, others, state, target)


def _build_own_claim(view: SubjectView, target: ProjectionTarget) -> Claim | None:
    """Return the user's own statement as a claim.

    The user is the source of the claim. Returns None if the user has made no statement, or if a resolution covers it.
    """
    record = next((one for one in view.open_statements if one.author == target.own_author), None)
    claim = build_claim(record, target) if record is not None else None
    if claim is None:
        return None
    return replace(claim, memory=replace(claim.memory, trust=Trust.USER, source={"type": "client"}))


def _list_claims(view: SubjectView, target: ProjectionTarget) -> list[Claim]:
    """Return the unresolved statements of the other members as claims, earliest first."""
    records = (one for one in view.open_statements if one.author != target.own_author)
    claims = (build_claim(one, target) for one in records if one.id not in target.hidden_ids)
    return [claim for claim in claims if claim is not None]


def _build_resolved_claim(view: SubjectView, target: ProjectionTarget) -> Claim | None:
    """Return the value that the resolution chose, as a claim.

    The claim is attributed to the first other member who stated it, or else to the member who resolved the
    contradiction. Returns None if there is no resolution, or if it chose no value.
    """
    resolution, record = view.decode_resolution(), view.resolution
    if resolution is None or record is None or resolution.chosen is None or record.id in target.hidden_ids:
        return None
    memory = _to_memory(resolution.chosen, record, target)
    if memory is None:
        return None
    claims = (build_claim(one, target) for one in view.statements if one.author != target.own_author)
    stated_claim = next((claim for claim in claims if claim and _get_value(claim.memory) == _get_value(memory)), None)
    return stated_claim or Claim(memory, record.author, record.id)


def _plan_empty_slot(
    head: Memory | None, first: Claim | None, claims: Sequence[Claim], target: ProjectionTarget
) -> list[MemoryChange]:
    if first is None:
        return []
    memory = first.memory if head is None else replace(first.memory, valid_from=target.now)
    change = resolve_claim(memory, head, (), target.now).change
    stored = next((one for one in change.memories if one.id == first.memory.id), first.memory)
    return [change, *_open_conflicts(stored, claims, (), target)]


def _plan_team_value(
    head: Memory, first: Claim | None, claims: Sequence[Claim], state: SlotState, target: ProjectionTarget
) -> list[MemoryChange]:
    """Plan to replace a member's value by `first` or nothing."""
    if first is None:
        return [withdraw_fact(head, target.now), *_close_all(state.conflicts, (), target.now)]
    if head.source.get("record") == first.record and head.source.get("by") == first.memory.source.get("by"):
        return _plan_conflicts(head, claims, state, target)
    if is_same_value(head, first.memory) and head.content == first.memory.content:
        updated = replace(_take_over(first.memory, head), id=head.id, updated=target.now)
        return [MemoryChange((updated,), project=head.project), *_plan_conflicts(updated, claims, state, target)]
    change = revise_fact(head, _take_over(first.memory, head), target.now)
    return [change, *_plan_conflicts(change.memories[-1], claims, state, target)]


def _take_over(memory: Memory, head: Memory) -> Memory:
    """Return `memory` with the usage, dates and history of `head`, which it replaces."""
    return replace(
        memory, usage=head.usage, created=head.created, valid_from=head.valid_from, supersedes=head.supersedes
    )


def _plan_conflicts(
    head: Memory, claims: Sequence[Claim], state: SlotState, target: ProjectionTarget
) -> list[MemoryChange]:
    """Return the changes that open and close contradictions about a key.

    A contradiction is opened for each differing value, and contradictions with a value that is no longer stated are
    closed.
    """
    values = {_get_value(head), *(_get_value(claim.memory) for claim in claims)}
    standing = [conflict for conflict in state.conflicts if not _is_lapsed(conflict, values)]
    known_values = {_get_value(side) for conflict in standing for side in parse_sides(conflict)}
    return [
        *_close_all([one for one in state.conflicts if one not in standing], values, target.now),
        *_open_conflicts(head, claims, known_values, target),
    ]


def _open_conflicts(
    head: Memory, claims: Iterable[Claim], known_values: Collection[str], target: ProjectionTarget
) -> list[MemoryChange]:
    changes = []
    seen_values = {_get_value(head)}
    for claim in claims:
        value = _get_value(claim.memory)
        if value in seen_values or value in known_values:
            continue
        seen_values.add(value)
        ruling = resolve_as_conflict(replace(claim.memory, id=head.id, branch=head.branch), head, target.now)
        reason = f"{claim.memory.source['by']} says something else about '{claim.memory.key}'"
        conflict = create_contradiction(head, ruling.memory, target.now, reason=reason)
        changes.append(replace(ruling.change, memories=(*ruling.change.memories, conflict)))
    return changes


def _is_lapsed(conflict: Memory, values: Collection[str]) -> bool:
    """Return True if a member's side is not in `values`."""
    sides = parse_sides(conflict)
    return any(map(is_from_team, sides)) and not all(_get_value(side) in values for side in sides)


def _close_all(conflicts: Iterable[Memory], values: Collection[str], now: datetime) -> list[MemoryChange]:
    """Close contradictions with members; sides among `values` have won."""
    return [
        close_lapsed(conflict, now, winner=_find_winner(conflict, values))
        for conflict in conflicts
        if _is_lapsed(conflict, ())
    ]


def _find_winner(conflict: Memory, values: Collection[str]) -> str | None:
    sides = zip(("a_wins", "b_wins"), parse_sides(conflict), strict=True)
    return next((resolution for resolution, side in sides if _get_value(side) in values), None)


def _get_value(memory: Memory) -> str:
    return " ".join((memory.value or memory.content).split()).casefold()


# Statements without a key


def plan_single(claim: Claim | None, stored: Memory | None, now: datetime) -> list[MemoryChange]:
    """Return the changes that align a memory with a member's statement.

    The statement has no key. `claim` is None if the statement no longer exists; `stored` is the memory on this
    machine, if there is one.
    """
    if claim is None:
        return [withdraw_fact(stored, now)] if stored is not None and stored.status is Status.ACTIVE else []
    if stored is None:
        return [MemoryChange((claim.memory,), project=claim.memory.project)]
    if stored.source.get("record") == claim.record and stored.source.get("by") == claim.memory.source.get("by"):
        return restore_withdrawn(stored, now)
    return [revise_fact(stored, _take_over(claim.memory, stored), now)]


def plan_own_single(view: SubjectView, stored: Memory | None, target: ProjectionTarget) -> list[MemoryChange]:
    """Return the changes to the user's own statement after a member decided against it, or took that back.

    The statement has no key. `stored` is its memory, if it exists.
    """
    record = next((one for one in view.statements if one.author == target.own_author), None)
    if record is None or stored is None:
        return []
    if record in view.open_statements:
        return restore_withdrawn(stored, target.now)
    if stored.status is not Status.ACTIVE or view.resolution is None:
        return []
    name = target.roster[view.resolution.author].name
    return [withdraw_fact(stored, target.now, reason=f"{name} decided against it")]


def compute_single_id(author: str, subject: str, project: str) -> str:
    """Return the memory id for a member's statement without a key."""
    return memory_id(project, f"team:{author}:{subject}")


def is_said_before(memory: Memory, record: TeamRecord) -> bool:
    """Return True if a record's author stated the memory before."""
    source = memory.source
    return (
        is_from_team(memory)
        and str(source["member"]) == record.author[:FINGERPRINT_LENGTH]
        and datetime.fromisoformat(str(source["said_at"])) <= to_datetime(record.clock)
    )
