"""Grouping of shapes by shared distinctive features.

Each group has a core of features. Deterministic and linear in the number of shapes: pairs of features that several
shapes have are the seeds; a seed grows to all features that most of its shapes share, and to all shapes that have
most of these features.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from hunchd.patterns.features import FAMILIES, bare, is_telling, use_of, weight_of
from hunchd.patterns.shapes import Shape

LEAST: Final = 3  # instances in two files or more
LEAST_IN_ONE_FILE: Final = 4
TOP_FEATURES: Final = 10  # features per shape that are paired
MOST_SEEDS: Final = 1_200  # of one kind of shapes
STEPS: Final = 6  # iterations for a core and its shapes to converge
SAMPLE: Final = 240  # shapes counted per seed
CORE_SHARE: Final = 0.75  # of the shapes that must have a feature of the core
COVERED: Final = 0.75  # of the core's weight that an instance must have
LEAST_WEIGHT: Final = 1.0  # of a core: two distinctive names
# Upper limit of a core's weight: shapes that share twenty names are copies.
FULL_WEIGHT: Final = 4.0
# A group is a duplicate if its shapes or its core are mostly those of a better group.
SAME: Final = 0.5
SAME_CORE: Final = 0.7
# Factor for each further pattern of the same kind, so that the ten best are not all tests.
VARIETY: Final = 0.9
# Statements and declarations say less than whole definitions.
PARTS: Final = {"statement": 0.7, "top": 0.8}


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes of one kind with a common core of weighted features."""

    language: str
    kind: str
    core: Mapping[str, float]
    members: tuple[Shape, ...]  # the most typical first
    score: float
    testing: bool  # most of them are in tests

    @property
    def files(self) -> int:
        return len({shape.path for shape in self.members})


