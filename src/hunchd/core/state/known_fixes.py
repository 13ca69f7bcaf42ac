"""Registry of the known fixes in a project, keyed by error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hunchd.domain.facts import MemoryChange
from hunchd.ingestion.fixes import Fix, is_fix, memory_to_fix, select_best


@dataclass(slots=True)
class KnownFixes:
    """Registry of the known fixes in a project."""

    _by_error: dict[str, dict[str, Fix]] = field(default_factory=dict)

    def for_error(self, error: str) -> Iterable[Fix]:
        return self._by_error.get(error, {}).values()

    def iter_all(self) -> Iterator[Fix]:
        for fixes in self._by_error.values():
            yield from fixes.values()

    def best_for(self, errors: Iterable[str]) -> Mapping[str, Fix]:
        """Return the best fix for each error that has one.

        The fixes are keyed by error id.
        """
        best_fixes = ((error, select_best(tuple(self.for_error(error)))) for error in errors)
        return {error: fix for error, fix in best_fixes if fix is not None}

    def apply_change(self, change: MemoryChange) -> None:
        """Apply changed and deleted memories to the registry."""
        for memory in change.memories:
            if is_fix(memory):
                self._remove(memory.id)
                if (fix := memory_to_fix(memory)) is not None:
                    self._by_error.setdefault(fix.error, {})[fix.id] = fix
        for identifier in change.deletions:
            self._remove(identifier)
            self._by_error.pop(identifier, None)

    def _remove(self, identifier: str) -> None:
        for fixes in self._by_error.values():
            fixes.pop(identifier, None)
