"""Classification of statement pairs by rules, features and the trained table.

Decides if both can hold; no I/O and no model. Rules know numbers, versions, places and names, and little about free
wording. An entailment model is strong where the rules are weak, so both are combined for freely worded statements.
Statements in manifests and about other places are left to the rules; where numbers are equal or times differ, the model
needs a higher probability.
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

# Minimum probability to open a contradiction. It is high because a needless question costs a person's time: in
# cross-validation, nine in ten hand-written pairs above it are contradictions; above .5 it is six in seven.
LEAST: Final = 0.65
# The same for a pair that an entailment model has read: above it, nine in ten of 773 pairs of four sets contradict each
# other; the model was trained on none of them.
LEAST_READ: Final = 0.8
# Weights of both logits: a logistic regression on these pairs, on pairs of an author absent from the training data, and
# on pairs of statements that merely share words. The number of shared words adds nothing further.
_BIAS: Final = 0.217
_OF_RULES: Final = 0.131
_OF_READER: Final = 0.726
_OF_LIKELY_BOTH: Final = -0.266  # the rules see equal words or numbers, or other times
_MOST_SURE: Final = 3.0  # maximum absolute logit of the rules
_SILENT: Final = -1.5  # logit of the rules if nothing opposes


@dataclass(frozen=True, slots=True)
class Judgement:
    """Probability that both statements cannot hold, and what opposes them.

    `kind` is "versions", "value", "choice", "negation", "order", "wording", or "" if nothing opposes them.
    """

    probability: float
    kind: str
    is_open: bool = False  # an entailment model is consulted as well
    likely_both: bool = False  # and needs a higher probability
    least: float = LEAST  # minimum probability of a contradiction

    @property
    def contradicts(self) -> bool:
        """Return True if the probability reaches the threshold and a reason exists."""
        return self.probability >= self.least and bool(self.kind)


NO_REASON: Final = Judgement(0.0, "")
SURE: Final = Judgement(1.0, "versions")
SURE_OF_VERSIONS: Final = (
    0.9  # above it 37 of 38 labelled pairs contradict each other; the entailment model knows less about versions
)
OF_TWINS: Final = 0.9  # above it 37 of 38 labelled pairs contradict each other; the model knows versions less


def judged(a: str, b: str, weights: Weights | None = None) -> Judgement:
    """Classify statements `a` and `b` by their most opposed clauses.

    `weights` default to the shipped table.
    """
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
    """Return the kind of an explicit contradiction, or "".

    It is about a version or a tool that both name.
    """
    if too_old(a, b):
        return "versions"
    return "choice" if still_used(a, b) else ""


def with_reading(rules: Judgement, probability: float | None) -> Judgement:
    """Combine the judgement of the rules with a model's probability.

    `probability` is that both statements cannot hold; None: no model has read them.
    """
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
    """Compare each clause of one statement with each clause of the other."""
    return [compared(mine, other) for mine in clauses_of(a) for other in clauses_of(b)]
