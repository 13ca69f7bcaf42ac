"""Features of a pair of clauses for the contradiction classifier.

Evidence for a contradiction is a reason: another value of the same kind, a denial, an opposite. Evidence against it is
that the clauses are about different things: words that only one side has, other places, other times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradictions.choices import PLACE_OF, SINGLE
from hunchd.consolidation.contradictions.reading import PALE_STEMS, Clause
from hunchd.consolidation.contradictions.values import Value, excluding, refines, same, written_alike
from hunchd.consolidation.contradictions.words import canonical_stem

REASONS: Final = ("number", "choice", "opposed", "unlike", "rejected", "restricted")
BESIDE: Final = (
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
    *(f"{reason}{beside}" for reason in REASONS for beside in BESIDE),
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
MANY: Final = 2  # words left on both sides: probably another subject
MOST: Final = 4.0  # remaining words counted at most
LEAST_OF_TOPIC: Final = 0.5  # share of either topic that both name
PALE_WEIGHT: Final = 0.35  # weight of a low-information word


@dataclass(frozen=True, slots=True)
class Compared:
    """Features of a pair of clauses, and what opposes them.

    `kind` is "versions", "value", "negation", …; "" if nothing does.
    """

    features: tuple[float, ...]
    kind: str
    settled: bool = False  # other places, or manifests: the wording adds nothing
    likely_both: bool = False  # equal words or numbers, other times or files: probably both hold
    pinned: bool = False  # both are requirements in manifests


NOTHING: Final = (0.0,) * len(FEATURES)
ELSEWHERE: Final = Compared(NOTHING, "", settled=True)
APART: Final = Compared(NOTHING, "", likely_both=True)


def compared(a: Clause, b: Clause) -> Compared:
    """Compute the features of a pair of clauses; symmetric.

    No reason counts between statements about different places or times.
    """
    if _elsewhere(a, b):
        return ELSEWHERE
    if _heads_opposed(a, b) or _at_other_times(a, b) or (a.files and b.files and not _same_file(a.files, b.files)):
        return APART
    shared = _Shared.of(a, b)
    reasons = _Reasons.of(shared)
    alike = not (shared.left_a or shared.left_b) and not any(reasons.all)
    likely_both = alike or bool(reasons.same_number or reasons.finer)
    kind = reasons.kind(a)  # without a reason there is nothing to weigh
    return Compared(_features(shared, reasons) if kind else NOTHING, kind, shared.pins, likely_both, shared.pins)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Stems that two clauses share, and those only one has."""

    a: Clause
    b: Clause
    matched_a: frozenset[str]
    matched_b: frozenset[str]
    left_a: frozenset[str]
    left_b: frozenset[str]
    chosen: frozenset[str]
    choice: float
    same_choice: float

    @classmethod
    def of(cls, a: Clause, b: Clause) -> _Shared:
        """Compute the common and the remaining stems of two clauses."""
        choice, same_choice, chosen, class_words = _choices(a, b)
        pins = a.is_pin and b.is_pin
        matched_a, matched_b = (a.stems & b.stems,) * 2 if pins else _matched(a.stems, b.stems)
        spent = class_words | chosen | (frozenset() if pins else PALE_STEMS)
        left_a, left_b = a.stems - matched_a - spent, b.stems - matched_b - spent
        return cls(a, b, matched_a, matched_b, left_a, left_b, chosen, choice, same_choice)

    @property
    def pins(self) -> bool:
        return self.a.is_pin and self.b.is_pin

    @property
    def names(self) -> bool:
        """Return True if only proper names remain on both sides."""
        return bool(self.left_a and self.left_b) and self.left_a <= self.a.names and self.left_b <= self.b.names

    def contained(self) -> float:
        """Return the share of the shorter clause that the longer one contains."""
        smaller = min(_weight(self.a.stems - self.chosen), _weight(self.b.stems - self.chosen))
        return min(_weight(self.matched_a), _weight(self.matched_b)) / smaller if smaller else 0.0

    def topic(self) -> float:
        """Return the share of either topic that the other clause names too."""
        return min(_topic(self.a, self.matched_a), _topic(self.b, self.matched_b))

    def similarity(self) -> float:
        """Return the weighted share of common stems, from 0 to 1."""
        extent = _weight(self.a.stems | self.b.stems) - _weight(self.matched_b - self.a.stems)
        return min(_weight(self.matched_a) / max(extent, 0.1), 1.0)


