"""A store is opened once and completely, even if the first caller is cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.daemon.store_service import StoreService
from hunchd.store.database.collection import Collection


async def test_open_continues_after_caller_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening may erase what a crash left; a second one in parallel would delete the first one's files."""
    opened, mended, under_way = list[Path](), asyncio.Event(), asyncio.Event()

    async def slowly(folder: Path, _: Any) -> Collection:
        opened.append(folder)
        under_way.set()
        await mended.wait()
        return cast(Collection, object())

    monkeypatch.setattr(Collection, "open", slowly)
    service = StoreService(tmp_path, None, None)
    gone = asyncio.create_task(service.collections.get_collection("p"))
    await under_way.wait()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    waiting = asyncio.create_task(service.collections.get_collection("p"))
    mended.set()
    assert await waiting is await service.collections.get_collection("p")
    assert len(opened) == 1
