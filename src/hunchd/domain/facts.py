"""Resolution of claims about facts, without I/O.

A fact has a slot, which consists of scope, project, category, key and branch. A claim is a new statement of a value
for a slot; resolving the claim decides whether this value becomes the current one. The current value (the head) is
stored under the id of the slot, so there can be only one. Earlier values are stored separately, as versions, each
with its period of validity and linked to the value before it. Every modification of a slot is a `MemoryChange`,
which is applied as a whole or not at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import Final, Protocol

from hunchd.domain.kinds import select_kinds
from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust

OWN_KINDS: Final = select_kinds(
    lambda one: one.is_found_from_projects
)  # kinds of the user's own memories that searches in a project find too
OWN_ROOTS: Final = ("/profile/", "/reference/", "/insights/")  # documents that are of use in every project
ABOUT_USER: Final = ("identity", "preference")  # categories of facts that hold in every project
CATEGORIES: Final = ("identity", "preference", "constraint", "instruction", "decision", "convention")
# Facts below these limits are discarded as guesses or trivia.
MIN_CONFIDENCE: Final = 0.4
MIN_IMPORTANCE: Final = 0.2
_CONFIDENCE_TOLERANCE: Final = 1e-9  # tolerance when comparing confidences
_VERSION_PATTERN: Final = re.compile(r"(?:>=\s*)?v?(\d+(?:\.\d+)*)(?:\+|\s+or newer)?")
_MAX_CLOCK_DRIFT: Final = timedelta(hours=1)  # more than clocks of one machine can drift apart
_PREVIOUS_ENDS_FIELD: Final = "ended_otherwise"  # source field: values of `valid_to` before cuts, newest last
_MOVED_FROM_LINK: Final = "moved_from"  # link type: from a moved memory to its former slot
_WITHDRAWN_FIELD: Final = "withdrawn"  # source field: the value was withdrawn without a replacement


class ClaimOutcome(StrEnum):
    """Possible resolutions of a claim."""

    NEW = "new"
    SAME = "same"  # already valid
    CONFIRMED = "confirmed"  # already valid; confidence or wording was updated
    REPLACED = "replaced"
    REJECTED = "rejected"  # the current value has more confidence; the claim is stored beside it
    EARLIER = "earlier"  # valid before the current value


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """Memories to write and ids to delete in one atomic step.

    All of them belong to the same project.
    """

    memories: tuple[Memory, ...] = ()
    deletions: tuple[str, ...] = ()
    project: str | None = None
    silent: bool = False  # True if no bundle changes, so that cached ones stay valid


@dataclass(frozen=True, slots=True)
class ClaimResolution:
    """Result of resolving a claim.

    `memory` is the claim as stored, or the value that already states it. `compared_with` is the value with which the
    claim was compared, or None if there was none.
    """

    verdict: ClaimOutcome
    memory: Memory
    change: MemoryChange
    compared_with: Memory | None = None
    conflicting: bool = False  # True if a person should decide, usually because two sources are equally confident


def slot_id(*, project: str | None, scope: Scope, category: str | None, key: str, branch: str | None = None) -> str:
    """Return the id of the stored value of a slot."""
    place = "\x1f".join((project or "", "fact", str(scope), category or "", normalize_key(key), branch or ""))
    return "m" + blake2b(place.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def slot_of(memory: Memory) -> str | None:
    """Return the slot id of a memory.

    Returns None if the memory is not a fact with a key.
    """
    if memory.kind is not Kind.FACT or not memory.key:
        return None
    return slot_id(
        project=memory.project,
        scope=memory.scope,
        category=memory.category,
        key=memory.key,
        branch=memory.branch,
    )


def normalize_key(key: str) -> str:
    """Normalise the case, white space and Unicode form of a key.

    Keys that differ only in these become equal.
    """
    return " ".join(unicodedata.normalize("NFC", key.casefold()).split())


def is_same_value(one: Memory, other: Memory) -> bool:
    """Return True if two facts state the same value.

    Case and white space are ignored. Facts without a value are compared by their text.
    """
    mine, others = ((fact.value or fact.content).split() for fact in (one, other))
    return " ".join(mine).casefold() == " ".join(others).casefold()


# Prefixes of keys that state a choice between two values, which can be reversed.
_CHOICE_PREFIXES: Final = ("in place of ", "name of ")


def reverse_choice(claim: Memory) -> Memory | None:
    """Return the reverse of a choice, which can no longer be valid once `claim` is.

    The reverse of "pnpm in place of npm" is "npm in place of pnpm". Only the key and the value are reversed; the
    other fields are copied from `claim`. Returns None if `claim` is not a choice.
    """
    head = next((head for head in _CHOICE_PREFIXES if (claim.key or "").startswith(head)), None)
    if head is None or not claim.key or not claim.value:
        return None
    return replace(claim, key=f"{head}{claim.value}", value=claim.key.removeprefix(head))


def get_valid_from(memory: Memory) -> datetime:
    """Return the time when a memory became valid.

    If that is not recorded, it is the time of the event that the memory describes.
    """
    return memory.valid_from or memory.at


def get_source_name(memory: Memory) -> str:
    """Return the name of a memory's source: "user", "file:PATH" or its type.

    Returns "" if the source is unknown. A source may change its own statement without causing a contradiction.
    """
    if memory.trust is Trust.USER:
        return "user"
    source = memory.source
    if source.get("path"):
        return f"file:{source['path']}"
    return str(source.get("type") or "")


def is_valid_at(memory: Memory, moment: datetime) -> bool:
    return get_valid_from(memory) <= moment and (memory.valid_to is None or moment < memory.valid_to)


class HasValidTo(Protocol):
    """Memory, or a view of a memory, that may have an end of validity."""

    @property
    def valid_to(self) -> datetime | None: ...


def is_over(memory: HasValidTo, now: datetime) -> bool:
    """Return True if the validity of a memory has ended.

    Its status may still be active until the next nightly run.
    """
    return memory.valid_to is not None and memory.valid_to <= now


def holds_in_every_project(memory: Memory) -> bool:
    """Return True if one of the user's memories applies to work in any project.

    A session outside any project is about something else, so only its statements about the user apply.
    """
    return memory.source.get("type") != "session" or memory.category in ABOUT_USER


def is_shown_in_projects(memory: Memory) -> bool:
    """Return True if one of the user's memories is found and shown in projects."""
    if memory.kind is Kind.FACT:
        return holds_in_every_project(memory)
    return memory.kind is Kind.DOCUMENT and (memory.key or "").startswith(OWN_ROOTS)


