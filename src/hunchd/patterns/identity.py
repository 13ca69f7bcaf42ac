"""Identity of patterns across runs, and updates after a file was saved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.features import FAMILIES
from hunchd.patterns.mining import SPOTS
from hunchd.patterns.pattern import Pattern, Spot
from hunchd.patterns.shapes import Shape

SAME: Final = 0.5  # minimum overlap of the instances


def with_known_keys(patterns: Sequence[Pattern], before: Sequence[Pattern]) -> list[Pattern]:
    """Keep earlier keys of patterns with mostly the same instances."""
    free = {old.key: {(spot.path, spot.name) for spot in old.spots} for old in before}
    sorts = {old.key: (old.language, old.kind) for old in before}
    keys = {pattern.key for pattern in patterns}
    found = []
    for pattern in patterns:
        if pattern.key in free:
            free.pop(pattern.key)
            found.append(pattern)
            continue
        mine = {(spot.path, spot.name) for spot in pattern.spots}
        like = [
            (len(mine & theirs) / len(mine | theirs), key)
            for key, theirs in free.items()
            if key not in keys and sorts[key] == (pattern.language, pattern.kind)
        ]
        share, key = max(like, default=(0.0, ""))
        if share >= SAME:
            free.pop(key)
            pattern = replace(pattern, key=key)
        found.append(pattern)
    return found


def with_files_changed(patterns: Sequence[Pattern], paths: Collection[str], shapes: Sequence[Shape]) -> list[Pattern]:
    """Update the instances after the files `paths` changed and now contain `shapes`.

    Instances that no longer match are removed, shapes that match now are added. New patterns are not searched for.
    """
    return [_with_files_changed(pattern, paths, shapes) for pattern in patterns]


def _with_files_changed(pattern: Pattern, paths: Collection[str], shapes: Sequence[Shape]) -> Pattern:
    kept = [spot for spot in pattern.spots if spot.path not in paths]
    gone = len(pattern.spots) - len(kept)
    fresh: list[Spot] = []
    end = (-1, "")  # of the last one, with its path: a shape within another is no second instance
    for shape in shapes:
        if _sort_of(shape) == (pattern.language, pattern.kind) and pattern.matches(shape.features):
            if shape.path == end[1] and shape.start < end[0]:
                continue
            fresh.append(Spot(shape.path, shape.line, shape.name))
            end = (shape.end, shape.path)
    if not gone and not fresh:
        return pattern
    spots = (*kept, *fresh)[:SPOTS]
    count = pattern.count - gone + len(fresh)
    files = len({spot.path for spot in spots}) if count <= SPOTS else pattern.files
    return replace(pattern, spots=spots, count=count, files=files)


def _sort_of(shape: Shape) -> tuple[str, str]:
    return FAMILIES.get(shape.language, shape.language), "function" if shape.kind == "method" else shape.kind
