"""Outcomes are derived from the repository: a reverted commit counts against the memories used in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.running import running_daemon
from tests.daemon.test_consolidation import SETTINGS
from tests.repositories import commit, git, make_shop

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_reverted_commit_lowers_used_memories(hunchd_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(shop)
        note = {"kind": "episode", "content": "Discounts are kept in cents, never in euros.", "project": str(shop)}
        [used] = daemon.post("/memories", note)["ids"]

        def tell(kind: str, **fields: str) -> None:
            daemon.post("/signals", {"signals": [{"kind": kind, "project": str(shop), **fields}]})

        def happened() -> list[str]:
            return [event["what"] for event in daemon.get(f"/memories/{used}/usage")["events"]]

        tell("used", id=used)
        sha = commit(shop, "Keep discounts in cents", {"shop/basket.py": "class Basket:\n    cents = True\n"})
        tell("commit", sha=sha)
        git(shop, "revert", "--no-edit", sha)
        tell("commit", sha=git(shop, "rev-parse", "HEAD"))

        daemon.wait_until(lambda: len(happened()) == 2, within=60, what="notice the revert")
        assert happened() == [f"commit {sha[:10]}, for which it was used, was reverted", "was acted on"]
