"""Features of a pair of clauses for the contradiction classifier.

Evidence for a contradiction is a reason: another value of the same kind, a denial, an opposite. Evidence against it is
that the clauses are about different things: words that only one side has, other places, other times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradictions.alternatives import SCOPE_GROUPS, SINGLE_VALUED_STEMS
from hunchd.consolidation.contradictions.lexicon import canonical_stem
from hunchd.consolidation.contradictions.statement_parser import LOW_INFORMATION_STEMS, Clause
from hunchd.consolidation.contradictions.values import (
    Value,
    are_equal,
    are_exclusive,
    are_same_requirement,
    is_refinement,
)

REASONS: Final = ("number", "choice", "opposed", "unlike", "rejected", "restricted")
CONTEXTS: Final = (
    "",
    " contained",
    " left on both",
    " left on both, many",
    " left on one",
    " heads differ",
    " qualified",
    " open",
    " of one topic",
    " verbs differ",
    " linked alike",
    " strict",
    " only",
)
FEATURES: Final = (
    *(f"{reason}{beside}" for reason in REASONS for beside in CONTEXTS),
    "pins",  # a number in a requirement of a manifest
    "pins left",
    "same number",
    "same choice",
    "shared",
    "reasons",
    "names differ",
    "unlike of one head",
    "unlike put in place",
    "unlike names",
    "unlike where one holds",  # "K: V" against "the default is V"
    "unlike linked",  # "stored in V", "owned by V"
    "opposed words",
    "opposed, more denied",  # the denial covers more than the other side affirms
    "opposed, more affirmed",
    "strict",
    "refines",
)
MANY_LEFT: Final = 2  # words left on both sides: probably another subject
MAX_LEFT: Final = 4.0  # remaining words counted at most
MIN_COMMON_TOPIC: Final = 0.5  # share of either topic that both name
LOW_INFORMATION_WEIGHT: Final = 0.35  # weight of a low-information word


@dataclass(frozen=True, slots=True)
class ClauseComparison:
    """Features of a pair of clauses, and what opposes them.

    `kind` is "versions", "value", "negation", …; "" if nothing does.
    """

    features: tuple[float, ...]
    kind: str
    is_settled: bool = False  # other places, or manifests: the wording adds nothing
    likely_compatible: bool = False  # equal words or numbers, other times or files: probably both hold
    is_pinned: bool = False  # both are requirements in manifests


NO_FEATURES: Final = (0.0,) * len(FEATURES)
OTHER_SCOPE: Final = ClauseComparison(NO_FEATURES, "", is_settled=True)
OTHER_TIME: Final = ClauseComparison(NO_FEATURES, "", likely_compatible=True)


def compare_clauses(a: Clause, b: Clause) -> ClauseComparison:
    """Compute the features of a pair of clauses; symmetric.

    No reason counts between statements about different places or times.
    """
    if _have_other_scopes(a, b):
        return OTHER_SCOPE
    if (
        _have_opposed_subjects(a, b)
        or _have_other_times(a, b)
        or (a.files and b.files and not _share_file(a.files, b.files))
    ):
        return OTHER_TIME
    overlap = _Overlap.compute(a, b)
    reasons = _Reasons.compute(overlap)
    is_alike = not (overlap.only_in_a or overlap.only_in_b) and not any(reasons.strengths)
    likely_compatible = is_alike or bool(reasons.same_number or reasons.refinement)
    kind = reasons.select_kind(a)  # without a reason there is nothing to weigh
    return ClauseComparison(
        _build_feature_vector(overlap, reasons) if kind else NO_FEATURES,
        kind,
        overlap.are_pins,
        likely_compatible,
        overlap.are_pins,
    )


@dataclass(frozen=True, slots=True)
class _Overlap:
    """Stems that two clauses share, and those only one has."""

    a: Clause
    b: Clause
    matched_a: frozenset[str]
    matched_b: frozenset[str]
    only_in_a: frozenset[str]
    only_in_b: frozenset[str]
    differing_choices: frozenset[str]
    has_other_choice: float
    has_same_choice: float

    @classmethod
    def compute(cls, a: Clause, b: Clause) -> _Overlap:
        """Compute the common and the remaining stems of two clauses."""
        choice, same_choice, differing_choices, class_words = _compare_choices(a, b)
        pins = a.is_pin and b.is_pin
        matched_a, matched_b = (a.stems & b.stems,) * 2 if pins else _match_stems(a.stems, b.stems)
        explained_stems = class_words | differing_choices | (frozenset() if pins else LOW_INFORMATION_STEMS)
        only_in_a, only_in_b = a.stems - matched_a - explained_stems, b.stems - matched_b - explained_stems
        return cls(a, b, matched_a, matched_b, only_in_a, only_in_b, differing_choices, choice, same_choice)

    @property
    def are_pins(self) -> bool:
        return self.a.is_pin and self.b.is_pin

    @property
    def leaves_only_names(self) -> bool:
        """Return True if only proper names remain on both sides."""
        return (
            bool(self.only_in_a and self.only_in_b)
            and self.only_in_a <= self.a.proper_names
            and self.only_in_b <= self.b.proper_names
        )

    def measure_containment(self) -> float:
        """Return the share of the shorter clause that the longer one contains."""
        smaller = min(
            _sum_weights(self.a.stems - self.differing_choices), _sum_weights(self.b.stems - self.differing_choices)
        )
        return min(_sum_weights(self.matched_a), _sum_weights(self.matched_b)) / smaller if smaller else 0.0

    def measure_topic_overlap(self) -> float:
        """Return the share of either topic that the other clause names too."""
        return min(_measure_topic_share(self.a, self.matched_a), _measure_topic_share(self.b, self.matched_b))

    def measure_similarity(self) -> float:
        """Return the weighted share of common stems, from 0 to 1."""
        total_weight = _sum_weights(self.a.stems | self.b.stems) - _sum_weights(self.matched_b - self.a.stems)
        return min(_sum_weights(self.matched_a) / max(total_weight, 0.1), 1.0)


@dataclass(frozen=True, slots=True)
class _Reasons:
    """Strength of each reason for a contradiction between two clauses."""

    number: float
    choice: float
    opposition: float
    difference: float
    rejection: float
    restriction: float
    same_number: float
    refinement: float
    has_antonyms: bool

    @classmethod
    def compute(cls, overlap: _Overlap) -> _Reasons:
        a, b = overlap.a, overlap.b
        number, same_number, refinement = _compare_numbers(a.values, b.values, pins=overlap.are_pins)
        antonym_count = _count_antonyms(a, b) + _count_antonyms(b, a)
        opposition = (a.is_denied != b.is_denied) != (antonym_count % 2 == 1)
        is_settled = (
            number
            or overlap.has_other_choice
            or opposition
            or same_number
            or (overlap.has_same_choice and not overlap.leaves_only_names)
        )
        difference, choice = not is_settled and _say_different_things(overlap), overlap.has_other_choice
        if a.is_addition or b.is_addition:  # an addition ("also") revokes nothing
            number, choice, difference = 0.0, 0.0, False
        if a.is_open and b.is_open and not (a.is_strict or b.is_strict):  # one of several
            choice, difference = 0.0, False
            number = number * any(value.form != "exact" for value in (*a.values, *b.values))
        rejection = _rejects(a, b) or _rejects(b, a)
        restriction = _is_restriction(overlap)
        strengths = (number, choice, float(opposition), float(difference), float(rejection), float(restriction))
        return cls(*strengths, same_number, refinement, antonym_count > 0)

    @property
    def strengths(self) -> tuple[float, ...]:
        return self.number, self.choice, self.opposition, self.difference, self.rejection, self.restriction

    def select_kind(self, a: Clause) -> str:
        kinds = (
            ("versions", self.number and _has_version(a.values)), ("value", self.number),
            ("choice", self.rejection or self.choice), ("negation", self.opposition or self.restriction),
            ("value", self.difference),
        )  # fmt: skip
        return next((kind for kind, holds in kinds if holds), "")


def _build_feature_vector(overlap: _Overlap, reasons: _Reasons) -> tuple[float, ...]:
    a, b, only_in_a, only_in_b = overlap.a, overlap.b, overlap.only_in_a, overlap.only_in_b
    min_left = min(len(only_in_a), len(only_in_b))
    contexts = (
        1.0,
        min(overlap.measure_containment(), 1.0),
        float(min_left >= 1),
        float(min_left >= MANY_LEFT),
        min(abs(len(only_in_a) - len(only_in_b)), MAX_LEFT),
        float(bool(only_in_a & a.subject) and bool(only_in_b & b.subject)),
        float(bool(only_in_a & a.qualifiers) and bool(only_in_b & b.qualifiers)),
        float((a.is_open or b.is_open) and not (a.is_strict and b.is_strict)),
        overlap.measure_topic_overlap(),
        float(
            bool(a.low_information_predicate - b.low_information_predicate)
            and bool(b.low_information_predicate - a.low_information_predicate)
        ),
        float(bool(a.prepositions & b.prepositions)),
        float(a.is_strict or b.is_strict),
        float(a.is_only or b.is_only),
    )
    same_subject = _share_only_subject(overlap)
    return (
        *(reason * factor for reason in reasons.strengths for factor in contexts),
        reasons.number * overlap.are_pins,
        reasons.number * overlap.are_pins * (len(only_in_a) + len(only_in_b)),
        reasons.same_number,
        overlap.has_same_choice,
        overlap.measure_similarity(),
        sum(reasons.strengths),
        float(overlap.leaves_only_names),
        reasons.difference * same_subject,
        reasons.difference * _differ_in_last_object(overlap),
        reasons.difference * overlap.leaves_only_names,
        float(reasons.difference and (bool(a.stems & b.stems & SINGLE_VALUED_STEMS) or (a.is_pair and b.is_pair))),
        float(
            reasons.difference
            and bool(a.prepositions & b.prepositions)
            and bool(overlap.matched_a & (a.predicate | a.low_information_predicate) - a.subject)
        ),
        float(reasons.opposition and reasons.has_antonyms),
        *_count_denial_surplus(overlap, reasons),
        float(a.is_strict and b.is_strict),
        reasons.refinement,
    )


def _say_different_things(overlap: _Overlap) -> bool:
    """Return True if both say something different about a common subject."""
    a, b = overlap.a, overlap.b
    if (
        a.has_inherited_subject
        or b.has_inherited_subject
        or not (_adds_information(a, overlap.matched_a) and _adds_information(b, overlap.matched_b))
    ):
        return False
    common = overlap.matched_a - LOW_INFORMATION_STEMS
    return bool(common & (a.subject or a.predicate)) and bool(
        (overlap.matched_b - LOW_INFORMATION_STEMS) & (b.subject or b.predicate)
    )


def _adds_information(clause: Clause, matched_stems: frozenset[str]) -> bool:
    """Return True if a clause adds information to the matched stems.

    A different low-information verb alone adds none.
    """
    unmatched_stems = (clause.predicate | clause.low_information_predicate) - matched_stems
    return bool(unmatched_stems - LOW_INFORMATION_STEMS) or len(unmatched_stems) > 1


def _share_only_subject(overlap: _Overlap) -> bool:
    """Return True if only the subjects of both clauses agree."""
    a, b = overlap.a, overlap.b
    if (
        a.low_information_predicate - b.low_information_predicate
        and b.low_information_predicate - a.low_information_predicate
    ):  # written in, started by
        return False
    same_head = (
        bool(a.subject) and bool(b.subject) and a.subject <= overlap.matched_a and b.subject <= overlap.matched_b
    )
    return same_head and not overlap.matched_a & (a.predicate - a.subject)


def _differ_in_last_object(overlap: _Overlap) -> bool:
    """Return True if only the last object differs.

    Example: "sent to X", "sent to Y".
    """
    a, b = overlap.a, overlap.b
    few_left = 1 <= len(overlap.only_in_a) <= MANY_LEFT and 1 <= len(overlap.only_in_b) <= MANY_LEFT
    return (
        few_left
        and overlap.only_in_a <= a.predicate
        and overlap.only_in_b <= b.predicate
        and bool(a.subject)
        and a.subject == b.subject
    )


def _count_denial_surplus(overlap: _Overlap, reasons: _Reasons) -> tuple[float, float]:
    """Count the words that only the denial has, and the reverse."""
    if not reasons.opposition or overlap.a.is_denied == overlap.b.is_denied:
        return 0.0, 0.0
    denied_only, affirmed_only = (
        (overlap.only_in_a, overlap.only_in_b) if overlap.a.is_denied else (overlap.only_in_b, overlap.only_in_a)
    )
    return min(len(denied_only), MAX_LEFT), min(len(affirmed_only), MAX_LEFT)


def _is_restriction(overlap: _Overlap) -> bool:
    """Return True if "only" in one clause excludes what the other clause states.

    Either only X does what the other clause says of Y, or only some do what the other clause says of all.
    """
    a, b = overlap.a, overlap.b
    if a.is_denied or b.is_denied or not (a.subject and b.subject):
        return False
    if (a.is_only and b.is_universal and not b.is_only) or (b.is_only and a.is_universal and not a.is_only):
        return overlap.measure_topic_overlap() >= MIN_COMMON_TOPIC
    if not (a.restricts_subject or b.restricts_subject):
        return False
    other_subjects = (
        not (a.subject - LOW_INFORMATION_STEMS) & overlap.matched_a
        and not (b.subject - LOW_INFORMATION_STEMS) & overlap.matched_b
    )
    return other_subjects and bool((overlap.matched_a & a.predicate) - LOW_INFORMATION_STEMS)


def _measure_topic_share(clause: Clause, matched_stems: frozenset[str]) -> float:
    topic = clause.subject or clause.stems
    return _sum_weights(topic & matched_stems) / max(_sum_weights(topic), 0.1)


def _sum_weights(stems: Iterable[str]) -> float:
    return sum(LOW_INFORMATION_WEIGHT if one in LOW_INFORMATION_STEMS else 1.0 for one in stems)


def _have_opposed_subjects(a: Clause, b: Clause) -> bool:
    """Return True if antonyms distinguish two subjects: small files, large files."""
    return bool(
        (a.subject_antonyms - b.subject_antonyms) & b.subject or (b.subject_antonyms - a.subject_antonyms) & a.subject
    )


def _count_antonyms(a: Clause, b: Clause) -> int:
    """Count the words of `a` that are antonyms of words of `b`."""
    return len((a.antonyms - b.antonyms - b.subject_antonyms) & b.stems)


def _have_other_times(a: Clause, b: Clause) -> bool:
    return (
        a.is_past != b.is_past
        or a.is_future != b.is_future
        or bool(a.time_marks and b.time_marks and not a.time_marks & b.time_marks)
    )


def _compare_choices(a: Clause, b: Clause) -> tuple[float, float, frozenset[str], frozenset[str]]:
    """Compare the alternatives that both clauses choose.

    Returns 1.0 if another member of a known class was chosen, 1.0 if the same one was, the names of those that differ,
    and the words that name their classes.
    """
    mine: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    for clause, names_by_class in ((a, mine), (b, others)):
        for name, value in clause.choices:
            names_by_class.setdefault(name, set()).add(value)
    common = mine.keys() & others.keys()
    differing = [
        name
        for name in common
        if not mine[name] & others[name] and not _distinguish_subjects(a, b, mine[name], others[name])
    ]
    subject_choices = a.subject_choices & b.subject_choices
    equal = [name for name in common if (mine[name] & others[name]) - subject_choices]
    differing_names = frozenset(value for name in differing for value in mine[name] | others[name])
    class_words = frozenset(canonical_stem(word) for name in common for word in name.split())
    return float(bool(differing)), float(bool(equal)), differing_names, class_words


def _distinguish_subjects(a: Clause, b: Clause, mine: set[str], others: set[str]) -> bool:
    """Return True if the choices only distinguish two subjects.

    Example: PNG uploads, JPEG uploads.
    """
    return mine <= a.subject_choices and others <= b.subject_choices and not (a.subject <= mine and b.subject <= others)


def _match_stems(mine: frozenset[str], others: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of each side that the other has too.

    A stem also matches inside a compound or with another ending.
    """
    equal = mine & others
    matched_mine, matched_others = set(equal), set(equal)
    for one in sorted(mine - equal):
        for other in sorted(others - matched_others):
            if _are_related(one, other):
                matched_mine.add(one)
                matched_others.add(other)
                break
    return frozenset(matched_mine), frozenset(matched_others)


