"""Pairs of statements about which the rules are not sure, asked of a language model: each pair once, within a day's
money, and only if the user has switched it on.

What it claims is checked: it has to copy the words of both sides that oppose each other.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from hunchd.consolidation.contradictions import Opposition, doubtful, statement, told_by_model
from hunchd.domain.memory import Memory
from hunchd.engine.parts import Parts
from hunchd.engine.reading import paid, worst_of
from hunchd.engine.spending import Ledger
from hunchd.ingestion.redaction import redact
from hunchd.language.asking import Failure, Question
from hunchd.language.client import LanguageClient
from hunchd.language.prompts import CONTRADICTIONS
from hunchd.store.files import Files, replace_file

logger = logging.getLogger(__name__)

LONGEST_ANSWER: Final = 600  # tokens: eight pairs with their words
REST: Final = 600.0  # seconds after a failure: meanwhile the rules alone decide
REMEMBERED: Final = 20_000  # pairs


class Judging:
    """`oppositions` says which doubtful candidates contradict a memory."""

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
        self._verdicts = _Verdicts(verdicts)
        self._clock = clock
        self._rests_until = 0.0

    async def oppositions(self, memory: Memory, candidates: Iterable[Memory]) -> list[Opposition]:
        """The pairs that the model says cannot both hold, of those that the rules leave open. Nothing where it cannot
        be asked."""
        open_ones = await asyncio.to_thread(doubtful, memory, candidates)
        unasked = [other for other in open_ones if self._verdicts.of(memory, other) is None]
        if unasked:
            await self._ask(memory, unasked)
        return [told_by_model(memory, other) for other in open_ones if self._verdicts.of(memory, other)]

    async def _ask(self, memory: Memory, others: Sequence[Memory]) -> None:
        if self._clock() < self._rests_until:
            return
        question = question_of(memory, others)
        worst = await asyncio.to_thread(worst_of, question)
        if not self._ledger.reserve(*worst):
            return
        outcome = await self._client.ask(question)
        self._ledger.settle(worst, paid(outcome, worst), failed=isinstance(outcome, Failure))
        if isinstance(outcome, Failure):
            self._rests_until = self._clock() + max(REST, outcome.retry_after or 0.0)
            logger.warning("pairs of statements are judged by rule alone: %s: %s", outcome.trouble, outcome.message)
            return
        opposed = borne_out(outcome.content, memory, others)
        await asyncio.to_thread(self._verdicts.keep, memory, [(other, other.id in opposed) for other in others])


def judging_of(parts: Parts, ledger: Ledger) -> Judging | None:
    """The judging that the settings ask for; None: it is switched off."""
    if parts.language is None or not parts.settings.language.contradictions:
        return None
    return Judging(parts.language, ledger, parts.places.state / "verdicts.json")


def question_of(memory: Memory, others: Sequence[Memory]) -> Question:
    """One statement against several, each with its number."""
    lines = [f"<new>{_plain(memory)}</new>"]
    lines += [f'<known number="{number}">{_plain(other)}</known>' for number, other in enumerate(others, 1)]
    return Question(CONTRADICTIONS.system, "\n".join(lines), CONTRADICTIONS.schema, LONGEST_ANSWER)


def borne_out(content: Any, memory: Memory, others: Sequence[Memory]) -> frozenset[str]:
    """The ids of those that contradict, where the words that were copied do stand on both sides."""
    found: set[str] = set()
    claims = content.get("contradictions") if isinstance(content, dict) else None
    for claim in claims if isinstance(claims, list) else ():
        number = claim.get("number") if isinstance(claim, dict) else None
        if not isinstance(number, int) or not 1 <= number <= len(others):
            continue
        other = others[number - 1]
        if _stands_in(claim.get("new_words"), _plain(memory)) and _stands_in(claim.get("known_words"), _plain(other)):
            found.add(other.id)
        else:
            logger.info("a contradiction that the language model claims is not borne out by its words")
    return frozenset(found)


def _plain(memory: Memory) -> str:
    """A statement on one line, without secrets and without our own marks."""
    return " ".join(redact(statement(memory)).text.replace("<", "‹").replace(">", "›").split())


def _stands_in(words: object, text: str) -> bool:
    return isinstance(words, str) and bool(words.strip()) and " ".join(words.split()).casefold() in text.casefold()


class _Verdicts:
    """What was answered about each pair, on disk: no pair is paid for twice, whatever becomes of the memories' ids."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of: dict[str, bool] = {}
        try:
            told = json.loads(path.read_bytes())
            self._of = {str(pair): bool(verdict) for pair, verdict in told.items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, AttributeError):
            logger.exception("%s cannot be read: pairs are asked about again", path)

    def of(self, one: Memory, other: Memory) -> bool | None:
        return self._of.get(_pair(one, other))

    def keep(self, memory: Memory, verdicts: Iterable[tuple[Memory, bool]]) -> None:
        said = self._of | {_pair(memory, other): verdict for other, verdict in verdicts}
        self._of = dict(list(said.items())[-REMEMBERED:])
        try:
            replace_file(Files(), self._path, json.dumps(self._of).encode())
        except OSError:
            logger.exception("what the language model said of pairs is not kept beyond this run")


def _pair(one: Memory, other: Memory) -> str:
    said = "\0".join((CONTRADICTIONS.name, *sorted((_plain(one), _plain(other)))))
    return hashlib.sha256(said.encode()).hexdigest()[:24]
