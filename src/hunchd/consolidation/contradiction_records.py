"""Creation, serialisation, resolution and reopening of contradiction records, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from msgspec.structs import replace as replace_fields

from hunchd.domain.errors import Conflict, InvalidInput
from hunchd.domain.facts import MemoryChange, get_source_name, is_same_value, revise_fact, slot_of, undo_last_step
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Status, Trust
from hunchd.domain.sharing import is_shared
from hunchd.protocol.knowledge_answers import ContradictionAnswer
from hunchd.protocol.memories import MemoryRecord, memory_from_json, memory_to_json, memory_to_record
from hunchd.protocol.requests import ResolutionOutcome, ResolutionRequest
from hunchd.protocol.responses import format_iso

# Confidence if two sources are equally sure of different values for one key: one is wrong, or the value has changed.
SAME_KEY_CONFIDENCE: Final = 0.9
OVERTAKEN: Final = "one side says something else by now"
BOTH_ENDED: Final = "neither memory is active any more"
SETTLED_WITH: Final = "settled_with"  # in the source: id of the contradiction whose resolution settled this one, too
# Sides that remain valid after each resolution; for other resolutions, no status changes.
_WINNERS: Final = {"a_wins": "a", "b_wins": "b", "merged": ""}


def create_contradiction(
    a: Memory, b: Memory, now: datetime, *, reason: str = "", confidence: float = SAME_KEY_CONFIDENCE
) -> Memory:
    """Create the record of a contradiction between `a` and the newer memory `b`.

    The record quotes both memories and is deleted together with either of them. The same two statements always get
    the same id, regardless of the order in which they were recorded, so that nobody is asked about them twice.
    """
    identity = chr(31).join(sorted(map(_make_identity, (a, b))))
    line = f"{_format_claim(a)} / {_format_claim(b)}"
    return Memory(
        id="x" + blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest(),
        kind=Kind.CONTRADICTION,
        title=f"contradiction: {line}"[:200],
        content=line,
        at=now,
        created=now,
        updated=now,
        project=b.project,
        levels=Levels(summary=line, index=b.key or b.title),
        key=b.key,
        scope=b.scope,
        branch=b.branch,
        confidence=confidence,
        importance=max(a.importance, b.importance),
        links=({"type": "a", "ref": a.id}, {"type": "b", "ref": b.id}),
        artifacts=tuple(dict.fromkeys((*_list_files(a), *_list_files(b)))),
        # The record quotes both and is shown at the top, so a colleague's statement makes it untrusted.
        trust=Trust.UNTRUSTED if is_shared(a) or is_shared(b) else max(a.trust, b.trust, key=tuple(Trust).index),
        source={
            "type": "contradiction",
            "reason": reason or f"two sources give different values for '{b.key}'",
            "a": memory_to_json(a),
            "b": memory_to_json(b),
        },
    )


def contradiction_answer(contradiction: Memory) -> ContradictionAnswer:
    """Convert a contradiction record to the API's form."""
    source = contradiction.source
    return ContradictionAnswer(
        id=contradiction.id,
        status="open" if contradiction.status is Status.ACTIVE else "resolved",
        a=_side_to_record(source, "a"),
        b=_side_to_record(source, "b"),
        reason=source["reason"],
        confidence=contradiction.confidence,
        detected_at=format_iso(contradiction.created),
        project=contradiction.project,
        resolved_at=source.get("resolved_at"),
        resolution=source.get("resolution"),
        note=source.get("note"),
    )


def _side_to_record(source: Mapping[str, Any], side: str) -> MemoryRecord:
    """Return one of the two memories as it was when the contradiction was found.

    `side` is "a" or "b". If the contradiction is resolved, the status of the returned memory shows whether this
    memory won.
    """
    memory = memory_from_json(source[side])
    wins = _WINNERS.get(source.get("resolution", ""))
    if wins is not None:
        memory = replace(memory, status=Status.ACTIVE if side in wins else Status.SUPERSEDED)
    return memory_to_record(memory)


def parse_sides(contradiction: Memory) -> tuple[Memory, Memory]:
    """Return both memories as they were when the contradiction was found."""
    return memory_from_json(contradiction.source["a"]), memory_from_json(contradiction.source["b"])


