"""What files say gives way to what somebody says at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hunchd.domain.facts import place_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.engine.claims import BY_FILES, Claims
from tests.engine.test_carrying_out import bench

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(days=9)
BY_FILE = Memory(
    id="", kind=Kind.FACT, title="package manager: npm", content="package manager: npm", key="package manager",
    value="npm", category="convention", project="p", at=EARLIER, created=EARLIER, updated=EARLIER,
    trust=Trust.PROJECT, source={"type": BY_FILES, "path": "package.json"},
)  # fmt: skip
OURS = replace(BY_FILE, id=place_of(BY_FILE) or "")
THEIRS = replace(
    OURS, title="package manager: pnpm", content="package manager: pnpm", value="pnpm", trust=Trust.USER,
    source={"type": "user"}, at=NOW, created=NOW, updated=NOW,
)  # fmt: skip


async def test_what_is_said_while_files_are_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.engine.claims.default_branch", lambda layout: None)
    async with bench(tmp_path, OURS) as it:
        reading, go_on, known = asyncio.Event(), asyncio.Event(), it.memories.known

        async def slowly(ids: Sequence[str], project: str | None) -> dict[str, Memory]:
            found = await known(ids, project)
            if OURS.id in ids and not reading.is_set():
                reading.set()
                await go_on.wait()
            return found

        monkeypatch.setattr(it.memories, "known", slowly)
        main = SimpleNamespace(branch=None, layout=None)
        project = cast(Any, SimpleNamespace(id="p", name="p", main=main, facts={OURS.id: OURS}))
        files = asyncio.create_task(Claims(it.memories, cast(Any, None)).said_by_files(project, []))
        async with asyncio.timeout(10):
            await reading.wait()
            person = asyncio.create_task(it.memories.claim([THEIRS]))
            for _ in range(200):  # as far as it comes meanwhile
                await asyncio.sleep(0.001)
            go_on.set()
            await asyncio.gather(files, person)
        held = (await it.memories.known([OURS.id], "p"))[OURS.id]
    assert (held.value, held.status) == ("pnpm", Status.ACTIVE)
