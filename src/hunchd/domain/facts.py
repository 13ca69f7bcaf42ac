"""Fact resolution: one value for each key, with its version history.

No I/O. A fact has a slot: scope, project, category, key and branch. The current value is stored under the id
of the slot, so there can be only one. Earlier values are stored beside it, each with its validity period,
linked to the one before. Every modification of a slot is a `MemoryChange`, which is applied as a whole or not at
all.
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

from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust

OWN_KINDS: Final = (Kind.FACT, Kind.DOCUMENT)  # of the user, found from a project, too
OWN_ROOTS: Final = ("/profile/", "/reference/", "/insights/")  # documents that are of use in every project
ABOUT_USER: Final = ("identity", "preference")  # categories of facts that hold in every project
CATEGORIES: Final = ("identity", "preference", "constraint", "instruction", "decision", "convention")
# Facts below these limits are discarded as guesses or trivia.
LEAST_CONFIDENCE: Final = 0.4
LEAST_IMPORTANCE: Final = 0.2
_SAME: Final = 1e-9  # tolerance when comparing confidences
_VERSION: Final = re.compile(r"(?:>=\s*)?v?(\d+(?:\.\d+)*)(?:\+|\s+or newer)?")
_CLOCK_WRONG: Final = timedelta(hours=1)  # more than clocks of one machine can drift apart
_ENDED: Final = "ended_otherwise"  # source field: values of `valid_to` before cuts, newest last
_MOVED: Final = "moved_from"  # link type: from a moved memory to its former slot
_WITHDRAWN: Final = "withdrawn"  # source field: the value was withdrawn without a replacement


class Verdict(StrEnum):
    """Outcome of a claim."""

    NEW = "new"
    SAME = "same"  # already valid
    CONFIRMED = "confirmed"  # already valid; confidence or wording was updated
    REPLACED = "replaced"
    REJECTED = "rejected"  # the current value has more confidence; the claim is stored beside it
    EARLIER = "earlier"  # valid before the current value


@dataclass(frozen=True, slots=True)
class Change:
    """Atomic set of memories to write and ids to delete, all of one project."""

    memories: tuple[Memory, ...] = ()
    deletions: tuple[str, ...] = ()
    project: str | None = None
    silent: bool = False  # no bundle changes, so cached ones stay valid


@dataclass(frozen=True, slots=True)
class Ruling:
    """Result of resolving a claim.

    `memory` is the claim as it is stored; `compared_with` the value that it was compared with, if that differs.
    """

    verdict: Verdict
    memory: Memory
    change: Change
    against: Memory | None = None
    conflicting: bool = False  # same confidence, other source: a person should decide


def place_id(*, project: str | None, scope: Scope, category: str | None, key: str, branch: str | None = None) -> str:
    """Return the id under which the value of a slot is stored."""
    place = "\x1f".join((project or "", "fact", str(scope), category or "", normal_key(key), branch or ""))
    return "m" + blake2b(place.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def place_of(memory: Memory) -> str | None:
    """Return the slot id of a memory.

    Returns None if it is not a fact with a key.
    """
    if memory.kind is not Kind.FACT or not memory.key:
        return None
    return place_id(
        project=memory.project,
        scope=memory.scope,
        category=memory.category,
        key=memory.key,
        branch=memory.branch,
    )


def normal_key(key: str) -> str:
    """Normalize a key: ignore case, white space and the Unicode form of accents."""
    return " ".join(unicodedata.normalize("NFC", key.casefold()).split())


def same_value(one: Memory, other: Memory) -> bool:
    """Return True if two facts state the same value.

    Case and white space are ignored. A fact without a value is compared by its text.
    """
    mine, others = ((fact.value or fact.content).split() for fact in (one, other))
    return " ".join(mine).casefold() == " ".join(others).casefold()


# Keys of a choice between two values: they can be reversed.
_CHOICES: Final = ("in place of ", "name of ")


def turned_round(claim: Memory) -> Memory | None:
    """Return the reverse of a choice.

    Returns None if `claim` is not a choice. The reverse of "pnpm in place of npm" is "npm in place of pnpm", without
    anything else that the claim says. It can no longer hold.
    """
    head = next((head for head in _CHOICES if (claim.key or "").startswith(head)), None)
    if head is None or not claim.key or not claim.value:
        return None
    return replace(claim, key=f"{head}{claim.value}", value=claim.key.removeprefix(head))


def since(memory: Memory) -> datetime:
    """Return the time at which a memory began to be valid."""
    return memory.valid_from or memory.at


def voice_of(memory: Memory) -> str:
    """Return the source that states a memory: the user, one file, or the history.

    A source may change its statement without contradicting anybody.
    """
    if memory.trust is Trust.USER:
        return "user"
    source = memory.source
    if source.get("path"):
        return f"file:{source['path']}"
    return str(source.get("type") or "")


def valid_at(memory: Memory, moment: datetime) -> bool:
    return since(memory) <= moment and (memory.valid_to is None or moment < memory.valid_to)


class Lasting(Protocol):
    """Memory, or a view of one, that has an end of validity."""

    @property
    def valid_to(self) -> datetime | None: ...


def is_over(memory: Lasting, now: datetime) -> bool:
    """Return True if its validity has ended.

    The status may say otherwise until the next nightly run.
    """
    return memory.valid_to is not None and memory.valid_to <= now


def holds_in_every_project(memory: Memory) -> bool:
    """Return True if a memory of the user concerns work in any project.

    A session without a project is about something else: of it, only statements about the user do.
    """
    return memory.source.get("type") != "session" or memory.category in ABOUT_USER


def is_shown_in_projects(memory: Memory) -> bool:
    """Return True if a memory of the user is found and shown while working in a project."""
    if memory.kind is Kind.FACT:
        return holds_in_every_project(memory)
    return memory.kind is Kind.DOCUMENT and (memory.key or "").startswith(OWN_ROOTS)


def is_told(memory: Memory, now: datetime) -> bool:
    """Return True if the memory may be presented as valid at `now`.

    It must not be over, and must not have been stated for a future time. A statement recorded while a clock ran
    ahead (a
    committer's or ours) counts from the time that clock showed.
    """
    return not is_over(memory, now) and since(memory) <= max(now, memory.at, memory.updated)


def holding(family: Iterable[Memory], moment: datetime) -> Memory | None:
    """Return the value of a slot that was valid at `moment`, or None."""
    stated = (one for one in family if one.status in (Status.ACTIVE, Status.SUPERSEDED) and valid_at(one, moment))
    return max(stated, key=since, default=None)


def ruled(claim: Memory, head: Memory | None, earlier: Sequence[Memory], now: datetime) -> Ruling:
    """Resolve `claim` against `head`, the current value of its slot.

    The id of `claim` is that of its slot. `earlier` are the values before the head, in any order; they matter only
    to a
    claim about the time before it.
    """
    begins = since(claim) if claim.valid_to is None else min(since(claim), claim.valid_to)  # it ended before
    claim = replace(claim, valid_from=begins, status=Status.ACTIVE, supersedes=None, superseded_by=None)
    if head is None:
        return Ruling(Verdict.NEW, claim, Change((claim,), project=claim.project))
    if head.status is Status.ARCHIVED:
        aside = replace(head, id=version_id(head, "undone", now.isoformat()), ref=None)
        return Ruling(Verdict.NEW, claim, Change((aside, claim), project=claim.project))
    head = _not_ahead(head, claim, now)
    if since(claim) < since(head):
        return _inserted(claim, head, earlier, now)
    if not _holds_at(head, since(claim)):
        return _succeeded(Verdict.NEW, claim, head, now)
    if same_value(claim, head):
        return _confirmed(claim, head, now)
    if claim.confidence < head.confidence - _SAME:
        return _rejected(claim, head, now)
    if claim.valid_to is not None and claim.valid_to <= now and _holds_at(head, now):
        return _between(claim, head, claim.valid_to, now)
    equal = abs(claim.confidence - head.confidence) <= _SAME
    conflicting = equal and voice_of(claim) != voice_of(head) and not _agree(claim, head)
    return replace(_succeeded(Verdict.REPLACED, claim, head, now), conflicting=conflicting)


def _agree(one: Memory, other: Memory) -> bool:
    """Return True if two values name the same version, as exact or minimum."""
    versions = [_VERSION.fullmatch((fact.value or "").strip()) for fact in (one, other)]
    named = {version[1] if version else None for version in versions}
    return None not in named and len(named) == 1


def _not_ahead(head: Memory, claim: Memory, now: datetime) -> Memory:
    """Return `head` with its start moved back if it lies in the future.

    A value recorded while the clock ran ahead holds until the next claim, not until the clock reaches that time.
    """
    if head.created - now < _CLOCK_WRONG:
        return head
    begins = since(claim) if now - since(claim) < _CLOCK_WRONG else now
    return replace(head, valid_from=min(since(head), begins))


def moved(memory: Memory, changed: Memory, head: Memory | None, now: datetime) -> tuple[Memory, Change]:
    """Move `memory` to the slot of `replacement`, where `head` is stored.

    The owner stated where it belongs, so it holds there however confident `head` is. It is a step of its own even
    where
    `head` says the same, so that it can be undone. Returns the new value and the change.
    """
    ends = now if memory.valid_to is None else min(now, memory.valid_to)
    old = _cut(replace(memory, status=Status.SUPERSEDED, superseded_by=changed.id, ref=None, updated=now), ends)
    surest = max(changed.confidence, head.confidence if head is not None else 0.0)
    links = (*memory.links, {"type": _MOVED, "ref": memory.id})
    claim = replace(changed, confidence=surest, valid_from=now, created=now, links=links, supersedes=None)
    if head is not None and head.status is not Status.ARCHIVED and same_value(claim, head):
        there = _succeeded(Verdict.REPLACED, claim, head, now)
    else:
        there = ruled(claim, head, (), now)
    return there.memory, Change((old, *there.change.memories), project=memory.project)


def moved_from(head: Memory) -> str | None:
    """Return the id from which `head` was last moved to its slot, or None."""
    return next((link["ref"] for link in reversed(head.links) if link.get("type") == _MOVED), None)


def moved_back(old: Memory, head: Memory, before: Memory | None, now: datetime) -> Memory | None:
    """Restore `old` if the last step in the slot of `head` moved it there.

    `before` is the value that `head` followed. Returns None if the last step was something else.
    """
    if old.superseded_by != head.id or old.id != moved_from(head):
        return None
    if before is not None and old.valid_to is not None and since(before) >= old.valid_to:
        return None
    return brought_back(replace(old, ref=head.ref), now)


def brought_back(old: Memory, now: datetime) -> Memory:
    """Reactivate a superseded memory with its original end of validity."""
    return _uncut(replace(old, status=Status.ACTIVE, superseded_by=None, updated=now))


def contested(claim: Memory, head: Memory, now: datetime) -> Ruling:
    """Store `claim` beside the current value as a conflict, whatever its confidence."""
    claim = replace(claim, valid_from=since(claim), supersedes=None, superseded_by=None)
    return replace(_rejected(claim, head, now), conflicting=True)


def revised(head: Memory, changed: Memory, now: datetime) -> Change:
    """Replace the content of `head` with `replacement` and keep the old version.

    The old version is stored with its validity period.
    """
    stated = changed.valid_from if changed.valid_from != head.valid_from else None
    begins = stated or max(now, since(head))
    if changed.valid_to is not None and changed.valid_to <= begins:  # over by now, so it describes the past period
        begins = since(head)
    before = retired(head, max(begins, since(head)), now)
    after = replace(changed, id=head.id, supersedes=before.id, superseded_by=None, valid_from=begins, updated=now)
    return Change((before, after), project=head.project)


def undone(head: Memory, before: Memory | None, now: datetime) -> tuple[Memory, Change]:
    """Undo the last step of `head`: the value before it holds again.

    Without an earlier value, nothing holds. What is undone is kept as archived, for later inspection.
    """
    if head.source.get(_WITHDRAWN):
        restored = _uncut(replace(head, status=Status.ACTIVE, updated=now))
        source = {name: told for name, told in restored.source.items() if name != _WITHDRAWN}
        restored = replace(restored, source=source)
        return restored, Change((restored,), project=head.project)
    if before is None:
        nothing = replace(head, status=Status.ARCHIVED, valid_to=since(head), updated=now)
        return nothing, Change((nothing,), project=head.project)
    if not _is_version(before, head):  # an independent memory with its own id
        gone = replace(head, status=Status.ARCHIVED, supersedes=None, valid_to=since(head), updated=now)
        back = brought_back(before, now)
        return back, Change((gone, back), project=head.project)
    aside = replace(
        head,
        id=version_id(head, "undone", now.isoformat()),
        ref=None,
        status=Status.ARCHIVED,
        supersedes=None,
        superseded_by=None,
        valid_to=since(head),
        links=(*head.links, {"type": "undone", "ref": head.id}),
        updated=now,
    )
    was_cut = before.valid_to == since(head)
    status = Status.SUPERSEDED if before.source.get(_WITHDRAWN) else Status.ACTIVE
    restored = replace(before, id=head.id, ref=head.ref, status=status, superseded_by=None, updated=now)
    if was_cut:
        restored = _uncut(restored)
    return restored, Change((aside, restored), (before.id,), head.project)


def withdrawn(head: Memory, now: datetime) -> Change:
    """End the validity of `head` now: no source states it any more."""
    gone = _cut(replace(head, status=Status.SUPERSEDED, updated=now), max(now, since(head)))
    gone = replace(gone, source={**gone.source, _WITHDRAWN: True})
    return Change((gone,), project=head.project)


def retired(memory: Memory, ends: datetime, now: datetime) -> Memory:
    """Return a memory as an old version that ends at `ends`.

    It gets an id of its own.
    """
    kept = replace(
        memory,
        id=version_id(memory),
        ref=None,
        status=memory.status if memory.status is Status.ARCHIVED else Status.SUPERSEDED,
        superseded_by=memory.id,
        valid_from=since(memory),
        updated=now,
    )
    return kept if memory.valid_to is not None and memory.valid_to < ends else _cut(kept, ends)


def version_id(memory: Memory, *more: str) -> str:
    """Return the id of a version: the slot id and a content hash.

    The hash covers the content and its start of validity, so the same version has the same id.
    """
    place = memory.id.partition(".")[0]
    told = (since(memory).isoformat(), memory.updated.isoformat(), memory.value or "", memory.content, *more)
    return f"{place}.{blake2b(chr(31).join(told).encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _is_version(one: Memory, head: Memory) -> bool:
    """Return True if `one` is an earlier version of `head`.

    Otherwise it is another memory that `head` superseded.
    """
    return one.id.partition(".")[0] == head.id.partition(".")[0]


def chain(head: Memory, family: Mapping[str, Memory]) -> list[Memory]:
    """Return the head and its earlier versions, newest first."""
    versions, seen = [head], {head.id}
    while (before := versions[-1].supersedes) is not None and before in family and before not in seen:
        seen.add(before)
        versions.append(family[before])
    return versions


def without(head: Memory, family: Mapping[str, Memory], gone: Container[str], now: datetime) -> Change | None:
    """Remove the versions with ids in `removed_ids` from the history of `head`.

    The result is as if nobody had stated them: each remaining version follows the one before it, and the newest
    becomes
    current if the current one goes. Returns None if that changes nothing.
    """
    versions = chain(head, family)
    left = [place for place, one in enumerate(versions) if one.id not in gone]
    if not left or len(left) == len(versions):
        return None
    newest, moved = versions[left[0]], left[0] > 0
    told: list[Memory] = []
    for place in left:
        one, newer = versions[place], told[-1] if told else None
        if place and versions[place - 1].id in gone:
            one = _followed(one, versions[place - 1], newer)
        if newer is None:
            one = replace(one, id=head.id, superseded_by=None if moved else one.superseded_by)
        else:
            told[-1] = replace(newer, supersedes=one.id)
            if one.superseded_by is None or one.superseded_by in gone or one.superseded_by == newest.id:
                one = replace(one, superseded_by=head.id)
        told.append(one)
    told[-1] = replace(told[-1], supersedes=None)
    changed = tuple(replace(one, updated=now) for one in told if one != family.get(one.id))
    return Change(changed, (newest.id,) if moved else (), head.project)


def _followed(memory: Memory, gone: Memory, newer: Memory | None) -> Memory:
    """Return `memory` as if `newer` had followed it instead of `removed`.

    `newer` None means that nothing followed it.
    """
    withdrawn = bool(memory.source.get(_WITHDRAWN))
    if memory.valid_to == since(gone) and not withdrawn:
        memory = _uncut(memory)
        if newer is not None and (memory.valid_to is None or memory.valid_to >= since(newer)):
            memory = _cut(memory, since(newer))
    if newer is None and memory.status is Status.SUPERSEDED and not withdrawn:
        return replace(memory, status=Status.ACTIVE)
    return memory


def _holds_at(head: Memory, moment: datetime) -> bool:
    return head.status is Status.ACTIVE and (head.valid_to is None or moment < head.valid_to)


def _confirmed(claim: Memory, head: Memory, now: datetime) -> Ruling:
    """Resolve a claim that states the current value again.

    A more confident source is quoted from then on: a manifest instead of an old commit.
    """
    surer_voice = claim.confidence > head.confidence + _SAME
    says_more = claim.content != head.content and (voice_of(claim) == voice_of(head) or surer_voice)
    if claim.confidence <= head.confidence + _SAME and not (says_more and claim.confidence >= head.confidence):
        return Ruling(Verdict.SAME, head, Change(project=head.project), head)
    surer = replace(head, confidence=claim.confidence, importance=max(head.importance, claim.importance), updated=now)
    if not says_more:
        return Ruling(Verdict.CONFIRMED, surer, Change((surer,), project=head.project), head)
    retold = replace(
        surer,
        content=claim.content,
        title=claim.title,
        levels=claim.levels,
        source=claim.source,
        trust=claim.trust,
        artifacts=claim.artifacts,
    )
    change = revised(head, retold, now)
    return Ruling(Verdict.CONFIRMED, change.memories[-1], change, head)


def _succeeded(verdict: Verdict, claim: Memory, head: Memory, now: datetime) -> Ruling:
    before = retired(head, since(claim), now)
    after = replace(claim, supersedes=before.id)
    return Ruling(verdict, after, Change((before, after), project=claim.project), before)


def _rejected_id(claim: Memory) -> str:
    """Return an id that is the same for a repeated claim of one source."""
    told = chr(31).join(("rejected", voice_of(claim), claim.value or "", claim.content))
    return f"{claim.id}.{blake2b(told.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _rejected(claim: Memory, against: Memory, now: datetime) -> Ruling:
    kept = replace(
        claim,
        id=_rejected_id(claim),
        ref=None,
        status=Status.ARCHIVED,
        links=(*claim.links, {"type": "rejected_for", "ref": against.id}),
        updated=now,
    )
    return Ruling(Verdict.REJECTED, kept, Change((kept,), project=claim.project), against)


def _inserted(claim: Memory, head: Memory, earlier: Sequence[Memory], now: datetime) -> Ruling:
    """Insert a claim about the time before the head.

    It takes what is left of that time, if its confidence suffices.
    """
    versions = chain(head, {one.id: one for one in earlier})
    place = next(index for index in range(len(versions)) if _is_last_after(versions, index, since(claim)))
    following = versions[place]
    covering = versions[place + 1] if place + 1 < len(versions) else None
    covered = covering is not None and covering.status is not Status.ARCHIVED and valid_at(covering, since(claim))
    covered = covered and claim.valid_to != since(claim)  # a claim with an empty period replaces nothing
    if covering is not None and covered:
        if same_value(claim, covering):
            return Ruling(Verdict.SAME, covering, Change(project=claim.project), covering)
        if claim.confidence < covering.confidence - _SAME:
            return _rejected(claim, covering, now)
    ends = since(following)
    if covering is not None and covered and covering.valid_to is not None:
        ends = min(ends, covering.valid_to)
    own = replace(
        claim,
        id=version_id(claim),
        ref=None,
        status=Status.SUPERSEDED,
        supersedes=covering.id if covering is not None else None,
        superseded_by=following.id,
    )
    own = own if own.valid_to is not None and own.valid_to < ends else _cut(own, ends)
    changed = [own, replace(following, supersedes=own.id, updated=now)]
    if covering is not None:
        behind = replace(covering, superseded_by=own.id, updated=now)
        if covered:
            ended_by_itself = covering.valid_to != since(following)
            behind = _cut(behind, since(claim)) if ended_by_itself else replace(behind, valid_to=since(claim))
        changed.append(behind)
    return Ruling(Verdict.EARLIER, own, Change(tuple(changed), project=claim.project), covering)


def _between(claim: Memory, head: Memory, ends: datetime, now: datetime) -> Ruling:
    """Insert a claim about a past period that began after the head did.

    The current value held before and after that period.
    """
    before = retired(head, since(claim), now)
    own = replace(
        claim,
        id=version_id(claim),
        ref=None,
        status=Status.SUPERSEDED,
        supersedes=before.id,
        superseded_by=head.id,
    )
    again = replace(head, valid_from=ends, supersedes=own.id, updated=now)
    return Ruling(Verdict.EARLIER, own, Change((before, own, again), project=claim.project), head)


def _is_last_after(versions: Sequence[Memory], index: int, moment: datetime) -> bool:
    """Return True if this version is the first to begin after `moment`."""
    return index + 1 == len(versions) or since(versions[index + 1]) <= moment


def _cut(memory: Memory, ends: datetime) -> Memory:
    """End a memory at `ends` and record its former end.

    So the cut can be undone.
    """
    if memory.valid_to is None:
        return replace(memory, valid_to=ends)
    ended = (*memory.source.get(_ENDED, ()), memory.valid_to.isoformat())
    return replace(memory, valid_to=ends, source={**memory.source, _ENDED: list(ended)})


def _uncut(memory: Memory) -> Memory:
    """Restore the end of validity from before the last cut."""
    ended = [str(one) for one in memory.source.get(_ENDED, ())]
    last, rest = (ended[-1], ended[:-1]) if ended else (None, [])
    source = {name: told for name, told in memory.source.items() if name != _ENDED} | ({_ENDED: rest} if rest else {})
    return replace(memory, valid_to=None if last is None else datetime.fromisoformat(last), source=source)
