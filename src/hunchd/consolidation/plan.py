"""Planned changes to memories, without I/O.

A change states what is done, why and to which memories, and how to undo it. A `PlannedChange` contains the memories
before and after the change. A memory that exists only after the change is created by it, a memory that exists only
before the change is deleted by it, and undo swaps the two states. On disk a change is a `ChangeEntry`. For each
memory it contains the fields that differ, and digests of the whole memory before and after. The digests ensure that
nothing is changed or undone that somebody else has changed in the meantime.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hunchd.domain.memory import Memory
from hunchd.protocol.consolidation_answers import MemoryState
from hunchd.protocol.memories import memory_from_json, memory_to_json

TYPICAL_CHARACTERS: Final = 2_000  # length of a typical memory in a change, in characters
_ABSENT: Final = None  # value of an optional field that is left out; no field is ever null


class ConsolidationStep(StrEnum):
    """Steps of a consolidation run, in the order of execution.

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


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """Change that is applied as a whole or not at all.

    `counter` is the name of the run counter that the change increases.
    """

    step: ConsolidationStep
    counter: str
    description: str
    reason: str
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()


class Edit(
    Struct,
    frozen=True,
    rename={"fields_before": "was", "fields_after": "now", "digest_before": "had", "digest_after": "has"},
):
    """Change to one memory.

    `fields_before` and `fields_after` contain only the fields that differ. `fields_before` is None if the memory does
    not exist before the edit, and `fields_after` is None if it does not exist after the edit.
    """

    id: str
    fields_before: MemoryState
    fields_after: MemoryState
    digest_before: str  # digest of the whole memory before the edit; "" if it did not exist
    digest_after: str  # the same after the edit

    @property
    def inverse(self) -> Edit:
        return Edit(self.id, self.fields_after, self.fields_before, self.digest_after, self.digest_before)

    def apply(self, present: Memory | None) -> Memory | None:
        """Return `present` after the edit, or None if the edit deletes it.

        `present` must be in the state before the edit.
        """
        if self.fields_after is None:
            return None
        data = memory_to_json(present) if present is not None and self.fields_before is not None else {}
        data |= self.fields_after
        return memory_from_json({name: value for name, value in data.items() if value is not _ABSENT})


