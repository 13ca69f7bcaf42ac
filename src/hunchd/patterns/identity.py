"""Recognition of patterns from earlier runs, and updates after a file is saved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.features import FAMILIES
from hunchd.patterns.mining import MAX_SPOTS
from hunchd.patterns.pattern import CodePattern, InstanceLocation
from hunchd.patterns.shapes import Shape

MIN_SHARED: Final = 0.5  # minimum overlap between the instances of two patterns that count as the same


def reuse_known_keys(patterns: Sequence[CodePattern], before: Sequence[CodePattern]) -> list[CodePattern]:
    """Return the patterns, each with the key of its earlier version, if any.

    `before` contains the earlier patterns. One of them is the earlier version of a pattern if the two share most of
    their instances.
    """
    instances_by_key = {old.key: {(spot.path, spot.name) for spot in old.spots} for old in before}
    kind_by_key = {old.key: (old.language, old.kind) for old in before}
    keys = {pattern.key for pattern in patterns}
    results = []
    for pattern in patterns:
        if pattern.key in instances_by_key:
            instances_by_key.pop(pattern.key)
            results.append(pattern)
            continue
        instances = {(spot.path, spot.name) for spot in pattern.spots}
        overlaps = [
            (len(instances & old_instances) / len(instances | old_instances), key)
            for key, old_instances in instances_by_key.items()
            if key not in keys and kind_by_key[key] == (pattern.language, pattern.kind)
        ]
        share, key = max(overlaps, default=(0.0, ""))
        if share >= MIN_SHARED:
            instances_by_key.pop(key)
            pattern = replace(pattern, key=key)
        results.append(pattern)
    return results


def update_changed_files(
    patterns: Sequence[CodePattern], paths: Collection[str], shapes: Sequence[Shape]
) -> list[CodePattern]:
    """Return the patterns, updated after the files in `paths` have changed.

    `shapes` are all shapes that these files now contain. Instances that no longer match are removed, and shapes that
    match now are added. New patterns are not searched for.
    """
    return [_update_pattern(pattern, paths, shapes) for pattern in patterns]


def _update_pattern(pattern: CodePattern, paths: Collection[str], shapes: Sequence[Shape]) -> CodePattern:
    remaining = [spot for spot in pattern.spots if spot.path not in paths]
    removed_count = len(pattern.spots) - len(remaining)
    added_spots: list[InstanceLocation] = []
    end = (-1, "")  # end and path of the last instance: a shape within it is not a second one
    for shape in shapes:
        if _shape_kind(shape) == (pattern.language, pattern.kind) and pattern.matches(shape.features):
            if shape.path == end[1] and shape.start < end[0]:
                continue
            added_spots.append(InstanceLocation(shape.path, shape.line, shape.name))
            end = (shape.end, shape.path)
    if not removed_count and not added_spots:
        return pattern
    spots = (*remaining, *added_spots)[:MAX_SPOTS]
    count = pattern.count - removed_count + len(added_spots)
    files = len({spot.path for spot in spots}) if count <= MAX_SPOTS else pattern.files
    return replace(pattern, spots=spots, count=count, files=files)


def _shape_kind(shape: Shape) -> tuple[str, str]:
    return FAMILIES.get(shape.language, shape.language), "function" if shape.kind == "method" else shape.kind
