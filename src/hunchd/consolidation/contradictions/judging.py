"""Whether two statements can both hold: read, compared, and judged by the trained table. No I/O, no model.

Rules know numbers, versions, places and names, and little of free wording. A model that reads is the other way round:
so it is heard about whatever is worded freely, and both are weighed. What manifests say and other places are for the
rules alone; where numbers are equal or times are others, the model must be surer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradictions.ending import of_two_series, still_stated
from hunchd.consolidation.contradictions.features import Compared, compared
from hunchd.consolidation.contradictions.gone import still_used
from hunchd.consolidation.contradictions.oldest import too_old
from hunchd.consolidation.contradictions.reading import clauses_of
from hunchd.consolidation.contradictions.scopes import let_off
from hunchd.consolidation.contradictions.twins import opposed_twins
from hunchd.consolidation.contradictions.weights import Weights, shipped

# From here on a contradiction is opened. It is high because a question that need not be asked costs a person's time:
# held out in turn, nine in ten of the pairs written by hand that reach it are contradictions, of those from .5 on six
# in seven.
LEAST: Final = 0.65
# The same for a pair that a model has read: from here on nine in ten of 773 pairs of four sets oppose each other, read
# by a reader that had learned from none of them.
LEAST_READ: Final = 0.8
# How the logits of both are weighed: a logistic regression over these, pairs of a writer from whom the reader had not
# learned, and pairs of statements that merely share words. How many words two share adds nothing to it any more.
_BIAS: Final = 0.217
_OF_RULES: Final = 0.131
_OF_READER: Final = 0.726
_OF_LIKELY_BOTH: Final = -0.266  # where the rules see equal words or numbers, or other times
_MOST_SURE: Final = 3.0  # logit of the rules, either way
_SILENT: Final = -1.5  # logit of rules that see nothing that opposes


@dataclass(frozen=True, slots=True)
class Judgement:
    """How probable it is that both cannot hold, and what opposes them: "versions", "value", "choice", "negation",
    "order", "wording"."""

    probability: float
    kind: str
    is_open: bool = False  # a model that reads is heard as well
    likely_both: bool = False  # and must be surer than elsewhere
    least: float = LEAST  # the probability from which on it is a contradiction

    @property
    def contradicts(self) -> bool:
        return self.probability >= self.least and bool(self.kind)


NO_REASON: Final = Judgement(0.0, "")
SURE: Final = Judgement(1.0, "versions")
SURE_OF_VERSIONS: Final = 0.9  # from here on 37 of 38 labelled pairs exclude each other; the reader knows less of them
OF_TWINS: Final = 0.9  # all of the eighteen that were found among 4,500 labelled pairs exclude each other


def judged(a: str, b: str, weights: Weights | None = None) -> Judgement:
    """Whether statement `b` contradicts `a`, by the clauses that oppose each other most."""
    if let_off(a, b) or of_two_series(a, b) or a.casefold() == b.casefold():
        return NO_REASON
    if (stated := still_stated(a, b)) is not None:
        return SURE if stated else NO_REASON
    if kind := opposed_twins(a, b) or _told_outright(a, b):
        return Judgement(OF_TWINS, kind)
    table = weights or shipped()
    all_of_them = comparisons(a, b)
    found = [(table.probability(one.features), one.kind) for one in all_of_them if one.kind]
    probability, kind = max(found) if found else (NO_REASON.probability, NO_REASON.kind)
    if probability >= LEAST:
        settled = any(one.pinned for one in all_of_them) or (kind == "versions" and probability >= SURE_OF_VERSIONS)
    else:
        settled = any(one.settled for one in all_of_them)
    likely_both = probability < LEAST and any(one.likely_both for one in all_of_them)
    return Judgement(probability, kind, not settled, likely_both)


def _told_outright(a: str, b: str) -> str:
    """What is opposed by what one of the statements says of the very thing that the other names."""
    if too_old(a, b):
        return "versions"
    return "choice" if still_used(a, b) else ""


def with_reading(rules: Judgement, probability: float | None) -> Judgement:
    """The judgement of the rules and of a model that says how probable it is that both statements cannot hold; None:
    nobody has read them."""
    if not rules.is_open or probability is None:
        return rules
    seen = max(-_MOST_SURE, min(_logit(rules.probability), _MOST_SURE)) if rules.kind else _SILENT
    both = _BIAS + _OF_RULES * seen + _OF_READER * _logit(probability) + _OF_LIKELY_BOTH * rules.likely_both
    kind = rules.kind if rules.contradicts else "wording"
    return Judgement(1.0 / (1.0 + math.exp(-both)), kind, least=LEAST_READ)


def _logit(probability: float) -> float:
    inside = min(max(probability, 1e-9), 1.0 - 1e-9)
    return math.log(inside / (1.0 - inside))


def comparisons(a: str, b: str) -> list[Compared]:
    """Every clause of one compared with every clause of the other."""
    return [compared(mine, other) for mine in clauses_of(a) for other in clauses_of(b)]
