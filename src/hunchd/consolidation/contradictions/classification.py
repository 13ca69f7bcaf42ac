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

from hunchd.consolidation.contradictions.ended_support import are_about_two_series, contradicts_ended_support
from hunchd.consolidation.contradictions.features import ClauseComparison, compare_clauses
from hunchd.consolidation.contradictions.minimum_versions import disagree_on_minimum
from hunchd.consolidation.contradictions.near_identical import find_opposition
from hunchd.consolidation.contradictions.replaced_tools import uses_replaced_tool
from hunchd.consolidation.contradictions.scopes import is_exempt
from hunchd.consolidation.contradictions.statement_parser import parse_clauses
from hunchd.consolidation.contradictions.weights import ContradictionWeights, load_shipped_weights

# Minimum probability to open a contradiction. It is high because a needless question costs a person's time: in
# cross-validation, nine in ten hand-written pairs above it are contradictions; above .5 it is six in seven.
MIN_PROBABILITY: Final = 0.65
# The same for a pair that an entailment model has read: above it, nine in ten of 773 pairs of four sets contradict each
# other; the model was trained on none of them.
MIN_PROBABILITY_WITH_MODEL: Final = 0.8
# Weights of both logits: a logistic regression on these pairs, on pairs of an author absent from the training data, and
# on pairs of statements that merely share words. The number of shared words adds nothing further.
_BIAS: Final = 0.217
_RULES_WEIGHT: Final = 0.131
_MODEL_WEIGHT: Final = 0.726
_LIKELY_COMPATIBLE_WEIGHT: Final = -0.266  # the rules see equal words or numbers, or other times
_MAX_RULES_LOGIT: Final = 3.0  # maximum absolute logit of the rules
_NO_REASON_LOGIT: Final = -1.5  # logit of the rules if nothing opposes


@dataclass(frozen=True, slots=True)
class Judgement:
    """Probability that both statements cannot hold, and what opposes them.

    `kind` is "versions", "value", "choice", "negation", "order", "wording", or "" if nothing opposes them.
    """

    probability: float
    kind: str
    is_open: bool = False  # an entailment model is consulted as well
    likely_compatible: bool = False  # and needs a higher probability
    threshold: float = MIN_PROBABILITY  # minimum probability of a contradiction

    @property
    def contradicts(self) -> bool:
        """Return True if the probability reaches the threshold and a reason exists."""
        return self.probability >= self.threshold and bool(self.kind)


NO_REASON: Final = Judgement(0.0, "")
CERTAIN: Final = Judgement(1.0, "versions")
CERTAIN_OF_VERSIONS: Final = (
    0.9  # above it 37 of 38 labelled pairs contradict each other; the entailment model knows less about versions
)
NEAR_IDENTICAL_PROBABILITY: Final = (
    0.9  # above it 37 of 38 labelled pairs contradict each other; the model knows versions less
)


def judge_statements(a: str, b: str, weights: ContradictionWeights | None = None) -> Judgement:
    """Classify statements `a` and `b` by their most opposed clauses.

    `weights` default to the shipped table.
    """
    if is_exempt(a, b) or are_about_two_series(a, b) or a.casefold() == b.casefold():
        return NO_REASON
    if (is_contradicted := contradicts_ended_support(a, b)) is not None:
        return CERTAIN if is_contradicted else NO_REASON
    if kind := find_opposition(a, b) or _find_explicit_contradiction(a, b):
        return Judgement(NEAR_IDENTICAL_PROBABILITY, kind)
    table = weights or load_shipped_weights()
    pair_features = compare_statements(a, b)
    opposing = [(table.estimate_probability(one.features), one.kind) for one in pair_features if one.kind]
    probability, kind = max(opposing) if opposing else (NO_REASON.probability, NO_REASON.kind)
    if probability >= MIN_PROBABILITY:
        is_settled = any(one.is_pinned for one in pair_features) or (
            kind == "versions" and probability >= CERTAIN_OF_VERSIONS
        )
    else:
        is_settled = any(one.is_settled for one in pair_features)
    likely_compatible = probability < MIN_PROBABILITY and any(one.likely_compatible for one in pair_features)
    return Judgement(probability, kind, not is_settled, likely_compatible)


def _find_explicit_contradiction(a: str, b: str) -> str:
    """Return the kind of an explicit contradiction, or "".

    It is about a version or a tool that both name.
    """
    if disagree_on_minimum(a, b):
        return "versions"
    return "choice" if uses_replaced_tool(a, b) else ""


def combine_with_model(rules: Judgement, probability: float | None) -> Judgement:
    """Combine the judgement of the rules with a model's probability.

    `probability` is that both statements cannot hold; None: no model has read them.
    """
    if not rules.is_open or probability is None:
        return rules
    rules_logit = (
        max(-_MAX_RULES_LOGIT, min(_logit(rules.probability), _MAX_RULES_LOGIT)) if rules.kind else _NO_REASON_LOGIT
    )
    combined_logit = (
        _BIAS
        + _RULES_WEIGHT * rules_logit
        + _MODEL_WEIGHT * _logit(probability)
        + _LIKELY_COMPATIBLE_WEIGHT * rules.likely_compatible
    )
    kind = rules.kind if rules.contradicts else "wording"
    return Judgement(1.0 / (1.0 + math.exp(-combined_logit)), kind, threshold=MIN_PROBABILITY_WITH_MODEL)


def _logit(probability: float) -> float:
    clamped_probability = min(max(probability, 1e-9), 1.0 - 1e-9)
    return math.log(clamped_probability / (1.0 - clamped_probability))


def compare_statements(a: str, b: str) -> list[ClauseComparison]:
    """Compare each clause of one statement with each clause of the other."""
    return [compare_clauses(mine, other) for mine in parse_clauses(a) for other in parse_clauses(b)]
