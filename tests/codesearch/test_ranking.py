"""Files of a real index are ranked for questions, and the index follows what changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hunchd.codesearch import records
from hunchd.codesearch.building import update_index
from hunchd.codesearch.chunks import build_chunks
from hunchd.codesearch.index import BASE, CHANGED_FILE, CodeIndex
from hunchd.codesearch.query import parse_query
from hunchd.codesearch.ranking import PredictionScores, rank
from hunchd.codesearch.results import LEAST_SHARE, build_results, contains_name, drop_weak, extract_snippet
from hunchd.domain.code import FileOutline
from hunchd.ingestion.parsing import parse_outline
from hunchd.store.code_cache import CodeCache

SHOP = {
    "shop/basket.py": (
        "class Basket:\n    def add_item(self, item):\n        self.items.append(item)\n        return self\n"
    ),
    "shop/impls.py": "def encode(value):\n    # turns a price into text\n    return str(value)\n",
    "shop/prices.py": "def apply_discount(price):\n    rate = 3\n    return price - rate\n",
    "tests/test_prices.py": (
        "def test_apply_discount_price():\n    price = 7\n    assert apply_discount(price) == 4\n"
    ),
    "HISTORY.md": "# 1.0\n\nThe shop opens.\n",
    "docs/prices.md": "# Discount of a price\n\nApply a discount to each price.\n",
}


class Shop:
    """A code cache and the index beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = CodeCache(folder / "code.sqlite", writable=True)
        self.index = CodeIndex(folder)
        self.save(SHOP)

    def save(self, files: dict[str, str]) -> None:
        outlines: list[FileOutline] = []
        packed = {}
        for path, text in files.items():
            outlines.append(parse_outline(path, text.encode()))
            packed[path] = records.pack(build_chunks(outlines[-1], text))
        self.cache.put(outlines, chunks=packed)
        self.update()

    def update(self) -> None:
        update_index(self.folder, self.cache)
        self.index.refresh()

    def ask(self, text: str) -> list[str]:
        return [file.path for file in rank(self.index, parse_query(text), PredictionScores()).files]

    def find(self, text: str) -> list[tuple[str, ...]]:
        """Return the path and the reasons of each result."""
        query = parse_query(text)
        results = build_results(self.index, query, rank(self.index, query, PredictionScores()), frozenset())
        return [(result.path, *result.reasons) for result in results]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_rank_source_stands_above_its_test(shop: Shop) -> None:
    ranked = shop.ask("where is the discount applied to a price")

    assert ranked[0] == "shop/prices.py"
    assert set(ranked[:3]) == {"shop/prices.py", "tests/test_prices.py", "docs/prices.md"}


def test_rank_asked_for_tests_shows_them_first(shop: Shop) -> None:
    assert shop.ask("tests for the discount")[0] == "tests/test_prices.py"
    assert shop.ask("documentation of the discount")[0] == "docs/prices.md"


def test_rank_symbol_finds_its_definition(shop: Shop) -> None:
    assert shop.ask("apply_discount")[0] == "shop/prices.py"
    assert shop.ask("Basket.add_item")[0] == "shop/basket.py"


def test_question_for_callers_leaves_out_the_definition(shop: Shop) -> None:
    shop.save({"shop/till.py": "def pay(price):\n    return apply_discount(price)\n"})
    assert shop.ask("where is apply_discount defined?")[0] == "shop/prices.py"
    assert shop.find("what calls apply_discount?")[0][:2] == ("shop/till.py", "uses apply_discount")


def test_question_describing_definition_brings_its_users(shop: Shop) -> None:
    shop.save({"shop/till.py": "def pay(amount):\n    due = amount\n    return apply_discount(due)\n"})

    results = dict(one[:2] for one in shop.find("which code makes use of what lowers a price by a rate?")[:2])

    assert results["shop/till.py"] == "uses apply_discount"


def test_question_for_test_brings_what_mentions_definition(shop: Shop) -> None:
    shop.save({"tests/test_rates.py": "def test_three():\n    left = 7\n    assert apply_discount(left) == 4\n"})
    results = dict(one[:2] for one in shop.find("which test covers what lowers a price by a rate?")[:2])

    assert results["tests/test_rates.py"] == "tests apply_discount"


def test_results_users_contain_the_exact_name(shop: Shop) -> None:
    other = "def pay(price):\n    return apply_discounts(price)\n"
    shop.save({"shop/till.py": other})
    query = parse_query("what calls apply_discount?")
    ranking = rank(shop.index, query, PredictionScores())
    results = build_results(shop.index, query, ranking, frozenset())
    [till] = [result for result in results if result.path == "shop/till.py"]

    assert not contains_name(till, other, query.users_of)
    assert contains_name(till, other.replace("discounts", "discount"), query.users_of)


def test_rank_long_word_finds_short_name(shop: Shop) -> None:
    assert shop.ask("where are the implementations?")[0] == "shop/impls.py"


def test_rank_question_for_list_prefers_constants(shop: Shop) -> None:
    shop.save(
        {
            "shop/pay.py": "def pay(currency):\n    return convert(currency)\n",
            "shop/codes.py": "# Each supported currency\nCODES = (\n    'eur',\n    'usd',\n)\n",
        }
    )
    query = parse_query("which currencies are supported?")
    [best, *_] = build_results(shop.index, query, rank(shop.index, query, PredictionScores()), frozenset())

    assert best.path == "shop/codes.py"


def test_rank_body_stands_before_setter(shop: Shop) -> None:
    body = "".join(f"        step_{number}(gift)\n" for number in range(14))
    setter = "    def set_wrapping(self, wrapping):\n        self.wrapping = wrapping\n        return self\n"
    shop.save({"shop/gift.py": f"class Gift:\n{setter}\n    def wrap(self, gift):\n{body}"})
    query = parse_query("where is the wrapping of a gift done?")
    ranking = rank(shop.index, query, PredictionScores())

    results = build_results(shop.index, query, ranking, frozenset())

    assert results[0].name == "wrap"


