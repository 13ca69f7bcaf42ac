"""Fake of the consolidation port: records its requests."""

from __future__ import annotations

from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.protocol.consolidation_requests import ConsolidateRequest
from hunchd.protocol.requests import ListSlice
from hunchd.protocol.responses import page_to_json


class FakeRuns:
    def __init__(self) -> None:
        self.asked: list[ConsolidateRequest] = []
        self.undone: list[tuple[str, int | None]] = []

    async def consolidate(self, asked: ConsolidateRequest) -> dict[str, Any]:
        self.asked.append(asked)
        return {"run": f"r{len(self.asked)}", "status": "dry_run" if asked.dry_run else "done", "changes": []}

    async def undo(self, run: str, change: int | None) -> dict[str, Any]:
        await self.get_run(run)
        self.undone.append((run, change))
        return {"run": run, "undone": 1, "left": 0}

    async def stop(self, run: str) -> dict[str, Any]:
        return await self.get_run(run) | {"status": "stopped"}

    async def get_run(self, run: str, *, after: int = 0, limit: int = 500) -> dict[str, Any]:
        if run not in {f"r{number}" for number in range(1, len(self.asked) + 1)}:
            raise NotFound(f"there is no run {run!a}")
        return {"run": run, "status": "done", "changes": [{"change": after}][:limit]}

    async def list_runs(self, part: ListSlice) -> dict[str, Any]:
        told = [{"run": f"r{number}", "status": "done"} for number in range(len(self.asked), 0, -1)]
        return page_to_json(told, next_cursor=None, total=len(told))
