"""Comparison of statement pairs as in the daemon, including a language model.

For `contradictions.py blind --judge`: the real model is called through the daemon's own process for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contradiction_material import Pair

from hunchd.config.settings import LanguageSettings
from hunchd.consolidation.contradictions.candidate_search import (
    ContradictingPair,
    compare_with_candidates,
    select_most_probable,
)
from hunchd.core.cost_ledger import CostLedger, DailyCost, TokenPrices
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.features.contradictions.contradiction_judge import ContradictionJudge
from hunchd.features.contradictions.verdict_cache import VerdictCache
from hunchd.language.client import LanguageClient, build_process_arguments, create_language_client
from hunchd.protocol.child import HelperProcess

STORED_AT = datetime(2026, 1, 1, tzinfo=UTC)

Read = Callable[[Pair], float | None]  # probability that both cannot hold; None without a model


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Contradictions of the newer statement, before and after the language model."""

    before: Sequence[ContradictingPair]
    after: Sequence[ContradictingPair]
    is_free: bool  # pairs for the language model
    is_answered: bool


async def judge_all(
    pairs: Sequence[Pair], read: Read, settings: LanguageSettings
) -> tuple[list[JudgedPair], DailyCost]:
    """Judge each pair on its own, and return the cost too."""
    child = HelperProcess(build_process_arguments(), name="the language process")
    client = create_language_client(child, settings)
    assert client is not None, "switched off"
    try:
        with tempfile.TemporaryDirectory() as folder:
            ledger = _ledger(Path(folder), settings)
            found = [
                await _judge_pair(pair, read, client, ledger, Path(folder, f"{number}.json"))
                for number, pair in enumerate(pairs)
            ]
            return found, ledger.today
    finally:
        await child.stop()


async def _judge_pair(pair: Pair, read: Read, client: LanguageClient, ledger: CostLedger, verdicts: Path) -> JudgedPair:
    """Judge a pair with a `PairJudge` of its own, so that a failure does not affect others."""
    older, new = _make_memory("known", pair.a, STORED_AT), _make_memory("new", pair.b, STORED_AT + timedelta(days=1))
    look = compare_with_candidates(new, [older])
    reading = read(pair) if look.unsettled_pairs else None
    contradicting = look.apply_probabilities({} if reading is None else {(older.id, new.id): reading})
    after = await ContradictionJudge(client, ledger, verdicts).judge(new, look, contradicting)
    answered = VerdictCache(verdicts).get(older, new) is not None
    return JudgedPair(
        select_most_probable(contradicting), after, bool(look.select_for_language_model(contradicting)), answered
    )


def _make_memory(identifier: str, text: str, at: datetime) -> Memory:
    return Memory(
        id=identifier,
        kind=Kind.FACT,
        title=text,
        content=text,
        at=at,
        created=at,
        updated=at,
        project="p",
        trust=Trust.USER,
    )


def _ledger(folder: Path, settings: LanguageSettings) -> CostLedger:
    prices = TokenPrices(settings.input_usd_per_million, settings.output_usd_per_million)
    limit = settings.daily_limit_usd
    return CostLedger(folder / "spending.json", limit=limit, prices=prices, now=lambda: datetime.now(UTC))