def is_about_one_key(contradiction: Memory) -> bool:
    """Return True if both memories share key and scope.

    In that case only one of the two values can be kept.
    """
    a, b = map(slot_of, parse_sides(contradiction))
    return a is not None and a == b


def resolve_contradiction(
    contradiction: Memory, request: ResolutionRequest, present: dict[str, Memory], now: datetime
) -> tuple[Memory, MemoryChange]:
    """Return the resolved contradiction record, and all changes that follow from it.

    The record also stores what is needed to undo these changes. `present` maps the ids of the memories concerned to
    their current versions. Raises Conflict if the contradiction is already resolved.
    """
    if contradiction.status is not Status.ACTIVE:
        raise Conflict(
            f"'{contradiction.id}' is already resolved",
            hint=f"undo the resolution first: `hunch undo {contradiction.id}`",
        )
    a, b = parse_sides(contradiction)
    place = slot_of(b) if is_about_one_key(contradiction) else None
    effect = (
        _resolve_key(a, b, place, request, present, now)
        if place is not None
        else _resolve_memories(a, b, request, present, now)
    )
    before = [memory_to_json(present[one.id]) for one in effect.memories if one.id in present]
    before += [memory_to_json(present[identifier]) for identifier in effect.deletions if identifier in present]
    source = {
        **contradiction.source,
        "resolution": request.resolution,
        "resolved_at": format_iso(now),
        "before": before,
        "made": [one.id for one in effect.memories if one.id not in present],
        "left": {one.id: format_iso(one.updated) for one in effect.memories},
    } | ({"note": request.note} if request.note else {})
    closed_record = replace(contradiction, status=Status.SUPERSEDED, valid_to=now, updated=now, source=source)
    return closed_record, MemoryChange((*effect.memories, closed_record), effect.deletions, contradiction.project)


def resolve_group(
    contradiction: Memory,
    others: Iterable[Memory],
    request: ResolutionRequest,
    present: dict[str, Memory],
    now: datetime,
) -> tuple[Memory, MemoryChange]:
    """Resolve a contradiction and, of the open `others`, all that follow from it.

    What contradicts the winner loses as well; what only the losers contradict has nothing against it any more. Of two
    losers, none is said to hold. If both are valid, so are all that these contradict.
    """
    resolved_record, change = resolve_contradiction(contradiction, request, present, now)
    winner, ended_ids = _split_sides(contradiction, request.resolution)
    others = [one for one in others if one.id != contradiction.id and not is_about_one_key(one)]
    for one in sorted(others, key=lambda one: all(side.id != winner for side in parse_sides(one))):
        a, b = (side.id for side in parse_sides(one))
        if not {a, b} & {winner, *ended_ids}:
            continue
        outcome: ResolutionOutcome = "a_wins" if a == winner or (b != winner and b in ended_ids) else "b_wins"
        if winner and {a, b} <= ended_ids:
            nothing_written: dict[str, Any] = {"before": [], "made": [], "left": {}}
            closed_record, more = _close(one, {"note": BOTH_ENDED, **nothing_written}, now), MemoryChange()
        else:
            present = present | {memory.id: memory for memory in change.memories}
            same = replace_fields(request, resolution=outcome if winner else request.resolution)
            closed_record, more = resolve_contradiction(one, same, present, now)
        closed_record = replace(closed_record, source={**closed_record.source, SETTLED_WITH: contradiction.id})
        change = replace(change, memories=(*change.memories, *more.memories[:-1], closed_record))
        ended_ids |= {a, b} - {winner} if not winner or winner in (a, b) else set()
    return resolved_record, change


def _split_sides(contradiction: Memory, resolution: str) -> tuple[str, set[str]]:
    """Return the id of the winner, "" if there is none, and those of the others; none for a merged value."""
    a, b = (side.id for side in parse_sides(contradiction))
    return {"a_wins": (a, {b}), "b_wins": (b, {a}), "both_valid": ("", {a, b})}.get(resolution, ("", set()))


