"""Benchmark of code patterns: is a hidden newest instance matched, and are its companions predicted?

    python benchmarks/patterns.py TREE… [--patterns 30]

For each of the best patterns of a working tree: the unit of history that added its newest instance is taken as the
future. All instances which that unit added are removed, the rest is mined again from scratch, and companions are
learned
from older units only. Two questions follow:

- match: does the pattern that is found again match the hidden instance (recall), and how many of all shapes of its
  kind that it matches are instances (precision)? The baseline is "same folder, same suffix": any shape of its kind
  in a
  folder, and in files with the suffix, of the remaining instances.
- companions: which of the other existing files that the unit changed are predicted (recall), and how many of the
  predicted were changed (precision)? The baselines are all files of the instance's folder with its suffix, and the
  three of them that were changed last. Kinds (`changelog/*.rst`) are counted separately: right if the unit touched a
  file of the kind.
"""

from __future__ import annotations

import argparse
import posixpath
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work
from hunchd.ingestion.history import iter_units as units_of
from hunchd.patterns.companions import MAX_UNITS, find_adding_commits, find_companions, has_kind
from hunchd.patterns.grouping import group_shapes
from hunchd.patterns.mining import FirstLines, mine_patterns
from hunchd.patterns.pattern import CodePattern, Companion, InstanceLocation
from hunchd.patterns.shapes import Shape, extract_shapes, is_test
from hunchd.prediction.words import extract_stem
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules

MIN_MATCH = 0.75  # share of the core's weight that an instance must have

SAME_AGAIN = 0.4  # share of instances that identifies a pattern with an earlier one


@dataclass
class Score:
    """Sums over patterns: successes and trials."""

    asked: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, value: float | None) -> None:
        if value is not None:
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def mean(self, name: str) -> str:
        return f"{self.sums[name] / self.counts[name]:.2f}" if self.counts.get(name) else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--patterns", type=int, default=30)
    arguments = parser.parse_args()
    print("repository, asked | again, match, precision | by folder: match, precision | companions: precision, recall")
    print("| by folder: precision, recall | by its newest 3: precision, recall | kinds: precision", flush=True)
    total = Score()
    for tree in arguments.trees:
        began = time.monotonic()
        score = score_tree(tree, arguments.patterns, total)
        print(format_line(tree.name, score), f"({time.monotonic() - began:.0f} s)", flush=True)
    print(format_line("mean of all", total))


def format_line(name: str, score: Score) -> str:
    cells = (
        "again", "matched", "match precision", "|", "folder matched", "folder match precision", "|", "precision",
        "recall", "|", "folder precision", "folder recall", "|", "near precision", "near recall", "|", "kind precision",
    )  # fmt: skip
    return " ".join((f"{name:<12} {score.asked:>3} |", *(cell if cell == "|" else score.mean(cell) for cell in cells)))


def score_tree(root: Path, most: int, total: Score) -> Score:
    def read(path: str) -> bytes | None:
        try:
            return (root / path).read_bytes()
        except OSError:
            return None

    shapes = [
        shape for path, _ in IgnoreRules.load(root, ()).walk() for shape in extract_shapes(path, read(path) or b"")
    ]
    patterns = mine_patterns(shapes, most)
    git = Git(root)
    past = {unit.sha: unit for unit in units_of(git, newest=MAX_UNITS)}
    lines = FirstLines(read)
    heads = {spot: head for pattern in patterns for spot in pattern.spots if (head := lines.get(spot)) is not None}
    added = find_adding_commits(git, set(heads.values()))
    units = {spot: past[added[head]] for spot, head in heads.items() if added.get(head) in past}
    score = Score()
    for pattern in patterns:
        for one in (score, total):
            evaluate_pattern(pattern, shapes, units, past, one, most)
    return score


_again: dict[str, list[CodePattern]] = {}


def evaluate_pattern(
    pattern: CodePattern,
    shapes: Sequence[Shape],
    units: Mapping[InstanceLocation, Unit],
    past: Mapping[str, Unit],
    score: Score,
    most: int,
) -> None:
    """Evaluate one pattern with its newest instance hidden."""
    dated = sorted((spot for spot in pattern.spots if spot in units), key=lambda spot: (-units[spot].at, spot.path))
    if not dated:
        return
    newest = dated[0]
    future = units[newest]
    hidden = {spot for spot in dated if units[spot].sha == future.sha}
    rest = [spot for spot in pattern.spots if spot not in hidden]
    if len(rest) < 3:
        return
    score.asked += 1
    found = mine_without(pattern, hidden, shapes, most)
    score.add("again", float(found is not None))
    measure_match(pattern, newest, hidden, rest, found, shapes, score)
    if is_work(future):
        measure_companions(pattern, newest, hidden, future, units, past, score)


def is_match(pattern: CodePattern, features: Sequence[str]) -> bool:
    """Return True if code with these features has enough of the pattern's core."""
    return sum(pattern.core.get(feature, 0.0) for feature in features) >= MIN_MATCH * sum(pattern.core.values()) - 1e-9


