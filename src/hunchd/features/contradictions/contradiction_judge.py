"""Judgement of pairs of freely worded statements by a language model.

The model is used only if the user has switched it on, once per pair, within the daily budget. Its verdict is final,
whether it confirms or rejects a contradiction; if there is no verdict, the rules and the local model decide. Its
claims are verified: the model has to quote the contradicting words from both statements.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hunchd.consolidation.contradictions.candidate_search import (
    ContradictingPair,
    PairComparison,
    apply_verdicts,
)
from hunchd.consolidation.contradictions.statements import extract_statement
from hunchd.core.cost_ledger import CostLedger, count_billed_tokens, estimate_worst_case
from hunchd.core.state.dependencies import Dependencies
from hunchd.domain.errors import StoreError
from hunchd.domain.memory import Memory
from hunchd.features.contradictions.verdict_cache import VerdictCache
from hunchd.ingestion.redaction import redact
from hunchd.language.client import LanguageClient
from hunchd.language.model_requests import ModelAnswer, ModelFailure, ModelRequest
from hunchd.language.prompts import CONTRADICTIONS_PROMPT, MAX_PAIRS

logger = logging.getLogger(__name__)

MAX_ANSWER_TOKENS: Final = 600  # tokens: eight pairs with their quotes
PAUSE_SECONDS: Final = 600.0  # seconds of pause after a failure: meanwhile rules and local model decide
# Punctuation that models add around quotes.
_QUOTE_MARKS_PATTERN: Final = re.compile(r"^[\s\"'“”‘’`….,;:]+|[\s\"'“”‘’`….,;:]+$")


class ContradictionJudge:
    """Judge that asks a language model whether statements contradict each other."""

    def __init__(
        self,
        client: LanguageClient,
        ledger: CostLedger,
        verdicts: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._verdicts = VerdictCache(verdicts)
        self._clock = clock
        self._paused_until = 0.0

    async def judge(
        self, memory: Memory, look: PairComparison, oppositions: Sequence[ContradictingPair]
    ) -> list[ContradictingPair]:
        """Return the contradictions of a memory, corrected by the language model.

        `oppositions` are the contradictions that the rules and the local model found. Pairs in which they found no
        contradiction are judged too. If the language model gives no verdict on a pair, the result of the rules and
        the local model stands.
        """
        free = look.select_for_language_model(oppositions)
        unjudged_memories = [
            one.get_other(memory) for one in free[:MAX_PAIRS] if self._verdicts.get(one.a, one.b) is None
        ]
        if unjudged_memories:
            await self._request_verdicts(memory, unjudged_memories)
        return apply_verdicts(oppositions, free, self._verdicts.get)

    async def _request_verdicts(self, memory: Memory, others: Sequence[Memory]) -> None:
        if self._clock() < self._paused_until:
            return
        question = build_request(memory, others)
        worst = await asyncio.to_thread(estimate_worst_case, question)
        try:
            if not self._ledger.reserve(*worst):
                return
            outcome = _validate_answer(await self._client.ask(question), len(others))
            self._ledger.settle(
                worst, count_billed_tokens(outcome, worst), is_failure=isinstance(outcome, ModelFailure)
            )
        except StoreError as error:  # the cost cannot be saved: treat it as a failure
            outcome = ModelFailure("refused", error.message)
        if isinstance(outcome, ModelFailure):
            self._paused_until = self._clock() + max(PAUSE_SECONDS, outcome.retry_after or 0.0)
            logger.warning(
                "the language model could not judge pairs of statements: %s: %s", outcome.trouble, outcome.message
            )
            return
        opposed_ids = verify_claims(outcome.content, memory, others)
        await asyncio.to_thread(self._verdicts.store, memory, [(other, other.id in opposed_ids) for other in others])


def create_judge(dependencies: Dependencies, ledger: CostLedger) -> ContradictionJudge | None:
    """Create the judge, or return None if it is switched off in the settings."""
    verdicts = dependencies.verdicts_file
    if dependencies.language is None or verdicts is None:
        return None
    return ContradictionJudge(dependencies.language, ledger, verdicts)


def build_request(memory: Memory, others: Sequence[Memory]) -> ModelRequest:
    """Build a request that compares one statement with several numbered ones."""
    lines = [f"<new>{_render_statement(memory)}</new>"]
    lines += [f'<known number="{number}">{_render_statement(other)}</known>' for number, other in enumerate(others, 1)]
    return ModelRequest(CONTRADICTIONS_PROMPT.system, "\n".join(lines), CONTRADICTIONS_PROMPT.schema, MAX_ANSWER_TOKENS)


def verify_claims(content: Mapping[str, Any], memory: Memory, others: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of the memories whose claimed contradiction is backed by quotes.

    Each claim quotes words from both statements. It counts only if both quotes occur in their statements.
    """
    verified_ids: set[str] = set()
    for claim in content["contradictions"]:
        other = others[claim["number"] - 1]
        if _is_quoted(claim["new_words"], _render_statement(memory)) and _is_quoted(
            claim["known_words"], _render_statement(other)
        ):
            verified_ids.add(other.id)
        else:
            logger.info(
                "rejected a contradiction claimed by the language model: the words quoted do not occur in the statement"
            )
    return frozenset(verified_ids)


def _validate_answer(outcome: ModelAnswer | ModelFailure, pairs: int) -> ModelAnswer | ModelFailure:
    """Convert an answer to a failure if it does not match the request.

    Otherwise, the answer would be taken as the verdict that nothing is contradicted.
    """
    if isinstance(outcome, ModelFailure):
        return outcome
    claims = outcome.content.get("contradictions")
    if isinstance(claims, list) and all(_is_valid_claim(claim, pairs) for claim in claims):
        return outcome
    return ModelFailure("nonsense", "the answer does not match the requested schema", used=outcome.used)


def _is_valid_claim(claim: object, pairs: int) -> bool:
    if not isinstance(claim, dict):
        return False
    number, words = claim.get("number"), (claim.get("new_words"), claim.get("known_words"))
    return type(number) is int and 1 <= number <= pairs and all(isinstance(one, str) for one in words)


def _render_statement(memory: Memory) -> str:
    """Render a statement on one line, without secrets.

    Characters used in the markup of the request are replaced.
    """
    return _strip_markup(redact(extract_statement(memory)).text)


def _strip_markup(text: str) -> str:
    return " ".join(text.replace("<", "‹").replace(">", "›").split())


def _is_quoted(words: str, text: str) -> bool:
    """Return True if `words` occur verbatim in `text`.

    Case, white space and surrounding quotation marks are ignored.
    """
    quote = _QUOTE_MARKS_PATTERN.sub("", _strip_markup(words))
    return bool(quote) and quote.casefold() in text.casefold()
