"""Registry of a project's code patterns and their relevance to a file.

The value of a pattern is its usefulness for a file, relative to a file that will certainly be needed (1.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from hunchd.domain.context import ContextCandidate, Focus, PredictedFile
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Trust
from hunchd.patterns.pattern_memories import PatternSummary, is_pattern, memory_to_summary
from hunchd.prediction.file_table import TEST, classify_path
from hunchd.protocol.predictions import PredictedMemoryAnswer, predict_memory

MAX_PATTERNS: Final = 3  # patterns in one bundle
# Value of a hint. It is low because a hint helps to write a new instance, not to
# read an old one, and most files are opened to change what they contain.
INSTANCE_VALUE: Final = 0.25  # the file has instances, and new ones belong there
PLACE_VALUE: Final = 0.2
NEW_FEATURE_FACTOR: Final = 1.5  # factor while working on a new feature
MIN_STRENGTH_FACTOR: Final = 0.4  # factor for the least distinctive pattern
MIN_STRENGTH: Final = 0.5  # minimum strength in a file without instances
# Probability that a new file will contain an instance of the pattern that is usual in its folder.
NEW_FILE_PROBABILITY: Final = 0.6
# Titles of patterns that are shown unprompted. Functions that only share a part of their names are not: they are seldom
# what a person thinks of as a kind, and few files are opened to add one.
UNPROMPTED: Final = ("subclasses of ", "implementations of ", "functions with @", "classes with @")
MIN_COMPANION_CONFIDENCE: Final = 0.15  # confidence below which a companion is not suggested


@dataclass(slots=True)
class KnownPatterns:
    """Registry of the known code patterns in a project."""

    _patterns: dict[str, PatternSummary] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._patterns)

    def __iter__(self) -> Iterator[PatternSummary]:
        return iter(self._patterns.values())

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._patterns

    def apply_change(self, change: MemoryChange) -> None:
        """Apply changed and deleted memories to the registry."""
        for memory in change.memories:
            if is_pattern(memory) and "." not in memory.id:
                pattern = memory_to_summary(memory)
                if pattern is not None:
                    self._patterns[pattern.id] = pattern
                else:
                    self._patterns.pop(memory.id, None)
        for identifier in change.deletions:
            self._patterns.pop(identifier, None)

    def find_for_path(self, path: str) -> list[tuple[PatternSummary, float]]:
        """Return the patterns that new code in `path` could follow, each with its value."""
        return self._rank_for_path(path)[:MAX_PATTERNS]

    def find_useful_for_path(self, path: str, *, building: bool = False) -> list[tuple[PatternSummary, float]]:
        """Return the patterns worth showing unprompted for `path`, each with its value.

        `building` is True while the user works on a new feature.
        """
        return [
            (pattern, value)
            for pattern, value in self._rank_for_path(path)
            if pattern.hint
            and (building or pattern.title.startswith(UNPROMPTED))
            and (building or pattern.paths != {path})  # otherwise all instances are visible already
            and (path in pattern.paths or pattern.strength >= MIN_STRENGTH)
            and (_is_test(path) or not _is_test_pattern(pattern))
        ][:MAX_PATTERNS]

    def _rank_for_path(self, path: str) -> list[tuple[PatternSummary, float]]:
        ranked_patterns = []
        for pattern in self._patterns.values():
            lives = path in pattern.paths
            holds = pattern.place.contains(path)
            if not (lives or (holds and _is_same_language(path, pattern))):
                continue
            value = INSTANCE_VALUE if lives and holds else PLACE_VALUE
            share = pattern.place.share if not pattern.place.file else 1.0
            narrow = 1.0 if lives or pattern.place.prefix or pattern.place.folder else 0.6
            ranked_patterns.append(
                (pattern, value * narrow * share * (MIN_STRENGTH_FACTOR + (1 - MIN_STRENGTH_FACTOR) * pattern.strength))
            )
        return sorted(ranked_patterns, key=lambda one: (-one[1], one[0].id))

    def build_candidates(self, focus: Focus) -> list[ContextCandidate]:
        """Build bundle candidates from the patterns useful in the current file."""
        if not focus.file:
            return []
        more = NEW_FEATURE_FACTOR if focus.activity == "new_feature" else 1.0
        patterns = self.find_useful_for_path(focus.file, building=focus.activity == "new_feature")
        return [_build_candidate(pattern, min(0.9, value * more), focus) for pattern, value in patterns]

    def predict_for_path(self, path: str | None) -> list[PredictedMemoryAnswer]:
        """Return the patterns worth showing for `path` as predicted memories."""
        return [
            predict_memory(pattern.id, "pattern", pattern.title, value, *_build_reasons(pattern, path or ""))
            for pattern, value in (self.find_useful_for_path(path) if path else ())
        ]

    def predict_companions(self, path: str, besides: Collection[str]) -> list[PredictedFile]:
        """Predict the files that will be changed together with a new file.

        These are the files that were changed together with new instances of the patterns that the new file could
        follow. Files in `besides` are left out.
        """
        best: dict[str, PredictedFile] = {}
        for pattern, _ in self.find_for_path(path):
            for companion in pattern.companions:
                target, confidence = companion.target, round(companion.confidence * NEW_FILE_PROBABILITY, 4)
                if (
                    companion.kind != "file"
                    or target in besides
                    or target == path
                    or confidence < MIN_COMPANION_CONFIDENCE
                ):
                    continue
                if target not in best or best[target].confidence < confidence:
                    why = f"changed with {companion.times} of {companion.of} new ones like {pattern.title}"
                    best[target] = PredictedFile(target, confidence, confidence, (why,))
        return sorted(best.values(), key=lambda file: (-file.confidence, file.path))


def _is_same_language(path: str, pattern: PatternSummary) -> bool:
    ending = PurePosixPath(path).suffix
    return any(PurePosixPath(other).suffix == ending for other in pattern.paths)


def _is_test_pattern(pattern: PatternSummary) -> bool:
    """Return True if most instances of the pattern are in test files.

    Not all of them need to be, because a line in the code under test may look like an instance as well.
    """
    return 2 * sum(map(_is_test, pattern.paths)) > len(pattern.paths)


def _is_test(path: str) -> bool:
    return bool(classify_path(path) & TEST)


def _build_reasons(pattern: PatternSummary, path: str) -> Sequence[str]:
    here = "instances in this file" if path in pattern.paths else "this is where new ones go"
    return pattern.frequency, here


def _build_candidate(pattern: PatternSummary, value: float, focus: Focus) -> ContextCandidate:
    near = focus.activity == "new_feature" or focus.file in pattern.paths
    return ContextCandidate(
        id=pattern.id,
        kind="pattern",
        tier=2 if near else 3,
        value=round(value, 4),
        forms=(("summary", pattern.hint), ("compressed", pattern.hint.partition("; ")[0])),
        reasons=(pattern.frequency, f"hunch show {pattern.id}"),
        source={"type": "pattern", "ref": pattern.id},
        trust=Trust.PROJECT,
    )
