"""Planner of a consolidation run for one owner's memories.

Each step sees the memories as the steps before would leave them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, TypeVar

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import SHOWN_AS, compressed, erasable, forgotten, retired, summarised
from hunchd.consolidation.chronicling import histories
from hunchd.consolidation.condensing import Vocabulary
from hunchd.consolidation.contradictions.readings import Readings
from hunchd.consolidation.contradictions.scanning import contradictions, newly_read, statement
from hunchd.consolidation.doubting import cascaded
from hunchd.consolidation.duplicates.scanning import same_groups
from hunchd.consolidation.ground import Ground, NoGround
from hunchd.consolidation.linking import linked
from hunchd.consolidation.merging import merged
from hunchd.consolidation.plan import Entry, Planned, Step, entry_of
from hunchd.consolidation.probing import drawn
from hunchd.consolidation.usefulness import Tally, counted
from hunchd.domain.memory import Kind, Levels, Memory, Status

Shared = TypeVar("Shared")

# Sessions are condensed elsewhere, and documents belong to the user: both are skipped.
LEFT_ALONE: Final = frozenset({Kind.MESSAGE, Kind.DOCUMENT})
LEARNT_OF: Final = 1_500  # characters of a text: its beginning names its subject
# Names of authors recur, digests of commits do not: looking these up would cost more than they weigh.
OFTEN_SAID: Final = 40  # characters
_SAID_OF_MANY: Final = frozenset({"type", SHOWN_AS})
_NO_LEVELS: Final = Levels()
# Steps that produce plans; the store executes the others itself.
PLANNED: Final = (
    Step.USE,
    Step.DUPLICATES,
    Step.CONTRADICTIONS,
    Step.RETIRE,
    Step.CASCADE,
    Step.SUMMARISE,
    Step.COMPRESS,
    Step.HISTORY,
    Step.LINKS,
    Step.FORGET,
)


class Planner:
    """Planner of the steps of a run, holding the memories."""

    def __init__(
        self, project: str | None, settings: ConsolidationSettings, now: datetime, ground: Ground | None = None
    ) -> None:
        self._project = project
        self._settings = settings
        self.now = now  # advanced by benchmarks that replay years
        self._ground = ground or NoGround()
        self._memories: dict[str, Memory] = {}
        self._vectors: dict[str, bytes] = {}
        self._shared: dict[Any, Any] = {}
        self._before: Memory | None = None  # the memory loaded last
        self._vocabulary = Vocabulary()
        self.compared: frozenset[str] = frozenset()  # compared by earlier runs, see `iter_comparison_keys`
        self.readings: Readings | None = None  # entailment results; None: no model is available
        # True if a language model has said that both statements can hold; None: it is not consulted.
        self.denied: Callable[[Memory, Memory], bool] | None = None

    def __len__(self) -> int:
        return len(self._memories)

    def take(self, memories: Iterable[Memory], vectors: Mapping[str, bytes] | None = None) -> None:
        """Load some of the memories, with their vectors by id."""
        for memory in memories:
            if memory.kind in LEFT_ALONE:
                continue
            self._memories[memory.id] = self._sparing(memory)
            self._vocabulary.learn(f"{memory.title}\n{memory.content[:LEARNT_OF]}")
        self._vectors.update(vectors or {})

    def _sparing(self, memory: Memory) -> Memory:
        """Return the memory with values shared among equal ones.

        This saves three quarters of its size. Files, numbers and provenance are shared. Times are only compared with
        those of the memory before: most differ.
        """
        created = _same_of(memory.created, memory.at, self._before.created if self._before is not None else None)
        updated = _same_of(memory.updated, created, self._before.updated if self._before is not None else None)
        self._before = replace(
            memory,
            project=self._once(memory.project),
            artifacts=tuple(one if one.type == "commit" else self._once(one) for one in memory.artifacts),
            usage=self._once(memory.usage),
            created=created,
            updated=updated,
            importance=self._once(memory.importance),
            confidence=self._once(memory.confidence),
            levels=memory.levels if any(astuple(memory.levels)) else _NO_LEVELS,
            source=self._once_of_source(memory.source),
        )
        return self._before

    def _once_of_source(self, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """Share the texts of a source.

        A source with common fields only is shared as a whole.
        """
        if source.keys() <= _SAID_OF_MANY:
            shared: Mapping[str, Any] = self._shared.setdefault((dict, repr(source)), source)
            return shared
        return {
            self._once(name): self._once(told) if isinstance(told, str) and len(told) < OFTEN_SAID else told
            for name, told in source.items()
        }

    def _once(self, value: Shared) -> Shared:
        """Return the first of equal values of one type.

        1 and 1.0 are equal but written differently.
        """
        shared: Shared = self._shared.setdefault((type(value), value), value)
        return shared

    @property
    def memories(self) -> Mapping[str, Memory]:
        """Return the memories as the plans so far would leave them."""
        return self._memories

    def leave(self, identifiers: Iterable[str]) -> None:
        """Drop memories that no longer exist."""
        for identifier in identifiers:
            self._memories.pop(identifier, None)

    def probes(self, most: int, seed: str) -> list[tuple[str, str]]:
        """Return queries made from memories that must stay.

        Each comes with the id that it must find.
        """
        return drawn(self._memories, self._vocabulary, most=most, seed=seed, now=self.now)

    def plan(self, step: Step, tallies: Mapping[str, Tally] | None = None) -> Iterator[Entry]:
        """Yield the changes of one step; each counts as applied."""
        return self._done(self._planned(step, tallies or {}))

    def unread(self, most: int) -> list[tuple[str, str, str]]:
        """Return pairs for an entailment model: a name and both statements each.

        They are left open by the contradiction step.
        """
        pairs = self.readings.unread(most) if self.readings is not None else []
        return [(name, statement(a), statement(b)) for name, a, b in pairs]

    def read(self, said: Mapping[str, float | None]) -> Iterator[Entry]:
        """Yield the changes that follow from the probabilities, by pair name.

        A probability says that both cannot hold; None: no model could read the pair.
        """
        if self.readings is None:
            return iter(())
        return self._done(newly_read(self.readings, said, self._memories, self.now))

    def _done(self, changes: Iterable[Planned]) -> Iterator[Entry]:
        for planned in changes:
            entry = entry_of(planned, self._project)
            if entry.edits:
                for memory in planned.before:
                    self._memories.pop(memory.id, None)
                self._memories.update({memory.id: self._sparing(memory) for memory in planned.after})
                yield entry

    def erasable(self) -> list[str]:
        """Return the ids of archived memories that are due for erasure."""
        return [memory.id for memory in erasable(self._memories.values(), self.now)]

    def comparable(self) -> Iterator[str]:
        """Yield each active memory's id and digest of compared fields."""
        return (f"{one.id} {_compared_by(one)}" for one in self._memories.values() if one.status is Status.ACTIVE)

    def titles(self, identifiers: Sequence[str]) -> dict[str, str]:
        return {one: self._memories[one].title for one in identifiers if one in self._memories}

    def _planned(self, step: Step, tallies: Mapping[str, Tally]) -> Iterator[Planned]:
        memories = dict(self._memories)
        settings, now = self._settings, self.now
        match step:
            case Step.USE:
                return counted(memories, tallies, settings)
            case Step.DUPLICATES:
                return merged(memories, self._same(memories), now)
            case Step.CONTRADICTIONS:
                return contradictions(memories, now, readings=self.readings, denied=self.denied)
            case Step.RETIRE:
                return retired(memories, now)
            case Step.CASCADE:
                return cascaded(memories, self._ground, now)
            case Step.SUMMARISE:
                return summarised(memories.values(), self._vocabulary, settings, now)
            case Step.COMPRESS:
                return compressed(memories.values(), self._vocabulary, settings, now)
            case Step.HISTORY:
                return histories(memories, self._vocabulary, settings, now)
            case Step.LINKS:
                return linked(memories, self._ground)
            case Step.FORGET:
                return forgotten(memories, settings, now)
        return iter(())

    def _same(self, memories: Mapping[str, Memory]) -> list[list[str]]:
        known = {told.partition(" ")[0] for told in self.comparable() if told in self.compared} if self.compared else ()
        groups = same_groups(memories, self._vectors, settled=known, least=self._settings.duplicate_similarity)
        self._vectors.clear()  # not needed by any other step
        gc.collect()  # before any long-lived objects are made: fragmentation would keep all of that memory
        return groups


def _same_of(moment: datetime, *others: datetime | None) -> datetime:
    """Return the equal one of `others`, else `moment` itself.

    It must be in the same time zone.
    """
    return next((one for one in others if one == moment and one is not None and one.tzinfo == moment.tzinfo), moment)


def _compared_by(memory: Memory) -> str:
    told = (memory.title, memory.content, memory.key, memory.branch, memory.kind, memory.scope, memory.artifacts)
    return blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
