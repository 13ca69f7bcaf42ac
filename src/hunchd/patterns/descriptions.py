"""Descriptions of groups of shapes: type of code, common name, steps and location."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.features import MIN_INFORMATIVE_WEIGHT, get_usage, load_common_names, strip_usage
from hunchd.patterns.grouping import CORE_SHARE, ShapeGroup
from hunchd.patterns.pattern import UsualLocation
from hunchd.patterns.shapes import Shape
from hunchd.text.identifiers import split_name_words

MAX_STEPS: Final = 5
MAX_TITLE: Final = 120  # characters
# Minimum share of the instances in a place.
MIN_PLACE_SHARE: Final = 0.6
_HTTP_DECORATORS: Final = frozenset(
    {
        "route",
        "get",
        "post",
        "put",
        "delete",
        "patch",
        "api_view",
        "GetMapping",
        "PostMapping",
        "RequestMapping",
        "endpoint",
    }
)
MIN_STEPS: Final = 3  # minimum steps of a title without a name
# Generic nouns; an endpoint, a fixture or a migration says more.
_GENERIC_NOUNS: Final = frozenset(
    "function method class type impl call statement declaration registration test handler".split()  # noqa: SIM905
)
_NOUNS: Final = {
    "function": "function",
    "class": "class",
    "block": "call",
    "statement": "statement",
    "top": "declaration",
}


def make_title(group: ShapeGroup) -> str:
    """Describe a group, as in `test test_‹name›: app → client → get`."""
    name = find_name_shape([shape.name for shape in group.members])
    noun = choose_noun(group)
    head = f"{noun} {name}" if name and noun != name else noun
    steps = describe_steps(group, excluded_name=name)
    text = f"{head}: {steps}" if steps else head
    return text if len(text) <= MAX_TITLE else text[: MAX_TITLE - 1].rsplit(" ", 1)[0] + "…"


def is_self_explanatory(title: str) -> bool:
    """Return True if the title alone tells a developer what to write.

    `test test_‹name›: app → client` does; `method: (path)` and `function exec: Ok` do not.
    """
    head, _, step_text = title.partition(": ")
    if head.split(" ", 1)[0] not in _GENERIC_NOUNS or "‹name›" in head:
        return True
    steps = [step for step in re.split(r" → |, ", step_text) if step and not step.startswith("(")]
    has_name = len(head.split()) > 1
    return len(steps) >= (MIN_STEPS - 1 if has_name else MIN_STEPS)


def choose_noun(group: ShapeGroup) -> str:
    """Return the noun that a developer would use for the members of a group."""
    cores = {get_usage(feature): strip_usage(feature) for feature in reversed(list(group.core))}
    decorators = {strip_usage(feature) for feature in _shared_features(group) if feature.startswith("@")}
    typical = group.members[0]
    testing = group.is_mostly_tests
    if group.kind == "class":
        bases = [strip_usage(feature) for feature in group.core if feature.startswith("<")]
        word = "impl" if group.language == "rust" else "type" if group.language == "go" else "class"
        return f"{word} of {', '.join(bases[:2])}" if bases else word
    if group.kind == "statement":
        return "error handling" if "^" in cores or _handles_errors(group) else "statement"
    if "fixture" in decorators:
        return "fixture"
    if testing and (
        split_name_words(typical.name)[:1] == ["test"]
        or {"test", "Test", "ParameterizedTest"} & decorators
        or typical.name in ("test", "it")
    ):
        return "test"
    if decorators & _HTTP_DECORATORS:
        return "endpoint"
    if decorators & {"command", "group"}:
        return "command"
    if any("migrations/" in shape.path or "/migrate/" in shape.path for shape in group.members[:5]):
        return "migration"
    if typical.language == "tsx" and typical.name[:1].isupper():
        return "component"
    if any("handler" in split_name_words(shape.name) for shape in group.members[:1]):
        return "handler"
    if group.kind == "function" and sum(shape.kind == "method" for shape in group.members) * 2 > len(group.members):
        owners = {shape.container for shape in group.members}
        return f"method of {typical.container}" if len(owners) == 1 and typical.container else "method"
    if group.kind == "top" and not typical.name:
        return "registration"
    return _NOUNS[group.kind]


def _handles_errors(group: ShapeGroup) -> bool:
    return any(feature.startswith("^") for feature in _shared_features(group))


def _shared_features(group: ShapeGroup) -> list[str]:
    """Return all features that most members have, in the order of the most typical member."""
    counts = Counter(feature for shape in group.members for feature in shape.features)
    min_count = CORE_SHARE * len(group.members)
    return [feature for feature in group.members[0].features if counts[feature] >= min_count]


def describe_steps(group: ShapeGroup, excluded_name: str = "") -> str:
    """List the common calls in order, as in `WriteContentType → Marshal → Write`.

    For classes, the common members are listed instead.
    """
    shared_features = _shared_features(group)
    if group.kind == "class":
        return ", ".join(strip_usage(feature) for feature in shared_features if feature.startswith("."))[:MAX_TITLE]
    common = load_common_names(group.language)
    steps: list[str] = []
    listed_names: set[str] = set()
    for feature in sorted(shared_features, key=lambda feature: get_usage(feature) != "@"):
        name, use = strip_usage(feature), get_usage(feature)
        if use not in ("@", "()", "!", "^") or (name in common and feature not in group.core) or name == excluded_name:
            continue
        if name not in listed_names:
            steps.append(f"@{name}" if use == "@" else f"{name}!" if use == "!" else name)
        listed_names.add(name)
    parameters = [
        strip_usage(feature)
        for feature in shared_features
        if get_usage(feature) == "~" and group.core.get(feature, 0.0) >= MIN_INFORMATIVE_WEIGHT
    ]
    parameter_step = [f"({', '.join(parameters)})"] if parameters and len(steps) < MAX_STEPS else []
    return " → ".join([*parameter_step, *steps[:MAX_STEPS]])


def find_name_shape(names: Sequence[str]) -> str:
    """Return what the names have in common: one name, or a shape such as `test_‹name›`.

    Returns "" if they have nothing in common.
    """
    names = [name for name in names if name]
    if not names:
        return ""
    common_name, count = Counter(names).most_common(1)[0]
    if count >= MIN_PLACE_SHARE * len(names):
        return common_name
    distinct = sorted(set(names))
    prefix = _find_common_start(distinct)
    suffix = _find_common_start([name[::-1] for name in distinct])[::-1]
    prefix = prefix if _is_at_word_border(prefix, distinct, at_end=False) else _trim_prefix(prefix)
    suffix = suffix if _is_at_word_border(suffix, distinct, at_end=True) else _trim_suffix(suffix)
    return f"{prefix}‹name›{suffix}" if prefix or suffix else ""


def _find_common_start(texts: Sequence[str]) -> str:
    """Return the prefix that at least nine in ten texts share."""
    exceptions = len(texts) // 10
    prefix = ""
    for length in range(1, min(map(len, texts))):
        start, count = Counter(text[:length] for text in texts).most_common(1)[0]
        if count < len(texts) - exceptions:
            break
        prefix = start
    return prefix


def _is_at_word_border(part: str, names: Sequence[str], *, at_end: bool) -> bool:
    """Return True if the common part ends at the border of a word."""
    if not part:
        return True
    rest = [name.removesuffix(part)[-1:] if at_end else name.removeprefix(part)[:1] for name in names]
    if at_end:
        return part[0] == "_" or part[0].isupper()
    return part[-1] == "_" or all(letter.isupper() or not letter for letter in rest)


def _trim_prefix(part: str) -> str:
    at = max(part.rfind("_") + 1, max((i for i, letter in enumerate(part) if letter.isupper()), default=0))
    return part[:at] if at > 1 else ""


def _trim_suffix(part: str) -> str:
    at = part.find("_")
    upper = next((i for i, letter in enumerate(part) if letter.isupper()), -1)
    starts = [i for i in (at, upper) if i >= 0]
    return part[min(starts) :] if starts else ""


def find_usual_location(shapes: Sequence[Shape]) -> UsualLocation:
    """Return the narrowest location that contains most of the instances."""
    files = Counter(shape.path for shape in shapes)
    path, count = files.most_common(1)[0]
    if count >= MIN_PLACE_SHARE * len(shapes):
        return UsualLocation(file=path, share=count / len(shapes))
    min_count = MIN_PLACE_SHARE * len(shapes)
    folder = ""
    while True:
        count_by_folder: Counter[str] = Counter()
        for path, times in files.items():
            inner = posixpath.dirname(path)
            if inner != folder and (not folder or inner.startswith(f"{folder}/")):
                count_by_folder[inner.removeprefix(f"{folder}/" if folder else "").split("/")[0]] += times
        name, times = count_by_folder.most_common(1)[0] if count_by_folder else ("", 0)
        if times < min_count:
            break
        folder = f"{folder}/{name}" if folder else name
    count_by_path = {path: times for path, times in files.items() if not folder or path.startswith(f"{folder}/")}
    names = [posixpath.basename(path) for path in count_by_path]
    ending = Counter(posixpath.splitext(name)[1] for name in names).most_common(1)[0][0]
    stems = sorted({posixpath.splitext(name)[0] for name in names if name.endswith(ending)})
    if len(stems) == 1:  # each folder has its own file of that name
        place = UsualLocation(folder, stems[0] + ending)
    else:
        prefix, _, suffix = find_name_shape(stems).partition("‹name›")
        place = UsualLocation(folder, prefix, suffix + ending)
    return replace(place, share=_measure_share(place, files))


def _measure_share(place: UsualLocation, files: Counter[str]) -> float:
    return sum(times for path, times in files.items() if place.contains(path)) / files.total()
