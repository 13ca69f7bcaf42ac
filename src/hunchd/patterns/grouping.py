"""Grouping of shapes (functions and classes) by the distinctive features that they share.

Each group has a core: the features that most of its shapes have. Groups grow from seeds, which are single features and
pairs of features that several shapes have. A seed grows to all features that most of its shapes share, and then to all
shapes that have most of these features. The algorithm is deterministic and linear in the number of shapes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from hunchd.patterns.features import FAMILIES, get_usage, is_informative, strip_usage, weigh_feature
from hunchd.patterns.shapes import Shape

MIN_INSTANCES: Final = 3  # minimum instances in two files or more
MIN_INSTANCES_IN_ONE_FILE: Final = 4
MAX_PAIRED_FEATURES: Final = 10  # features per shape that are paired
MAX_SEEDS: Final = 1_200  # seeds tried for one kind of shapes
MAX_STEPS: Final = 6  # iterations in which a core and its shapes must converge
SAMPLE_SIZE: Final = 240  # shapes counted per seed
CORE_SHARE: Final = 0.75  # share of a group's shapes that must have each feature of its core
MIN_COVERAGE: Final = 0.75  # share of the core's weight that an instance must have
MIN_WEIGHT: Final = 1.0  # minimum weight of a core: that of two distinctive names
# Weight of a core above which it counts no more: shapes that share twenty names are just copies.
FULL_WEIGHT: Final = 4.0
# A group is a duplicate if a better group has more than this share of its shapes or of its core.
MAX_SHARED_MEMBERS: Final = 0.5
MAX_SHARED_CORE: Final = 0.7
# Factor for each further pattern of the same kind, so that the ten best are not all tests.
VARIETY_FACTOR: Final = 0.9


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """Shapes of one kind that share a core, a set of features with weights."""

    language: str
    kind: str
    core: Mapping[str, float]
    members: tuple[Shape, ...]  # most typical first
    score: float
    is_mostly_tests: bool  # True if most shapes are in tests

    @property
    def file_count(self) -> int:
        return len({shape.path for shape in self.members})


@dataclass(slots=True)
class _Bucket:
    """All shapes of one kind in one language family, indexed by feature.

    `postings` maps a feature to the numbers of the shapes that have it, in ascending order.
    """

    language: str
    kind: str
    shapes: list[Shape] = field(default_factory=list)
    postings: dict[str, list[int]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def build_index(self, own_names: Collection[str]) -> None:
        """Index the shapes by feature, and assign a weight to each feature.

        `own_names` are the names that the project itself defines. Features that occur in too few shapes to form a
        pattern are left out.
        """
        postings: dict[str, list[int]] = defaultdict(list)
        for number, shape in enumerate(self.shapes):
            for feature in shape.features:
                postings[feature].append(number)
        self.postings = {feature: numbers for feature, numbers in postings.items() if len(numbers) >= MIN_INSTANCES}
        for feature, numbers in self.postings.items():
            weight = weigh_feature(feature, self.language, len(numbers), len(self.shapes), own_names)
            if weight > 0.0:
                self.weights[feature] = weight

    def informative_features(self, shape: Shape) -> list[str]:
        """Return the features of a shape that have a weight, highest weight first."""
        weighted_features = [feature for feature in shape.features if feature in self.weights]
        return sorted(weighted_features, key=lambda feature: (-self.weights[feature], feature))


def group_shapes(shapes: Iterable[Shape], max_groups: int) -> list[ShapeGroup]:
    """Group the shapes; return at most `max_groups` distinctive groups, best first."""
    buckets: dict[tuple[str, str], _Bucket] = {}
    own_names: set[str] = set()
    for shape in shapes:
        if shape.kind in ("function", "method", "class", "name"):
            own_names.add(shape.name)
        if shape.kind == "name":
            continue
        family = FAMILIES.get(shape.language, shape.language)
        kind = "function" if shape.kind == "method" else shape.kind
        buckets.setdefault((family, kind), _Bucket(family, kind)).shapes.append(shape)
    groups: list[ShapeGroup] = []
    for key in sorted(buckets):
        bucket = buckets[key]
        bucket.build_index(own_names)
        groups += _grow_groups(bucket)
    return _choose_groups(groups, max_groups)


def _grow_groups(bucket: _Bucket) -> list[ShapeGroup]:
    """Grow each seed to a group of shapes.

    Seeds that grow to the same core yield one group. A seed yields no group if the features in its core say too
    little, or if the growth does not converge.
    """
    cores: dict[frozenset[str], ShapeGroup | None] = {}
    for seed in _find_seeds(bucket):
        core = _compute_core(bucket, _shapes_with(bucket, seed))
        for step in range(MAX_STEPS):
            names = frozenset(core)
            if names in cores or not _is_sufficient(core):
                break
            cores[names] = None
            members = _find_covered_shapes(bucket, core)
            next_core = _compute_core(bucket, members)
            if next_core.keys() == core.keys():
                cores[names] = _build_group(bucket, core, members) if _is_spread(bucket, members) else None
                break
            # Later steps keep only the intersection, which guarantees convergence.
            core = next_core if step < MAX_STEPS // 2 else {name: core[name] for name in core if name in next_core}
    return [group for group in cores.values() if group is not None]


def _find_seeds(bucket: _Bucket) -> list[tuple[str, ...]]:
    """Return the seeds: single features and pairs of features that enough shapes have.

    The most promising ones come first; at most MAX_SEEDS are returned.
    """
    weights = bucket.weights
    single_names = {name for name, weight in weights.items() if is_informative(name, weight)}
    pairs: Counter[tuple[str, str]] = Counter()
    for shape in bucket.shapes:
        names = sorted(bucket.informative_features(shape)[:MAX_PAIRED_FEATURES])
        pairs.update(pair for pair in combinations(names, 2) if pair[0] in single_names or pair[1] in single_names)
    seeds: list[tuple[float, tuple[str, ...]]] = [
        ((weights[a] + weights[b]) * math.log2(1 + count), (a, b))
        for (a, b), count in pairs.items()
        if count >= MIN_INSTANCES
    ]
    seeds += [(weights[name] * math.log2(1 + len(bucket.postings[name])), (name,)) for name in single_names]
    seeds.sort(key=lambda seed: (-seed[0], seed[1]))
    return [seed for _, seed in seeds[:MAX_SEEDS]]


def _shapes_with(bucket: _Bucket, features: Sequence[str]) -> list[int]:
    shape_numbers = set(bucket.postings[features[0]])
    for feature in features[1:]:
        shape_numbers &= set(bucket.postings[feature])
    return sorted(shape_numbers)


def _compute_core(bucket: _Bucket, members: Sequence[int]) -> dict[str, float]:
    """Return the features that most of the given shapes share, with their weights.

    `members` are the numbers of the shapes. If there are many, only a sample is counted.
    """
    step = max(1, len(members) // SAMPLE_SIZE)
    sample = members[::step]
    counts: Counter[str] = Counter()
    for number in sample:
        counts.update(bucket.shapes[number].features)
    min_count = max(CORE_SHARE * len(sample), 2)
    core = {
        name: bucket.weights[name] for name, count in counts.items() if count >= min_count and name in bucket.weights
    }
    if any(get_usage(feature) == "=" for feature in core):  # prefix and suffix add nothing to the full name
        core = {feature: weight for feature, weight in core.items() if get_usage(feature) not in ("=_", "=+")}
    return core


def _is_sufficient(core: Mapping[str, float]) -> bool:
    return sum(core.values()) >= MIN_WEIGHT and any(is_informative(name, weight) for name, weight in core.items())


def _find_covered_shapes(bucket: _Bucket, core: Mapping[str, float]) -> list[int]:
    """Return the numbers of the shapes that have most of the core.

    The features that a shape shares with the core must have at least MIN_COVERAGE of its total weight. Shapes that
    lie inside other such shapes are left out.
    """
    weight_by_shape: dict[int, float] = defaultdict(float)
    for feature, weight in core.items():
        for number in bucket.postings[feature]:
            weight_by_shape[number] += weight
    min_weight = MIN_COVERAGE * sum(core.values()) - 1e-9
    return _keep_outermost(bucket, sorted(number for number, weight in weight_by_shape.items() if weight >= min_weight))


def _keep_outermost(bucket: _Bucket, members: Sequence[int]) -> list[int]:
    """Return `members` without shapes that lie inside other members.

    A method within a matching class, for example, is not a second instance. `members` must be in file order.
    """
    outer_numbers: list[int] = []
    for number in members:
        shape = bucket.shapes[number]
        last = bucket.shapes[outer_numbers[-1]] if outer_numbers else None
        if last is None or last.path != shape.path or shape.start >= last.end:
            outer_numbers.append(number)
    return outer_numbers


def _is_spread(bucket: _Bucket, members: Sequence[int]) -> bool:
    if len(members) < MIN_INSTANCES:
        return False
    paths = {bucket.shapes[number].path for number in members}
    return len(paths) > 1 or len(members) >= MIN_INSTANCES_IN_ONE_FILE


def _build_group(bucket: _Bucket, core: dict[str, float], members: Sequence[int]) -> ShapeGroup:
    total = sum(core.values())
    shapes = [bucket.shapes[number] for number in members]
    explained_share = {
        id(shape): total / max(sum(bucket.weights[name] for name in bucket.informative_features(shape)), total)
        for shape in shapes
    }
    cohesion = sum(explained_share.values()) / len(shapes)
    shapes.sort(key=lambda shape: (-explained_share[id(shape)], shape.end_line - shape.line, shape.path, shape.start))
    files = len({shape.path for shape in shapes})
    testing = sum(shape.is_in_test for shape in shapes) * 2 > len(shapes)
    digests = len({shape.digest for shape in shapes})
    lines = sum(min(shape.end_line - shape.line + 1, 12) for shape in shapes) / len(shapes)
    score = (
        math.sqrt(min(total, FULL_WEIGHT))
        * math.log2(1 + min(digests, 64))
        * (1 + 0.5 * math.log2(min(files, 16)))
        * (0.3 + cohesion)
        * min(1.0, 0.4 + lines / 10)
    )
    return ShapeGroup(bucket.language, bucket.kind, core, tuple(shapes), score, testing)


def _choose_groups(groups: Sequence[ShapeGroup], max_groups: int) -> list[ShapeGroup]:
    """Choose the best groups, and skip those that are similar to better ones.

    Each further group of one kind counts less than the one before, so that the best groups are not all of one kind.
    """
    remaining = sorted(groups, key=lambda group: (-group.score, sorted(group.core)))
    chosen_groups: list[ShapeGroup] = []
    used_spans: set[tuple[str, int, int]] = set()
    spans_by_path: dict[str, list[tuple[int, int]]] = defaultdict(list)
    count_by_kind: Counter[tuple[str, str, bool]] = Counter()
    while remaining and len(chosen_groups) < max_groups:
        best = max(remaining, key=lambda group: group.score * VARIETY_FACTOR ** count_by_kind[_group_kind(group)])
        remaining.remove(best)
        if _is_covered_by_better(best, chosen_groups, used_spans, spans_by_path):
            continue
        chosen_groups.append(replace(best, score=best.score * VARIETY_FACTOR ** count_by_kind[_group_kind(best)]))
        count_by_kind[_group_kind(best)] += 1
        for shape in best.members:
            used_spans.add((shape.path, shape.start, shape.end))
            spans_by_path[shape.path].append((shape.start, shape.end))
    return chosen_groups


def _group_kind(group: ShapeGroup) -> tuple[str, str, bool]:
    return group.language, group.kind, group.is_mostly_tests


def _is_covered_by_better(
    group: ShapeGroup,
    chosen_groups: Sequence[ShapeGroup],
    used_spans: Collection[tuple[str, int, int]],
    spans_by_path: Mapping[str, Sequence[tuple[int, int]]],
) -> bool:
    """Return True if better groups already cover most of a group.

    They cover it if they have most of its shapes or of its core.
    """
    shared_count = sum(
        (shape.path, shape.start, shape.end) in used_spans
        or any(start <= shape.start and shape.end <= end for start, end in spans_by_path.get(shape.path, ()))
        for shape in group.members
    )
    if shared_count > MAX_SHARED_MEMBERS * len(group.members):
        return True
    own_core = _merge_core_by_name(group)
    for other in chosen_groups:
        other_core = _merge_core_by_name(other)
        shared_weight = sum(min(weight, other_core[name]) for name, weight in own_core.items() if name in other_core)
        if shared_weight > MAX_SHARED_CORE * min(sum(own_core.values()), sum(other_core.values())):
            return True
    return False


def _merge_core_by_name(group: ShapeGroup) -> dict[str, float]:
    """Return the weights of the core, keyed by the name in each feature.

    How the name is used is ignored: it makes little difference whether a name is called or extended.
    """
    names: dict[str, float] = {}
    for feature, weight in group.core.items():
        name = strip_usage(feature)
        names[name] = max(weight, names.get(name, 0.0))
    return names
