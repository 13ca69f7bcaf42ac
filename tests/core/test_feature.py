"""List of features: every call reaches all of them, in order, and results are joined."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hunchd.core.state.feature import Feature, Features, _make_broadcast
from hunchd.core.state.project import Project

HOOKS = [name for name in vars(Feature) if not name.startswith("_")]


class Recorder(Feature):
    """Feature that records two of its calls."""

    def __init__(self, name: str, calls: list[tuple[Any, ...]]) -> None:
        self._name, self._calls = name, calls

    def on_session_grown(self, session: str) -> None:
        self._calls.append((self._name, session))

    async def forget_memories(self, ids: Any) -> None:
        self._calls.append((self._name, *ids))

    def pending_signals(self) -> int:
        return 2

    def status(self) -> dict[str, Any]:
        return {self._name: 1}

    def project_status(self, project: Project) -> dict[str, Any]:
        return {f"{self._name} of project": 1}

    def metrics(self) -> str:
        return f"{self._name} 1\n"


async def test_calls_reach_features_in_order() -> None:
    calls: list[tuple[Any, ...]] = []
    features = Features()
    features.add(Recorder("a", calls), Feature(), Recorder("b", calls))
    features.on_session_grown("s1")
    await features.forget_memories(["m1", "m2"])
    assert calls == [("a", "s1"), ("b", "s1"), ("a", "m1", "m2"), ("b", "m1", "m2")]


def test_results_of_features_are_joined() -> None:
    features = Features()
    features.add(Recorder("a", []), Recorder("b", []))
    assert features.pending_signals() == 4
    assert features.status() == {"a": 1, "b": 1}
    assert features.project_status(cast(Project, None)) == {"a of project": 1, "b of project": 1}
    assert features.metrics() == "a 1\nb 1\n"


@pytest.mark.parametrize("hook", HOOKS)
def test_features_broadcast_every_hook(hook: str) -> None:
    assert hook in vars(Features)


def test_unjoined_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(self: Feature) -> int:
        return 1

    monkeypatch.setattr(Feature, "count", count, raising=False)
    with pytest.raises(TypeError, match="combined"):
        _make_broadcast("count")
