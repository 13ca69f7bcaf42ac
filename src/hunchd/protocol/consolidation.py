"""Requests about consolidation runs: strict parsers of bodies and query strings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hunchd.protocol.fields import Fields
from hunchd.protocol.steps import STEPS

CONSOLIDATE_FIELDS: Final = ("dry_run", "steps", "project", "wait")
UNDO_FIELDS: Final = ("change",)
CHANGES_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateRequest:
    """Request for a consolidation run.

    Without `project`: all projects and the user's own memories.
    """

    dry_run: bool = False
    steps: tuple[str, ...] = STEPS
    project: str | None = None
    wait: bool = True


def consolidate_of_body(raw: Any) -> ConsolidateRequest:
    fields = Fields(raw, CONSOLIDATE_FIELDS)
    chosen = frozenset(fields.choices("steps", STEPS)) or frozenset(STEPS)
    return ConsolidateRequest(
        dry_run=_flag(fields, raw, "dry_run", False),
        steps=tuple(step for step in STEPS if step in chosen),
        project=fields.project(),
        wait=_flag(fields, raw, "wait", True),
    )


def undo_of_body(raw: Any) -> int | None:
    """Parse the number of the change to undo.

    None undoes the whole run.
    """
    fields = Fields(raw, UNDO_FIELDS)
    return fields.integer("change", 0, low=0, high=10_000_000) if fields.has("change") else None


def changes_of_query(query: str) -> tuple[int, int]:
    """Parse the number of the last change already read, and the page size."""
    fields = Fields.of_query(query, ("after", "limit"))
    after = fields.integer("after", 0, low=0, high=10_000_000)
    return after, fields.integer("limit", CHANGES_PAGE, low=1, high=CHANGES_PAGE)


def _flag(fields: Fields, raw: Any, name: str, default: bool) -> bool:
    value = raw.get(name)
    if value is not None and not isinstance(value, bool):
        raise fields.refused(name, "must be true or false")
    return default if value is None else value
