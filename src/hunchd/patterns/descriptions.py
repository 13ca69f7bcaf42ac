"""Descriptions of groups of similar code: a title and the usual location.

The title states what kind of code the group contains, and what the names have in common.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.features import strip_usage
from hunchd.patterns.grouping import ShapeGroup
from hunchd.patterns.pattern import UsualLocation
from hunchd.patterns.shapes import Shape

MAX_TITLE: Final = 120  # characters
NAME_MARK: Final = "‹name›"  # stands for the part in which the names differ
# Minimum share of the instances that are in the usual location or have the common name.
MIN_PLACE_SHARE: Final = 0.6


def make_title(group: ShapeGroup) -> str:
    """Return a title for the instances of a pattern, in the plural.

    An example is `methods of Gui named handle…`.
    """
    name = find_name_shape([shape.name for shape in group.members])
    noun = choose_noun(group)
    is_specific = any(map(str.isalpha, name.replace(NAME_MARK, "")))
    return f"{noun} named {name.replace(NAME_MARK, '…')}"[:MAX_TITLE] if is_specific else noun


def choose_noun(group: ShapeGroup) -> str:
    """Return the noun phrase that describes the members of a group.

    It is the phrase that a developer would use, such as "subclasses of Plugin".
    """
    if group.is_mostly_tests:
        return "tests"
    typical = group.members[0]
    decorators = [feature[1:] for feature in group.core if feature.startswith("@")]
    if decorators and decorators[0].lower() == "test":
        return "tests"
    if decorators:
        return f"{'classes' if group.kind == 'class' else 'functions'} with @{decorators[0]}"
    if group.kind == "class":
        bases = [strip_usage(feature) for feature in group.core if feature.startswith("<")]
        if bases and group.language == "rust":
            return f"implementations of {bases[0]}"
        return f"subclasses of {bases[0]}" if bases else "types" if group.language == "go" else "classes"
    owners = {shape.container for shape in group.members}
    if len(owners) == 1 and typical.container:
        return f"methods of {typical.container}"
    return "methods" if sum(map(bool, owners)) * 2 > len(owners) else "functions"


def find_name_shape(names: Sequence[str]) -> str:
    """Return the part that the names have in common.

    This is one name, or a template such as `test_‹name›`. Returns "" if they have nothing in common.
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
    """Return the longest prefix that at least nine in ten texts share."""
    exceptions = len(texts) // 10
    prefix = ""
    for length in range(1, min(map(len, texts))):
        start, count = Counter(text[:length] for text in texts).most_common(1)[0]
        if count < len(texts) - exceptions:
            break
        prefix = start
    return prefix


def _is_at_word_border(part: str, names: Sequence[str], *, at_end: bool) -> bool:
    """Return True if the common part of the names ends at a word boundary.

    `part` is the common suffix if `at_end` is True, otherwise the common prefix.
    """
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
