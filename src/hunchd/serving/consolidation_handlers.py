"""HTTP handlers for consolidation runs, their changes, and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunchd.protocol.consolidation_answers import RunAnswer, UndoneAnswer
from hunchd.protocol.consolidation_requests import ChangesQuery, ConsolidateRequest, UndoRequest
from hunchd.protocol.requests import ListSlice
from hunchd.protocol.responses import PageAnswer
from hunchd.serving.routes import JSON, route

if TYPE_CHECKING:
    from hunchd.features.consolidation.run_manager import RunManager


class ConsolidationHandlers:
    """Handlers for consolidation, one method per route."""

    def __init__(self, runs: RunManager) -> None:
        self._runs = runs

    @route("POST /consolidate", "consolidate", errors=(404, 409, 507))
    async def consolidate(self, body: ConsolidateRequest) -> RunAnswer:
        """Condense, assess and forget stored memories, or preview the changes."""
        return await self._runs.consolidate(body)

    @route("GET /consolidate", "listRuns")
    async def list_runs(self, query: ListSlice) -> PageAnswer[RunAnswer]:
        """List the recorded consolidation runs, newest first."""
        return await self._runs.list_runs(query)

    @route("GET /consolidate/{id}", "run", errors=(404,))
    async def get_run(self, id: str, query: ChangesQuery) -> RunAnswer:
        """Return one consolidation run with its changes, or its progress."""
        return await self._runs.get_run(id, after=query.after, limit=query.limit)

    @route("POST /consolidate/{id}/undo", "undoRun", answers={JSON: UndoneAnswer}, errors=(404, 409, 507))
    async def undo_run(self, id: str, body: UndoRequest | None) -> UndoneAnswer | RunAnswer:
        """Undo a run, or some of its changes.

        Memories changed since then are left as they are.
        """
        return await self._runs.undo(id, body.numbers if body else None)

    @route("POST /consolidate/{id}/stop", "stopRun", errors=(404,))
    async def stop_run(self, id: str) -> RunAnswer:
        """Stop the run in progress; changes already made stay and can be undone."""
        return await self._runs.stop(id)
