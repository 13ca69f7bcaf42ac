"""Contradiction records: create, serialise, resolve and reopen them. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from hunchd.domain.errors import Conflict, InvalidInput
from hunchd.domain.facts import Change, place_of, revised, same_value, undone, voice_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Status, Trust
from hunchd.domain.sharing import is_shared
from hunchd.protocol.answers import iso
from hunchd.protocol.memories import memory_from_json, memory_json
from hunchd.protocol.requests import Resolution

# Confidence if two sources are equally sure of different values of one key: one is wrong, or the value has changed.
SAME_KEY: Final = 0.9
OVERTAKEN: Final = "one side says something else by now"
# Sides that hold after each resolution; where both hold, their status does not change.
_WINNERS: Final = {"a_wins": "a", "b_wins": "b", "merged": ""}


def conflict_of(a: Memory, b: Memory, now: datetime, *, reason: str = "", confidence: float = SAME_KEY) -> Memory:
    """Create the record of a contradiction between `a` and `b`, the newer one.

    It quotes both and is deleted with either. The same two statements always have the same id, in whichever order they
    came: nobody is asked about them twice.
    """
    told = chr(31).join(sorted(map(_told, (a, b))))
    line = f"{_said(a)} / {_said(b)}"
    return Memory(
        id="x" + blake2b(told.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest(),
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
        artifacts=tuple(dict.fromkeys((*_files(a), *_files(b)))),
        # It quotes both and is shown at the top: statements of a colleague are marked as untrusted.
        trust=Trust.UNTRUSTED if is_shared(a) or is_shared(b) else max(a.trust, b.trust, key=tuple(Trust).index),
        source={
            "type": "contradiction",
            "reason": reason or f"two sources say something else of '{b.key}'",
            "a": memory_json(a),
            "b": memory_json(b),
        },
    )


def conflict_json(conflict: Memory) -> dict[str, Any]:
    """Return a contradiction in the JSON form of the API."""
    source = conflict.source
    optional = {
        "resolved_at": source.get("resolved_at"),
        "resolution": source.get("resolution"),
        "note": source.get("note"),
    }
    return {
        "id": conflict.id,
        "status": "open" if conflict.status is Status.ACTIVE else "resolved",
        "a": _side(source, "a"),
        "b": _side(source, "b"),
        "reason": source["reason"],
        "confidence": conflict.confidence,
        "detected_at": iso(conflict.created),
        "project": conflict.project,
        **{name: told for name, told in optional.items() if told is not None},
    }


def _side(source: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Return a memory as it was when the contradiction was found.

    In a resolved contradiction, its status says whether it holds by the resolution.
    """
    wins = _WINNERS.get(source.get("resolution", ""))
    if wins is None:
        return dict(source[side])
    return {**source[side], "status": str(Status.ACTIVE if side in wins else Status.SUPERSEDED)}


def sides(conflict: Memory) -> tuple[Memory, Memory]:
    """Return both memories as they were when the contradiction was found."""
    return memory_from_json(conflict.source["a"]), memory_from_json(conflict.source["b"])


def of_one_place(conflict: Memory) -> bool:
    """Return True if both sides have one key and scope.

    Then only one of them can be kept.
    """
    a, b = map(place_of, sides(conflict))
    return a is not None and a == b


def settled(conflict: Memory, asked: Resolution, present: dict[str, Memory], now: datetime) -> tuple[Memory, Change]:
    """Return the resolved contradiction and all changes that follow.

    The record contains how to undo them. `present` maps the ids of both sides to the current memories. Raises Conflict
    if it is resolved already.
    """
    if conflict.status is not Status.ACTIVE:
        raise Conflict(f"'{conflict.id}' is already resolved", hint=f"undo {conflict.id} first")
    a, b = sides(conflict)
    place = place_of(b) if of_one_place(conflict) else None
    effect = _on_place(a, b, place, asked, present, now) if place is not None else _on_two(a, b, asked, present, now)
    before = [memory_json(present[one.id]) for one in effect.memories if one.id in present]
    before += [memory_json(present[identifier]) for identifier in effect.deletions if identifier in present]
    source = {
        **conflict.source,
        "resolution": asked.resolution,
        "resolved_at": iso(now),
        "before": before,
        "made": [one.id for one in effect.memories if one.id not in present],
        "left": {one.id: iso(one.updated) for one in effect.memories},
    } | ({"note": asked.note} if asked.note else {})
    closed = replace(conflict, status=Status.SUPERSEDED, valid_to=now, updated=now, source=source)
    return closed, Change((*effect.memories, closed), effect.deletions, conflict.project)


def reopened(conflict: Memory, present: dict[str, Memory], now: datetime) -> tuple[Memory, Change]:
    """Return the contradiction reopened, and everything as it was before.

    Raises Conflict if it is not resolved, or if one of its memories was changed since.
    """
    source = dict(conflict.source)
    if conflict.status is Status.ACTIVE or "before" not in source:
        raise Conflict(f"'{conflict.id}' is not resolved; there is nothing to undo")
    for identifier, updated in source["left"].items():
        if identifier not in present or iso(present[identifier].updated) != updated:
            raise Conflict(f"'{identifier}' was changed after the resolution; undo that change first")
    before = [replace(memory_from_json(told), updated=now) for told in source.pop("before")]
    made = tuple(source.pop("made"))
    for name in ("resolution", "resolved_at", "note", "left"):
        source.pop(name, None)
    opened = replace(conflict, status=Status.ACTIVE, valid_to=None, updated=now, source=source)
    return opened, Change((*before, opened), made, conflict.project)