class ChangeEntry(
    Struct,
    frozen=True,
    tag="change",
    tag_field="type",
    rename={"counter": "counts", "description": "what", "reason": "why"},
):
    """Planned change in the form stored by a run.

    All of its memories belong to `project`.
    """

    step: ConsolidationStep
    counter: str
    description: str
    reason: str
    project: str | None
    edits: tuple[Edit, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(edit.id for edit in self.edits)

    @property
    def inverse(self) -> ChangeEntry:
        return ChangeEntry(
            self.step, self.counter, self.description, self.reason, self.project, tuple(e.inverse for e in self.edits)
        )


def split_into_batches(entries: Iterable[ChangeEntry], max_weight: int) -> Iterator[list[ChangeEntry]]:
    """Group changes, in order, into batches with a weight of at most `max_weight`.

    A change heavier than that becomes a batch of its own. `weigh` defines the weight of a change.
    """
    batch: list[ChangeEntry] = []
    size = 0
    for entry in entries:
        entry_weight = weigh(entry)
        if batch and size + entry_weight > max_weight:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry_weight
    if batch:
        yield batch


def weigh(entry: ChangeEntry) -> int:
    """Return the weight of a change, which estimates the work of applying it.

    Each memory adds 1 to the weight, and so do every TYPICAL_CHARACTERS characters of text.
    """
    sides = (side for edit in entry.edits for side in (edit.fields_before, edit.fields_after) if side is not None)
    return len(entry.edits) + sum(len(side.get("content", "")) for side in sides) // TYPICAL_CHARACTERS


def make_entry(change: PlannedChange, project: str | None) -> ChangeEntry:
    """Convert a planned change to an entry with only the fields that differ."""
    before = {memory.id: memory for memory in change.before}
    after = {memory.id: memory for memory in change.after}
    edits = [
        _make_edit(identifier, before.get(identifier), after.get(identifier)) for identifier in {**before, **after}
    ]
    effective_edits = tuple(edit for edit in edits if edit.digest_before != edit.digest_after)
    return ChangeEntry(change.step, change.counter, change.description, change.reason, project, effective_edits)


def is_applicable(entry: ChangeEntry, present: Mapping[str, Memory]) -> bool:
    """Return True if all memories are in the state before the change."""
    return all(_digest_or_empty(present.get(edit.id)) == edit.digest_before for edit in entry.edits)


def find_remaining(entry: ChangeEntry, present: Mapping[str, Memory]) -> tuple[ChangeEntry, bool]:
    """Return the still applicable part of a change.

    If somebody else has changed a memory, only the fields that are still in the state before the change remain. The
    second value is True if applying this part completes the whole change, and False if another part of the change
    cannot be applied.
    """
    parts = [_find_remaining_edit(edit, present.get(edit.id)) for edit in entry.edits]
    return replace(entry, edits=tuple(rest for rest, _ in parts if rest is not None)), all(whole for _, whole in parts)


def _find_remaining_edit(edit: Edit, memory: Memory | None) -> tuple[Edit | None, bool]:
    current_digest = _digest_or_empty(memory)
    if current_digest in (edit.digest_before, edit.digest_after):
        return (edit if current_digest == edit.digest_before else None), True
    if memory is None or edit.fields_before is None or edit.fields_after is None:
        return None, False
    current = memory_to_json(memory)
    names = [name for name in edit.fields_after if name != "updated"]  # every change sets this field
    fields = {
        name: _merge_field(current.get(name), edit.fields_before.get(name), edit.fields_after.get(name))
        for name in names
    }
    now = {name: after for name, (after, _) in fields.items() if after != current.get(name)}
    whole = all(whole for _, whole in fields.values())
    if not now:
        return None, whole
    rest = Edit(edit.id, {name: current.get(name) for name in now}, now, current_digest, "")
    return replace(rest, digest_after=_digest_or_empty(rest.apply(memory))), whole


def _merge_field(current: Any, was: Any, now: Any) -> tuple[Any, bool]:
    """Return the new value of a field, and whether it is fully changed.

    `was` and `now` are the values before and after the change; `current` is the stored value. If somebody else
    changed the field, the current value is kept; mappings, such as the source, are merged key by key, and of lists,
    such as links, only the elements that the change added or removed are changed.
    """
    if current in (was, now):
        return now, True
    if all(isinstance(side, list) for side in (current, was, now)):
        kept = [one for one in current if one in now or one not in was]
        return kept + [one for one in now if one not in was and one not in kept], True
    if not all(isinstance(side, Mapping) for side in (current, was, now)):
        return current, False
    after, whole = dict(current), True
    for name in {**was, **now}:
        if was.get(name) == now.get(name):
            continue
        if current.get(name) not in (was.get(name), now.get(name)):
            whole = False
        elif name in now:
            after[name] = now[name]
        else:
            after.pop(name, None)
    return after, whole


def compute_outcome(entry: ChangeEntry, present: Mapping[str, Memory]) -> tuple[tuple[Memory, ...], tuple[str, ...]]:
    """Return the memories to write and the ids of the memories to remove.

    The result is valid only if the change `is_applicable`.
    """
    after = [(edit.id, edit.apply(present.get(edit.id))) for edit in entry.edits]
    memories = tuple(memory for _, memory in after if memory is not None)
    return memories, tuple(identifier for identifier, memory in after if memory is None)


def compute_digest(memory: Memory) -> str:
    """Return a digest of all fields of a memory."""
    return _digest_json(memory_to_json(memory))


def _digest_or_empty(memory: Memory | None) -> str:
    return "" if memory is None else compute_digest(memory)


def _digest_json(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _make_edit(identifier: str, before: Memory | None, after: Memory | None) -> Edit:
    was = memory_to_json(before) if before is not None else None
    now = memory_to_json(after) if after is not None else None
    had, has = (_digest_json(data) if data is not None else "" for data in (was, now))
    if was is not None and now is not None:
        names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        was, now = ({name: data.get(name) for name in names} for data in (was, now))
    return Edit(identifier, was, now, had, has)
