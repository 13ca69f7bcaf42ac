"""Result of a write, and counters of events in an open store."""

from __future__ import annotations

from dataclasses import dataclass, field

from hunchd.store.database.repair import RepairReport


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Numbers of rows that a write added, changed, or left unchanged."""

    added: int = 0
    changed: int = 0
    same: int = 0


@dataclass(slots=True)
class StoreCounters:
    """Counters of events in a store since it was opened."""

    commits: int = 0
    since_optimise: int = 0
    optimise_failures: int = 0  # in a row
    repair_count: int = 0
    repairs: list[RepairReport] = field(default_factory=list)
