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
from hunchd.ingestion.parsing import Syntax, syntax_of
from hunchd.ingestion.redaction import redact
from hunchd.patterns.alignment import Instance, instance_of, most_typical
from hunchd.patterns.companions import Head, companions_of
from hunchd.patterns.grouping import Group, groups_of
from hunchd.patterns.pattern import Pattern, Spot
from hunchd.patterns.queries import QUERIES
from hunchd.patterns.shapes import Shape
from hunchd.patterns.templates import Template, template_of
from hunchd.patterns.wording import place_of, steps_of, title_of

MOST_PATTERNS: Final = 60
UNIFIED: Final = 12  # instances per template
LOOKED_AT: Final = 60  # most typical instances searched for distinct ones
SPOTS: Final = 200  # instances stored per pattern
LEAST_FIXED: Final = 3  # minimum constant names in a template
MOST_HOLLOW: Final = 1.2  # maximum holes per constant name
SURPLUS: Final = 1.6  # groups examined per requested pattern, since some yield no useful template

Read = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Made:
    """Template with the digests of its instances, reused while these are unchanged."""

    digests: tuple[str, ...]
    template: Template


def mined(shapes: Iterable[Shape], read: Read, made: dict[str, Made], most: int = MOST_PATTERNS) -> list[Pattern]:
    """Mine the patterns, best first, without history.

    `made` has the templates of the last run by key; it is updated in place.
    """
    source = _Sources(read)
    patterns = []
    kept: dict[str, Made] = {}
    for group in groups_of(shapes, int(most * SURPLUS)):
        key = key_of(group)
        chosen = _different(group.members)
        digests = tuple(shape.digest for shape in chosen)
        before = made.get(key)
        template = before.template if before and before.digests == digests else _template(chosen, source)
        if template is None:
            continue
        kept[key] = Made(digests, template)
        if _worth(template):
            patterns.append(_pattern(group, key, template))
    made.clear()
    made.update(kept)
    patterns.sort(key=lambda pattern: (-pattern.score, pattern.key))
    return patterns[:most]


def key_of(group: Group) -> str:
    told = "\x1f".join((group.language, group.kind, *sorted(group.core)))
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()


def with_history(
    patterns: Sequence[Pattern],
    read: Read,
    added: Callable[[set[Head]], Mapping[Head, str]],
    units: Callable[[set[str]], Mapping[str, Unit]],
    there: Callable[[str], bool] = lambda path: True,
    changed: Sequence[Sequence[str]] = (),
) -> list[Pattern]:
    """Add to each pattern the commits of its instances and its companions.

    `added` maps first lines to the unit that added them, `units` maps unit ids to units as far as known, `there`
    tells if a file or folder still exists, `changed` has the paths that each unit of work changed.
    """
    lines = Lines(read)
    heads = {spot: head for pattern in patterns for spot in pattern.spots if (head := lines.head(spot)) is not None}
    shas = added(set(heads.values()))
    past = units(set(shas.values()))
    around = Around(changed)
    return [_dated(pattern, heads, shas, past, there, around) for pattern in patterns]


def _dated(
    pattern: Pattern,
    heads: Mapping[Spot, Head],
    added: Mapping[Head, str],
    units: Mapping[str, Unit],
    there: Callable[[str], bool],
    around: Around,
) -> Pattern:
    by_unit: dict[str, list[str]] = {}
    for spot in pattern.spots:
        head = heads.get(spot)
        sha = added.get(head) if head is not None else None
        if sha is not None and sha in units:
            by_unit.setdefault(sha, []).append(spot.path)
    order = sorted(by_unit, key=lambda sha: (-units[sha].at, sha))
    files = {spot.path for spot in pattern.spots}
    companions = companions_of([(units[sha], by_unit[sha]) for sha in order], there, around.those(files), files)
    return replace(pattern, companions=companions, commits=tuple(order))


class Around:
    """Index of the units of work by the files that they changed."""

    def __init__(self, changed: Sequence[Sequence[str]]) -> None:
        self._changed = changed
        self._by_path: dict[str, list[int]] = defaultdict(list)
        for number, paths in enumerate(changed):
            for path in paths:
                self._by_path[path].append(number)

    def those(self, paths: Iterable[str]) -> list[Sequence[str]]:
        """Return the changed paths of every unit that touched one of `paths`."""
        numbers = {number for path in paths for number in self._by_path.get(path, ())}
        return [self._changed[number] for number in sorted(numbers)]


class Lines:
    """First lines of instances.

    A line that occurs several times in a file is not unique.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._files: dict[str, tuple[list[str], Counter[str]]] = {}

    def head(self, spot: Spot) -> Head | None:
        """Return the instance's path and first line.

        Returns None if the line is not unique in its file.
        """
        if spot.path not in self._files:
            lines = [line.strip() for line in (self._read(spot.path) or b"").decode("utf-8", "replace").split("\n")]
            self._files[spot.path] = lines, Counter(lines)
        lines, counts = self._files[spot.path]
        line = lines[spot.line - 1] if spot.line <= len(lines) else ""
        return (spot.path, line) if counts[line] == 1 else None


class _Sources:
    """Cache of the parsed files that contain instances."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._parsed: dict[str, Syntax | None] = {}

    def instance(self, shape: Shape) -> Instance | None:
        if shape.path not in self._parsed:
            content = self._read(shape.path)
            self._parsed[shape.path] = None if content is None else syntax_of(shape.path, content, QUERIES)
            while len(self._parsed) > PARSED_AT_ONCE:
                self._parsed.pop(next(iter(self._parsed)))
        syntax = self._parsed[shape.path]
        return None if syntax is None else instance_of(syntax, shape.start, shape.end)


PARSED_AT_ONCE: Final = 60  # files with cached trees, about a megabyte each


def _different(members: Sequence[Shape]) -> list[Shape]:
    """Return the most typical distinct instances.

    They are spread over as many files as possible.
    """
    fresh: dict[str, Shape] = {}
    for shape in members[:LOOKED_AT]:
        fresh.setdefault(shape.digest, shape)
    seen: Counter[str] = Counter()
    ranked = []
    for place, shape in enumerate(fresh.values()):
        ranked.append((seen[shape.path], place, shape))
        seen[shape.path] += 1
    first, rest = ranked[:1], sorted(ranked[1:], key=lambda one: one[:2])
    return [shape for _, _, shape in (*first, *rest)][:UNIFIED]


def _template(chosen: Sequence[Shape], source: _Sources) -> Template | None:
    instances = [instance for shape in chosen if (instance := source.instance(shape)) is not None]
    if len(instances) < 2:
        return None
    typical = most_typical(instances)
    return template_of(typical, [instance for instance in instances if instance is not typical])


def _worth(template: Template) -> bool:
    return template.fixed >= LEAST_FIXED and template.holes <= MOST_HOLLOW * template.fixed


def _pattern(group: Group, key: str, template: Template) -> Pattern:
    spots = tuple(Spot(shape.path, shape.line, shape.name) for shape in group.members[:SPOTS])
    return Pattern(
        key=key,
        language=group.language,
        kind=group.kind,
        title=redact(title_of(group)).text,
        hint=redact(steps_of(group)).text,
        template=redact(template.text).text,
        score=round(group.score * min(1.0, (2 + template.fixed) / 12), 3),
        core={name: round(weight, 4) for name, weight in sorted(group.core.items())},
        spots=spots,
        count=len(group.members),
        files=group.files,
        place=place_of(group.members),
        holes={name: tuple(redact(text).text for text in texts) for name, texts in template.examples.items()},
    )