def is_presentable(memory: Memory, now: datetime) -> bool:
    """Return True if the memory may be presented as valid at `now`.

    Its validity must have begun and must not have ended. If the clock that stamped the memory (the committer's or
    ours) was ahead, the time that it showed is used instead of `now`.
    """
    return not is_over(memory, now) and get_valid_from(memory) <= max(now, memory.at, memory.updated)


def find_valid_version(family: Iterable[Memory], moment: datetime) -> Memory | None:
    """Return the value of a slot that was valid at `moment`, or None.

    `family` contains all versions of the slot.
    """
    valid = (one for one in family if one.status in (Status.ACTIVE, Status.SUPERSEDED) and is_valid_at(one, moment))
    return max(valid, key=get_valid_from, default=None)


def resolve_claim(claim: Memory, head: Memory | None, earlier: Sequence[Memory], now: datetime) -> ClaimResolution:
    """Resolve `claim` against `head`, the current value of its slot.

    The id of `claim` is the id of the slot. `earlier` contains the values before `head`, in any order; they matter
    only if the claim is about a time before `head`.
    """
    begins = (
        get_valid_from(claim) if claim.valid_to is None else min(get_valid_from(claim), claim.valid_to)
    )  # it may have ended before it was recorded
    claim = replace(claim, valid_from=begins, status=Status.ACTIVE, supersedes=None, superseded_by=None)
    if head is None:
        return ClaimResolution(ClaimOutcome.NEW, claim, MemoryChange((claim,), project=claim.project))
    if head.status is Status.ARCHIVED:
        archived_memory = replace(head, id=version_id(head, "undone", now.isoformat()), ref=None)
        return ClaimResolution(ClaimOutcome.NEW, claim, MemoryChange((archived_memory, claim), project=claim.project))
    head = _clamp_future_start(head, claim, now)
    if get_valid_from(claim) < get_valid_from(head):
        return _resolve_inserted(claim, head, earlier, now)
    if not _is_active_at(head, get_valid_from(claim)):
        return _resolve_succeeded(ClaimOutcome.NEW, claim, head, now)
    if is_same_value(claim, head):
        return _resolve_confirmed(claim, head, now)
    if claim.confidence < head.confidence - _CONFIDENCE_TOLERANCE:
        return _resolve_rejected(claim, head, now)
    if claim.valid_to is not None and claim.valid_to <= now and _is_active_at(head, now):
        return _resolve_between(claim, head, claim.valid_to, now)
    equal = abs(claim.confidence - head.confidence) <= _CONFIDENCE_TOLERANCE
    conflicting = equal and get_source_name(claim) != get_source_name(head) and not _is_same_version(claim, head)
    return replace(_resolve_succeeded(ClaimOutcome.REPLACED, claim, head, now), conflicting=conflicting)