@dataclass(frozen=True, slots=True)
class _Reasons:
    """Strength of each reason for a contradiction between two clauses."""

    number: float
    choice: float
    opposed: float
    unlike: float
    rejected: float
    restricted: float
    same_number: float
    finer: float
    words_opposed: bool

    @classmethod
    def of(cls, shared: _Shared) -> _Reasons:
        a, b = shared.a, shared.b
        number, same_number, finer = _numbers(a.values, b.values, pins=shared.pins)
        words_opposed = _opposed_words(a, b) + _opposed_words(b, a)
        opposed = (a.denied != b.denied) != (words_opposed % 2 == 1)
        settled = number or shared.choice or opposed or same_number or (shared.same_choice and not shared.names)
        unlike, choice = not settled and _unlike(shared), shared.choice
        if a.is_also or b.is_also:  # an addition ("also") revokes nothing
            number, choice, unlike = 0.0, 0.0, False
        if a.is_open and b.is_open and not (a.is_strict or b.is_strict):  # one of several
            choice, unlike = 0.0, False
            number = number * any(value.form != "exact" for value in (*a.values, *b.values))
        rejected = _rejects(a, b) or _rejects(b, a)
        restricted = _restricted(shared)
        said = (number, choice, float(opposed), float(unlike), float(rejected), float(restricted))
        return cls(*said, same_number, finer, words_opposed > 0)

    @property
    def all(self) -> tuple[float, ...]:
        return self.number, self.choice, self.opposed, self.unlike, self.rejected, self.restricted

    def kind(self, a: Clause) -> str:
        kinds = (
            ("versions", self.number and _is_version(a.values)), ("value", self.number),
            ("choice", self.rejected or self.choice), ("negation", self.opposed or self.restricted),
            ("value", self.unlike),
        )  # fmt: skip
        return next((kind for kind, holds in kinds if holds), "")


def _features(shared: _Shared, reasons: _Reasons) -> tuple[float, ...]:
    a, b, left_a, left_b = shared.a, shared.b, shared.left_a, shared.left_b
    fewest = min(len(left_a), len(left_b))
    beside = (
        1.0,
        min(shared.contained(), 1.0),
        float(fewest >= 1),
        float(fewest >= MANY),
        min(abs(len(left_a) - len(left_b)), MOST),
        float(bool(left_a & a.head) and bool(left_b & b.head)),
        float(bool(left_a & a.qualifiers) and bool(left_b & b.qualifiers)),
        float((a.is_open or b.is_open) and not (a.is_strict and b.is_strict)),
        shared.topic(),
        float(bool(a.how - b.how) and bool(b.how - a.how)),
        float(bool(a.linked & b.linked)),
        float(a.is_strict or b.is_strict),
        float(a.is_only or b.is_only),
    )
    one_head = _of_one_head(shared)
    return (
        *(reason * factor for reason in reasons.all for factor in beside),
        reasons.number * shared.pins,
        reasons.number * shared.pins * (len(left_a) + len(left_b)),
        reasons.same_number,
        shared.same_choice,
        shared.similarity(),
        sum(reasons.all),
        float(shared.names),
        reasons.unlike * one_head,
        reasons.unlike * _put_in_place(shared),
        reasons.unlike * shared.names,
        float(reasons.unlike and (bool(a.stems & b.stems & SINGLE) or (a.is_pair and b.is_pair))),
        float(reasons.unlike and bool(a.linked & b.linked) and bool(shared.matched_a & (a.rest | a.how) - a.head)),
        float(reasons.opposed and reasons.words_opposed),
        *_more_of_a_denial(shared, reasons),
        float(a.is_strict and b.is_strict),
        reasons.finer,
    )


