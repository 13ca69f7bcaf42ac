"""Questions in words are answered with code by a running daemon, which follows what is saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git

FILES = {
    "shop/basket.py": (
        "class Basket:\n    def add_item(self, item):\n        self.items.append(item)\n        return self\n"
    ),
    "shop/prices.py": "def apply_discount(price):\n    rate = 3\n    return price - rate\n",
    "tests/test_prices.py": "def test_apply_discount():\n    price = 7\n    assert apply_discount(price) == 4\n",
    "README.md": "# Shop\n\nA shop.\n\n## Discounts\n\nA discount is applied to every price.\n",
}


def until(condition: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


@pytest.fixture
def shop(tmp_path: Path, daemon: RunningDaemon) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Open the shop", FILES)
    commit(root, "Lower the discount because margins fell", {"shop/prices.py": FILES["shop/prices.py"] + "\n"})
    daemon.add(root)
    return root


def asked(daemon: RunningDaemon, shop: Path, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = daemon.post("/search", {"project": str(shop), "query": query, **more})
    return list(answer["results"])


@pytest.mark.daemon("shared")
def test_search_where_question_brings_code_first(daemon: RunningDaemon, shop: Path) -> None:
    best = asked(daemon, shop, "where is the discount applied to a price")[0]

    assert (best["kind"], best["id"]) == ("code", "file:shop/prices.py")
    assert best["source"]["path"] == "shop/prices.py"
    assert (best["source"]["start_line"], best["source"]["end_line"]) == (1, 3)
    assert best["title"].startswith("def apply_discount(price)")
    assert "rate" in best["snippet"]
    assert best["reasons"]


@pytest.mark.daemon("shared")
def test_search_why_question_brings_history_first(daemon: RunningDaemon, shop: Path) -> None:
    until(lambda: any(one["kind"] == "episode" for one in asked(daemon, shop, "discount margins")))

    assert asked(daemon, shop, "why was the discount lowered")[0]["kind"] == "episode"


@pytest.mark.daemon("shared")
def test_search_filters_narrow_code(daemon: RunningDaemon, shop: Path) -> None:
    code = asked(daemon, shop, "discount", kinds=["code"])
    assert {one["kind"] for one in code} == {"code"}
    assert {one["source"]["path"] for one in asked(daemon, shop, "discount", path_prefix="tests/", kinds=["code"])} == {
        "tests/test_prices.py"
    }
    assert {one["source"]["role"] for one in asked(daemon, shop, "discount", roles=["docs"])} == {"docs"}
    assert not asked(daemon, shop, "discount", languages=["rust"])
    assert all(one["kind"] != "code" for one in asked(daemon, shop, "discount", kinds=["episode"]))


@pytest.mark.daemon("shared")
def test_search_follows_saved_file(daemon: RunningDaemon, shop: Path) -> None:
    (shop / "shop/trolley.py").write_text("class Trolley:\n    def push(self, metres):\n        return metres\n")
    found = until(lambda: asked(daemon, shop, "Trolley", kinds=["code"]))

    assert found[0]["source"]["path"] == "shop/trolley.py"


@pytest.mark.daemon("shared")
def test_predict_query_needs_no_file(daemon: RunningDaemon, shop: Path) -> None:
    answer = daemon.post("/context/predict", {"project": str(shop), "query": "apply_discount returns too much"})

    assert answer["predicted_files"][0]["path"] == "shop/prices.py"


@pytest.mark.daemon("shared")
def test_search_long_report_is_read(daemon: RunningDaemon, shop: Path) -> None:
    trace = f'Traceback:\n  File "{shop}/shop/basket.py", line 3, in add_item\nAttributeError: items\n'
    report = "Adding fails\n\n### Environment\n" + "version: 1.2.3\n" * 600 + trace

    best = asked(daemon, shop, report)[0]

    assert best["source"]["path"] == "shop/basket.py"
    assert "in the traceback" in best["reasons"]


@pytest.mark.daemon("shared")
def test_search_vectors_find_other_words(daemon: RunningDaemon, shop: Path) -> None:
    def embedded() -> bool:
        cards = next(one for one in daemon.get("/status")["projects"] if one["path"] == str(shop)).get("cards", {})
        return bool(cards and cards["done"] == cards["total"] > 0)

    until(embedded)

    best = asked(daemon, shop, "rebates on the costs of goods", kinds=["code"])[0]
    assert best["source"]["path"] in ("shop/prices.py", "README.md")
    assert "close in meaning" in best["reasons"]
