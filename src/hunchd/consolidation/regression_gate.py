"""Regression gate, which checks that a consolidation run loses no memories.

Queries made before the run must find the same memories after it. These are pure functions.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from hunchd.consolidation.aging import get_last_use, is_forgettable
from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.consolidation.module_history import HISTORY_CATEGORY, PART_OF
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep
from hunchd.domain.facts import is_over
from hunchd.domain.memory import Memory, Status
from hunchd.protocol.consolidation_answers import GateFigures, LostAnswer

QUERY_WORDS: Final = 6  # words in a query made from a memory
MAX_RANK_BEFORE: Final = 5  # a memory counts as found before the run if it has this rank or better
MAX_RANK_AFTER: Final = 10  # the same after the run: the default number of results, so that ties may swap places
# A memory shown or used this recently is needed, whatever the settings say.
RECENT_USE: Final = timedelta(days=14)

MAX_LISTED_LOSSES: Final = 20

RANKING: Final = "ranking"  # takes the place of a step if no step caused a loss
LastChange = tuple[str, str]  # step and description of a change


class Probe(Struct, frozen=True, rename={"expected_ids": "wanted"}):
    """Query of the regression gate, with the memories that it must find.

    `expected_ids` are the ids of the memories that were among the first results before the run.
    """

    query: str
    project: str | None
    expected_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunTrace:
    """Effects of a run on the memories that the gate expects to find.

    `last_changes` maps the id of each expected memory to the last change that the run made to it. `replacements` maps
    the id of each superseded or condensed memory to the id of the memory that replaces it. `created_ids` are the ids
    of the memories that the run created.
    """

    last_changes: Mapping[str, LastChange]
    replacements: Mapping[str, str]
    created_ids: frozenset[str]

    @property
    def default_cause(self) -> LastChange:
        """Cause to report for a lost memory that the run did not change."""
        if self.created_ids:
            return str(ConsolidationStep.HISTORY), "new histories rank above it"
        return RANKING, "other memories rank above it"

    def find_replacement(self, identifier: str) -> str:
        """Return the id of the memory now standing for `identifier`.

        Follows the chain of replacements; returns `identifier` itself if the memory was not replaced.
        """
        visited_ids = {identifier}
        while (following := self.replacements.get(identifier)) is not None and following not in visited_ids:
            visited_ids.add(following)
            identifier = following
        return identifier


@dataclass(frozen=True, slots=True)
class LostResult:
    """Memory that a query of the gate no longer finds after the run.

    `step` is the step that last changed the memory. If no step changed it, `step` is the most likely cause; see
    `RunTrace.default_cause`.
    """

    query: str
    expected_id: str
    step: str
    change: str


@dataclass(slots=True)
class GateVerdict:
    """Verdict of the gate: the number of compared results, and the lost ones."""

    result_count: int = 0  # results found before the run
    losses: list[LostResult] = field(default_factory=list)

    @property
    def loss_share(self) -> float:
        return len(self.losses) / self.result_count if self.result_count else 0.0

    def summarize(self) -> GateFigures:
        """Return the figures of the verdict, with at most MAX_LISTED_LOSSES of the losses."""
        return GateFigures(
            answers=self.result_count,
            lost=len(self.losses),
            share=round(self.loss_share, 4),
            losses=[
                LostAnswer(probe=one.query, lost=one.expected_id, step=one.step, change=one.change)
                for one in self.losses[:MAX_LISTED_LOSSES]
            ],
        )


def draw_queries(
    memories: Mapping[str, Memory], vocabulary: Vocabulary, *, limit: int, seed: str, now: datetime
) -> list[tuple[str, str]]:
    """Draw queries made from a random sample of memories that must not be lost.

    Returns at most `limit` pairs of a query and the id of its memory. The same `seed` draws the same sample.
    """
    needed_memories = [memory for memory in memories.values() if must_stay(memory, now)]
    needed_memories.sort(key=lambda memory: memory.id)
    sample = random.Random(seed).sample(needed_memories, min(limit, len(needed_memories)))
    queries = [(make_query(memory, vocabulary), memory.id) for memory in sample]
    return [(query, identifier) for query, identifier in queries if query]


def must_stay(memory: Memory, now: datetime) -> bool:
    """Return True if a run may merge this memory but must not lose it.

    Memories that have expired may be lost.
    """
    if memory.status is not Status.ACTIVE or "." in memory.id or memory.source.get("type") == "contradiction":
        return False
    if is_over(memory, now):
        return False
    return (
        not is_forgettable(memory)
        or memory.usage.cited > 0
        or memory.category == HISTORY_CATEGORY
        or now - get_last_use(memory) < RECENT_USE
    )


def make_query(memory: Memory, vocabulary: Vocabulary) -> str:
    """Make a search query from the most distinctive words of a memory."""
    text = " ".join(filter(None, (memory.title, memory.key, memory.value, memory.content[:2_000])))
    return " ".join(vocabulary.pick_distinctive(text, QUERY_WORDS))


def compare_results(
    probes: Sequence[Probe],
    results: Iterable[Sequence[str]],
    trace: RunTrace,
    changed_ids: Container[str] = (),
    removed_ids: Container[str] = (),
) -> GateVerdict:
    """Compare the `results` after the run with those before it.

    `results` contains, for each probe, the ids of the memories that it finds now. A memory that is no longer found
    does not count as lost if somebody other than the run changed it (`changed_ids`) and the run did not, or if it was
    removed (`removed_ids`; a run removes no memories). The same applies if that happened to the memory into which it
    was merged.
    """
    verdict = GateVerdict()
    for probe, now in zip(probes, results, strict=True):
        result_ids = set(now)
        for expected_id in probe.expected_ids:
            replacement = trace.find_replacement(expected_id)
            found_again = expected_id in result_ids or replacement in result_ids
            changed_by_others = replacement in changed_ids and (
                replacement != expected_id or expected_id not in trace.last_changes
            )
            if not found_again and (changed_by_others or replacement in removed_ids):
                continue
            verdict.result_count += 1
            if found_again:
                continue
            step, what = trace.last_changes.get(expected_id, trace.default_cause)
            verdict.losses.append(LostResult(probe.query, expected_id, step, what))
    return verdict


def trace_changes(entries: Iterable[ChangeEntry], expected_ids: Container[str]) -> RunTrace:
    """Collect the effects of the changes in `entries` on the expected memories."""
    last_changes: dict[str, LastChange] = {}
    replacements: dict[str, str] = {}
    created_ids: set[str] = set()
    for entry in entries:
        for edit in entry.edits:
            if edit.id in expected_ids:
                last_changes[edit.id] = (str(entry.step), entry.description)
            if edit.fields_before is None:
                created_ids.add(edit.id)
            now = edit.fields_after or {}
            if now.get("superseded_by"):
                replacements[edit.id] = str(now["superseded_by"])
            for link in now.get("links") or ():
                if link.get("type") == PART_OF:
                    replacements.setdefault(edit.id, str(link["ref"]))
    return RunTrace(last_changes, replacements, frozenset(created_ids))
