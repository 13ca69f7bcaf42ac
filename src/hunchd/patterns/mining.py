"""Mining of a project's patterns.

Shapes are grouped, anti-unified, ranked, described and dated.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hunchd.domain.history import Unit
from hunchd.ingestion.parsing import Syntax, parse_syntax
from hunchd.ingestion.redaction import redact
from hunchd.patterns.alignment import Instance, build_instance, find_most_typical
from hunchd.patterns.companions import FirstLine, find_companions
from hunchd.patterns.descriptions import describe_steps, find_usual_location, make_title
from hunchd.patterns.grouping import ShapeGroup, group_shapes
from hunchd.patterns.pattern import CodePattern, InstanceLocation
from hunchd.patterns.queries import QUERIES
from hunchd.patterns.shapes import Shape
from hunchd.patterns.templates import Template, build_template

MAX_PATTERNS: Final = 60
MAX_UNIFIED: Final = 12  # instances per template
MAX_CANDIDATES: Final = 60  # most typical instances searched for distinct ones
MAX_SPOTS: Final = 200  # instances stored per pattern
MIN_FIXED: Final = 3  # minimum constant names in a template
MAX_HOLE_RATIO: Final = 1.2  # maximum holes per constant name
GROUP_SURPLUS: Final = 1.6  # groups examined per requested pattern, since some yield no useful template

ReadFile = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class CachedTemplate:
    """Template with the digests of its instances, reused until one of these changes."""

    digests: tuple[str, ...]
    template: Template


def mine_patterns(
    shapes: Iterable[Shape],
    read: ReadFile,
    cached_templates: dict[str, CachedTemplate],
    max_patterns: int = MAX_PATTERNS,
) -> list[CodePattern]:
    """Mine the patterns without their history, best first.

    `cached_templates` contains the templates of the last run, keyed by pattern; it is updated in place.
    """
    source = _SourceCache(read)
    patterns = []
    current_templates: dict[str, CachedTemplate] = {}
    for group in group_shapes(shapes, int(max_patterns * GROUP_SURPLUS)):
        key = make_key(group)
        instances = _select_distinct(group.members)
        digests = tuple(shape.digest for shape in instances)
        cached_template = cached_templates.get(key)
        template = (
            cached_template.template
            if cached_template and cached_template.digests == digests
            else _build_template(instances, source)
        )
        if template is None:
            continue
        current_templates[key] = CachedTemplate(digests, template)
        if _is_worth_showing(template):
            patterns.append(_build_pattern(group, key, template))
    cached_templates.clear()
    cached_templates.update(current_templates)
    patterns.sort(key=lambda pattern: (-pattern.score, pattern.key))
    return patterns[:max_patterns]


def make_key(group: ShapeGroup) -> str:
    identity = "\x1f".join((group.language, group.kind, *sorted(group.core)))
    return hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=8).hexdigest()


def add_history(
    patterns: Sequence[CodePattern],
    read: ReadFile,
    find_adding_units: Callable[[set[FirstLine]], Mapping[FirstLine, str]],
    find_units: Callable[[set[str]], Mapping[str, Unit]],
    exists: Callable[[str], bool] = lambda path: True,
    changed_paths: Sequence[Sequence[str]] = (),
) -> list[CodePattern]:
    """Add the commits that added instances, and the companions, to each pattern.

    `find_adding_units` maps first lines of instances to the unit that added them, `find_units` maps unit ids to the
    units that are known, and `exists` returns True if a file or folder still exists. `changed_paths` are the paths
    that each unit of work changed.
    """
    lines = FirstLines(read)
    heads = {spot: head for pattern in patterns for spot in pattern.spots if (head := lines.get(spot)) is not None}
    shas = find_adding_units(set(heads.values()))
    unit_by_sha = find_units(set(shas.values()))
    cochanges = CochangeIndex(changed_paths)
    return [_add_pattern_history(pattern, heads, shas, unit_by_sha, exists, cochanges) for pattern in patterns]


def _add_pattern_history(
    pattern: CodePattern,
    heads: Mapping[InstanceLocation, FirstLine],
    sha_by_line: Mapping[FirstLine, str],
    units: Mapping[str, Unit],
    exists: Callable[[str], bool],
    cochanges: CochangeIndex,
) -> CodePattern:
    by_unit: dict[str, list[str]] = {}
    for spot in pattern.spots:
        head = heads.get(spot)
        sha = sha_by_line.get(head) if head is not None else None
        if sha is not None and sha in units:
            by_unit.setdefault(sha, []).append(spot.path)
    order = sorted(by_unit, key=lambda sha: (-units[sha].at, sha))
    files = {spot.path for spot in pattern.spots}
    companions = find_companions([(units[sha], by_unit[sha]) for sha in order], exists, cochanges.find(files), files)
    return replace(pattern, companions=companions, commits=tuple(order))


class CochangeIndex:
    """Index from files to the units of work that changed them."""

    def __init__(self, changed_paths: Sequence[Sequence[str]]) -> None:
        self._changed_paths = changed_paths
        self._by_path: dict[str, list[int]] = defaultdict(list)
        for number, paths in enumerate(changed_paths):
            for path in paths:
                self._by_path[path].append(number)

    def find(self, paths: Iterable[str]) -> list[Sequence[str]]:
        """Return the changed paths of each unit that touched one of `paths`."""
        numbers = {number for path in paths for number in self._by_path.get(path, ())}
        return [self._changed_paths[number] for number in sorted(numbers)]


class FirstLines:
    """First lines of instances.

    A line that occurs several times in a file does not identify an instance.
    """

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._files: dict[str, tuple[list[str], Counter[str]]] = {}

    def get(self, spot: InstanceLocation) -> FirstLine | None:
        """Return the path and first line of an instance.

        Returns None if the line is not unique in its file.
        """
        if spot.path not in self._files:
            lines = [line.strip() for line in (self._read(spot.path) or b"").decode("utf-8", "replace").split("\n")]
            self._files[spot.path] = lines, Counter(lines)
        lines, counts = self._files[spot.path]
        line = lines[spot.line - 1] if spot.line <= len(lines) else ""
        return (spot.path, line) if counts[line] == 1 else None


class _SourceCache:
    """Cache of the parsed files that contain instances."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._syntax_by_path: dict[str, Syntax | None] = {}

    def load_instance(self, shape: Shape) -> Instance | None:
        if shape.path not in self._syntax_by_path:
            content = self._read(shape.path)
            self._syntax_by_path[shape.path] = None if content is None else parse_syntax(shape.path, content, QUERIES)
            while len(self._syntax_by_path) > MAX_PARSED_FILES:
                self._syntax_by_path.pop(next(iter(self._syntax_by_path)))
        syntax = self._syntax_by_path[shape.path]
        return None if syntax is None else build_instance(syntax, shape.start, shape.end)


