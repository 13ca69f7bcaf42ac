"""A store is opened once, to the end, also when whoever asked first has gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.daemon.store_service import StoreService
from hunchd.store.database.collection import Collection


async def test_an_opening_goes_on_when_who_asked_has_gone_and_the_next_one_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may erase what a crash left to be erased: a second one beside it would take its files for nobody's."""
    opened, mended, under_way = list[Path](), asyncio.Event(), asyncio.Event()

    async def slowly(folder: Path, _: Any) -> Collection:
        opened.append(folder)
        under_way.set()
        await mended.wait()
        return cast(Collection, object())

    monkeypatch.setattr(Collection, "open", slowly)
    service = StoreService(tmp_path, None, None)
    gone = asyncio.create_task(service.collections.of("p"))
    await under_way.wait()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    waiting = asyncio.create_task(service.collections.of("p"))
    mended.set()
    assert await waiting is await service.collections.of("p")
    assert len(opened) == 1
