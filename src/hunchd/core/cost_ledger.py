"""Ledger of the language model's daily cost; it enforces the daily limit."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hunchd.assembly.token_counter import count_tokens
from hunchd.core.state.dependencies import Dependencies
from hunchd.domain.errors import StoreError
from hunchd.language.model_requests import ModelAnswer, ModelFailure, ModelRequest, TokenUsage
from hunchd.store.files import FileOperations, replace_file

logger = logging.getLogger(__name__)

# Our token counts are at most a few percent below the provider's; the text around a question is short.
TOKEN_MARGIN: Final = 1.25
FORM_TOKENS: Final = 600

KEPT_DAYS: Final = 31  # days


@dataclass(frozen=True, slots=True)
class DailyCost:
    """Cost of the language model on one day.

    `usd` includes the reservation for a pending request until the actual cost is known.
    """

    usd: float = 0.0
    questions: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices in US dollars per million tokens."""

    input: float
    output: float

    def compute_cost(self, input_tokens: int, output_tokens: int) -> float:
        """Compute the cost in US dollars of the given numbers of tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


class CostLedger:
    """Ledger of the language model's cost per day, saved before each request.

    A crash therefore never loses the record of money that was spent.
    """

    def __init__(self, path: Path, *, limit: float, prices: TokenPrices, now: Callable[[], datetime]) -> None:
        self._path = path
        self._limit = limit  # US dollars per day
        self._prices = prices
        self._now = now
        self._days: dict[str, DailyCost] = {}
        self.since: datetime = now()  # when the feature was first used
        self._load()

    @property
    def today(self) -> DailyCost:
        return self._days.get(self._get_today_key(), DailyCost())

    def reserve(self, input_tokens: int, output_tokens: int) -> bool:
        """Reserve the maximum cost of a request.

        Returns False if today's limit does not allow it. Raises StoreError if the reservation cannot be saved,
        because an amount that is not on disk could be spent twice.
        """
        worst = self._prices.compute_cost(input_tokens, output_tokens)
        today = self.today
        if today.usd + worst > self._limit:
            return False
        self._save(replace(today, usd=today.usd + worst, questions=today.questions + 1))
        return True

    def settle(self, reserved_tokens: tuple[int, int], used_tokens: tuple[int, int], *, is_failure: bool) -> None:
        """Replace a reservation with the actual cost.

        If a request was interrupted and its cost is unknown, the whole reservation counts as spent.
        """
        worst, took = self._prices.compute_cost(*reserved_tokens), self._prices.compute_cost(*used_tokens)
        today = self.today
        self._save(
            replace(
                today,
                usd=max(0.0, today.usd - worst + took),
                failed=today.failed + is_failure,
                input_tokens=today.input_tokens + used_tokens[0],
                output_tokens=today.output_tokens + used_tokens[1],
            )
        )

    def seconds_to_midnight(self) -> float:
        """Return the seconds until the daily limit is reset, at least 1."""
        now = self._now().astimezone()
        return max(1.0, 86_400.0 - (now.hour * 3_600 + now.minute * 60 + now.second))

    def _get_today_key(self) -> str:
        return self._now().astimezone().date().isoformat()

    def _save(self, today: DailyCost) -> None:
        days = {**self._days, self._get_today_key(): today}
        kept_days = {day: days[day] for day in sorted(days)[-KEPT_DAYS:]}
        content = {
            "since": self.since.isoformat(),
            "days": {day: asdict(daily_cost) for day, daily_cost in kept_days.items()},
        }
        try:
            replace_file(FileOperations(), self._path, json.dumps(content).encode())
        except OSError as error:
            raise StoreError(f"could not save the cost of the language model: {error}") from error
        self._days = kept_days

    def _load(self) -> None:
        try:
            content: Any = json.loads(self._path.read_bytes())
            self.since = datetime.fromisoformat(content["since"])
            self._days = {str(day): _parse_daily_cost(daily_cost) for day, daily_cost in content["days"].items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            # Assume that today's budget is spent: no requests for a day are better than twice the limit.
            logger.exception("could not read %s; the language model will not be used again today", self._path)
            self._days = {self._get_today_key(): DailyCost(usd=self._limit)}


def _parse_daily_cost(raw: dict[str, Any]) -> DailyCost:
    daily_cost = DailyCost(**raw)
    if not math.isfinite(daily_cost.usd) or daily_cost.usd < 0:
        raise ValueError(f"{daily_cost.usd!r} is not a valid amount of money, such as 1.50")
    return daily_cost


def create_ledger(parts: Dependencies) -> CostLedger:
    """Create the cost ledger that all callers of the language model share."""
    settings = parts.settings.language
    prices = TokenPrices(settings.input_usd_per_million, settings.output_usd_per_million)
    return CostLedger(parts.paths.state / "spending.json", limit=settings.daily_limit_usd, prices=prices, now=parts.now)


def estimate_worst_case(question: ModelRequest) -> tuple[int, int]:
    """Return how many input and output tokens a request may use."""
    return int(
        (count_tokens(question.text) + count_tokens(question.system) + FORM_TOKENS) * TOKEN_MARGIN
    ), question.most


def count_billed_tokens(outcome: ModelAnswer | ModelFailure, worst: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of input and output tokens billed for a request.

    For an answer, even a nonsensical one, these are the tokens used. A request rejected before it used any tokens
    costs nothing. After any other failure, such as an interruption, at least the reserved tokens `worst` count as
    used.
    """
    used = (outcome.used.input, outcome.used.output)
    if isinstance(outcome, ModelAnswer) or (outcome.used == TokenUsage() and outcome.trouble in ("busy", "refused")):
        return used
    return (max(used[0], worst[0]), max(used[1], worst[1])) if outcome.trouble != "nonsense" else used