def reopen_contradiction(
    contradiction: Memory, present: dict[str, Memory], now: datetime
) -> tuple[Memory, MemoryChange]:
    """Return the reopened contradiction record, and the changes that undo its resolution.

    Raises Conflict if the contradiction is not resolved, or if one of the memories that the resolution wrote has been
    changed since.
    """
    source = dict(contradiction.source)
    if contradiction.status is Status.ACTIVE or "before" not in source:
        raise Conflict(f"'{contradiction.id}' is not resolved; there is nothing to undo")
    for identifier, updated_memory in source["left"].items():
        if identifier not in present or format_iso(present[identifier].updated) != updated_memory:
            raise Conflict(f"'{identifier}' was changed after the resolution; undo that change first")
    before = [replace(memory_from_json(data), updated=now) for data in source.pop("before")]
    created_ids = tuple(source.pop("made"))
    for name in ("resolution", "resolved_at", "note", "left", SETTLED_WITH):
        source.pop(name, None)
    reopened_record = replace(contradiction, status=Status.ACTIVE, valid_to=None, updated=now, source=source)
    return reopened_record, MemoryChange((*before, reopened_record), created_ids, contradiction.project)


def close_if_outdated(contradiction: Memory, present: Mapping[str, Memory], now: datetime) -> Memory | None:
    """Close a contradiction if one of its two memories no longer holds, or has another text by now.

    Returns the closed record. Returns None if the contradiction stays as it is, because both memories are as they
    were, it is already closed, or it is about one key.
    """
    if contradiction.status is not Status.ACTIVE or is_about_one_key(contradiction):
        return None
    sides = parse_sides(contradiction)
    active = [side for side in sides if side.id in present and present[side.id].status is Status.ACTIVE]
    if any(not _is_same_text(side, present[side.id]) for side in active):
        outcome: dict[str, str] = {"note": OVERTAKEN}
    elif not active:
        outcome = {"note": BOTH_ENDED}
    elif len(active) < len(sides):
        note = "the other memory is no longer active"
        outcome = {"resolution": "a_wins" if sides[0] in active else "b_wins", "note": note}
    else:
        return None
    return _close(contradiction, outcome, now)


def _close(contradiction: Memory, outcome: Mapping[str, Any], now: datetime) -> Memory:
    source = {**contradiction.source, **outcome, "resolved_at": format_iso(now)}
    return replace(contradiction, status=Status.SUPERSEDED, valid_to=now, updated=now, source=source)


def _is_same_text(one: Memory, other: Memory) -> bool:
    return (one.content, one.value) == (other.content, other.value)


def close_overtaken(
    contradiction: Memory, new_claim: Memory, now: datetime, *, withdrawn: Memory | None = None
) -> tuple[Memory, ...]:
    """Close a contradiction about one key after a source has changed its claim.

    `new_claim` is the new claim by that source, and `withdrawn` is the claim that the source withdrew, if any.
    Returns the closed record; if the new claim contradicts the other memory as well, a record of the new
    contradiction follows. Returns () if the old contradiction persists.
    """
    if contradiction.status is not Status.ACTIVE or not is_about_one_key(contradiction):
        return ()
    outcome = {"resolved_at": format_iso(now), "note": OVERTAKEN}
    closed_record = replace(
        contradiction, status=Status.SUPERSEDED, valid_to=now, updated=now, source={**contradiction.source, **outcome}
    )
    a, b = parse_sides(contradiction)
    if withdrawn is not None and _is_same_claim(withdrawn, b) and is_same_value(new_claim, a):
        return (closed_record,)
    for side, other in ((a, b), (b, a)):
        if get_source_name(new_claim) == get_source_name(side):
            if is_same_value(new_claim, side):
                return ()
            if is_same_value(new_claim, other):
                return (closed_record,)
            why = str(contradiction.source["reason"])
            return closed_record, create_contradiction(
                other, new_claim, now, reason=why, confidence=contradiction.confidence
            )
    return ()


def needs_no_question(contradiction: Memory) -> bool:
    """Return True if the user need not be asked about the contradiction again.

    A contradiction that was closed only because a source changed its claim was resolved by nobody, so the user must
    still be asked.
    """
    return contradiction.status is Status.ACTIVE or contradiction.source.get("note") != OVERTAKEN


def _is_same_claim(one: Memory, other: Memory) -> bool:
    return is_same_value(one, other) and get_source_name(one) == get_source_name(other)