def ended(conflict: Memory, present: dict[str, Memory], now: datetime) -> Memory | None:
    """Close a contradiction if one of its memories is not active.

    Returns None while both are active.
    """
    a, b = (present.get(side.id) for side in sides(conflict))
    if conflict.status is not Status.ACTIVE or of_one_place(conflict):
        return None
    a_holds, b_holds = (side is not None and side.status is Status.ACTIVE for side in (a, b))
    if a_holds and b_holds:
        return None
    told = {
        "resolution": "a_wins" if a_holds else "b_wins",
        "resolved_at": iso(now),
        "note": "the other side holds no more",
    }
    return replace(conflict, status=Status.SUPERSEDED, valid_to=now, updated=now, source={**conflict.source, **told})


def overtaken(conflict: Memory, said: Memory, now: datetime, *, undone: Memory | None = None) -> tuple[Memory, ...]:
    """Close a contradiction about one key after a source changed its claim.

    `new_claim` is the new claim of that source; `withdrawn` is the claim that it withdrew, if it did. If the new claim
    contradicts the other side as well, the new contradiction is returned too. Returns () if the contradiction still
    stands.
    """
    if conflict.status is not Status.ACTIVE or not of_one_place(conflict):
        return ()
    told = {"resolved_at": iso(now), "note": OVERTAKEN}
    closed = replace(conflict, status=Status.SUPERSEDED, valid_to=now, updated=now, source={**conflict.source, **told})
    a, b = sides(conflict)
    if undone is not None and _is_said_again(undone, b) and same_value(said, a):
        return (closed,)
    for side, other in ((a, b), (b, a)):
        if voice_of(said) == voice_of(side):
            if same_value(said, side):
                return ()
            if same_value(said, other):
                return (closed,)
            why = str(conflict.source["reason"])
            return closed, conflict_of(other, said, now, reason=why, confidence=conflict.confidence)
    return ()


def is_asked_or_answered(conflict: Memory) -> bool:
    """Return True if the user need not be asked again.

    A contradiction that was only overtaken was not answered.
    """
    return conflict.status is Status.ACTIVE or conflict.source.get("note") != OVERTAKEN


def _is_said_again(one: Memory, other: Memory) -> bool:
    return same_value(one, other) and voice_of(one) == voice_of(other)


def lapsed(conflict: Memory, now: datetime) -> Change:
    """Close a contradiction because one side is no longer claimed.

    A claim that was only kept for the contradiction is deleted with it.
    """
    told = {"resolution": "a_wins", "resolved_at": iso(now), "note": "the other side is said no more"}
    closed = replace(conflict, status=Status.SUPERSEDED, valid_to=now, updated=now, source={**conflict.source, **told})
    claims = tuple(side.id for side in sides(conflict) if side.status is Status.ARCHIVED)
    return Change((closed,), claims, conflict.project)


def _on_place(a: Memory, b: Memory, place: str, asked: Resolution, present: dict[str, Memory], now: datetime) -> Change:
    """Resolve a contradiction about one key, which has one value."""
    head = present.get(place)
    if head is None or head.status is not Status.ACTIVE:
        return Change(project=b.project)
    match asked.resolution:
        case "a_wins":
            if same_value(head, a):
                return Change(project=b.project)
            if head.supersedes == a.id and a.id in present and same_value(head, b):
                return undone(head, present[a.id], now)[1]
            return _says(head, a.value or "", a, now)
        case "b_wins":
            return Change(project=b.project) if same_value(head, b) else _says(head, b.value or "", b, now)
        case "merged":
            if not (asked.value or asked.note):
                raise InvalidInput("'value' is required to merge: the statement that replaces both", field="value")
            return _says(head, asked.value or asked.note, head, now)
        case _:
            return _says(head, f"{a.value}; {b.value}", head, now)


def _on_two(a: Memory, b: Memory, asked: Resolution, present: dict[str, Memory], now: datetime) -> Change:
    """Resolve a contradiction between two separate memories: the loser is superseded."""
    a, b = present.get(a.id, a), present.get(b.id, b)
    memories: tuple[Memory, ...] = ()
    instead = asked.value or asked.note
    match asked.resolution:
        case "a_wins":
            memories = (_lost(b, a, now),)
        case "b_wins":
            memories = (_lost(a, b, now),)
        case "merged":
            if not instead:
                raise InvalidInput("'value' is required to merge: the statement that replaces both", field="value")
            told = replace(b, title=instead[:120], content=instead, levels=Levels())
            change = _says(b, instead, b, now) if place_of(b) is not None else revised(b, told, now)
            memories = (*change.memories, _lost(a, b, now))
    return Change(tuple(one for one in memories if one.id in present or "." in one.id), project=b.project)


def _says(head: Memory, value: str, by: Memory, now: datetime) -> Change:
    line = f"{head.key}: {value}"
    told = replace(
        head,
        value=value,
        title=line,
        content=line,
        levels=Levels(summary=line, compressed=line, index=head.key or ""),
        confidence=max(head.confidence, by.confidence),
        trust=by.trust,
        source=by.source,
    )
    return revised(head, told, now)


def _lost(loser: Memory, winner: Memory, now: datetime) -> Memory:
    return replace(loser, status=Status.SUPERSEDED, superseded_by=winner.id, valid_to=now, updated=now)


def _told(memory: Memory) -> str:
    return chr(30).join((memory.id.partition(".")[0], memory.value or memory.content, voice_of(memory)))


def _said(memory: Memory) -> str:
    told = f"{memory.key}: {memory.value}" if memory.key and memory.value else memory.levels.summary or memory.title
    source = memory.source
    origin = source.get("path") or ("you" if memory.trust is Trust.USER else source.get("type"))
    return f"{told} ({origin}, {memory.at:%Y-%m})" if origin else told


def _files(memory: Memory) -> tuple[Artifact, ...]:
    return tuple(one for one in memory.artifacts if one.type == "file")
