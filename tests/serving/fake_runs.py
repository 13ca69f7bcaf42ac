"""Fake of the consolidation port: records its requests."""

from __future__ import annotations

from msgspec.structs import replace

from hunchd.domain.errors import NotFound
from hunchd.protocol.consolidation_answers import ChangeAnswer, RunAnswer, UndoneAnswer
from hunchd.protocol.consolidation_requests import ConsolidateRequest
from hunchd.protocol.requests import ListSlice
from hunchd.protocol.responses import PageAnswer


class FakeRuns:
    def __init__(self) -> None:
        self.asked: list[ConsolidateRequest] = []
        self.undone: list[tuple[str, int | None]] = []

    async def consolidate(self, asked: ConsolidateRequest) -> RunAnswer:
        self.asked.append(asked)
        return RunAnswer(run=f"r{len(self.asked)}", status="dry_run" if asked.dry_run else "done", changes=[])

    async def undo(self, run: str, change: int | None) -> UndoneAnswer:
        await self.get_run(run)
        self.undone.append((run, change))
        return UndoneAnswer(run=run, undone=1, left=0)

    async def stop(self, run: str) -> RunAnswer:
        return replace(await self.get_run(run), status="stopped")

    async def get_run(self, run: str, *, after: int = 0, limit: int = 500) -> RunAnswer:
        if run not in {f"r{number}" for number in range(1, len(self.asked) + 1)}:
            raise NotFound(f"there is no run {run!a}")
        change = ChangeAnswer(change=after, step="use", counts="counted", what="", why="", project=None, edits=[])
        return RunAnswer(run=run, status="done", changes=[change][:limit])

    async def list_runs(self, part: ListSlice) -> PageAnswer[RunAnswer]:
        told = [RunAnswer(run=f"r{number}", status="done") for number in range(len(self.asked), 0, -1)]
        return PageAnswer(items=told, next=None, total=len(told))
