"""Two clauses compared: the numbers from which it is judged whether both can hold.

What speaks for a contradiction is a reason: another value of the same kind, a denial, an opposite. What speaks against
it is that the two are about different things: words of either side that the other lacks, other places, other times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradictions_reading import PALE_STEMS, Clause
from hunchd.consolidation.contradictions_values import Value, excluding, refines, same, written_alike
from hunchd.consolidation.contradictions_words import PLACE_OF, SINGLE, canonical, stem

REASONS: Final = ("number", "choice", "opposed", "unlike", "rejected")
BESIDE: Final = (
    "",
    " contained",
    " left on both",
    " left on both, many",
    " left on one",
    " heads differ",
    " qualified",
    " open",
)
FEATURES: Final = (
    *(f"{reason}{beside}" for reason in REASONS for beside in BESIDE),
    "pins",  # a number in what manifests require
    "pins left",
    "same number",
    "same choice",
    "shared",
    "reasons",
    "names differ",
    "unlike where one holds",  # K: V, the default is V
    "unlike linked",  # stored in V, owned by V
    "opposed words",
    "strict",
    "refines",
)
MANY: Final = 2  # words left on both sides: it hardly is the same subject
MOST: Final = 4.0  # words that are left over: more make no difference
PALE_WEIGHT: Final = 0.35  # of a word that says little


@dataclass(frozen=True, slots=True)
class Compared:
    """The features of a pair, and in words what opposes it: "version", "value", "negation", …; "" if nothing does."""

    features: tuple[float, ...]
    kind: str


def compared(a: Clause, b: Clause) -> Compared:
    """How `b` stands to `a`; symmetric. No reason counts between what is said of different places or times."""
    if (
        _elsewhere(a, b)
        or _heads_opposed(a, b)
        or _at_other_times(a, b)
        or (a.files and b.files and not _same_file(a.files, b.files))
    ):
        return APART
    choice, same_choice, chosen, class_words = _choices(a, b)
    pins = a.is_pin and b.is_pin
    mine, others = a.stems, b.stems
    matched_a, matched_b = (mine & others,) * 2 if pins else _matched(mine, others)
    spent = class_words | chosen | (frozenset() if pins else PALE_STEMS)
    left_a, left_b = (_left(one, matched, spent) for one, matched in ((mine, matched_a), (others, matched_b)))
    number, same_number, finer = _numbers(a.values, b.values, pins=pins)
    words_opposed = _opposed_words(a, b) + _opposed_words(b, a)
    opposed = (a.denied != b.denied) != (words_opposed % 2 == 1)
    names = bool(left_a and left_b) and left_a <= a.names and left_b <= b.names
    settled = number or choice or opposed or same_number or (same_choice and not names)
    unlike = (
        not settled
        and not a.is_inherited
        and not b.is_inherited
        and (_said_otherwise(a, b, matched_a, matched_b) or names or _put_in_place(left_a, left_b, a, b))
    )
    if a.is_also or b.is_also:  # what is said besides takes nothing back
        number = choice = 0.0
        unlike = False
    if a.is_open and b.is_open and not (a.is_strict or b.is_strict):  # one of several
        choice, unlike = 0.0, False
        number = number * any(value.form != "exact" for value in (*a.values, *b.values))
    rejected = _rejects(a, b) or _rejects(b, a)
    smaller = min(_weight(mine - chosen), _weight(others - chosen))
    contained = min(_weight(matched_a), _weight(matched_b)) / smaller if smaller else 0.0
    shared = _weight(matched_a) / max(_weight(mine | others) - _weight(matched_b - mine), 0.1)
    fewest = min(len(left_a), len(left_b))
    is_open = (a.is_open or b.is_open) and not (a.is_strict and b.is_strict)
    beside = (
        1.0,
        min(contained, 1.0),
        float(fewest >= 1),
        float(fewest >= MANY),
        min(abs(len(left_a) - len(left_b)), MOST),
        float(bool(left_a & a.head) and bool(left_b & b.head)),
        float(bool(left_a & a.qualifiers) and bool(left_b & b.qualifiers)),
        float(is_open),
    )
    reasons = (number, choice, float(opposed), float(unlike), float(rejected))
    features = (
        *(reason * factor for reason in reasons for factor in beside),
        number * pins,
        number * pins * (len(left_a) + len(left_b)),
        same_number,
        same_choice,
        min(shared, 1.0),
        sum(reasons),
        float(names),
        float(unlike and (bool(a.stems & b.stems & SINGLE) or (a.is_pair and b.is_pair))),
        float(unlike and bool(a.linked & b.linked) and bool(matched_a & (a.rest | a.how) - a.head)),
        float(opposed and words_opposed > 0),
        float(a.is_strict and b.is_strict),
        finer,
    )
    kinds = (
        ("versions", number and _is_version(a.values)), ("value", number), ("choice", rejected or choice),
        ("negation", opposed), ("value", unlike),
    )  # fmt: skip
    return Compared(features, next((kind for kind, holds in kinds if holds), ""))


APART: Final = Compared((0.0,) * len(FEATURES), "")


def _left(stems: frozenset[str], matched: frozenset[str], spent: frozenset[str]) -> frozenset[str]:
    return stems - matched - spent


def _weight(stems: Iterable[str]) -> float:
    return sum(PALE_WEIGHT if one in PALE_STEMS else 1.0 for one in stems)


def _put_in_place(left_a: frozenset[str], left_b: frozenset[str], a: Clause, b: Clause) -> bool:
    """Whether only the last thing that is said differs: sent to X, sent to Y."""
    tails = left_a <= a.rest and left_b <= b.rest
    return tails and 1 <= len(left_a) <= MANY and 1 <= len(left_b) <= MANY and bool(a.head) and a.head == b.head


def _heads_opposed(a: Clause, b: Clause) -> bool:
    """Small files and large files: two subjects."""
    return bool((a.head_turned - b.head_turned) & b.head or (b.head_turned - a.head_turned) & a.head)


def _opposed_words(a: Clause, b: Clause) -> int:
    """How many words of `a` are opposed to words of `b`."""
    return len((a.turned - b.turned - b.head_turned) & b.stems)


def _at_other_times(a: Clause, b: Clause) -> bool:
    return a.past != b.past or a.future != b.future or bool(a.marks and b.marks and not a.marks & b.marks)


def _choices(a: Clause, b: Clause) -> tuple[float, float, frozenset[str], frozenset[str]]:
    """Whether another one of a known kind was chosen, whether the same one was; which those are that differ, and the
    words that name their kinds."""
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
    named = frozenset(canonical(stem(word)) for name in common for word in name.split())
    return float(bool(differing)), float(bool(equal)), chosen, named


def _of_two_heads(a: Clause, b: Clause, mine: set[str], others: set[str]) -> bool:
    """Whether the choices only tell two subjects apart: PNG uploads, JPEG uploads."""
    return mine <= a.head_chosen and others <= b.head_chosen and not (a.head <= mine and b.head <= others)


def _matched(mine: frozenset[str], others: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of either side that the other has too, also in a compound or with another ending."""
    equal = mine & others
    found_mine, found_others = set(equal), set(equal)
    for one in mine - equal:
        for other in others - found_others:
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
    return len(parts) > 1 and len(short) >= 4 and short in {canonical(stem(part)) for part in parts}