@dataclass(slots=True)
class _Bucket:
    """All shapes of one kind in one family of languages."""

    language: str
    kind: str
    shapes: list[Shape] = field(default_factory=list)
    postings: dict[str, list[int]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def index(self, own: Collection[str]) -> None:
        """Index the shapes by feature and weigh the features."""
        postings: dict[str, list[int]] = defaultdict(list)
        for number, shape in enumerate(self.shapes):
            for feature in shape.features:
                postings[feature].append(number)
        self.postings = {feature: numbers for feature, numbers in postings.items() if len(numbers) >= LEAST}
        for feature, numbers in self.postings.items():
            weight = weight_of(feature, self.language, len(numbers), len(self.shapes), own)
            if weight > 0.0:
                self.weights[feature] = weight

    def telling(self, shape: Shape) -> list[str]:
        """Return the informative features of a shape, the most informative first."""
        known = [feature for feature in shape.features if feature in self.weights]
        return sorted(known, key=lambda feature: (-self.weights[feature], feature))


def groups_of(shapes: Iterable[Shape], most: int) -> list[Group]:
    """Return up to `most` distinctive groups, best first."""
    buckets: dict[tuple[str, str], _Bucket] = {}
    own: set[str] = set()
    for shape in shapes:
        if shape.kind in ("function", "method", "class", "name"):
            own.add(shape.name)
        if shape.kind == "name":
            continue
        family = FAMILIES.get(shape.language, shape.language)
        kind = "function" if shape.kind == "method" else shape.kind
        buckets.setdefault((family, kind), _Bucket(family, kind)).shapes.append(shape)
    found: list[Group] = []
    for key in sorted(buckets):
        bucket = buckets[key]
        bucket.index(own)
        found += _grown(bucket)
    return _chosen(found, most)


def _grown(bucket: _Bucket) -> list[Group]:
    """Grow every seed to a group.

    Seeds that reach the same core yield one group.
    """
    cores: dict[frozenset[str], Group | None] = {}
    for seed in _seeds(bucket):
        core = _core(bucket, _having(bucket, seed))
        for step in range(STEPS):
            names = frozenset(core)
            if names in cores or not _enough(core):
                break
            cores[names] = None
            members = _covering(bucket, core)
            again = _core(bucket, members)
            if again.keys() == core.keys():
                cores[names] = _group(bucket, core, members) if _spread(bucket, members) else None
                break
            # Later steps keep only the intersection, which guarantees convergence.
            core = again if step < STEPS // 2 else {name: core[name] for name in core if name in again}
    return [group for group in cores.values() if group is not None]


def _seeds(bucket: _Bucket) -> list[tuple[str, ...]]:
    """Return single features and pairs that enough shapes have, most promising first."""
    weights = bucket.weights
    alone = {name for name, weight in weights.items() if is_telling(name, weight)}
    pairs: Counter[tuple[str, str]] = Counter()
    for shape in bucket.shapes:
        names = sorted(bucket.telling(shape)[:TOP_FEATURES])
        pairs.update(pair for pair in combinations(names, 2) if pair[0] in alone or pair[1] in alone)
    seeds: list[tuple[float, tuple[str, ...]]] = [
        ((weights[a] + weights[b]) * math.log2(1 + count), (a, b)) for (a, b), count in pairs.items() if count >= LEAST
    ]
    seeds += [(weights[name] * math.log2(1 + len(bucket.postings[name])), (name,)) for name in alone]
    seeds.sort(key=lambda seed: (-seed[0], seed[1]))
    return [seed for _, seed in seeds[:MOST_SEEDS]]


def _having(bucket: _Bucket, features: Sequence[str]) -> list[int]:
    found = set(bucket.postings[features[0]])
    for feature in features[1:]:
        found &= set(bucket.postings[feature])
    return sorted(found)


def _core(bucket: _Bucket, members: Sequence[int]) -> dict[str, float]:
    """Return the informative features that most of the shapes share."""
    step = max(1, len(members) // SAMPLE)
    sample = members[::step]
    counts: Counter[str] = Counter()
    for number in sample:
        counts.update(bucket.shapes[number].features)
    needed = max(CORE_SHARE * len(sample), 2)
    core = {name: bucket.weights[name] for name, count in counts.items() if count >= needed and name in bucket.weights}
    if any(use_of(feature) == "=" for feature in core):  # prefix and suffix add nothing to the full name
        core = {feature: weight for feature, weight in core.items() if use_of(feature) not in ("=_", "=+")}
    return core


def _enough(core: Mapping[str, float]) -> bool:
    return sum(core.values()) >= LEAST_WEIGHT and any(is_telling(name, weight) for name, weight in core.items())


def _covering(bucket: _Bucket, core: Mapping[str, float]) -> list[int]:
    """Return the shapes that have most of a core, by weight."""
    have: dict[int, float] = defaultdict(float)
    for feature, weight in core.items():
        for number in bucket.postings[feature]:
            have[number] += weight
    needed = COVERED * sum(core.values()) - 1e-9
    return _outermost(bucket, sorted(number for number, weight in have.items() if weight >= needed))


def _outermost(bucket: _Bucket, members: Sequence[int]) -> list[int]:
    """Drop shapes inside other shapes; the list is in file order.

    An `if` in an `if` is no second instance.
    """
    kept: list[int] = []
    for number in members:
        shape = bucket.shapes[number]
        last = bucket.shapes[kept[-1]] if kept else None
        if last is None or last.path != shape.path or shape.start >= last.end:
            kept.append(number)
    return kept


def _spread(bucket: _Bucket, members: Sequence[int]) -> bool:
    if len(members) < LEAST:
        return False
    paths = {bucket.shapes[number].path for number in members}
    return len(paths) > 1 or len(members) >= LEAST_IN_ONE_FILE


def _group(bucket: _Bucket, core: dict[str, float], members: Sequence[int]) -> Group:
    total = sum(core.values())
    shapes = [bucket.shapes[number] for number in members]
    explained = {
        id(shape): total / max(sum(bucket.weights[name] for name in bucket.telling(shape)), total) for shape in shapes
    }
    cohesion = sum(explained.values()) / len(shapes)
    shapes.sort(key=lambda shape: (-explained[id(shape)], shape.end_line - shape.line, shape.path, shape.start))
    files = len({shape.path for shape in shapes})
    testing = sum(shape.testing for shape in shapes) * 2 > len(shapes)
    digests = len({shape.digest for shape in shapes})
    lines = sum(min(shape.end_line - shape.line + 1, 12) for shape in shapes) / len(shapes)
    score = (
        math.sqrt(min(total, FULL_WEIGHT))
        * math.log2(1 + min(digests, 64))
        * (1 + 0.5 * math.log2(min(files, 16)))
        * (0.3 + cohesion)
        * min(1.0, 0.4 + lines / 10)
        * PARTS.get(bucket.kind, 1.0)
    )
    return Group(bucket.language, bucket.kind, core, tuple(shapes), score, testing)


def _chosen(groups: Sequence[Group], most: int) -> list[Group]:
    """Select the best groups, each dissimilar to those before it."""
    waiting = sorted(groups, key=lambda group: (-group.score, sorted(group.core)))
    chosen: list[Group] = []
    taken: set[tuple[str, int, int]] = set()
    inside: dict[str, list[tuple[int, int]]] = defaultdict(list)
    alike: Counter[tuple[str, str, bool]] = Counter()
    while waiting and len(chosen) < most:
        best = max(waiting, key=lambda group: group.score * VARIETY ** alike[_sort_of(group)])
        waiting.remove(best)
        if _known(best, chosen, taken, inside):
            continue
        chosen.append(replace(best, score=best.score * VARIETY ** alike[_sort_of(best)]))
        alike[_sort_of(best)] += 1
        for shape in best.members:
            taken.add((shape.path, shape.start, shape.end))
            inside[shape.path].append((shape.start, shape.end))
    return chosen


def _sort_of(group: Group) -> tuple[str, str, bool]:
    return group.language, "function" if group.kind == "block" else group.kind, group.testing


def _known(
    group: Group,
    chosen: Sequence[Group],
    taken: Collection[tuple[str, int, int]],
    inside: Mapping[str, Sequence[tuple[int, int]]],
) -> bool:
    """Return True if a better group covers this one.

    Its shapes or its core are mostly those of that group.
    """
    again = sum(
        (shape.path, shape.start, shape.end) in taken
        or any(start <= shape.start and shape.end <= end for start, end in inside.get(shape.path, ()))
        for shape in group.members
    )
    if again > SAME * len(group.members):
        return True
    mine = _by_name(group)
    for other in chosen:
        theirs = _by_name(other)
        shared = sum(min(weight, theirs[name]) for name, weight in mine.items() if name in theirs)
        if shared > SAME_CORE * min(sum(mine.values()), sum(theirs.values())):
            return True
    return False


def _by_name(group: Group) -> dict[str, float]:
    """Return the core by name, regardless of usage.

    Whether a name is called or extended is no great difference.
    """
    names: dict[str, float] = {}
    for feature, weight in group.core.items():
        name = bare(feature)
        names[name] = max(weight, names.get(name, 0.0))
    return names
