"""Tests of the cost ledger: the daily limit holds under all failures."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hunchd.core.cost_ledger import KEPT_DAYS, CostLedger, DailyCost, TokenPrices
from hunchd.domain.errors import StoreError

PRICES = TokenPrices(input=1.0, output=5.0)  # a thousand tokens in and a hundred out: 0.0015 $


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spending.json"


def ledger(path: Path, clock: Clock, limit: float = 0.01) -> CostLedger:
    return CostLedger(path, limit=limit, prices=PRICES, now=clock)


def test_reserve_above_limit_returns_false(path: Path, clock: Clock) -> None:
    kept = ledger(path, clock, limit=0.004)
    assert [kept.reserve(1_000, 100) for _ in range(3)] == [True, True, False]
    assert kept.today.usd == pytest.approx(0.003)


def test_settle_releases_unused_reservation(path: Path, clock: Clock) -> None:
    kept = ledger(path, clock)
    assert kept.reserve(1_000, 100)
    kept.settle((1_000, 100), (400, 20), is_failure=False)
    assert kept.today == DailyCost(pytest.approx(0.0005), 1, 0, 400, 20)


def test_reservation_survives_crash(path: Path, clock: Clock) -> None:
    first = ledger(path, clock, limit=0.002)
    assert first.reserve(1_000, 100)
    second = ledger(path, clock, limit=0.002)
    assert not second.reserve(1_000, 100)
    assert second.today.usd == pytest.approx(0.0015)


def test_next_day_starts_with_full_budget(path: Path, clock: Clock) -> None:
    kept = ledger(path, clock, limit=0.002)
    assert kept.reserve(1_000, 100)
    clock.at += timedelta(seconds=kept.seconds_to_midnight() + 1)
    assert kept.today == DailyCost()
    assert kept.reserve(1_000, 100)


def test_clock_moved_back_keeps_expenses(path: Path, clock: Clock) -> None:
    kept = ledger(path, clock, limit=0.002)
    assert kept.reserve(1_000, 100)
    clock.at += timedelta(days=1)
    assert kept.reserve(1_000, 100)
    clock.at -= timedelta(days=1)
    assert not kept.reserve(1_000, 100)


def test_ledger_keeps_one_month(path: Path, clock: Clock) -> None:
    kept = ledger(path, clock)
    for _ in range(KEPT_DAYS + 5):
        assert kept.reserve(1, 1)
        clock.at += timedelta(days=1)
    assert len(json.loads(path.read_text())["days"]) == KEPT_DAYS


@pytest.mark.parametrize("text", ["", "{", "[]", '{"since": "x", "days": {}}', '{"since": "2026-03-01", "days": []}'])
def test_unreadable_ledger_blocks_today(path: Path, clock: Clock, text: str) -> None:
    path.write_text(text)
    assert not ledger(path, clock).reserve(1, 1)


def test_invalid_amount_blocks_today(path: Path, clock: Clock) -> None:
    path.write_text('{"since": "2026-03-01T12:00:00+00:00", "days": {"2026-03-01": {"usd": NaN}}}')
    assert not ledger(path, clock).reserve(1, 1)


def test_reserve_unwritable_raises_store_error(tmp_path: Path, clock: Clock) -> None:
    kept = ledger(tmp_path / "missing" / "spending.json", clock)
    with pytest.raises(StoreError):
        kept.reserve(1, 1)
    assert kept.today == DailyCost()


def test_free_model_counts_requests_only(path: Path, clock: Clock) -> None:
    kept = CostLedger(path, limit=0.0, prices=TokenPrices(0.0, 0.0), now=clock)
    assert kept.reserve(10_000, 10_000)
    assert kept.today.questions == 1