def close_lapsed(contradiction: Memory, now: datetime, *, winner: str | None = "a_wins") -> MemoryChange:
    """Close a contradiction because one of its claims is no longer made.

    A claim that was kept only because of the contradiction is deleted. `winner` is the resolution that names the
    other claim, or None if neither claim is made any more.
    """
    outcome = {"resolution": winner, "resolved_at": format_iso(now), "note": "the other claim is no longer made"}
    closed_record = replace(
        contradiction, status=Status.SUPERSEDED, valid_to=now, updated=now, source={**contradiction.source, **outcome}
    )
    claims = tuple(side.id for side in parse_sides(contradiction) if side.status is Status.ARCHIVED)
    return MemoryChange((closed_record,), claims, contradiction.project)


def _resolve_key(
    a: Memory, b: Memory, place: str, request: ResolutionRequest, present: dict[str, Memory], now: datetime
) -> MemoryChange:
    """Resolve a contradiction between two values of one key.

    `place` is the id of the memory that holds the active value. Returns no changes if there is no active value.
    """
    head = present.get(place)
    if head is None or head.status is not Status.ACTIVE:
        return MemoryChange(project=b.project)
    match request.resolution:
        case "a_wins":
            if is_same_value(head, a):
                return MemoryChange(project=b.project)
            if head.supersedes == a.id and a.id in present and is_same_value(head, b):
                return undo_last_step(head, present[a.id], now)[1]
            return _set_value(head, a.value or "", a, now)
        case "b_wins":
            return (
                MemoryChange(project=b.project) if is_same_value(head, b) else _set_value(head, b.value or "", b, now)
            )
        case "merged":
            if not (request.value or request.note):
                raise InvalidInput("merging requires 'value', the statement that replaces both", field="value")
            return _set_value(head, request.value or request.note, head, now)
        case _:
            return _set_value(head, f"{a.value}; {b.value}", head, now)


def _resolve_memories(
    a: Memory, b: Memory, request: ResolutionRequest, present: dict[str, Memory], now: datetime
) -> MemoryChange:
    """Resolve a contradiction between two separate memories by superseding the loser."""
    a, b = present.get(a.id, a), present.get(b.id, b)
    memories: tuple[Memory, ...] = ()
    replacement = request.value or request.note
    match request.resolution:
        case "a_wins":
            memories = _supersede(b, a, now)
        case "b_wins":
            memories = _supersede(a, b, now)
        case "merged":
            if not replacement:
                raise InvalidInput("merging requires 'value', the statement that replaces both", field="value")
            merged_memory = replace(b, title=replacement[:120], content=replacement, levels=Levels())
            change = (
                _set_value(b, replacement, b, now) if slot_of(b) is not None else revise_fact(b, merged_memory, now)
            )
            memories = (*change.memories, *_supersede(a, b, now))
    return MemoryChange(tuple(one for one in memories if one.id in present or "." in one.id), project=b.project)


def _set_value(head: Memory, value: str, source_memory: Memory, now: datetime) -> MemoryChange:
    line = f"{head.key}: {value}"
    updated_memory = replace(
        head,
        value=value,
        title=line,
        content=line,
        levels=Levels(summary=line, compressed=line, index=head.key or ""),
        confidence=max(head.confidence, source_memory.confidence),
        trust=source_memory.trust,
        source=source_memory.source,
    )
    return revise_fact(head, updated_memory, now)


def _supersede(loser: Memory, winner: Memory, now: datetime) -> tuple[Memory, ...]:
    if loser.status is Status.SUPERSEDED:  # what ended it first stays in its history
        return ()
    return (replace(loser, status=Status.SUPERSEDED, superseded_by=winner.id, valid_to=now, updated=now),)


def _make_identity(memory: Memory) -> str:
    return chr(30).join((memory.id.partition(".")[0], memory.value or memory.content, get_source_name(memory)))


def _format_claim(memory: Memory) -> str:
    has_value = memory.key and memory.value and memory.trust is not Trust.USER  # a user's words stay as they were said
    claim = f"{memory.key}: {memory.value}" if has_value else memory.levels.summary or memory.title
    source = memory.source
    origin = source.get("path") or ("you" if memory.trust is Trust.USER else source.get("type"))
    return f"{claim} ({origin}, {memory.at:%Y-%m})" if origin else claim


def _list_files(memory: Memory) -> tuple[Artifact, ...]:
    return tuple(one for one in memory.artifacts if one.type == "file")
