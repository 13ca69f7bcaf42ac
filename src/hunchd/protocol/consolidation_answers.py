"""JSON responses about consolidation runs.

Some of them are also stored in the log of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from hunchd.protocol.responses import Count, TimeText
from hunchd.protocol.steps import StepName

RunStatus = Literal["dry_run", "running", "done", "rolled_back", "stopped", "interrupted", "undone"]
# The fields of a memory that differ.
MemoryState = Annotated[Mapping[str, Any] | None, Meta(description="null: the memory did not exist at that time")]


class RunCounts(Struct, kw_only=True):
    """Number of changes of each type that a consolidation run made.

    A counter is left unset while its value is not known.
    """

    deduped: Count | UnsetType = UNSET
    summarised: Count | UnsetType = UNSET
    compressed: Count | UnsetType = UNSET
    promoted: Count | UnsetType = UNSET
    demoted: Count | UnsetType = UNSET
    forgotten: Count | UnsetType = UNSET
    linked: Count | UnsetType = UNSET
    contradictions_found: Count | UnsetType = UNSET
    contradictions_closed: Count | UnsetType = UNSET
    retired: Count | UnsetType = UNSET
    doubted: Count | UnsetType = UNSET
    trusted_again: Count | UnsetType = UNSET
    histories: Count | UnsetType = UNSET
    counted: Count | UnsetType = UNSET
    erased: Count | UnsetType = UNSET
    embedded: Count | UnsetType = UNSET


COUNTERS: tuple[str, ...] = RunCounts.__struct_fields__


class EditAnswer(Struct, frozen=True, kw_only=True):
    id: str
    was: MemoryState
    now: MemoryState


class ChangeAnswer(Struct, frozen=True, kw_only=True):
    change: Annotated[Count, Meta(description="number of the change")]
    step: StepName
    counts: Annotated[
        str,
        Meta(description="name of the counter to which the change adds", extra_json_schema={"enum": list(COUNTERS)}),
    ]
    what: str
    why: str
    project: Annotated[str | None, Meta(description="name of the project; null: your own memories, without a project")]
    edits: Annotated[list[EditAnswer], Meta(description="the fields that differ")]
    undone: Annotated[bool, Meta(description="true if the change was undone, by the user or by the gate")] = False


class LostAnswer(Struct, frozen=True, kw_only=True):
    """Search result that a run lost, and the change that caused the loss.

    `probe` is the query that was repeated after the run, `lost` is the memory that it no longer finds.
    """

    probe: str
    lost: str
    step: str
    change: str


class GateFigures(Struct, frozen=True, kw_only=True):
    answers: Count = 0
    lost: Count = 0
    share: float = 0.0
    losses: list[LostAnswer] | UnsetType = UNSET  # unset where a memory was erased
    undone: Annotated[Count, Meta(description="changes that were rolled back")] | UnsetType = UNSET
    left: (
        Annotated[Count, Meta(description="changes left as they are, because the memory has changed since")] | UnsetType
    ) = UNSET
    undone_steps: (
        Annotated[
            list[str], Meta(description="steps that were rolled back because they lost results; the others are kept")
        ]
        | UnsetType
    ) = UNSET


class GateAnswer(GateFigures, frozen=True, kw_only=True):
    """Result of repeating the queries of one project after a run.

    `answers` is the number of results that were checked, `lost` is how many of them are no longer found.
    """

    project: str | None


class StoreFigures(Struct, frozen=True, kw_only=True):
    """Size of the store when a run ended."""

    memories: Count
    bytes: Count
    tokens: (
        Annotated[Count, Meta(description="about how many tokens all memories have, as agents are shown them")] | None
    ) = None


class RunAnswer(RunCounts, kw_only=True):
    run: Annotated[str, Meta(description="id of the run")]
    status: RunStatus
    dry_run: bool | UnsetType = UNSET
    changes: (
        Annotated[list[ChangeAnswer], Meta(description="the first changes; `more` is the number of others")] | UnsetType
    ) = UNSET
    more: Count | UnsetType = UNSET
    total: Count | UnsetType = UNSET
    trigger: str | UnsetType = UNSET
    began: TimeText | UnsetType = UNSET
    ended: TimeText | UnsetType | None = UNSET
    seconds: float | UnsetType | None = UNSET
    step: Annotated[str, Meta(description="current step of a run in progress")] | UnsetType = UNSET
    undoing: (
        Annotated[tuple[Count, ...], Meta(description="changes that an undo in progress has undone, and is to undo")]
        | UnsetType
    ) = UNSET
    project: Annotated[
        str | UnsetType | None,
        Meta(description="current project of a run in progress; null: memories without a project"),
    ] = UNSET
    store: StoreFigures | UnsetType = UNSET
    gate: list[GateAnswer] | UnsetType = UNSET
    lost: (
        Annotated[
            list[LostAnswer],
            Meta(
                description="for a run that was rolled back: the queries that lost a memory, and the step responsible"
            ),
        ]
        | UnsetType
    ) = UNSET

    def with_counts(self, counts: Mapping[str, int]) -> RunAnswer:
        return replace(self, **counts)


class UndoneAnswer(Struct, frozen=True, kw_only=True):
    run: str
    undone: Count
    left: Count
