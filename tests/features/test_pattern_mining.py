"""When the code of a project is searched for patterns."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hunchd.core.state.apply_signal import SignalEffect
from hunchd.core.state.feature import AppliedSignal
from hunchd.features.patterns.pattern_mining import PatternMiner


class Miner:
    """Fake of the mining process, which finds nothing."""

    def __init__(self) -> None:
        self.started = 0

    async def stream(self, *_: Any) -> Any:
        self.started += 1
        for _none in ():
            yield _none


@pytest.fixture
def project() -> Any:
    return SimpleNamespace(
        id="p", name="p", root="/p", is_missing=False, indexing=None,
        last_signal=None, mining=SimpleNamespace(done=0, total=0), is_mining=False, patterns=(),
    )  # fmt: skip


async def test_project_is_mined_once_per_interval(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    miner = Miner()
    settings = SimpleNamespace(index=SimpleNamespace(patterns=True, patterns_idle_seconds=0.0, ignore=()))
    dependencies = SimpleNamespace(miner=miner, settings=settings, now=None)
    events = SimpleNamespace(publish=lambda *_, **__: None)
    feature = PatternMiner(
        cast(Any, None), lambda _: project, cast(Any, dependencies), cast(Any, events), cast(Any, None)
    )
    monkeypatch.setattr(feature, "_store_patterns", lambda *_: asyncio.sleep(0, 0))
    monkeypatch.setattr(feature, "_mine_patterns", lambda _: collect(miner))
    task = asyncio.create_task(feature.run())

    def learn(refresh: bool) -> None:
        effect = SignalEffect(catch_up=refresh)
        feature.on_signal(cast(AppliedSignal, SimpleNamespace(effect=effect, project=project)))

    learn(refresh=False)
    await asyncio.sleep(0.01)
    assert miner.started == 0
    learn(refresh=True)
    await asyncio.sleep(0.01)
    learn(refresh=True)
    feature.on_model_loaded(project)
    await asyncio.sleep(0.01)
    task.cancel()

    assert miner.started == 1


async def collect(miner: Miner) -> list[Any]:
    return [step async for step in miner.stream()]
