"""Implementations of the port that the contract suite runs against."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from hunchd.protocol.child import HelperProcess
from hunchd.store.client import StoreClient, build_command, build_environment
from hunchd.store.port import MemoryStore
from tests.store.contract.dict_store import DictStore, Shelf


class Opener(Protocol):
    """Opens the store of a test; the second time it holds what the first one left."""

    def __call__(self) -> Awaitable[MemoryStore]: ...


@asynccontextmanager
async def open_lancedb(folder: Path) -> AsyncIterator[Opener]:
    """LanceDB in a store process, without a model."""
    line = build_command(folder, idle_after=60, model="minilm-int8", embedding=False, model_idle_after=60)
    children: list[HelperProcess] = []

    async def open_store() -> MemoryStore:
        for child in children:
            await child.stop()
        children.append(HelperProcess(line, name="the store process", env=build_environment()))
        return StoreClient(children[-1])

    try:
        yield open_store
    finally:
        for child in children:
            await child.stop()


@asynccontextmanager
async def open_dictionaries(_: Path) -> AsyncIterator[Opener]:
    """Dictionaries of this process."""
    shelf = Shelf()

    async def open_store() -> MemoryStore:
        return DictStore(shelf)

    yield open_store


IMPLEMENTATIONS: dict[str, Callable[[Path], object]] = {"lancedb": open_lancedb, "dictionaries": open_dictionaries}


@pytest.fixture(params=[pytest.param("lancedb", marks=pytest.mark.process), "dictionaries"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Return a function that opens the store under test anew."""
    async with IMPLEMENTATIONS[request.param](tmp_path / "data") as opener:  # type: ignore[attr-defined]
        yield opener


@pytest.fixture
async def store(open_store: Opener) -> MemoryStore:
    return await open_store()
