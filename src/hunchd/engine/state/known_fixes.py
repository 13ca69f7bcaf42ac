"""Registry of a project's known fixes, by error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hunchd.domain.facts import Change
from hunchd.ingestion.fixes import Fix, best, fix_from, is_fix


@dataclass(slots=True)
class KnownFixes:
    """Registry of the fixes that a project knows."""

    _by_error: dict[str, dict[str, Fix]] = field(default_factory=dict)

    def of(self, error: str) -> Iterable[Fix]:
        return self._by_error.get(error, {}).values()

    def all(self) -> Iterator[Fix]:
        for fixes in self._by_error.values():
            yield from fixes.values()

    def shown(self, errors: Iterable[str]) -> Mapping[str, Fix]:
        """Return the best fix of each of `errors` that has one."""
        found = ((error, best(tuple(self.of(error)))) for error in errors)
        return {error: fix for error, fix in found if fix is not None}

    def notice(self, change: Change) -> None:
        """Update the registry with changed and deleted memories."""
        for memory in change.memories:
            if is_fix(memory):
                self._forget(memory.id)
                if (fix := fix_from(memory)) is not None:
                    self._by_error.setdefault(fix.error, {})[fix.id] = fix
        for identifier in change.deletions:
            self._forget(identifier)
            self._by_error.pop(identifier, None)

    def _forget(self, identifier: str) -> None:
        for fixes in self._by_error.values():
            fixes.pop(identifier, None)
