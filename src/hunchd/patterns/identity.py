"""Recognition of patterns from earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.pattern import CodePattern

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