def mine_without(
    pattern: CodePattern, hidden: set[InstanceLocation], shapes: Sequence[Shape], most: int
) -> CodePattern | None:
    """Return the same pattern, mined without the hidden instances."""
    key = f"{id(shapes)}:{pattern.key}"
    if key not in _again:
        kinds = {"name", "class", "function", "method", pattern.kind}  # to recognise the project's own names
        remaining = [
            shape
            for shape in shapes
            if shape.kind in kinds and InstanceLocation(shape.path, shape.line, shape.name) not in hidden
        ]
        _again[key] = [as_pattern(group) for group in group_shapes(remaining, most)]
    before = {(spot.path, spot.line) for spot in pattern.spots if spot not in hidden}

    def shared(other: CodePattern) -> float:
        theirs = {(spot.path, spot.line) for spot in other.spots}
        return len(before & theirs) / len(before | theirs)

    best = max(_again[key], key=shared, default=None)
    return best if best is not None and shared(best) >= SAME_AGAIN else None


def as_pattern(group) -> CodePattern:  # type: ignore[no-untyped-def]
    spots = tuple(InstanceLocation(shape.path, shape.line, shape.name) for shape in group.members)
    return CodePattern("", group.language, group.kind, "", 0.0, group.core, spots, len(spots), group.file_count)


def measure_match(
    pattern: CodePattern, newest: InstanceLocation, hidden: set[InstanceLocation], rest: Sequence[InstanceLocation],
    found: CodePattern | None, shapes: Sequence[Shape], score: Score,
) -> None:  # fmt: skip
    kinds = {"function", "method"} if pattern.kind == "function" else {pattern.kind}
    family = [shape for shape in shapes if shape.kind in kinds]
    members = {(spot.path, spot.line) for spot in pattern.spots}
    query = next(shape for shape in family if (shape.path, shape.line) == (newest.path, newest.line))
    folders = {(posixpath.dirname(spot.path), posixpath.splitext(spot.path)[1]) for spot in rest}

    def near(shape: Shape) -> bool:
        return (posixpath.dirname(shape.path), posixpath.splitext(shape.path)[1]) in folders

    tests: dict[str, Callable[[Shape], bool]] = {"folder ": near}
    if found is not None:
        tests[""] = lambda shape: is_match(found, shape.features)
    else:
        score.add("matched", 0.0)
    for name, says in tests.items():
        score.add(f"{name}matched", float(says(query)))
        matched = [shape for shape in family if says(shape)]
        right = sum((shape.path, shape.line) in members for shape in matched)
        if matched:
            score.add(f"{name}match precision", right / len(matched))


def measure_companions(
    pattern: CodePattern, newest: InstanceLocation, hidden: set[InstanceLocation], future: Unit,
    units: Mapping[InstanceLocation, Unit], past: Mapping[str, Unit], score: Score,
) -> None:  # fmt: skip
    own = {spot.path for spot in hidden}
    gold = {change.path for change in future.changes if change.status not in "AD"} - own
    touched = {change.path for change in future.changes} - own
    earlier: dict[str, list[str]] = {}
    for spot in pattern.spots:
        unit = units.get(spot)
        if unit is not None and unit.at < future.at:
            earlier.setdefault(unit.sha, []).append(spot.path)
    earlier_units = [(past[sha], paths) for sha, paths in earlier.items()]
    learned_companions = find_companions(earlier_units)
    there = list_files_before(future, past)
    predicted = {path for one in learned_companions for path in resolve_companion(one, newest.path, there)} - own
    folder, ending = posixpath.dirname(newest.path), posixpath.splitext(newest.path)[1]
    same = [path for path in there if posixpath.dirname(path) == folder and path.endswith(ending)]
    same = [path for path in same if path not in own]
    for name, guess in (("", predicted), ("folder ", set(same)), ("near ", set(same[:3]))):
        if gold:
            score.add(f"{name}recall", len(guess & gold) / len(gold))
        if guess:
            score.add(f"{name}precision", len(guess & gold) / len(guess))
    for one in learned_companions:
        if one.kind == "kind":
            score.add("kind precision", float(any(has_kind(path, one.target) for path in touched)))


def resolve_companion(one: Companion, path: str, there: Mapping[str, int]) -> set[str]:
    if one.kind == "file":
        return {one.target} & there.keys()
    if one.kind == "kind":
        return set()
    wanted = one.kind == "test"
    like = [
        other
        for other in there
        if extract_stem(other) == extract_stem(path) and is_test(other) == wanted and other != path
    ]
    return set(like[:1])


def list_files_before(future: Unit, past: Mapping[str, Unit]) -> dict[str, int]:
    """Return existing files that older units changed, most recently changed first."""
    last_changed: dict[str, int] = {}
    deleted: set[str] = set()
    older = sorted((unit for unit in past.values() if unit.at < future.at), key=lambda unit: -unit.at)
    for unit in older:
        for change in unit.changes:
            if change.old_path:
                deleted.add(change.old_path)
            if change.status == "D":
                deleted.add(change.path)
            elif change.path not in deleted:
                last_changed.setdefault(change.path, unit.at)
    return last_changed


if __name__ == "__main__":
    sys.exit(main())
