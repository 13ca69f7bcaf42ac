"""Pairs are judged behind pending requests, and the model is released when there are none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from hunchd.daemon.statement_reader import PairReader
from hunchd.embedding.embedder import ContradictionModel, LazyModel, ModelUnavailable
from hunchd.protocol.child import HelperProcess
from hunchd.store.client import StoreClient, build_command, build_environment
from tests.daemon.reading import FakeModels

PAIR = ("Audio is mixed in stereo", "The mixer output is mono")
OTHER = ("Audio is mixed in stereo", "The mixer is written in Rust")


class Recording:
    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.read += pairs
        return [0.5] * len(pairs)


def late(model: Recording) -> LazyModel[ContradictionModel]:
    return LazyModel("recording", lambda: model, idle_after=60.0)


async def test_reader_yields_to_requests_with_limit() -> None:
    model, busy = Recording(), True
    reading = PairReader(late(model), lambda: busy)
    waiting = asyncio.create_task(reading.rate_pairs([PAIR]))
    for _ in range(10):
        await asyncio.sleep(0)
    assert model.read == []
    assert await waiting == [0.5]  # asked without a pause: read all the same
    busy = False
    assert await reading.rate_pairs([PAIR, OTHER]) == [0.5, 0.5]


async def test_reader_without_model_reports_failure() -> None:
    def missing() -> ContradictionModel:
        raise ModelUnavailable("it is not there")

    reading = PairReader(LazyModel("missing", missing, idle_after=60.0), lambda: False)
    assert await reading.rate_pairs([PAIR]) is None
    assert reading.failure == "it is not there"


async def test_store_process_releases_idle_reader_model(tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    line = build_command(tmp_path / "data", idle_after=60, model="minilm-int8", embedding=True, model_idle_after=0.2)
    child = HelperProcess(line, name="the store process", env=build_environment() | models.environment)
    store = StoreClient(child)
    assert await store.rate_pairs([]) == ()
    assert models.loads == 0
    assert await store.rate_pairs([PAIR, OTHER]) == (0.97, 0.03)
    async with asyncio.timeout(30):
        while models.loads < 2:  # it was let go: the next pair loads it again
            await asyncio.sleep(0.4)
            assert await store.rate_pairs([PAIR]) == (0.97,)
    await child.stop()


async def test_store_process_rates_sentences_in_order(tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    line = build_command(tmp_path / "data", idle_after=60, model="minilm-int8", embedding=True, model_idle_after=60)
    child = HelperProcess(line, name="the store process", env=build_environment() | models.environment)
    assert await StoreClient(child).rate_sentences([PAIR, OTHER]) == [json.dumps(one).encode() for one in (PAIR, OTHER)]
    await child.stop()


async def test_reader_is_off_without_embedding(tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    line = build_command(tmp_path / "data", idle_after=60, model="minilm-int8", embedding=False, model_idle_after=60)
    child = HelperProcess(line, name="the store process", env=build_environment() | models.environment)
    assert await StoreClient(child).rate_pairs([PAIR]) is None
    assert await StoreClient(child).rate_sentences([PAIR]) is None
    assert models.loads == 0
    await child.stop()
