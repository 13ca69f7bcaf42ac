"""Planner of a consolidation run for the memories of one owner.

Each step sees the memories as the changes of the earlier steps would leave them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, TypeVar

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import (
    SHOWN_AS,
    iter_erasable,
    plan_compression,
    plan_forgetting,
    plan_retirement,
    plan_summaries,
)
from hunchd.consolidation.code_presence import CodePresence, UnknownCode
from hunchd.consolidation.contradictions.candidate_search import plan_contradictions, plan_newly_read
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache
from hunchd.consolidation.contradictions.statements import extract_statement
from hunchd.consolidation.duplicates.duplicate_search import group_duplicates
from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.consolidation.linking import plan_links
from hunchd.consolidation.merging import plan_merges
from hunchd.consolidation.module_history import plan_histories
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep, PlannedChange, make_entry
from hunchd.consolidation.regression_gate import draw_queries
from hunchd.consolidation.staleness import plan_staleness
from hunchd.consolidation.usage_feedback import UsageTally, plan_usage
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Levels, Memory, Status

SharedT = TypeVar("SharedT")

MAX_LEARNED_CHARACTERS: Final = (
    1_500  # characters of a text from which words are counted; the beginning names the subject
)
# Short strings such as names of authors recur, digests of commits do not: looking these up costs more than it saves.
MAX_SHARED_CHARACTERS: Final = 40
_COMMON_FIELDS: Final = frozenset({"type", SHOWN_AS})
_NO_LEVELS: Final = Levels()
# Steps that produce plans; the store executes the others itself.
PLANNED_STEPS: Final = (
    ConsolidationStep.USE,
    ConsolidationStep.DUPLICATES,
    ConsolidationStep.CONTRADICTIONS,
    ConsolidationStep.RETIRE,
    ConsolidationStep.CASCADE,
    ConsolidationStep.SUMMARISE,
    ConsolidationStep.COMPRESS,
    ConsolidationStep.HISTORY,
    ConsolidationStep.LINKS,
    ConsolidationStep.FORGET,
)


class Planner:
    """Planner of the steps of a consolidation run.

    It keeps the memories loaded from step to step.
    """

    def __init__(
        self, project: str | None, settings: ConsolidationSettings, now: datetime, code: CodePresence | None = None
    ) -> None:
        self._project = project
        self._settings = settings
        self.now = now  # advanced by benchmarks that replay years
        self._code = code or UnknownCode()
        self._memories: dict[str, Memory] = {}
        self._vectors: dict[str, bytes] = {}
        self._shared_values: dict[Any, Any] = {}
        self._previous: Memory | None = None  # the memory loaded last
        self._vocabulary = Vocabulary()
        self.compared_keys: frozenset[str] = (
            frozenset()
        )  # memories that earlier runs compared, see `iter_comparison_keys`
        self.entailment_cache: EntailmentCache | None = None  # None if no model is available
        # Returns True if a language model has said that both statements can hold; None if none is consulted.
        self.is_denied: Callable[[Memory, Memory], bool] | None = None

    def __len__(self) -> int:
        return len(self._memories)

    def load(self, memories: Iterable[Memory], vectors: Mapping[str, bytes] | None = None) -> None:
        """Add memories to the planner, in one or several calls.

        `vectors` maps their ids to embedding vectors. Memories of kinds that are not consolidated are skipped.
        """
        for memory in memories:
            if not describe(memory.kind).is_consolidated:
                continue
            self._memories[memory.id] = self._share_values(memory)
            self._vocabulary.learn(f"{memory.title}\n{memory.content[:MAX_LEARNED_CHARACTERS]}")
        self._vectors.update(vectors or {})

    def _share_values(self, memory: Memory) -> Memory:
        """Return a copy of the memory that shares equal values with earlier memories.

        This saves three quarters of the space. Files, numbers and provenance are shared. Times are compared only with
        those of the previous memory, because most times differ.
        """
        creation_time = _share_moment(
            memory.created, memory.at, self._previous.created if self._previous is not None else None
        )
        update_time = _share_moment(
            memory.updated, creation_time, self._previous.updated if self._previous is not None else None
        )
        self._previous = replace(
            memory,
            project=self._share(memory.project),
            artifacts=tuple(one if one.type == "commit" else self._share(one) for one in memory.artifacts),
            usage=self._share(memory.usage),
            created=creation_time,
            updated=update_time,
            importance=self._share(memory.importance),
            confidence=self._share(memory.confidence),
            levels=memory.levels if any(astuple(memory.levels)) else _NO_LEVELS,
            source=self._share_source(memory.source),
        )
        return self._previous

    def _share_source(self, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a copy of the source that shares equal strings with earlier sources.

        A source with only common fields is shared as a whole.
        """
        if source.keys() <= _COMMON_FIELDS:
            shared_source: Mapping[str, Any] = self._shared_values.setdefault((dict, repr(source)), source)
            return shared_source
        return {
            self._share(name): self._share(value)
            if isinstance(value, str) and len(value) < MAX_SHARED_CHARACTERS
            else value
            for name, value in source.items()
        }

    def _share(self, value: SharedT) -> SharedT:
        """Return the first value seen that equals `value` and has the same type.

        The type matters, because 1 and 1.0 are equal but are written differently.
        """
        shared_value: SharedT = self._shared_values.setdefault((type(value), value), value)
        return shared_value

    @property
    def memories(self) -> Mapping[str, Memory]:
        """Memories as the changes planned so far would leave them."""
        return self._memories

    def remove(self, identifiers: Iterable[str]) -> None:
        """Remove memories that no longer exist."""
        for identifier in identifiers:
            self._memories.pop(identifier, None)

    def draw_probes(self, limit: int, seed: str) -> list[tuple[str, str]]:
        """Return at most `limit` queries made from memories that must not be lost.

        Each query comes with the id of the memory that it must find. The same `seed` draws the same memories.
        """
        return draw_queries(self._memories, self._vocabulary, limit=limit, seed=seed, now=self.now)

    def plan(self, step: ConsolidationStep, tallies: Mapping[str, UsageTally] | None = None) -> Iterator[ChangeEntry]:
        """Yield the changes of one step, and assume that each is applied.

        `tallies`, needed only by the step USE, maps the ids of memories to their usage since the last run.
        """
        return self._apply(self._plan_step(step, tallies or {}))

    def list_unread_pairs(self, limit: int) -> list[tuple[str, str, str]]:
        """Return the pairs of statements that the entailment model has yet to judge.

        These are the pairs that the contradiction step could not judge, as (cache key, statement, statement). At most
        `limit` pairs are returned.
        """
        pairs = self.entailment_cache.list_unread(limit) if self.entailment_cache is not None else []
        return [(name, extract_statement(a), extract_statement(b)) for name, a, b in pairs]

    def plan_read_pairs(self, probabilities: Mapping[str, float | None]) -> Iterator[ChangeEntry]:
        """Yield the changes that follow from newly judged pairs of statements.

        `probabilities` maps the cache keys of the pairs to the probability of a contradiction, or to None if the model
        could not judge the pair.
        """
        if self.entailment_cache is None:
            return iter(())
        return self._apply(plan_newly_read(self.entailment_cache, probabilities, self._memories, self.now))

    def _apply(self, changes: Iterable[PlannedChange]) -> Iterator[ChangeEntry]:
        for change in changes:
            entry = make_entry(change, self._project)
            if entry.edits:
                for memory in change.before:
                    self._memories.pop(memory.id, None)
                self._memories.update({memory.id: self._share_values(memory) for memory in change.after})
                yield entry

    def list_erasable_ids(self) -> list[str]:
        """Return the ids of the archived memories that are due for erasure."""
        return [memory.id for memory in iter_erasable(self._memories.values(), self.now)]

    def iter_comparison_keys(self) -> Iterator[str]:
        """Yield keys that let a later run recognise unchanged active memories.

        A key consists of the id and a digest of the fields that the search for duplicates compares.
        """
        return (
            f"{one.id} {_digest_compared_fields(one)}" for one in self._memories.values() if one.status is Status.ACTIVE
        )

    def _plan_step(self, step: ConsolidationStep, tallies: Mapping[str, UsageTally]) -> Iterator[PlannedChange]:
        memories = dict(self._memories)
        settings, now = self._settings, self.now
        match step:
            case ConsolidationStep.USE:
                return plan_usage(memories, tallies)
            case ConsolidationStep.DUPLICATES:
                return plan_merges(memories, self._group_duplicates(memories), now)
            case ConsolidationStep.CONTRADICTIONS:
                return plan_contradictions(memories, now, cache=self.entailment_cache, is_denied=self.is_denied)
            case ConsolidationStep.RETIRE:
                return plan_retirement(memories, now)
            case ConsolidationStep.CASCADE:
                return plan_staleness(memories.values(), self._code)
            case ConsolidationStep.SUMMARISE:
                return plan_summaries(memories.values(), self._vocabulary, settings, now)
            case ConsolidationStep.COMPRESS:
                return plan_compression(memories.values(), self._vocabulary, settings, now)
            case ConsolidationStep.HISTORY:
                return plan_histories(memories, self._vocabulary, settings, now)
            case ConsolidationStep.LINKS:
                return plan_links(memories, self._code)
            case ConsolidationStep.FORGET:
                return plan_forgetting(memories, settings, now)
        return iter(())

    def _group_duplicates(self, memories: Mapping[str, Memory]) -> list[list[str]]:
        settled_ids = (
            {key.partition(" ")[0] for key in self.iter_comparison_keys() if key in self.compared_keys}
            if self.compared_keys
            else ()
        )
        groups = group_duplicates(memories, self._vectors, settled_ids=settled_ids)
        self._vectors.clear()  # not needed by any other step
        gc.collect()  # before long-lived objects are made: fragmentation would keep this memory from being freed
        return groups


def _share_moment(moment: datetime, *others: datetime | None) -> datetime:
    """Return the time from `others` that equals `moment` and has the same time zone.

    Returns `moment` itself if there is none.
    """
    return next((one for one in others if one == moment and one is not None and one.tzinfo == moment.tzinfo), moment)


def _digest_compared_fields(memory: Memory) -> str:
    fields = (memory.title, memory.content, memory.key, memory.branch, memory.kind, memory.scope, memory.artifacts)
    return blake2b(repr(fields).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