def _is_same_version(one: Memory, other: Memory) -> bool:
    """Return True if two values name the same version.

    Each value may name the version as an exact or as a minimum version.
    """
    versions = [_VERSION_PATTERN.fullmatch((fact.value or "").strip()) for fact in (one, other)]
    version_names = {version[1] if version else None for version in versions}
    return None not in version_names and len(version_names) == 1


def _clamp_future_start(head: Memory, claim: Memory, now: datetime) -> Memory:
    """Return `head`, with a future start moved back to the present.

    A value recorded while the clock was ahead is valid until the next claim, not until the clock reaches that time.
    """
    if head.created - now < _MAX_CLOCK_DRIFT:
        return head
    begins = get_valid_from(claim) if now - get_valid_from(claim) < _MAX_CLOCK_DRIFT else now
    return replace(head, valid_from=min(get_valid_from(head), begins))


def move_fact(memory: Memory, replacement: Memory, head: Memory | None, now: datetime) -> tuple[Memory, MemoryChange]:
    """Move `memory` to the slot of `replacement`.

    `head` is the current value of that slot, if any. The user said to which slot the fact belongs, so it becomes the
    current value there regardless of the confidence of `head`. The move is recorded as a separate step even if `head`
    states the same value, so that it can be undone. Returns the new value and the change.
    """
    ends = now if memory.valid_to is None else min(now, memory.valid_to)
    old = _cut_validity(
        replace(memory, status=Status.SUPERSEDED, superseded_by=replacement.id, ref=None, updated=now), ends
    )
    surest = max(replacement.confidence, head.confidence if head is not None else 0.0)
    links = (*memory.links, {"type": _MOVED_FROM_LINK, "ref": memory.id})
    claim = replace(replacement, confidence=surest, valid_from=now, created=now, links=links, supersedes=None)
    if head is not None and head.status is not Status.ARCHIVED and is_same_value(claim, head):
        there = _resolve_succeeded(ClaimOutcome.REPLACED, claim, head, now)
    else:
        there = resolve_claim(claim, head, (), now)
    return there.memory, MemoryChange((old, *there.change.memories), project=memory.project)


def find_origin_id(head: Memory) -> str | None:
    """Return the id that `head` had before it was last moved, or None."""
    return next((link["ref"] for link in reversed(head.links) if link.get("type") == _MOVED_FROM_LINK), None)


