"""Contradiction verdicts by a language model on freely worded pairs.

Only if the user has switched it on, each pair once, within the daily budget. The verdict is final, in both directions;
without one, rules and the local model decide. Claims are verified: the model has to copy the opposing words of both
sides.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hunchd.consolidation.contradictions.scanning import Look, Opposition, as_judged, statement
from hunchd.domain.errors import StoreError
from hunchd.domain.memory import Memory
from hunchd.engine.conversing.spending import Ledger, count_billed_tokens, estimate_worst_case
from hunchd.engine.learning.verdicts import Verdicts
from hunchd.engine.state.parts import Parts
from hunchd.ingestion.redaction import redact
from hunchd.language.asking import Answer, Failure, Question
from hunchd.language.client import LanguageClient
from hunchd.language.prompts import CONTRADICTIONS, MOST_PAIRS

logger = logging.getLogger(__name__)

LONGEST_ANSWER: Final = 600  # tokens: eight pairs with their quotes
REST: Final = 600.0  # seconds of pause after a failure: meanwhile rules and local model decide
# Punctuation that models add around quotes.
_AROUND: Final = re.compile(r"^[\s\"'“”‘’`….,;:]+|[\s\"'“”‘’`….,;:]+$")


class Judging:
    """Judge of pairs of statements, by a language model."""

    def __init__(
        self,
        client: LanguageClient,
        ledger: Ledger,
        verdicts: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._verdicts = Verdicts(verdicts)
        self._clock = clock
        self._rests_until = 0.0

    async def oppositions(self, memory: Memory, look: Look, told: Sequence[Opposition]) -> list[Opposition]:
        """Return the contradictions of a memory after the model's verdict.

        `oppositions` are those found by rules and the local model; pairs in which these find nothing are judged too. A
        pair without a
        verdict stays as told.
        """
        free = look.for_judge(told)
        unasked = [one.beside(memory) for one in free[:MOST_PAIRS] if self._verdicts.of(one.a, one.b) is None]
        if unasked:
            await self._ask(memory, unasked)
        return as_judged(told, free, self._verdicts.of)

    async def _ask(self, memory: Memory, others: Sequence[Memory]) -> None:
        if self._clock() < self._rests_until:
            return
        question = question_of(memory, others)
        worst = await asyncio.to_thread(estimate_worst_case, question)
        try:
            if not self._ledger.reserve(*worst):
                return
            outcome = _sensible(await self._client.ask(question), len(others))
            self._ledger.settle(worst, count_billed_tokens(outcome, worst), failed=isinstance(outcome, Failure))
        except StoreError as error:  # the cost cannot be saved: treat it as a failure
            outcome = Failure("refused", error.message)
        if isinstance(outcome, Failure):
            self._rests_until = self._clock() + max(REST, outcome.retry_after or 0.0)
            logger.warning("judging of statement pairs failed: %s: %s", outcome.trouble, outcome.message)
            return
        opposed = borne_out(outcome.content, memory, others)
        await asyncio.to_thread(self._verdicts.keep, memory, [(other, other.id in opposed) for other in others])


def judging_of(parts: Parts, ledger: Ledger) -> Judging | None:
    """Create the judge from the settings.

    Returns None if it is switched off.
    """
    verdicts = parts.verdicts_file
    if parts.language is None or verdicts is None:
        return None
    return Judging(parts.language, ledger, verdicts)


def question_of(memory: Memory, others: Sequence[Memory]) -> Question:
    """Build the request: one statement against several numbered ones."""
    lines = [f"<new>{_plain(memory)}</new>"]
    lines += [f'<known number="{number}">{_plain(other)}</known>' for number, other in enumerate(others, 1)]
    return Question(CONTRADICTIONS.system, "\n".join(lines), CONTRADICTIONS.schema, LONGEST_ANSWER)


def borne_out(content: Mapping[str, Any], memory: Memory, others: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of contradicting memories whose quoted words occur on both sides."""
    found: set[str] = set()
    for claim in content["contradictions"]:
        other = others[claim["number"] - 1]
        if _stands_in(claim["new_words"], _plain(memory)) and _stands_in(claim["known_words"], _plain(other)):
            found.add(other.id)
        else:
            logger.info("rejected a contradiction claim of the language model: its quote is not in the text")
    return frozenset(found)


def _sensible(outcome: Answer | Failure, pairs: int) -> Answer | Failure:
    """Convert an answer that does not match the request to a failure.

    Otherwise it would count as a denial.
    """
    if isinstance(outcome, Failure):
        return outcome
    claims = outcome.content.get("contradictions")
    if isinstance(claims, list) and all(_is_claim(claim, pairs) for claim in claims):
        return outcome
    return Failure("nonsense", "the answer does not match the requested schema", used=outcome.used)


def _is_claim(claim: object, pairs: int) -> bool:
    if not isinstance(claim, dict):
        return False
    number, words = claim.get("number"), (claim.get("new_words"), claim.get("known_words"))
    return type(number) is int and 1 <= number <= pairs and all(isinstance(one, str) for one in words)


def _plain(memory: Memory) -> str:
    """Render a statement on one line, without secrets and without our markup."""
    return _unmarked(redact(statement(memory)).text)


def _unmarked(text: str) -> str:
    return " ".join(text.replace("<", "‹").replace(">", "›").split())


def _stands_in(words: str, text: str) -> bool:
    """Return True if words were copied from a text."""
    copied = _AROUND.sub("", _unmarked(words))
    return bool(copied) and copied.casefold() in text.casefold()
