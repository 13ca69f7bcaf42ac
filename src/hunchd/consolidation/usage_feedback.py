"""Effects of usage on memories: usage counts, and bounded changes of importance.

These are pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Memory, Status, Usage

INITIAL_IMPORTANCE: Final = "importance_began_at"  # source field: the importance before any use
# A bundle shows user facts of at least this importance unprompted (features/context/fact_candidates.py); usage alone
# never raises a memory that far.
MIN_UNREQUESTED_IMPORTANCE: Final = 0.5
# Minimum evidence that changes importance, because a single click may be a slip.
MIN_EVIDENCE: Final = 2.0
IMPORTANCE_STEP: Final = 0.05  # maximum change of importance in one run: no single night decides
IMPORTANCE_RANGE: Final = 0.2  # maximum change in total, from the initial importance
CITED_WEIGHT, MISSED_WEIGHT, WRONG_WEIGHT, IGNORED_WEIGHT = 1.0, 1.0, -2.0, -0.25
MAX_RANK: Final = 10  # nobody looks below the tenth result
# The share of readers who look at the n-th item in a list follows the usual power law of click models.
ATTENTION_EXPONENT: Final = 0.7


@dataclass(frozen=True, slots=True)
class UsageTally:
    """Usage of one memory, not yet counted by any run.

    `evidence` is the sum of the feedback for and against the memory. Each kind of feedback counts at most once a
    day, however often it was given.
    """

    shown: int = 0
    cited: int = 0
    ignored: float = 0.0  # corrected for rank: a result that nobody looked at was not ignored
    wrong: int = 0
    missed: int = 0
    evidence: float = 0.0
    last: datetime | None = None


def estimate_attention(rank: int) -> float:
    """Estimate the share of readers who look at the result at `rank`.

    The first result has rank 1. The share is 0 for ranks after MAX_RANK.
    """
    return 0.0 if rank > MAX_RANK else 1.0 / max(rank, 1) ** ATTENTION_EXPONENT


def plan_usage(memories: Mapping[str, Memory], tallies: Mapping[str, UsageTally]) -> Iterator[PlannedChange]:
    """Plan new usage counts and the resulting changes of importance.

    `tallies` maps the ids of memories to their usage since the last run.
    """
    for identifier, tally in tallies.items():
        memory = memories.get(identifier)
        if memory is None or memory.status is Status.ARCHIVED or describe(memory.kind).is_detected_only:
            continue
        after = replace(memory, usage=add_tally(memory.usage, tally))
        updated_memory = _move_importance(after, tally)
        counter = "counted"
        if updated_memory.importance > memory.importance:
            counter = "promoted"
        elif updated_memory.importance < memory.importance:
            counter = "demoted"
        if updated_memory != memory:
            verb = {"promoted": "promote", "demoted": "demote"}.get(counter, "update the usage counts of")
            yield PlannedChange(
                ConsolidationStep.USE,
                counter,
                f"{verb} {memory.title!r}",
                _format_tally(tally),
                (memory,),
                (updated_memory,),
            )


def add_tally(usage: Usage, tally: UsageTally) -> Usage:
    last = max((each for each in (usage.last, tally.last) if each is not None), default=None)
    return Usage(
        usage.retrieved + tally.shown,
        usage.cited + tally.cited,
        usage.ignored + int(tally.ignored),
        usage.wrong + tally.wrong,
        usage.missed + tally.missed,
        last,
    )


def _move_importance(memory: Memory, tally: UsageTally) -> Memory:
    initial = memory.source.get(INITIAL_IMPORTANCE, memory.importance)
    initial = float(initial) if isinstance(initial, int | float) else memory.importance
    # One bad day does not cancel a good record, and one good day does not cancel a bad one.
    total_evidence = (
        CITED_WEIGHT * memory.usage.cited + MISSED_WEIGHT * memory.usage.missed + WRONG_WEIGHT * memory.usage.wrong
    )
    total_evidence += IGNORED_WEIGHT * memory.usage.ignored
    if abs(total_evidence) < MIN_EVIDENCE or tally.evidence == 0.0 or (tally.evidence > 0) != (total_evidence > 0):
        return memory
    step = IMPORTANCE_STEP if tally.evidence > 0 else -IMPORTANCE_STEP
    highest = min(1.0, initial + IMPORTANCE_RANGE)
    if initial < MIN_UNREQUESTED_IMPORTANCE:
        highest = min(highest, MIN_UNREQUESTED_IMPORTANCE - 0.01)
    lowest = max(0.05, initial - IMPORTANCE_RANGE)
    importance = round(min(max(memory.importance + step, lowest), max(highest, initial)), 4)
    if importance == memory.importance:
        return memory
    return replace(memory, importance=importance, source={**memory.source, INITIAL_IMPORTANCE: initial})


def _format_tally(tally: UsageTally) -> str:
    values = {
        "shown": tally.shown,
        "cited": tally.cited,
        "ignored": round(tally.ignored, 1),
        "wrong": tally.wrong,
        "missed": tally.missed,
        "evidence": round(tally.evidence, 2),
    }
    return "since the last run: " + ", ".join(f"{name} {count:g}" for name, count in values.items() if count)
