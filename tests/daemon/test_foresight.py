"""Prefetching: expected bundles are ready before they are requested, and the metrics show the benefit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import git, make_shop

pytestmark = pytest.mark.daemon("shared")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def prefetch(daemon: RunningDaemon) -> dict[str, Any]:
    told: dict[str, Any] = daemon.get("/status")["prefetch"]
    return told


def opened(daemon: RunningDaemon, shop: Path, path: str) -> None:
    daemon.post("/signals", {"signals": [{"kind": "file_opened", "project": str(shop), "path": path}]})


@pytest.mark.daemon("own")
def test_prefetch_hit_metrics_survive_restart(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    before = prefetch(daemon)["built_ahead"]
    opened(daemon, shop, "shop/basket.py")
    daemon.wait_until(lambda: prefetch(daemon)["built_ahead"] > before + 1, within=60, what="build ahead")
    opened(daemon, shop, "shop/checkout.py")

    assert daemon.get("/context", project=str(shop), file="shop/checkout.py")["prefetched"]
    day = prefetch(daemon)["day"]
    assert (day["opened"], day["hit_rate"]) == (1, 1.0)
    assert day["lead_seconds"] >= 0
    assert day["ahead_bytes"] > 0
    assert 'hunchd_foresight_hit_ratio{over="week"} 1' in daemon.get("/metrics")

    daemon.restart()
    assert prefetch(daemon)["week"]["hit_rate"] == 1.0


def test_visited_file_is_predicted_unless_open(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    for path in ("docs/colours.md", "shop/basket.py", "docs/colours.md", "shop/basket.py"):
        opened(daemon, shop, path)
    question = {"project": str(shop), "file_opened": "shop/basket.py"}

    def next_files(**more: object) -> list[str]:
        told = daemon.post("/context/predict", question | more)["predicted_files"]
        return [file["path"] for file in told]

    assert "docs/colours.md" in next_files()[:2]
    assert "shop/basket.py" not in next_files()
    assert "docs/colours.md" not in next_files(open_files=["docs/colours.md"])


@pytest.mark.daemon("own")
def test_repeated_first_requests_count_once(daemon: RunningDaemon, shop: Path) -> None:
    daemon.post("/projects", {"path": str(shop)})
    asked = 0

    def useful() -> bool:
        nonlocal asked
        asked += 1
        bundle = daemon.get("/context", project=str(shop), file="shop/basket.py")
        return any(item["tier"] <= 2 for item in bundle["items"])

    daemon.wait_until(useful, within=60, what="tell something useful")
    assert asked > 1
    assert prefetch(daemon)["answers"] == 1


def test_checkout_prefetches_bundles_of_branch(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    names = (f"faster-checkout-{number}" for number in itertools.count())

    def first_answer_was_ready() -> bool:
        """What is still built because the project is new may come between: then another branch is tried."""
        before, name = prefetch(daemon)["built_ahead"], next(names)
        git(shop, "checkout", "-q", "-b", name)
        daemon.wait_until(
            lambda: daemon.get("/projects")["items"][0]["branch"] == name, within=60, what="the checkout is seen"
        )
        daemon.wait_until(lambda: prefetch(daemon)["built_ahead"] > before, within=60, what="a bundle is built ahead")
        ready: bool = daemon.get("/context", project=str(shop))["prefetched"]
        return ready

    daemon.wait_until(first_answer_was_ready, within=60, what="have a branch's bundle warm")


def test_line_authors_of_open_file_are_learned(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    opened(daemon, shop, "shop/basket.py")

    def first_unit() -> dict[str, Any]:
        question = {"project": str(shop), "file_opened": "shop/basket.py", "query": "items of the basket"}
        unit: dict[str, Any] = daemon.post("/context/predict", question)["predicted_memories"][0]
        return unit

    daemon.wait_until(lambda: "wrote lines about it" in first_unit()["reasons"], within=60, what="read the lines")


def test_joining_colleague_appears_in_context(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    signal = {"kind": "collaborator_joined", "project": str(shop), "name": "Grace Hopper", "email": "g@example.org"}
    daemon.post("/signals", {"signals": [signal]})

    items = daemon.get("/context", project=str(shop), file="shop/basket.py")["items"]
    assert [item["kind"] for item in items].count("collaborator") == 1
    assert "Grace Hopper joined just now" in daemon.get("/context", project=str(shop), file="shop/basket.py")["context"]


def test_default_branch_name_is_not_a_query(daemon: RunningDaemon, shop: Path) -> None:
    git(shop, "branch", "-m", "colours")
    git(shop, "update-ref", "refs/remotes/origin/colours", "HEAD")
    git(shop, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/colours")
    daemon.add(shop)

    def why() -> str:
        """Of the page that only the branch's name leads to."""
        told = daemon.post("/context/predict", {"project": str(shop), "file_opened": "shop/basket.py"})
        found = [file["reasons"] for file in told["predicted_files"] if file["path"] == "docs/colours.md"]
        return "; ".join(itertools.chain(*found))

    assert "past work on" not in why()
    git(shop, "checkout", "-q", "-b", "new-colours")
    daemon.wait_until(lambda: "past work on «Colours: blue at last»" in why(), within=60, what="read a branch's name")