def undo_move(old: Memory, head: Memory, before: Memory | None, now: datetime) -> Memory | None:
    """Restore `old` if the last step moved it into the slot of `head`.

    `before` is the value that `head` replaced. Returns None if the last step was not that move.
    """
    if old.superseded_by != head.id or old.id != find_origin_id(head):
        return None
    if before is not None and old.valid_to is not None and get_valid_from(before) >= old.valid_to:
        return None
    return reactivate(replace(old, ref=head.ref), now)


def reactivate(old: Memory, now: datetime) -> Memory:
    """Reactivate a superseded memory with its original end of validity."""
    return _restore_validity(replace(old, status=Status.ACTIVE, superseded_by=None, updated=now))


def resolve_as_conflict(claim: Memory, head: Memory, now: datetime) -> ClaimResolution:
    """Resolve `claim` as a conflict with the current value.

    The claim is stored beside that value, whatever its confidence.
    """
    claim = replace(claim, valid_from=get_valid_from(claim), supersedes=None, superseded_by=None)
    return replace(_resolve_rejected(claim, head, now), conflicting=True)


_STATED_FIELDS: Final = ("title", "content", "value", "status", "branch", "valid_to")


def revise_fact(head: Memory, replacement: Memory, now: datetime) -> MemoryChange:
    """Replace the content of `head` with `replacement`, and keep the old version.

    The old version is stored with its period of validity; what still says the same holds since it did before.
    """
    stated_start = replacement.valid_from if replacement.valid_from != head.valid_from else None
    says_same = all(getattr(head, name) == getattr(replacement, name) for name in _STATED_FIELDS)
    begins = stated_start or (get_valid_from(head) if says_same else max(now, get_valid_from(head)))
    if (
        replacement.valid_to is not None and replacement.valid_to <= begins
    ):  # it is over by now, so the replacement describes the past period
        begins = get_valid_from(head)
    before = retire_version(head, max(begins, get_valid_from(head)), now)
    after = replace(replacement, id=head.id, supersedes=before.id, superseded_by=None, valid_from=begins, updated=now)
    return MemoryChange((before, after), project=head.project)


def undo_last_step(head: Memory, before: Memory | None, now: datetime) -> tuple[Memory, MemoryChange]:
    """Undo the last change to the slot of `head`.

    `before`, the previous value, becomes the current value again; if it is None, the slot has no valid value. If
    the last change withdrew `head`, `head` becomes active again. An undone value is archived for later inspection.
    Returns the changed memory and the change.
    """
    if head.source.get(_WITHDRAWN_FIELD):
        result = _restore_validity(replace(head, status=Status.ACTIVE, updated=now))
        source = {name: field_value for name, field_value in result.source.items() if name != _WITHDRAWN_FIELD}
        result = replace(result, source=source)
        return result, MemoryChange((result,), project=head.project)
    if before is None:
        nothing = replace(head, status=Status.ARCHIVED, valid_to=get_valid_from(head), updated=now)
        return nothing, MemoryChange((nothing,), project=head.project)
    if not _is_version(before, head):  # an independent memory with its own id
        archived_memory = replace(
            head, status=Status.ARCHIVED, supersedes=None, valid_to=get_valid_from(head), updated=now
        )
        back = reactivate(before, now)
        return back, MemoryChange((archived_memory, back), project=head.project)
    archived_memory = replace(
        head,
        id=version_id(head, "undone", now.isoformat()),
        ref=None,
        status=Status.ARCHIVED,
        supersedes=None,
        superseded_by=None,
        valid_to=get_valid_from(head),
        links=(*head.links, {"type": "undone", "ref": head.id}),
        updated=now,
    )
    was_cut = before.valid_to == get_valid_from(head)
    status = Status.SUPERSEDED if before.source.get(_WITHDRAWN_FIELD) else Status.ACTIVE
    result = replace(before, id=head.id, ref=head.ref, status=status, superseded_by=None, updated=now)
    if was_cut:
        result = _restore_validity(result)
    return result, MemoryChange((archived_memory, result), (before.id,), head.project)