def _unlike(shared: _Shared) -> bool:
    """Return True if both say something different about a common subject."""
    a, b = shared.a, shared.b
    if a.is_inherited or b.is_inherited or not (_said_alone(a, shared.matched_a) and _said_alone(b, shared.matched_b)):
        return False
    common = shared.matched_a - PALE_STEMS
    return bool(common & (a.head or a.rest)) and bool((shared.matched_b - PALE_STEMS) & (b.head or b.rest))


def _said_alone(clause: Clause, matched: frozenset[str]) -> bool:
    """Return True if a clause adds information to the matched stems.

    A different low-information verb alone adds none.
    """
    alone = (clause.rest | clause.how) - matched
    return bool(alone - PALE_STEMS) or len(alone) > 1


def _of_one_head(shared: _Shared) -> bool:
    """Return True if only the subjects of both clauses agree."""
    a, b = shared.a, shared.b
    if a.how - b.how and b.how - a.how:  # written in, started by
        return False
    same_head = bool(a.head) and bool(b.head) and a.head <= shared.matched_a and b.head <= shared.matched_b
    return same_head and not shared.matched_a & (a.rest - a.head)


def _put_in_place(shared: _Shared) -> bool:
    """Return True if only the last object differs.

    Example: "sent to X", "sent to Y".
    """
    a, b = shared.a, shared.b
    few = 1 <= len(shared.left_a) <= MANY and 1 <= len(shared.left_b) <= MANY
    return few and shared.left_a <= a.rest and shared.left_b <= b.rest and bool(a.head) and a.head == b.head


def _more_of_a_denial(shared: _Shared, reasons: _Reasons) -> tuple[float, float]:
    """Count the words that only the denial has, and the reverse."""
    if not reasons.opposed or shared.a.denied == shared.b.denied:
        return 0.0, 0.0
    denied, affirmed = (shared.left_a, shared.left_b) if shared.a.denied else (shared.left_b, shared.left_a)
    return min(len(denied), MOST), min(len(affirmed), MOST)


def _restricted(shared: _Shared) -> bool:
    """Return True if "only" in one clause excludes what the other clause states.

    Either only X does what the other clause says of Y, or only some do what the other clause says of all.
    """
    a, b = shared.a, shared.b
    if a.denied or b.denied or not (a.head and b.head):
        return False
    if (a.is_only and b.is_all and not b.is_only) or (b.is_only and a.is_all and not a.is_only):
        return shared.topic() >= LEAST_OF_TOPIC
    if not (a.is_only_head or b.is_only_head):
        return False
    of_others = not (a.head - PALE_STEMS) & shared.matched_a and not (b.head - PALE_STEMS) & shared.matched_b
    return of_others and bool((shared.matched_a & a.rest) - PALE_STEMS)


def _topic(clause: Clause, matched: frozenset[str]) -> float:
    named = clause.head or clause.stems
    return _weight(named & matched) / max(_weight(named), 0.1)


def _weight(stems: Iterable[str]) -> float:
    return sum(PALE_WEIGHT if one in PALE_STEMS else 1.0 for one in stems)


def _heads_opposed(a: Clause, b: Clause) -> bool:
    """Return True if antonyms distinguish two subjects: small files, large files."""
    return bool((a.head_turned - b.head_turned) & b.head or (b.head_turned - a.head_turned) & a.head)


def _opposed_words(a: Clause, b: Clause) -> int:
    """Count the words of `a` that are antonyms of words of `b`."""
    return len((a.turned - b.turned - b.head_turned) & b.stems)


def _at_other_times(a: Clause, b: Clause) -> bool:
    return a.past != b.past or a.future != b.future or bool(a.marks and b.marks and not a.marks & b.marks)


