"""Versions and quantities in statements, as ranges of allowed values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from hunchd.consolidation.contradictions.lexicon import NUMBER_WORDS, UNITS, canonical_stem

Number = tuple[float, ...]
Form = Literal["exact", "lower", "upper", "both", "near"]
_INFINITE: Final = (float("inf"),)
_MINUS_INFINITE: Final = (float("-inf"),)

_VERSION = (
    r"v?\d+(?:\.(?:\d+|x|\*))*(?:[-.+]?(?:rc|beta|alpha|dev|post|a|b|pre|canary|next|"
    r"draft)[-.]?\d*(?:\.\d+)*)?(?:[-+][a-z]+\.\w+)?"
)
_SPEC: Final = re.compile(
    rf"(?P<op>===?|[<>]=?|~=|~>|[~^!]=?|[≥≤])?\s*(?P<version>{_VERSION})(?P<plus>\+)?"
    r"(?:\s?(?P<unit>%|[A-Za-z]+)(?![\w-]))?",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"(?<![\w@/.-])(?=[<>=~^!≥≤v\d])", re.IGNORECASE)
_THROUGH: Final = re.compile(r"(?:through|to|until|up to|-|–|and)\s*$", re.IGNORECASE)
_LOWER_BEFORE: Final = re.compile(
    r"\b(?:at least|minimum|min|minimal|no less than|not less than|more than|above|over|oldest|lowest|"
    r"starting (?:with|from)|"
    r"requires?|needs?|required|since|newer than|later than|from|beyond|msrv|minversion|python_requires|"
    r"requires-python|"
    r"rust-version)\b[^,;.]{0,40}$",
    re.IGNORECASE,
)
_LOWER_AFTER: Final = re.compile(
    r"^\s*(?:or|and|\()?\s*(?:newer|later|higher|above|greater|up(?:wards)?|more|onwards?|at least|at minimum|"
    r"minimum)\b",
    re.IGNORECASE,
)
_LOWER_LATER: Final = re.compile(r"^[^,;.]{0,20}\b(?:is|are) (?:required|needed|the (?:minimum|oldest|lowest))", re.I)
_UPPER_BEFORE: Final = re.compile(
    r"\b(?:at most|maximum|max|limit(?:ed)?|no more than|not more than|up to|below|under|less than|fewer than|"
    r"older than|"
    r"allows|before|cap(?:ped)?|"
    r"cannot exceed|never exceed|"
    r"not exceed|shorter than|within|highest|newest)\b[^,;.]{0,40}$",
    re.IGNORECASE,
)
_UPPER_AFTER: Final = re.compile(
    r"^\s*(?:or|and|\()?\s*(?:older|earlier|lower|below|less|fewer|at most|maximum|tops)\b", re.IGNORECASE
)
_WORDS: Final = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})[ -]([A-Za-z]+)", re.IGNORECASE)
_NOT_COUNTED: Final = frozenset(
    """
    of by another thing place way or and more day time after at in is should can
    """.split()  # noqa: SIM905 - one word after the other reads best
)
_AMOUNT: Final = re.compile(r"\d+(?:\.\d+)?")
# Names that look like versions or quantities.
_NUMBERED_NAMES: Final = re.compile(
    r"\b(?:e2e|i18n|l10n|a11y|s3|ec2|k8s|oauth2|http/\d|utf-?\d+|sha-?\d+|base64|x86|amd64|arm64)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Value:
    """Range that a number in a statement allows, from `low` to `high`.

    `quantity` is what is measured, "" for a version or a bare number; `text` is the number as written.
    """

    low: Number
    high: Number
    form: Form
    quantity: str
    text: str
    start: int  # offset in the text
    end: int

    @property
    def is_version(self) -> bool:
        return not self.quantity


def parse_values(text: str) -> list[Value]:
    """Return the numbers in `text`, in their order.

    A range such as `>=1.22,<3` or `3.8 through 3.10` is one value.
    """
    values: list[Value] = []
    masked_text = _NUMBERED_NAMES.sub(lambda match: "_" * len(match[0]), text)
    position = 0
    for start in _TOKEN.finditer(masked_text):
        if start.start() < position:
            continue
        match = _SPEC.match(masked_text, start.start())
        if match is None or not _stands_alone(masked_text, match):
            continue
        value = _parse_value(masked_text, match)
        position = value.end
        between = masked_text[values[-1].end : value.start] if values else ""
        if values and _forms_range(values[-1], value, between):
            values[-1] = _merge_range(values[-1], value)
        else:
            values.append(value)
    return values + _parse_number_words(masked_text)


def are_exclusive(one: Value, other: Value) -> bool:
    """Return True if no value is in both ranges."""
    return _is_above(one.low, other.high) or _is_above(other.low, one.high)


def are_equal(one: Value, other: Value) -> bool:
    """Return True if both ranges are equal."""
    return one.low == other.low and one.high == other.high


def are_same_requirement(one: Value, other: Value) -> bool:
    """Return True if both are the same requirement.

    The spelling of the number may differ.
    """
    if _starts_with_operator(one.text) or _starts_with_operator(other.text):
        return are_equal(one, other)
    return one.text.lower() == other.text.lower() or are_equal(one, other)


def _starts_with_operator(text: str) -> bool:
    return text[:1] in "<>=~^!"


def is_refinement(one: Value, other: Value) -> bool:
    """Return True if one version is in the other's series.

    Example: 15 and 15.4.
    """
    mine, others = one.low, other.low
    return (
        one.form == other.form == "exact"
        and mine != others
        and (mine[: len(others)] == others or others[: len(mine)] == mine)
    )


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    after, following = text[match.end() : match.end() + 1], text[match.end() + 1 : match.end() + 2]
    is_tag = text[: match.start()].endswith(":")  # python:3.11-slim
    if after == "-" and following.isalpha():
        return bool(match["op"]) or is_tag
    return not (after.isalnum() or after in ("_", "/"))


def _parse_value(text: str, match: re.Match[str]) -> Value:
    unit = (match["unit"] or "").lower()
    quantity, factor = UNITS.get(unit, ("", 1.0))
    end = match.end()
    if unit and not quantity:
        end = match.start("unit")
    number = _parse_version(match["version"])
    if quantity and len(number) <= 2:
        amount_match = _AMOUNT.search(match["version"])  # "1a" is a version and no number
        amount = float(amount_match[0]) if amount_match else 0.0
        number = (amount * factor,)
    elif unit and not match["op"] and "." not in match["version"] and not match["plus"]:
        quantity = _name_counted_unit(unit)  # "3 projects" measures projects
    before, after = text[max(0, match.start() - 60) : match.start()], text[end : end + 40]
    form, low, high = _parse_bounds(match["op"] or "", bool(match["plus"]), number, before, after, match["version"])
    written_form = " ".join(text[match.start() : end].split())
    return Value(low, high, form, quantity, written_form, match.start(), end)


def _parse_bounds(
    operator: str, plus: bool, number: Number, before: str, after: str, version_text: str
) -> tuple[Form, Number, Number]:
    operator = operator.replace("≥", ">=").replace("≤", "<=")
    if version_text.endswith((".x", ".*")) and operator in ("", "=", "==", "~=", "~", "^"):
        return "near", number, (*number, float("inf"))
    match operator:
        case ">" | ">=":
            return "lower", number, _INFINITE
        case "<":
            return "upper", _MINUS_INFINITE, (*number[:-1], number[-1] - 0.5)
        case "<=":
            return "upper", _MINUS_INFINITE, number
        case "^":
            return (
                "near",
                number,
                _make_upper_bound(number, next((index for index, one in enumerate(number) if one), 0)),
            )
        case "~=" | "~>" | "~":
            return "near", number, _make_upper_bound(number, max(len(number) - 2, 0))
        case "==" | "===" | "=":
            return "exact", number, number
    if plus or _LOWER_AFTER.match(after):
        return "lower", number, _INFINITE
    if _UPPER_AFTER.match(after):
        return "upper", _MINUS_INFINITE, (*number, float("inf"))
    lower, upper = _LOWER_BEFORE.search(before), _UPPER_BEFORE.search(before)
    if lower and (not upper or upper.start() < lower.start()):
        return "lower", number, _INFINITE
    if upper:
        strict = re.search(r"\b(?:below|under|less than|fewer than|older than|before)\b[^,;.]{0,40}$", before, re.I)
        return "upper", _MINUS_INFINITE, (*number[:-1], number[-1] - 0.5) if strict else number
    if _LOWER_LATER.match(after):
        return "lower", number, _INFINITE
    return "exact", number, number


def _make_upper_bound(number: Number, last_fixed: int) -> Number:
    return (*number[: last_fixed + 1], float("inf"))


def _parse_version(version: str) -> Number:
    """Parse a version into comparable numbers; pre-releases compare below the release."""
    normalized_text = re.sub(r"[.\-+]?(?:\*|x)(?=\.|$)", "", version.lstrip("vV"), flags=re.I)
    head = re.match(r"\d+(?:\.\d+)*", normalized_text)
    numbers = [float(one) for one in (head[0] if head else "0").split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    rest = normalized_text[head.end() :] if head else ""
    if rest:
        order = -0.5 if not rest.lstrip(".-+").lower().startswith("post") else 0.5
        digits = [float(one) for one in re.findall(r"\d+", rest)]
        kind = {"a": 0.1, "b": 0.2, "r": 0.3}.get(rest.lstrip(".-+").lower()[:1], 0.0)
        numbers += [order + kind, *digits]
    return tuple(numbers)


def _is_above(low: Number, high: Number) -> bool:
    """Return True if `low` is above `high`; 15 includes all of 15.x."""
    if high in (_INFINITE,) or low == _MINUS_INFINITE:
        return False
    return low > high and low[: len(high)] != high


def _forms_range(one: Value, other: Value, between: str) -> bool:
    if one.quantity != other.quantity:
        return False
    operators = one.text[:1] in "<>" and other.text[:1] in "<>" and not between.strip(" ,")
    return operators or (
        one.form in ("exact", "lower") and bool(_THROUGH.match(between.strip())) and between.strip() != "and"
    )


def _merge_range(one: Value, other: Value) -> Value:
    low, high = (one, other) if one.form != "upper" else (other, one)
    ends = high.high if high.form == "upper" else (*high.low, float("inf"))
    return Value(low.low, ends, "both", one.quantity, f"{one.text} {other.text}", one.start, other.end)


def _parse_number_words(text: str) -> list[Value]:
    """Return numbers that are spelled out: "twelve minutes", "one hour"."""
    values = []
    for match in _WORDS.finditer(text):
        number, unit = NUMBER_WORDS.get(match[1].lower()), match[2].lower()
        if number is None or (number <= 1 and unit in _NOT_COUNTED):
            continue
        quantity, factor = UNITS.get(unit, (_name_counted_unit(unit), 1.0))
        before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 40]
        form, low, high = _parse_bounds("", False, (number * factor,), before, after, "")
        values.append(Value(low, high, form, quantity, match[0], match.start(), match.end()))
    return values


def _name_counted_unit(unit: str) -> str:
    return (
        ""
        if unit
        in (
            "is",
            "or",
            "and",
            "to",
            "in",
            "for",
            "on",
            "at",
            "by",
            "with",
            "as",
            "of",
            "lts",
            "from",
            "through",
            "times",
            "time",
        )
        else canonical_stem(unit)
    )