def withdraw_fact(head: Memory, now: datetime, *, reason: str = "") -> MemoryChange:
    """End the validity of `head` now, because no source states it any more, or for `reason`."""
    ended_head = _cut_validity(replace(head, status=Status.SUPERSEDED, updated=now), max(now, get_valid_from(head)))
    ended_head = replace(ended_head, source={**ended_head.source, _WITHDRAWN_FIELD: reason or True})
    return MemoryChange((ended_head,), project=head.project)


def restore_withdrawn(head: Memory, now: datetime) -> list[MemoryChange]:
    """Return the change that makes `head` valid again if it was withdrawn."""
    return [undo_last_step(head, None, now)[1]] if head.source.get(_WITHDRAWN_FIELD) else []


def retire_version(memory: Memory, ends: datetime, now: datetime) -> Memory:
    """Return `memory` as an old version, which ends at `ends` or earlier.

    The version has its own id and is marked as superseded by `memory`.
    """
    old_version = replace(
        memory,
        id=version_id(memory),
        ref=None,
        status=memory.status if memory.status is Status.ARCHIVED else Status.SUPERSEDED,
        superseded_by=memory.id,
        valid_from=get_valid_from(memory),
        updated=now,
    )
    return old_version if memory.valid_to is not None and memory.valid_to < ends else _cut_validity(old_version, ends)


def version_id(memory: Memory, *more: str) -> str:
    """Return the id of a version, made from the slot id and a hash.

    The hash covers the content, the value, the start of validity and the last update, so that the same version always
    has the same id.
    """
    place = memory.id.partition(".")[0]
    hash_parts = (
        get_valid_from(memory).isoformat(),
        memory.updated.isoformat(),
        memory.value or "",
        memory.content,
        *more,
    )
    return f"{place}.{blake2b(chr(31).join(hash_parts).encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _is_version(one: Memory, head: Memory) -> bool:
    """Return True if `one` is an earlier version of `head`.

    If it is not, it is a different memory that `head` superseded.
    """
    return one.id.partition(".")[0] == head.id.partition(".")[0]


def list_versions(head: Memory, family: Mapping[str, Memory]) -> list[Memory]:
    """Return `head` and its earlier versions, newest first.

    `family` contains the versions, keyed by id.
    """
    versions, seen_ids = [head], {head.id}
    while (before := versions[-1].supersedes) is not None and before in family and before not in seen_ids:
        seen_ids.add(before)
        versions.append(family[before])
    return versions


def remove_versions(
    head: Memory, family: Mapping[str, Memory], removed_ids: Container[str], now: datetime
) -> MemoryChange | None:
    """Remove the versions with ids in `removed_ids` from the history of `head`.

    The result is as if nobody had stated the removed versions: each remaining version follows the one before it,
    and the newest becomes current if the current one is removed. Returns None if nothing changes.
    """
    versions = list_versions(head, family)
    remaining = [place for place, one in enumerate(versions) if one.id not in removed_ids]
    if not remaining or len(remaining) == len(versions):
        return None
    newest, has_head_moved = versions[remaining[0]], remaining[0] > 0
    relinked_memories: list[Memory] = []
    for place in remaining:
        one, newer = versions[place], relinked_memories[-1] if relinked_memories else None
        if place and versions[place - 1].id in removed_ids:
            one = _relink_follower(one, versions[place - 1], newer)
        if newer is None:
            one = replace(one, id=head.id, superseded_by=None if has_head_moved else one.superseded_by)
        else:
            relinked_memories[-1] = replace(newer, supersedes=one.id)
            if one.superseded_by is None or one.superseded_by in removed_ids or one.superseded_by == newest.id:
                one = replace(one, superseded_by=head.id)
        relinked_memories.append(one)
    relinked_memories[-1] = replace(relinked_memories[-1], supersedes=None)
    changed_memories = tuple(replace(one, updated=now) for one in relinked_memories if one != family.get(one.id))
    return MemoryChange(changed_memories, (newest.id,) if has_head_moved else (), head.project)


