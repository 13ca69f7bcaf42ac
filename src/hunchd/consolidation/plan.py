"""Planned changes to memories.

A change says what, why, which memories, and how to undo it. No I/O. A `PlannedChange` holds memories before and after
the change. One that is only after is created, one that is only before is deleted; undo swaps both sides. On disk a
change is a `ChangeEntry`: for each memory the fields that differ, and a digest of the whole memory on both sides, so
that nothing is changed or undone that somebody else has changed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

from hunchd.domain.memory import Memory
from hunchd.protocol.memories import memory_from_json, memory_json

Json = dict[str, Any]
USUAL: Final = 2_000  # characters of a typical memory in a change
_ABSENT: Final = None  # an optional field that is left out; none is ever null


class Step(StrEnum):
    """Steps of a consolidation run, in their order.

    Memories are judged before they are condensed, and condensed before they are forgotten.
    """

    USE = "use"  # update usage counts and move importance within bounds
    DUPLICATES = "duplicates"
    CONTRADICTIONS = "contradictions"
    RETIRE = "retire"
    CASCADE = "cascade"
    SUMMARISE = "summarise"
    COMPRESS = "compress"
    HISTORY = "history"
    LINKS = "links"
    FORGET = "forget"
    ERASE = "erase"
    REEMBED = "reembed"
    COMPACT = "compact"


# Counters in the result of a run.
COUNTS: Final = (
    "deduped",
    "summarised",
    "compressed",
    "promoted",
    "demoted",
    "forgotten",
    "linked",
    "contradictions_found",
    "contradictions_closed",
    "retired",
    "doubted",
    "trusted_again",
    "histories",
    "counted",
    "erased",
    "embedded",
)


@dataclass(frozen=True, slots=True)
class Planned:
    """Change that is applied as a whole or not at all.

    `counter` names the counter it adds to.
    """

    step: Step
    counts: str
    what: str
    why: str
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """Change of one memory.

    `fields_before` and `fields_after` hold the fields that differ; None: there is no memory on that side.
    """

    id: str
    was: Mapping[str, Any] | None
    now: Mapping[str, Any] | None
    had: str  # digest of the whole before; "" for none
    has: str  # … and after

    def json(self) -> Json:
        return {"id": self.id, "was": self.was, "now": self.now, "had": self.had, "has": self.has}

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Edit:
        return cls(told["id"], told["was"], told["now"], told["had"], told["has"])

    @property
    def inverse(self) -> Edit:
        return Edit(self.id, self.now, self.was, self.has, self.had)

    def after(self, present: Memory | None) -> Memory | None:
        """Return `present` after the edit.

        It must be in the state before.
        """
        if self.now is None:
            return None
        told = dict(memory_json(present)) if present is not None and self.was is not None else {}
        told |= self.now
        return memory_from_json({name: value for name, value in told.items() if value is not _ABSENT})


@dataclass(frozen=True, slots=True)
class Entry:
    """Planned change as a run stores it.

    `project` owns all of its memories. `project` owns all of its memories.
    """

    step: Step
    counts: str
    what: str
    why: str
    project: str | None
    edits: tuple[Edit, ...]

    def json(self) -> Json:
        return {
            "step": str(self.step),
            "counts": self.counts,
            "what": self.what,
            "why": self.why,
            "project": self.project,
            "edits": [edit.json() for edit in self.edits],
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Entry:
        return cls(
            Step(told["step"]),
            told["counts"],
            told["what"],
            told["why"],
            told["project"],
            tuple(Edit.of_json(edit) for edit in told["edits"]),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(edit.id for edit in self.edits)

    @property
    def inverse(self) -> Entry:
        return Entry(self.step, self.counts, self.what, self.why, self.project, tuple(e.inverse for e in self.edits))


def in_batches(entries: Iterable[Entry], most: int) -> Iterator[list[Entry]]:
    """Group changes, in order, into batches of weight `max_weight`.

    A larger change is a batch of its own. A text as long as those of several memories counts as several.
    """
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        more = weight(entry)
        if batch and size + more > most:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += more
    if batch:
        yield batch


def weight(entry: Entry) -> int:
    """Return the weight of a change.

    Each memory counts one, and each TYPICAL_CHARACTERS of text one more.
    """
    sides = (side for edit in entry.edits for side in (edit.was, edit.now) if side is not None)
    return len(entry.edits) + sum(len(side.get("content", "")) for side in sides) // USUAL


def entry_of(planned: Planned, project: str | None) -> Entry:
    """Reduce a planned change to the fields that differ."""
    before = {memory.id: memory for memory in planned.before}
    after = {memory.id: memory for memory in planned.after}
    edits = [_edit(identifier, before.get(identifier), after.get(identifier)) for identifier in {**before, **after}]
    kept = tuple(edit for edit in edits if edit.had != edit.has)
    return Entry(planned.step, planned.counts, planned.what, planned.why, project, kept)


def applies(entry: Entry, present: Mapping[str, Memory]) -> bool:
    """Return True if all memories are in the state before the change."""
    return all(_digest_of(present.get(edit.id)) == edit.had for edit in entry.edits)


def applied(entry: Entry, present: Mapping[str, Memory]) -> bool:
    """Return True if all memories are in the state after the change."""
    return all(_digest_of(present.get(edit.id)) == edit.has for edit in entry.edits)


def remaining(entry: Entry, present: Mapping[str, Memory]) -> tuple[Entry, bool]:
    """Return the part of a change that still applies.

    The second value is True if that is all of it. Of a memory that somebody else has changed, only the fields in the
    state before the change remain.
    """
    found = [_remaining(edit, present.get(edit.id)) for edit in entry.edits]
    return replace(entry, edits=tuple(rest for rest, _ in found if rest is not None)), all(whole for _, whole in found)


def _remaining(edit: Edit, memory: Memory | None) -> tuple[Edit | None, bool]:
    found = _digest_of(memory)
    if found in (edit.had, edit.has):
        return (edit if found == edit.had else None), True
    if memory is None or edit.was is None or edit.now is None:
        return None, False
    told = memory_json(memory)
    names = [name for name in edit.now if name != "updated"]  # set by whoever changed the memory, whatever it was
    fields = {name: _field_after(told.get(name), edit.was.get(name), edit.now.get(name)) for name in names}
    now = {name: after for name, (after, _) in fields.items() if after != told.get(name)}
    whole = all(whole for _, whole in fields.values())
    if not now:
        return None, whole
    rest = Edit(edit.id, {name: told.get(name) for name in now}, now, found, "")
    return replace(rest, has=_digest_of(rest.after(memory))), whole


def _field_after(told: Any, was: Any, now: Any) -> tuple[Any, bool]:
    """Return a field's value after a change.

    The second value is True if the change is fully applied. A mapping, such as the source, is merged name by name.
    """
    if told in (was, now):
        return now, True
    if not all(isinstance(side, Mapping) for side in (told, was, now)):
        return told, False
    after, whole = dict(told), True
    for name in {**was, **now}:
        if was.get(name) == now.get(name):
            continue
        if told.get(name) not in (was.get(name), now.get(name)):
            whole = False
        elif name in now:
            after[name] = now[name]
        else:
            after.pop(name, None)
    return after, whole


def outcome(entry: Entry, present: Mapping[str, Memory]) -> tuple[tuple[Memory, ...], tuple[str, ...]]:
    """Return the memories to write and the ids to remove.

    Valid only if the change `is_applicable`. Valid only if the change `is_applicable`.
    """
    after = [(edit.id, edit.after(present.get(edit.id))) for edit in entry.edits]
    written = tuple(memory for _, memory in after if memory is not None)
    return written, tuple(identifier for identifier, memory in after if memory is None)


def digest(memory: Memory) -> str:
    """Return a digest of all fields of a memory."""
    return _digest(memory_json(memory))


def _digest_of(memory: Memory | None) -> str:
    return "" if memory is None else digest(memory)


def _digest(told: Mapping[str, Any]) -> str:
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _edit(identifier: str, before: Memory | None, after: Memory | None) -> Edit:
    was = memory_json(before) if before is not None else None
    now = memory_json(after) if after is not None else None
    had, has = (_digest(told) if told is not None else "" for told in (was, now))
    if was is not None and now is not None:
        names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        was, now = ({name: told.get(name) for name in names} for told in (was, now))
    return Edit(identifier, was, now, had, has)