def _are_related(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) >= 5 and long.startswith(short[:-1]) and len(long) - len(short) <= 4 and long.isalpha():
        return True
    parts = long.replace("_", "-").replace(".", "-").replace("(", "-").split("-")
    return len(parts) > 1 and len(short) >= 4 and short in {canonical_stem(part) for part in parts}


def _compare_numbers(mine: tuple[Value, ...], others: tuple[Value, ...], *, pins: bool) -> tuple[float, float, float]:
    """Compare numbers of the same measure.

    Returns 1.0 or 0.0 for: they exclude each other; they are equal; one is in the version series of the other.
    """
    conflict = equal = refinement = False
    for one in mine:
        comparable = [other for other in others if _are_comparable(one, other)]
        if not comparable:
            continue
        if any(are_equal(one, other) for other in comparable):
            equal = True
        elif any(not _are_exclusive(one, other, pins) for other in comparable):
            refinement = refinement or any(is_refinement(one, other) for other in comparable)
            equal = equal or not refinement
        else:
            conflict = True
    return float(conflict and not equal), float(equal), float(refinement)


def _are_exclusive(one: Value, other: Value, pins: bool) -> bool:
    if pins:  # a manifest has one requirement, however it is written
        return not are_same_requirement(one, other)
    if are_exclusive(one, other):
        return True
    return one.form == other.form and one.form in ("lower", "upper") and not are_equal(one, other)


