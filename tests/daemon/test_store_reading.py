"""Pairs are read behind whoever asks something, and the model goes when nobody has pairs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from hunchd.daemon.store_reading import Reading
from hunchd.embedding.embedder import Late, ModelUnavailable, Reader
from hunchd.protocol.child import Child
from hunchd.store.client import StoreClient, arguments, environment
from tests.daemon.reading import FakeModels

PAIR = ("Audio is mixed in stereo", "The mixer output is mono")
OTHER = ("Audio is mixed in stereo", "The mixer is written in Rust")


class Recording:
    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def contradict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.read += pairs
        return [0.5] * len(pairs)


def late(model: Recording) -> Late[Reader]:
    return Late("recording", lambda: model, idle_after=60.0)


async def test_a_pair_waits_while_somebody_waits_for_an_answer_and_not_for_ever() -> None:
    model, busy = Recording(), True
    reading = Reading(late(model), lambda: busy)
    waiting = asyncio.create_task(reading.contradict([PAIR]))
    for _ in range(10):
        await asyncio.sleep(0)
    assert model.read == []
    assert await waiting == [0.5]  # asked without a pause: read all the same
    busy = False
    assert await reading.contradict([PAIR, OTHER]) == [0.5, 0.5]


async def test_without_a_model_nothing_is_said_of_pairs_and_why_is_told() -> None:
    def missing() -> Reader:
        raise ModelUnavailable("it is not there")

    reading = Reading(Late("missing", missing, idle_after=60.0), lambda: False)
    assert await reading.contradict([PAIR]) is None
    assert reading.failure == "it is not there"


async def test_the_store_process_reads_pairs_and_lets_the_model_go_when_it_has_none(tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    line = arguments(tmp_path / "data", idle_after=60, model="minilm-int8", embedding=True, model_idle_after=0.2)
    child = Child(line, name="the store process", env=environment() | models.environment)
    store = StoreClient(child)
    assert await store.contradict([]) == ()
    assert models.loads == 0
    assert await store.contradict([PAIR, OTHER]) == (0.97, 0.03)
    async with asyncio.timeout(30):
        while models.loads < 2:  # it was let go: the next pair loads it again
            await asyncio.sleep(0.4)
            assert await store.contradict([PAIR]) == (0.97,)
    await child.stop()


async def test_with_embedding_switched_off_no_pair_is_read(tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    line = arguments(tmp_path / "data", idle_after=60, model="minilm-int8", embedding=False, model_idle_after=60)
    child = Child(line, name="the store process", env=environment() | models.environment)
    assert await StoreClient(child).contradict([PAIR]) is None
    assert models.loads == 0
    await child.stop()