def _choices(a: Clause, b: Clause) -> tuple[float, float, frozenset[str], frozenset[str]]:
    """Compare the alternatives that both clauses choose.

    Returns 1.0 if another member of a known class was chosen, 1.0 if the same one was, the names of those that differ,
    and the words that name their classes.
    """
    mine: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    for clause, found in ((a, mine), (b, others)):
        for name, value in clause.chosen:
            found.setdefault(name, set()).add(value)
    common = mine.keys() & others.keys()
    differing = [
        name for name in common if not mine[name] & others[name] and not _of_two_heads(a, b, mine[name], others[name])
    ]
    heads = a.head_chosen & b.head_chosen
    equal = [name for name in common if (mine[name] & others[name]) - heads]
    chosen = frozenset(value for name in differing for value in mine[name] | others[name])
    named = frozenset(canonical_stem(word) for name in common for word in name.split())
    return float(bool(differing)), float(bool(equal)), chosen, named


def _of_two_heads(a: Clause, b: Clause, mine: set[str], others: set[str]) -> bool:
    """Return True if the choices only distinguish two subjects.

    Example: PNG uploads, JPEG uploads.
    """
    return mine <= a.head_chosen and others <= b.head_chosen and not (a.head <= mine and b.head <= others)


def _matched(mine: frozenset[str], others: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of each side that the other has too.

    A stem also matches inside a compound or with another ending.
    """
    equal = mine & others
    found_mine, found_others = set(equal), set(equal)
    for one in sorted(mine - equal):
        for other in sorted(others - found_others):
            if _akin(one, other):
                found_mine.add(one)
                found_others.add(other)
                break
    return frozenset(found_mine), frozenset(found_others)


def _akin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) >= 5 and long.startswith(short[:-1]) and len(long) - len(short) <= 4 and long.isalpha():
        return True
    parts = long.replace("_", "-").replace(".", "-").replace("(", "-").split("-")
    return len(parts) > 1 and len(short) >= 4 and short in {canonical_stem(part) for part in parts}


def _numbers(mine: tuple[Value, ...], others: tuple[Value, ...], *, pins: bool) -> tuple[float, float, float]:
    """Compare numbers of the same measure.

    Returns 1.0 or 0.0 for: they exclude each other; they are equal; one is in the version series of the other.
    """
    conflict = equal = finer = False
    for one in mine:
        comparable = [other for other in others if _comparable(one, other)]
        if not comparable:
            continue
        if any(same(one, other) for other in comparable):
            equal = True
        elif any(not _exclude(one, other, pins) for other in comparable):
            finer = finer or any(refines(one, other) for other in comparable)
            equal = equal or not finer
        else:
            conflict = True
    return float(conflict and not equal), float(equal), float(finer)


def _exclude(one: Value, other: Value, pins: bool) -> bool:
    if pins:  # a manifest has one requirement, however it is written
        return not written_alike(one, other)
    if excluding(one, other):
        return True
    return one.form == other.form and one.form in ("lower", "upper") and not same(one, other)


def _comparable(one: Value, other: Value) -> bool:
    if one.measures == other.measures:
        return True
    bare = one if not one.measures else other if not other.measures else None
    spelt = one.told[:1].isalpha() or other.told[:1].isalpha()
    return bare is not None and not spelt and len(bare.low) == 1


def _is_version(values: Iterable[Value]) -> bool:
    return any(value.is_version and (len(value.low) > 1 or value.form != "exact") for value in values)


def _rejects(a: Clause, b: Clause) -> bool:
    """Return True if `a` denies what `b` asserts."""
    return bool(a.rejected & (b.all - b.rejected)) and not b.denied and not a.rejected & a.all


def _elsewhere(a: Clause, b: Clause) -> bool:
    """Return True if the clauses name different scopes of one group.

    Example: production and staging.
    """
    groups_a, groups_b = ({PLACE_OF[one]: one for one in clause.places} for clause in (a, b))
    return any(
        groups_a[group] not in b.places and groups_b[group] not in a.places for group in groups_a.keys() & groups_b
    )


def _same_file(mine: frozenset[str], others: frozenset[str]) -> bool:
    return any(one.endswith(other) or other.endswith(one) for one in mine for other in others)