def _are_comparable(one: Value, other: Value) -> bool:
    if one.quantity == other.quantity:
        return True
    bare = one if not one.quantity else other if not other.quantity else None
    spelled_out = one.text[:1].isalpha() or other.text[:1].isalpha()
    return bare is not None and not spelled_out and len(bare.low) == 1


def _has_version(values: Iterable[Value]) -> bool:
    return any(value.is_version and (len(value.low) > 1 or value.form != "exact") for value in values)


def _rejects(a: Clause, b: Clause) -> bool:
    """Return True if `a` denies what `b` asserts."""
    return (
        bool(a.rejected_stems & (b.core_stems - b.rejected_stems))
        and not b.is_denied
        and not a.rejected_stems & a.core_stems
    )


def _have_other_scopes(a: Clause, b: Clause) -> bool:
    """Return True if the clauses name different scopes of one group.

    Example: production and staging.
    """
    groups_a, groups_b = ({SCOPE_GROUPS[one]: one for one in clause.scopes} for clause in (a, b))
    return any(
        groups_a[group] not in b.scopes and groups_b[group] not in a.scopes for group in groups_a.keys() & groups_b
    )


def _share_file(mine: frozenset[str], others: frozenset[str]) -> bool:
    return any(one.endswith(other) or other.endswith(one) for one in mine for other in others)