def test_rank_traceback_leads_to_its_file(shop: Shop) -> None:
    text = 'it fails\n  File "/srv/shop/impls.py", line 2, in encode\nTypeError: price'

    ranking = rank(shop.index, parse_query(text), PredictionScores())
    [best, *_] = build_results(shop.index, parse_query(text), ranking, frozenset())

    assert (best.path, best.name) == ("shop/impls.py", "encode")
    assert "in the traceback" in best.reasons


def test_rank_prediction_and_meaning_count(shop: Shop) -> None:
    query = parse_query("thing")
    near = np.array([float(shop.index.paths[file] == "shop/basket.py") for file in shop.index.chunk_files], "<f4")

    assert (
        rank(shop.index, query, PredictionScores({"shop/impls.py": 2.0, "shop/prices.py": 1.0})).files[0].path
        == "shop/impls.py"
    )
    assert rank(shop.index, query, PredictionScores(), near).files[0].path == "shop/basket.py"


def test_sentence_finds_chunk_by_meaning_alone(shop: Shop) -> None:
    query = parse_query("Where is it that they get their rebate?")
    near = np.array([float(shop.index.paths[file] == "shop/basket.py") for file in shop.index.chunk_files], "<f4")
    ranking = rank(shop.index, query, PredictionScores(), near)
    [best, *_] = build_results(shop.index, query, ranking, frozenset())

    assert query.is_sentence
    assert not parse_query("basket store rebate lookup").is_sentence
    assert best.path == "shop/basket.py"
    assert "close in meaning" in best.reasons


def test_index_follows_saves_and_removals(shop: Shop) -> None:
    base = (shop.folder / BASE).stat().st_mtime_ns
    shop.save({"shop/basket.py": "class Trolley:\n    def push(self):\n        pass\n"})
    shop.cache.remove(["shop/impls.py"])
    shop.update()

    assert (shop.folder / BASE).stat().st_mtime_ns == base
    assert (shop.folder / CHANGED_FILE).exists()
    assert shop.ask("Trolley") == ["shop/basket.py"]
    assert "shop/impls.py" not in shop.ask("encode a price into text")
    assert "shop/basket.py" not in shop.ask("append item")


def test_index_of_recreated_cache_is_rebuilt(shop: Shop) -> None:
    shop.cache.close()
    for ending in ("", "-wal", "-shm"):
        (shop.folder / f"code.sqlite{ending}").unlink(missing_ok=True)
    shop.cache = CodeCache(shop.folder / "code.sqlite", writable=True)
    shop.save({"new.py": "def lantern():\n    light = 1\n    return light\n"})

    assert shop.index.paths == ("new.py",)


def test_index_damaged_file_is_empty(shop: Shop) -> None:
    (shop.folder / BASE).write_bytes(b"hunchcs1" + bytes(5))
    shop.index.refresh()

    assert len(shop.index) == 0
    assert shop.ask("discount") == []
    shop.update()
    assert shop.ask("discount")


def test_result_shows_lines_that_answer(shop: Shop) -> None:
    query = parse_query("where are items appended to the basket")
    ranking = rank(shop.index, query, PredictionScores())
    [best, *_] = build_results(shop.index, query, ranking, frozenset())

    assert (best.path, best.start, best.end) == ("shop/basket.py", 2, 4)
    assert best.title.startswith("Basket: def add_item(")
    assert "self.items.append(item)" in extract_snippet(best, SHOP["shop/basket.py"])
    assert any("items" in reason for reason in best.reasons)


def test_snippet_leaves_out_the_signature(shop: Shop) -> None:
    query = parse_query("apply_discount")
    ranking = rank(shop.index, query, PredictionScores())
    [best, *_] = build_results(shop.index, query, ranking, frozenset())

    assert extract_snippet(best, SHOP["shop/prices.py"]) == "rate = 3\nreturn price - rate"


def test_rank_changelog_question_finds_it_by_role(shop: Shop) -> None:
    assert "HISTORY.md" in shop.ask("how do I add a changelog entry for a discount")[:3]


def test_changelog_task_shows_newest_section(shop: Shop) -> None:
    shop.save({"CHANGES.md": "# Changes\n\n## Unreleased\n\n## 1.0\n\n- A change log entry is added.\n"})
    query = parse_query("how do I add a change log entry")
    ranking = rank(shop.index, query, PredictionScores())
    results = build_results(shop.index, query, ranking, frozenset())
    assert next(result.name for result in results if result.path == "CHANGES.md") == "Unreleased"


def test_results_far_below_best_are_dropped(shop: Shop) -> None:
    ranking = rank(shop.index, parse_query("apply_discount"), PredictionScores())
    best, *rest = ranking.files
    weak = replace(rest[-1], score=best.score * LEAST_SHARE * 0.9)
    assert drop_weak([best, weak]) == [best]
    assert drop_weak([best, replace(weak, is_mentioned=True)]) == [best, replace(weak, is_mentioned=True)]


def test_result_prefers_what_does_something(shop: Shop) -> None:
    shop.save(
        {
            "shop/orders.py": "from shop.orders import cancel_order, cancel, order, orders\n\n\n"
            "def cancel(order):\n    order.state = 0\n    return order\n"
        }
    )
    query = parse_query("where are orders cancelled by cancel_order")
    ranking = rank(shop.index, query, PredictionScores())
    [best, *_] = build_results(shop.index, query, ranking, frozenset())

    assert (best.path, best.name) == ("shop/orders.py", "cancel")
