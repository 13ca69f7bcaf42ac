"""Whether two statements can both hold: read, compared, and judged by the trained table. No I/O, no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradictions_features import Compared, compared
from hunchd.consolidation.contradictions_reading import clauses_of
from hunchd.consolidation.contradictions_weights import Weights, shipped

# From here on a contradiction is opened. It is high because a question that need not be asked costs a person's time:
# held out in turn, nine in ten of the pairs written by hand that reach it are contradictions, of those from .5 on six
# in seven.
LEAST: Final = 0.65


@dataclass(frozen=True, slots=True)
class Judgement:
    """How probable it is that both cannot hold, and what opposes them: "versions", "value", "choice", "negation"."""

    probability: float
    kind: str

    @property
    def contradicts(self) -> bool:
        return self.probability >= LEAST and bool(self.kind)


NO_REASON: Final = Judgement(0.0, "")


def judged(a: str, b: str, weights: Weights | None = None) -> Judgement:
    """Whether statement `b` contradicts `a`, by the clauses that oppose each other most."""
    table = weights or shipped()
    found = [(table.probability(one.features), one.kind) for one in comparisons(a, b) if one.kind]
    return Judgement(*max(found)) if found else NO_REASON


def comparisons(a: str, b: str) -> list[Compared]:
    """Every clause of one compared with every clause of the other."""
    return [compared(mine, other) for mine in clauses_of(a) for other in clauses_of(b)]
