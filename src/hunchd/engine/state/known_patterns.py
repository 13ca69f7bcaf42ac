"""Registry of a project's code patterns, and their relevance for a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from hunchd.domain.context import Focus, Piece, PredictedFile
from hunchd.domain.facts import Change
from hunchd.domain.memory import Trust
from hunchd.patterns.memories import KnownPattern, is_pattern, known_from
from hunchd.patterns.wording import tells_enough
from hunchd.prediction.files import TEST, traits_of

SHOWN: Final = 3  # patterns in one bundle
# Value of a hint, relative to a file that will certainly be needed (1.0): it helps to write a new instance, not to
# read an old one, and most files are opened to change what they contain.
LIVES_HERE: Final = 0.25  # the file has instances, and new ones belong there
COULD_LIVE_HERE: Final = 0.2
BUILDING: Final = 1.5  # factor while working on a new feature
WEAKEST: Final = 0.4  # factor for the least distinctive pattern
LEAST_STRENGTH: Final = 0.5  # minimum strength in a file without instances
# Probability that a new file will hold an instance of the pattern that belongs in its folder.
NEW_FILE: Final = 0.6
LEAST_COMPANION: Final = 0.15  # confidence below which a companion is not suggested


@dataclass(slots=True)
class KnownPatterns:
    """Registry of the code patterns that a project knows."""

    _known: dict[str, KnownPattern] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[KnownPattern]:
        return iter(self._known.values())

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._known

    def notice(self, change: Change) -> None:
        """Update the registry with changed and deleted memories."""
        for memory in change.memories:
            if is_pattern(memory) and "." not in memory.id:
                found = known_from(memory)
                if found is not None:
                    self._known[found.id] = found
                else:
                    self._known.pop(memory.id, None)
        for identifier in change.deletions:
            self._known.pop(identifier, None)

    def at(self, path: str) -> list[tuple[KnownPattern, float]]:
        """Return the patterns that new code in `path` could belong to, with their value."""
        return self._at(path)[:SHOWN]

    def worth_telling(self, path: str, *, building: bool = False) -> list[tuple[KnownPattern, float]]:
        """Return those patterns that are useful unasked, with their value."""
        return [
            (pattern, value)
            for pattern, value in self._at(path)
            if tells_enough(pattern.title)
            and (building or pattern.paths != {path})  # otherwise all instances are visible already
            and (path in pattern.paths or (pattern.strength >= LEAST_STRENGTH and not pattern.is_part))
            and (_is_test(path) or not _is_of_tests(pattern))
        ][:SHOWN]

    def _at(self, path: str) -> list[tuple[KnownPattern, float]]:
        found = []
        for pattern in self._known.values():
            lives = path in pattern.paths
            holds = pattern.place.holds(path)
            if not (lives or (holds and _same_language(path, pattern))):
                continue
            value = LIVES_HERE if lives and holds else COULD_LIVE_HERE
            share = pattern.place.share if not pattern.place.file else 1.0
            narrow = 1.0 if lives or pattern.place.prefix or pattern.place.folder else 0.6
            found.append((pattern, value * narrow * share * (WEAKEST + (1 - WEAKEST) * pattern.strength)))
        return sorted(found, key=lambda one: (-one[1], one[0].id))

    def pieces(self, focus: Focus) -> list[Piece]:
        """Build candidates for the current file."""
        if not focus.file:
            return []
        more = BUILDING if focus.activity == "new_feature" else 1.0
        told = self.worth_telling(focus.file, building=focus.activity == "new_feature")
        return [_piece(pattern, min(0.9, value * more), focus) for pattern, value in told]

    def predicted(self, path: str | None) -> list[dict[str, Any]]:
        """Return the same patterns as predicted memories in the JSON contract's form."""
        return [
            {
                "id": pattern.id,
                "kind": "pattern",
                "title": pattern.title,
                "confidence": round(value, 4),
                "reasons": list(_reasons(pattern, path or "")),
            }
            for pattern, value in (self.worth_telling(path) if path else ())
        ]

    def companions(self, path: str, besides: Collection[str]) -> list[PredictedFile]:
        """Predict files for a new file.

        These are the files that changed together with new instances of the patterns it could hold.
        """
        best: dict[str, PredictedFile] = {}
        for pattern, _ in self.at(path):
            for companion in pattern.companions:
                target, confidence = companion.target, round(companion.confidence * NEW_FILE, 4)
                if companion.kind != "file" or target in besides or target == path or confidence < LEAST_COMPANION:
                    continue
                if target not in best or best[target].confidence < confidence:
                    why = f"changed with {companion.times} of {companion.of} new ones like {pattern.title}"
                    best[target] = PredictedFile(target, confidence, confidence, (why,))
        return sorted(best.values(), key=lambda file: (-file.confidence, file.path))


def _same_language(path: str, pattern: KnownPattern) -> bool:
    ending = PurePosixPath(path).suffix
    return any(PurePosixPath(other).suffix == ending for other in pattern.paths)


def _is_of_tests(pattern: KnownPattern) -> bool:
    """Return True if most instances are in tests.

    A line of the code under test may look like one.
    """
    return 2 * sum(map(_is_test, pattern.paths)) > len(pattern.paths)


def _is_test(path: str) -> bool:
    return bool(traits_of(path) & TEST)


def _reasons(pattern: KnownPattern, path: str) -> Sequence[str]:
    here = "instances in this file" if path in pattern.paths else "this is where new ones go"
    return pattern.seen, here


def _piece(pattern: KnownPattern, value: float, focus: Focus) -> Piece:
    near = focus.activity == "new_feature" or focus.file in pattern.paths
    return Piece(
        id=pattern.id,
        kind="pattern",
        tier=2 if near else 3,
        value=round(value, 4),
        forms=(("summary", pattern.line), ("compressed", f"pattern: {pattern.title}")),
        reasons=(pattern.seen, f"hunch show {pattern.id}"),
        source={"type": "pattern", "ref": pattern.id},
        trust=Trust.PROJECT,
    )
