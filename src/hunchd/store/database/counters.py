"""What became of a write, and what has happened to a store since it was opened."""

from __future__ import annotations

from dataclasses import dataclass, field

from hunchd.store.database.repair import Repair


@dataclass(frozen=True, slots=True)
class Written:
    """What a put changed: rows that were not there, rows that said something else, rows that said just this."""

    added: int = 0
    changed: int = 0
    same: int = 0


@dataclass(slots=True)
class Counters:
    commits: int = 0
    since_optimise: int = 0
    optimise_failures: int = 0  # in a row
    healed: int = 0
    repairs: list[Repair] = field(default_factory=list)