def _relink_follower(memory: Memory, removed_version: Memory, newer: Memory | None) -> Memory:
    """Return `memory` as if `newer` had followed it instead of `removed_version`.

    If `newer` is None, nothing followed `memory`.
    """
    is_withdrawn = bool(memory.source.get(_WITHDRAWN_FIELD))
    if memory.valid_to == get_valid_from(removed_version) and not is_withdrawn:
        memory = _restore_validity(memory)
        if newer is not None and (memory.valid_to is None or memory.valid_to >= get_valid_from(newer)):
            memory = _cut_validity(memory, get_valid_from(newer))
    if newer is None and memory.status is Status.SUPERSEDED and not is_withdrawn:
        return replace(memory, status=Status.ACTIVE)
    return memory


def _is_active_at(head: Memory, moment: datetime) -> bool:
    return head.status is Status.ACTIVE and (head.valid_to is None or moment < head.valid_to)


def _resolve_confirmed(claim: Memory, head: Memory, now: datetime) -> ClaimResolution:
    """Resolve a claim that states the current value again.

    If the claim has more confidence and words the value differently, the claim's source is quoted from then on, for
    example a manifest instead of an old commit.
    """
    surer_voice = claim.confidence > head.confidence + _CONFIDENCE_TOLERANCE
    says_more = claim.content != head.content and (get_source_name(claim) == get_source_name(head) or surer_voice)
    if claim.confidence <= head.confidence + _CONFIDENCE_TOLERANCE and not (
        says_more and claim.confidence >= head.confidence
    ):
        return ClaimResolution(ClaimOutcome.SAME, head, MemoryChange(project=head.project), head)
    surer = replace(head, confidence=claim.confidence, importance=max(head.importance, claim.importance), updated=now)
    if not says_more:
        return ClaimResolution(ClaimOutcome.CONFIRMED, surer, MemoryChange((surer,), project=head.project), head)
    reworded_memory = replace(
        surer,
        content=claim.content,
        title=claim.title,
        levels=claim.levels,
        source=claim.source,
        trust=claim.trust,
        artifacts=claim.artifacts,
    )
    change = revise_fact(head, reworded_memory, now)
    return ClaimResolution(ClaimOutcome.CONFIRMED, change.memories[-1], change, head)


def _resolve_succeeded(verdict: ClaimOutcome, claim: Memory, head: Memory, now: datetime) -> ClaimResolution:
    before = retire_version(head, get_valid_from(claim), now)
    after = replace(claim, supersedes=before.id)
    return ClaimResolution(verdict, after, MemoryChange((before, after), project=claim.project), before)


def _build_rejected_id(claim: Memory) -> str:
    """Return the id for storing a rejected claim.

    The id is the same each time the same source repeats the claim.
    """
    hash_input = chr(31).join(("rejected", get_source_name(claim), claim.value or "", claim.content))
    return f"{claim.id}.{blake2b(hash_input.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _resolve_rejected(claim: Memory, against: Memory, now: datetime) -> ClaimResolution:
    rejected_claim = replace(
        claim,
        id=_build_rejected_id(claim),
        ref=None,
        status=Status.ARCHIVED,
        links=(*claim.links, {"type": "rejected_for", "ref": against.id}),
        updated=now,
    )
    return ClaimResolution(
        ClaimOutcome.REJECTED, rejected_claim, MemoryChange((rejected_claim,), project=claim.project), against
    )


