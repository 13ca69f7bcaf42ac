"""The uncommitted change, from outside: what it touches is what the context is about, and what it lacks is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git, make_shop

pytestmark = pytest.mark.daemon("shared")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def edit(shop: Path, *paths: str) -> None:
    for path in paths:
        (shop / path).write_text((shop / path).read_text() + "# a discount\n")


def review(daemon: RunningDaemon, shop: Path, **more: str) -> tuple[list[str], list[str]]:
    """Paths that are missing, and those that are changed."""
    told = daemon.post("/context/review", {"project": str(shop), **more})
    return [one["path"] for one in told["missing"]], told["changed"]


def test_review_of_half_a_change_names_the_rest(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    edit(shop, "shop/basket.py")

    missing, changed = review(daemon, shop)

    assert changed == ["shop/basket.py"]
    assert set(missing) == {"shop/checkout.py", "tests/test_basket.py"}
    [first, *_] = daemon.post("/context/review", {"project": str(shop)})["missing"]
    assert 0 < first["probability"] <= 1
    assert any("changed together with basket.py 8 of 8 times" in reason for reason in first["reasons"])


def test_review_of_a_complete_change_is_silent(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    assert review(daemon, shop) == ([], [])  # nothing is changed

    edit(shop, "shop/basket.py", "shop/checkout.py", "tests/test_basket.py")

    assert review(daemon, shop)[0] == []


def test_review_with_base_counts_committed_files(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    git(shop, "checkout", "-q", "-b", "discount")
    edit(shop, "shop/basket.py")
    commit(shop, "A discount for the basket", {})

    missing, changed = review(daemon, shop, base="main")

    assert changed == ["shop/basket.py"]
    assert "tests/test_basket.py" in missing
    status, _ = daemon.request("POST", "/context/review", {"project": str(shop), "base": "nowhere"})
    assert status == 422 or status == 400


def test_context_without_file_is_about_the_change(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    edit(shop, "shop/basket.py")
    (shop / "shop" / "voucher.py").write_text("class Voucher: ...\n")

    bundle = daemon.get("/context", project=str(shop))

    files = {item["source"]["path"] for item in bundle["items"] if item["kind"] == "file"}
    assert {"shop/checkout.py", "tests/test_basket.py"} <= files
    assert "shop/basket.py" not in files  # it is before the reader's eyes
    assert "uncommitted change of 2 files" in bundle["context"].splitlines()[0]


def test_context_while_reviewing_begins_with_what_is_missing(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    edit(shop, "shop/basket.py")

    reviewing = daemon.get("/context", project=str(shop), activity="reviewing")
    coding = daemon.get("/context", project=str(shop))

    assert "this change may lack tests/test_basket.py" in reviewing["context"].partition("## Likely next")[0]
    assert "may lack" not in coding["context"]
