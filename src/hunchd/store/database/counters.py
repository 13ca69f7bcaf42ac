"""Result of a write, and event counters of an open store."""

from __future__ import annotations

from dataclasses import dataclass, field

from hunchd.store.database.repair import Repair


@dataclass(frozen=True, slots=True)
class Written:
    """Number of rows that a put added, changed, or found unchanged."""

    added: int = 0
    changed: int = 0
    same: int = 0


@dataclass(slots=True)
class Counters:
    """Event counters of a store since it was opened."""

    commits: int = 0
    since_optimise: int = 0
    optimise_failures: int = 0  # in a row
    healed: int = 0
    repairs: list[Repair] = field(default_factory=list)
