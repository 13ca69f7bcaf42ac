"""Whether two statements can both hold: read, compared, and judged by the trained table. No I/O, no model.

Rules know numbers, versions, places and names, and little of free wording. A model that reads is the other way round:
so it is heard where the rules have nothing to say, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from hunchd.consolidation.contradictions_ending import still_stated
from hunchd.consolidation.contradictions_features import Compared, compared
from hunchd.consolidation.contradictions_reading import clauses_of
from hunchd.consolidation.contradictions_weights import Weights, shipped

# From here on a contradiction is opened. It is high because a question that need not be asked costs a person's time:
# held out in turn, nine in ten of the pairs written by hand that reach it are contradictions, of those from .5 on six
# in seven.
LEAST: Final = 0.65
# From here on a contradiction is opened that only the model sees. It is no more often wrong than the rules are then; of
# pairs that only speak of the same, which are nearly all that it reads, it misreads one or two in a hundred.
LEAST_READ: Final = 0.9


@dataclass(frozen=True, slots=True)
class Judgement:
    """How probable it is that both cannot hold, and what opposes them: "versions", "value", "choice", "negation",
    "wording"."""

    probability: float
    kind: str
    is_open: bool = False  # the rules see neither a contradiction nor anything by which both hold

    @property
    def contradicts(self) -> bool:
        return self.probability >= (LEAST_READ if self.kind == "wording" else LEAST) and bool(self.kind)


NO_REASON: Final = Judgement(0.0, "")
SURE: Final = Judgement(1.0, "versions")


def judged(a: str, b: str, weights: Weights | None = None) -> Judgement:
    """Whether statement `b` contradicts `a`, by the clauses that oppose each other most."""
    if (stated := still_stated(a, b)) is not None:
        return SURE if stated else NO_REASON
    table = weights or shipped()
    all_of_them = comparisons(a, b)
    found = [(table.probability(one.features), one.kind) for one in all_of_them if one.kind]
    judgement = Judgement(*max(found)) if found else NO_REASON
    if judgement.contradicts or any(one.settled for one in all_of_them):
        return judgement
    return replace(judgement, is_open=True)


def with_reading(rules: Judgement, probability: float) -> Judgement:
    """The judgement of the rules and of a model that says how probable it is that both statements cannot hold."""
    if rules.is_open and probability >= LEAST_READ:
        return Judgement(probability, "wording")
    return rules


def comparisons(a: str, b: str) -> list[Compared]:
    """Every clause of one compared with every clause of the other."""
    return [compared(mine, other) for mine in clauses_of(a) for other in clauses_of(b)]