def _resolve_inserted(claim: Memory, head: Memory, earlier: Sequence[Memory], now: datetime) -> ClaimResolution:
    """Resolve a claim that begins before the current value.

    If the same value was already valid at that time, nothing changes; if a value with more confidence was valid
    then, the claim is rejected. Otherwise the claim becomes a version, which ends no later than the beginning of
    the version after it.
    """
    versions = list_versions(head, {one.id: one for one in earlier})
    place = next(index for index in range(len(versions)) if _is_last_after(versions, index, get_valid_from(claim)))
    next_version = versions[place]
    previous_version = versions[place + 1] if place + 1 < len(versions) else None
    is_covered = (
        previous_version is not None
        and previous_version.status is not Status.ARCHIVED
        and is_valid_at(previous_version, get_valid_from(claim))
    )
    is_covered = is_covered and claim.valid_to != get_valid_from(claim)  # a claim with an empty period replaces nothing
    if previous_version is not None and is_covered:
        if is_same_value(claim, previous_version):
            return ClaimResolution(
                ClaimOutcome.SAME, previous_version, MemoryChange(project=claim.project), previous_version
            )
        if claim.confidence < previous_version.confidence - _CONFIDENCE_TOLERANCE:
            return _resolve_rejected(claim, previous_version, now)
    ends = get_valid_from(next_version)
    if previous_version is not None and is_covered and previous_version.valid_to is not None:
        ends = min(ends, previous_version.valid_to)
    own = replace(
        claim,
        id=version_id(claim),
        ref=None,
        status=Status.SUPERSEDED,
        supersedes=previous_version.id if previous_version is not None else None,
        superseded_by=next_version.id,
    )
    own = own if own.valid_to is not None and own.valid_to < ends else _cut_validity(own, ends)
    changed_memories = [own, replace(next_version, supersedes=own.id, updated=now)]
    if previous_version is not None:
        behind = replace(previous_version, superseded_by=own.id, updated=now)
        if is_covered:
            ended_by_itself = previous_version.valid_to != get_valid_from(next_version)
            behind = (
                _cut_validity(behind, get_valid_from(claim))
                if ended_by_itself
                else replace(behind, valid_to=get_valid_from(claim))
            )
        changed_memories.append(behind)
    return ClaimResolution(
        ClaimOutcome.EARLIER, own, MemoryChange(tuple(changed_memories), project=claim.project), previous_version
    )


def _resolve_between(claim: Memory, head: Memory, ends: datetime, now: datetime) -> ClaimResolution:
    """Insert a claim about a past period that began after `head` did.

    The current value is kept both before and after that period.
    """
    before = retire_version(head, get_valid_from(claim), now)
    own = replace(
        claim,
        id=version_id(claim),
        ref=None,
        status=Status.SUPERSEDED,
        supersedes=before.id,
        superseded_by=head.id,
    )
    again = replace(head, valid_from=ends, supersedes=own.id, updated=now)
    return ClaimResolution(ClaimOutcome.EARLIER, own, MemoryChange((before, own, again), project=claim.project), head)


def _is_last_after(versions: Sequence[Memory], index: int, moment: datetime) -> bool:
    """Return True if no version older than `versions[index]` begins after `moment`.

    `versions` are sorted from newest to oldest.
    """
    return index + 1 == len(versions) or get_valid_from(versions[index + 1]) <= moment


def _cut_validity(memory: Memory, ends: datetime) -> Memory:
    """End the validity of a memory at `ends`.

    The former end is recorded, so that the cut can be undone.
    """
    if memory.valid_to is None:
        return replace(memory, valid_to=ends)
    previous_ends = (*memory.source.get(_PREVIOUS_ENDS_FIELD, ()), memory.valid_to.isoformat())
    return replace(memory, valid_to=ends, source={**memory.source, _PREVIOUS_ENDS_FIELD: list(previous_ends)})


def _restore_validity(memory: Memory) -> Memory:
    """Restore the end of validity that a memory had before it was last cut."""
    previous_ends = [str(one) for one in memory.source.get(_PREVIOUS_ENDS_FIELD, ())]
    last, rest = (previous_ends[-1], previous_ends[:-1]) if previous_ends else (None, [])
    source = {name: field_value for name, field_value in memory.source.items() if name != _PREVIOUS_ENDS_FIELD} | (
        {_PREVIOUS_ENDS_FIELD: rest} if rest else {}
    )
    return replace(memory, valid_to=None if last is None else datetime.fromisoformat(last), source=source)
