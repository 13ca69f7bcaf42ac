"""Which of today's patterns are those of yesterday: a pattern keeps its key while its instances are mostly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hunchd.patterns.pattern import Pattern

SAME: Final = 0.5  # of the instances of either


def with_known_keys(patterns: Sequence[Pattern], before: Sequence[Pattern]) -> list[Pattern]:
    """The patterns, each with the key that it had before, if it was known."""
    free = {old.key: {(spot.path, spot.name) for spot in old.spots} for old in before}
    languages = {old.key: (old.language, old.kind) for old in before}
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
            if key not in keys and languages[key] == (pattern.language, pattern.kind)
        ]
        share, key = max(like, default=(0.0, ""))
        if share >= SAME:
            free.pop(key)
            pattern = replace(pattern, key=key)
        found.append(pattern)
    return found