def _numbers(mine: tuple[Value, ...], others: tuple[Value, ...], *, pins: bool) -> tuple[float, float, float]:
    """Whether numbers of the same measure exclude each other, whether they are the same, whether one is the other's
    series."""
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
    if pins:  # a manifest requires one thing, however it is written
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


def _said_otherwise(a: Clause, b: Clause, matched_a: frozenset[str], matched_b: frozenset[str]) -> bool:
    """Whether both speak of the same and say nothing alike of it."""
    if a.how - b.how and b.how - a.how:  # written in, started by
        return False
    same_head = bool(a.head) and bool(b.head) and a.head <= matched_a and b.head <= matched_b
    mine, others = a.rest - matched_a, b.rest - matched_b
    return same_head and bool(mine) and bool(others) and not matched_a & (a.rest - a.head)


def _rejects(a: Clause, b: Clause) -> bool:
    """Whether `a` says that what `b` asserts is not so."""
    return bool(a.rejected & (b.all - b.rejected)) and not b.denied and not a.rejected & a.all


def _elsewhere(a: Clause, b: Clause) -> bool:
    """Whether both name places of one group and none in common: production and staging."""
    groups_a, groups_b = ({PLACE_OF[one]: one for one in clause.places} for clause in (a, b))
    return any(
        groups_a[group] not in b.places and groups_b[group] not in a.places for group in groups_a.keys() & groups_b
    )


def _same_file(mine: frozenset[str], others: frozenset[str]) -> bool:
    return any(one.endswith(other) or other.endswith(one) for one in mine for other in others)
