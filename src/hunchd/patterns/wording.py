"""Descriptions of groups of shapes: noun, name shape, steps and place."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.features import TELLING, bare, common_names, use_of
from hunchd.patterns.grouping import CORE_SHARE, Group
from hunchd.patterns.pattern import Place
from hunchd.patterns.shapes import Shape
from hunchd.text.identifiers import name_words

STEPS: Final = 5
LONGEST_TITLE: Final = 120  # characters
# Minimum share of the instances in a place.
USUAL_PLACE: Final = 0.6
_HTTP: Final = frozenset(
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
LEAST_STEPS: Final = 3  # minimum steps of a title without a name
# Generic nouns; an endpoint, a fixture or a migration says more.
_PLAIN: Final = frozenset(
    "function method class type impl call statement declaration registration test handler".split()  # noqa: SIM905
)
_NOUNS: Final = {
    "function": "function",
    "class": "class",
    "block": "call",
    "statement": "statement",
    "top": "declaration",
}


def title_of(group: Group) -> str:
    """Describe a group: `test test_‹name›: app → client → get`."""
    name = name_shape([shape.name for shape in group.members])
    noun = noun_of(group)
    head = f"{noun} {name}" if name and noun != name else noun
    told = steps_of(group, besides=name)
    text = f"{head}: {told}" if told else head
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"


def tells_enough(title: str) -> bool:
    """Return True if a title alone says what to write.

    `test test_‹name›: app → client` does; `method: (path)` and `function exec: Ok` do not.
    """
    head, _, told = title.partition(": ")
    if head.split(" ", 1)[0] not in _PLAIN or "‹name›" in head:
        return True
    steps = [step for step in re.split(r" → |, ", told) if step and not step.startswith("(")]
    named = len(head.split()) > 1
    return len(steps) >= (LEAST_STEPS - 1 if named else LEAST_STEPS)


def noun_of(group: Group) -> str:
    """Return the noun that a person would use for a group."""
    cores = {use_of(feature): bare(feature) for feature in reversed(list(group.core))}
    decorators = {bare(feature) for feature in _shared(group) if feature.startswith("@")}
    typical = group.members[0]
    testing = group.testing
    if group.kind == "class":
        bases = [bare(feature) for feature in group.core if feature.startswith("<")]
        word = "impl" if group.language == "rust" else "type" if group.language == "go" else "class"
        return f"{word} of {', '.join(bases[:2])}" if bases else word
    if group.kind == "statement":
        return "error handling" if "^" in cores or _handles(group) else "statement"
    if "fixture" in decorators:
        return "fixture"
    if testing and (
        name_words(typical.name)[:1] == ["test"]
        or {"test", "Test", "ParameterizedTest"} & decorators
        or typical.name in ("test", "it")
    ):
        return "test"
    if decorators & _HTTP:
        return "endpoint"
    if decorators & {"command", "group"}:
        return "command"
    if any("migrations/" in shape.path or "/migrate/" in shape.path for shape in group.members[:5]):
        return "migration"
    if typical.language == "tsx" and typical.name[:1].isupper():
        return "component"
    if any("handler" in name_words(shape.name) for shape in group.members[:1]):
        return "handler"
    if group.kind == "function" and sum(shape.kind == "method" for shape in group.members) * 2 > len(group.members):
        owners = {shape.container for shape in group.members}
        return f"method of {typical.container}" if len(owners) == 1 and typical.container else "method"
    if group.kind == "top" and not typical.name:
        return "registration"
    return _NOUNS[group.kind]


def _handles(group: Group) -> bool:
    return any(feature.startswith("^") for feature in _shared(group))


def _shared(group: Group) -> list[str]:
    """Return all features that most members have.

    In the order of the most typical member.
    """
    counts = Counter(feature for shape in group.members for feature in shape.features)
    needed = CORE_SHARE * len(group.members)
    return [feature for feature in group.members[0].features if counts[feature] >= needed]


def steps_of(group: Group, besides: str = "") -> str:
    """List the common calls in order: `WriteContentType → Marshal → Write`.

    Of a class, its members.
    """
    shared = _shared(group)
    if group.kind == "class":
        return ", ".join(bare(feature) for feature in shared if feature.startswith("."))[:LONGEST_TITLE]
    common = common_names(group.language)
    steps: list[str] = []
    told: set[str] = set()
    for feature in sorted(shared, key=lambda feature: use_of(feature) != "@"):
        name, use = bare(feature), use_of(feature)
        if use not in ("@", "()", "!", "^") or (name in common and feature not in group.core) or name == besides:
            continue
        if name not in told:
            steps.append(f"@{name}" if use == "@" else f"{name}!" if use == "!" else name)
        told.add(name)
    asks = [bare(feature) for feature in shared if use_of(feature) == "~" and group.core.get(feature, 0.0) >= TELLING]
    given = [f"({', '.join(asks)})"] if asks and len(steps) < STEPS else []
    return " → ".join([*given, *steps[:STEPS]])


def name_shape(names: Sequence[str]) -> str:
    """Return the common shape of names: one name, or `test_‹name›`.

    Returns "" if there is none.
    """
    names = [name for name in names if name]
    if not names:
        return ""
    most, count = Counter(names).most_common(1)[0]
    if count >= USUAL_PLACE * len(names):
        return most
    distinct = sorted(set(names))
    front = _common_start(distinct)
    back = _common_start([name[::-1] for name in distinct])[::-1]
    front = front if _at_border(front, distinct, at_end=False) else _cut_front(front)
    back = back if _at_border(back, distinct, at_end=True) else _cut_back(back)
    return f"{front}‹name›{back}" if front or back else ""


def _common_start(texts: Sequence[str]) -> str:
    """Return the prefix that nine in ten texts share."""
    allowed = len(texts) // 10
    found = ""
    for length in range(1, min(map(len, texts))):
        start, count = Counter(text[:length] for text in texts).most_common(1)[0]
        if count < len(texts) - allowed:
            break
        found = start
    return found


def _at_border(part: str, names: Sequence[str], *, at_end: bool) -> bool:
    """Return True if a word ends where the common part does."""
    if not part:
        return True
    rest = [name.removesuffix(part)[-1:] if at_end else name.removeprefix(part)[:1] for name in names]
    if at_end:
        return part[0] == "_" or part[0].isupper()
    return part[-1] == "_" or all(letter.isupper() or not letter for letter in rest)


def _cut_front(part: str) -> str:
    at = max(part.rfind("_") + 1, max((i for i, letter in enumerate(part) if letter.isupper()), default=0))
    return part[:at] if at > 1 else ""


def _cut_back(part: str) -> str:
    at = part.find("_")
    upper = next((i for i, letter in enumerate(part) if letter.isupper()), -1)
    starts = [i for i in (at, upper) if i >= 0]
    return part[min(starts) :] if starts else ""


def place_of(shapes: Sequence[Shape]) -> Place:
    """Return the narrowest location that contains most of the instances."""
    files = Counter(shape.path for shape in shapes)
    path, count = files.most_common(1)[0]
    if count >= USUAL_PLACE * len(shapes):
        return Place(file=path, share=count / len(shapes))
    needed = USUAL_PLACE * len(shapes)
    folder = ""
    while True:
        below: Counter[str] = Counter()
        for path, times in files.items():
            inner = posixpath.dirname(path)
            if inner != folder and (not folder or inner.startswith(f"{folder}/")):
                below[inner.removeprefix(f"{folder}/" if folder else "").split("/")[0]] += times
        name, times = below.most_common(1)[0] if below else ("", 0)
        if times < needed:
            break
        folder = f"{folder}/{name}" if folder else name
    inside = {path: times for path, times in files.items() if not folder or path.startswith(f"{folder}/")}
    names = [posixpath.basename(path) for path in inside]
    ending = Counter(posixpath.splitext(name)[1] for name in names).most_common(1)[0][0]
    stems = sorted({posixpath.splitext(name)[0] for name in names if name.endswith(ending)})
    if len(stems) == 1:  # each folder has its own file of that name
        held = Place(folder, stems[0] + ending)
    else:
        prefix, _, suffix = name_shape(stems).partition("‹name›")
        held = Place(folder, prefix, suffix + ending)
    return replace(held, share=_share(held, files))


def _share(place: Place, files: Counter[str]) -> float:
    return sum(times for path, times in files.items() if place.holds(path)) / files.total()
