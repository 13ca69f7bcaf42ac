"""Requests about consolidation runs, with strict parsers for bodies and query strings."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from hunchd.protocol.fields import Fields
from hunchd.protocol.steps import STEPS
from hunchd.protocol.struct_decoding import CustomReader, ProjectRef, Request

MAX_CHANGES_PER_PAGE: Final = 500
MAX_UNDONE_CHANGES: Final = 1_000
MAX_CHANGE_NUMBER: Final = 10_000_000


def _steps(fields: Fields, name: str) -> tuple[str, ...]:
    chosen_steps = frozenset(fields.get_choices(name, STEPS)) or frozenset(STEPS)
    return tuple(step for step in STEPS if step in chosen_steps)


def _change_numbers(fields: Fields, name: str) -> frozenset[int]:
    numbers = fields.get_objects(name, max_entries=MAX_UNDONE_CHANGES)
    if not all(type(number) is int and 0 <= number <= MAX_CHANGE_NUMBER for number in numbers):
        raise fields.error(name, "must be a list of change numbers")
    return frozenset(numbers)


class ConsolidateRequest(Request, frozen=True, kw_only=True):
    """Request for a consolidation run.

    Without `project`, the run covers all projects and the user's own memories.
    """

    dry_run: bool = False
    steps: Annotated[
        tuple[Annotated[str, Meta(extra_json_schema={"enum": list(STEPS)})], ...],
        Meta(description="all of them if omitted; always in this order"),
        CustomReader(_steps),
    ] = STEPS
    project: ProjectRef | None = None
    wait: Annotated[bool, Meta(description="false: respond at once; follow the run at GET /consolidate/{id}")] = True


class UndoRequest(Request, frozen=True, kw_only=True):
    change: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_CHANGE_NUMBER)] | None,
        Meta(description="if `changes` is omitted too, the whole run"),
    ] = None
    changes: Annotated[
        frozenset[int],
        Meta(max_length=MAX_UNDONE_CHANGES, description="several changes, the last first: all of them or none"),
        CustomReader(_change_numbers),
    ] = frozenset()

    @property
    def numbers(self) -> frozenset[int] | None:
        """Numbers of the changes to be undone; None for the whole run."""
        one = frozenset() if self.change is None else frozenset({self.change})
        return self.changes | one or None


class ChangesQuery(Request, frozen=True, kw_only=True):
    after: Annotated[int, Meta(ge=0, le=MAX_CHANGE_NUMBER, description="number of the first change")] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_CHANGES_PER_PAGE)] = MAX_CHANGES_PER_PAGE