MAX_PARSED_FILES: Final = 60  # files with cached trees, about a megabyte each


def _select_distinct(members: Sequence[Shape]) -> list[Shape]:
    """Return the most typical distinct instances, spread over as many files as possible."""
    shape_by_digest: dict[str, Shape] = {}
    for shape in members[:MAX_CANDIDATES]:
        shape_by_digest.setdefault(shape.digest, shape)
    count_by_path: Counter[str] = Counter()
    candidates = []
    for place, shape in enumerate(shape_by_digest.values()):
        candidates.append((count_by_path[shape.path], place, shape))
        count_by_path[shape.path] += 1
    first, rest = candidates[:1], sorted(candidates[1:], key=lambda one: one[:2])
    return [shape for _, _, shape in (*first, *rest)][:MAX_UNIFIED]


def _build_template(shapes: Sequence[Shape], source: _SourceCache) -> Template | None:
    instances = [instance for shape in shapes if (instance := source.load_instance(shape)) is not None]
    if len(instances) < 2:
        return None
    typical = find_most_typical(instances)
    return build_template(typical, [instance for instance in instances if instance is not typical])


def _is_worth_showing(template: Template) -> bool:
    return template.fixed >= MIN_FIXED and template.holes <= MAX_HOLE_RATIO * template.fixed


def _build_pattern(group: ShapeGroup, key: str, template: Template) -> CodePattern:
    spots = tuple(InstanceLocation(shape.path, shape.line, shape.name) for shape in group.members[:MAX_SPOTS])
    return CodePattern(
        key=key,
        language=group.language,
        kind=group.kind,
        title=redact(make_title(group)).text,
        hint=redact(describe_steps(group)).text,
        template=redact(template.text).text,
        score=round(group.score * min(1.0, (2 + template.fixed) / 12), 3),
        core={name: round(weight, 4) for name, weight in sorted(group.core.items())},
        spots=spots,
        count=len(group.members),
        files=group.file_count,
        place=find_usual_location(group.members),
        holes={name: tuple(redact(text).text for text in texts) for name, texts in template.examples.items()},
    )
