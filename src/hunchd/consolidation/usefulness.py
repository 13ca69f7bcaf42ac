"""Effect of use on memories: usage counts, and bounded steps of importance.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import Planned, Step
from hunchd.domain.memory import Kind, Memory, Status, Usage

BEGAN_AT: Final = "importance_began_at"  # source field: the importance before any use
# From this importance on, a bundle shows user facts without a request (engine/answering/fact_pieces.py); usage alone
# never raises a memory that far.
SHOWN_UNASKED: Final = 0.5
# Minimum evidence that moves importance: a single click may be a slip.
ENOUGH: Final = 2.0
CITED, MISSED, WRONG, IGNORED = 1.0, 1.0, -2.0, -0.25
REVERTED: Final = -1.0  # a change that was used and reverted cancels one use
PLACES: Final = 10  # nobody looks below the tenth result
# Share of readers who look at the n-th item of a list: the usual power law of click models.
ATTENTION: Final = 0.7


@dataclass(frozen=True, slots=True)
class Tally:
    """Usage of one memory since the last run, not yet in its counts.

    `evidence` is the sum for and against it over all kinds of feedback; each kind counts once a day, however often it
    came.
    """

    shown: int = 0
    cited: int = 0
    ignored: float = 0.0  # corrected for rank: what nobody looked at was not ignored
    wrong: int = 0
    missed: int = 0
    evidence: float = 0.0
    last: datetime | None = None


def examined(place: int) -> float:
    """Return the share of readers who look at `rank`.

    Ranks count from 1.
    """
    return 0.0 if place > PLACES else 1.0 / max(place, 1) ** ATTENTION


def counted(
    memories: Mapping[str, Memory], tallies: Mapping[str, Tally], settings: ConsolidationSettings
) -> Iterator[Planned]:
    """Plan new usage counts, and importance moved by the evidence of all counts."""
    for identifier, tally in tallies.items():
        memory = memories.get(identifier)
        if memory is None or memory.status is Status.ARCHIVED or memory.kind is Kind.CONTRADICTION:
            continue
        after = replace(memory, usage=added(memory.usage, tally))
        moved = _moved(after, tally, settings)
        counts = "counted"
        if moved.importance > memory.importance:
            counts = "promoted"
        elif moved.importance < memory.importance:
            counts = "demoted"
        if moved != memory:
            verb = {"promoted": "promote", "demoted": "demote"}.get(counts, "count the use of")
            yield Planned(Step.USE, counts, f"{verb} {memory.title!r}", _why(tally), (memory,), (moved,))


def added(usage: Usage, tally: Tally) -> Usage:
    last = max((each for each in (usage.last, tally.last) if each is not None), default=None)
    return Usage(
        usage.retrieved + tally.shown,
        usage.cited + tally.cited,
        usage.ignored + int(tally.ignored),
        usage.wrong + tally.wrong,
        usage.missed + tally.missed,
        last,
    )


def _moved(memory: Memory, tally: Tally, settings: ConsolidationSettings) -> Memory:
    began = memory.source.get(BEGAN_AT, memory.importance)
    began = float(began) if isinstance(began, int | float) else memory.importance
    # One bad day does not revert a good record, nor the reverse.
    known = CITED * memory.usage.cited + MISSED * memory.usage.missed + WRONG * memory.usage.wrong
    known += IGNORED * memory.usage.ignored
    if abs(known) < ENOUGH or tally.evidence == 0.0 or (tally.evidence > 0) != (known > 0):
        return memory
    step = settings.importance_step if tally.evidence > 0 else -settings.importance_step
    highest = min(1.0, began + settings.importance_range)
    if began < SHOWN_UNASKED:
        highest = min(highest, SHOWN_UNASKED - 0.01)
    lowest = max(0.05, began - settings.importance_range)
    moved = round(min(max(memory.importance + step, lowest), max(highest, began)), 4)
    if moved == memory.importance:
        return memory
    return replace(memory, importance=moved, source={**memory.source, BEGAN_AT: began})


def _why(tally: Tally) -> str:
    told = {
        "shown": tally.shown,
        "cited": tally.cited,
        "ignored": round(tally.ignored, 1),
        "wrong": tally.wrong,
        "missed": tally.missed,
        "evidence": round(tally.evidence, 2),
    }
    return "since the last run: " + ", ".join(f"{name} {count:g}" for name, count in told.items() if count)
