"""Background reader that asks a language model for facts in sessions.

It finds facts that the rules have missed, and keeps within a daily budget. Progress is stored in the metadata of
each session, so that nothing is lost when the daemon stops, and nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hunchd.assembly.token_counter import count_tokens
from hunchd.config.settings import LanguageSettings
from hunchd.core.cost_ledger import CostLedger, count_billed_tokens, estimate_worst_case
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.session_log import SessionHead, session_head_id, session_tag
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import Feature, StatusFields
from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Scope, Trust
from hunchd.domain.session import Turn, group_into_turns
from hunchd.features.sessions.session_registry import SessionRegistry
from hunchd.ingestion.claim_verification import VerifiedClaim, render_turns, verify_claims
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.ingestion.redaction import redact
from hunchd.language.client import LanguageClient
from hunchd.language.model_requests import ModelAnswer, ModelFailure, ModelRequest
from hunchd.language.prompts import FACTS_PROMPT
from hunchd.protocol.memories import MemoryDraft, derive_title
from hunchd.protocol.status_answers import LanguageAnswer

logger = logging.getLogger(__name__)

MAX_RANGE_TOKENS: Final = 6_000  # tokens of a session in one request: some twenty turns without tool output
MAX_ANSWER_TOKENS: Final = 2_000  # tokens; enough for fifteen facts
FIRST_PAUSE_SECONDS: Final = 10.0  # seconds after a failure, doubled each time
MAX_PAUSE_SECONDS: Final = 3_600.0  # seconds
MAX_FAILURES: Final = 5  # consecutive failures after which the reader waits MAX_PAUSE_SECONDS
MAX_INVALID_ANSWERS: Final = 3  # invalid answers about one range after which the range is skipped
# Lower than the confidences of facts found by rules, so that a model's claim never replaces one.
USER_CONFIDENCE: Final = 0.75
ASSISTANT_CONFIDENCE: Final = 0.5


@dataclass(frozen=True, slots=True)
class _TurnRange:
    session: str
    turns: tuple[Turn, ...]

    @property
    def last(self) -> int:
        return self.turns[-1].number


class SessionReader(Feature):
    """Background reader of sessions.

    `enqueue` adds a session to the queue, and `run` reads the queued sessions.
    """

    def __init__(
        self,
        sessions: SessionRegistry,
        memories: MemoryService,
        client: LanguageClient,
        ledger: CostLedger,
        settings: LanguageSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sessions = sessions
        self._memories = memories
        self._client = client
        self._ledger = ledger
        self._settings = settings
        self._sleep = sleep
        self._queue: dict[str, None] = {}  # queued sessions, as an ordered set
        self._wake = asyncio.Event()
        self._failures = 0  # consecutive failures
        self._invalid_answers = 0  # invalid answers about the current range
        self.trouble = ""  # reason for a pause; "" if there is none

    def enqueue(self, session: str) -> None:
        """Queue a session for the language model, which may find more facts.

        The rules have already extracted the facts that they find.
        """
        self._queue[session] = None
        self._wake.set()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("reading", self.run)

    def status(self) -> StatusFields:
        """Return the model in use, today's cost and limit, and the queue length."""
        today = self._ledger.today
        return {
            "language": LanguageAnswer(
                model=self._settings.model,
                spent_today_usd=round(today.usd, 4),
                limit_usd=self._settings.daily_limit_usd,
                questions=today.questions,
                failed=today.failed,
                waiting=len(self._queue),
                trouble=self.trouble or None,
            )
        }

    async def run(self) -> None:
        """Read the sessions that earlier processes left unread, then new ones, until cancelled."""
        await self._sessions.wait_until_ready()
        for head in list(self._sessions.heads.values()):
            if (
                head.read_until_turn < head.facts_until_turn
                and (head.last_message_at or head.started_at) >= self._ledger.since
            ):
                self.enqueue(head.session)
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._sleep(self._settings.rest_seconds)
            while self._queue:
                session = next(iter(self._queue))
                if await self._read_next(session):
                    self._queue.pop(session, None)

    async def _read_next(self, session: str) -> bool:
        """Send the next range of turns in a session to the model.

        Returns True if there is nothing left to read, and False if the session has to be visited again.
        """
        try:
            stretch = await self._get_next_range(session)
        except NotFound:  # erased meanwhile
            return True
        if stretch is None:
            return True
        text = mask_contacts(redact(render_turns(stretch.turns)).text)
        if text:
            question = ModelRequest(
                FACTS_PROMPT.system, f"<stretch>\n{text}\n</stretch>", FACTS_PROMPT.schema, MAX_ANSWER_TOKENS
            )
            if not await self._request(question, stretch):
                return False
        await self._mark_read(stretch)
        return False

    async def _get_next_range(self, session: str) -> _TurnRange | None:
        async with self._sessions.hold_log(session) as log:
            unread_turns = group_into_turns(log.messages)[log.head.read_until_turn : log.head.facts_until_turn]
            return _TurnRange(session, next(split_into_ranges(unread_turns))) if unread_turns else None

    async def _request(self, question: ModelRequest, stretch: _TurnRange) -> bool:
        """Ask the model about a range of turns, and store the verified claims.

        Returns True if the range is finished. Returns False, after a pause, if the request has to be tried again.
        """
        worst = await asyncio.to_thread(estimate_worst_case, question)
        if not self._ledger.reserve(*worst):
            self.trouble = f"today's limit of ${self._settings.daily_limit_usd:.2f} has been reached"
            await self._sleep(self._ledger.seconds_to_midnight())
            return False
        outcome = await self._client.ask(question)
        is_failure = isinstance(outcome, ModelFailure)
        self._ledger.settle(worst, count_billed_tokens(outcome, worst), is_failure=is_failure)
        if isinstance(outcome, ModelAnswer):
            self.trouble, self._failures, self._invalid_answers = "", 0, 0
            await self._store_claims(outcome, stretch)
            return True
        return await self._pause_after(outcome)

    async def _pause_after(self, failure: ModelFailure) -> bool:
        """Pause after a failed request; return True if the range is to be skipped.

        After MAX_INVALID_ANSWERS invalid answers, a range is skipped without a pause, because its text may be their
        cause. Other failures cannot be caused by the text.
        """
        self._failures += 1
        self.trouble = f"{failure.trouble}: {failure.message}"
        if failure.trouble in ("nonsense", "cut short"):
            self._invalid_answers += 1
            if self._invalid_answers >= MAX_INVALID_ANSWERS:
                logger.warning(
                    "skipped part of a session after invalid answers from the language model: %s", failure.message
                )
                self._invalid_answers = 0
                return True
        pause = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1))
        if failure.trouble == "refused" or self._failures >= MAX_FAILURES:
            pause = MAX_PAUSE_SECONDS
        pause = max(pause, min(failure.retry_after or 0.0, MAX_PAUSE_SECONDS))
        logger.warning("language model request failed (%s); retrying in %.0f s", self.trouble, pause)
        await self._sleep(pause)
        return False

    async def _store_claims(self, answer: ModelAnswer, stretch: _TurnRange) -> None:
        verified_claims = verify_claims(answer.content, stretch.turns)
        if verified_claims.rejections:
            logger.info("rejected claims from the language model, by reason: %s", dict(verified_claims.rejections))
        head = self._sessions.heads.get(stretch.session)
        if head is None:
            return
        fit = [claim for claim in verified_claims.claims if not holds_contact_data(claim.sentence)]
        drafts = [claim_to_draft(claim, head, self._settings.model) for claim in fit]
        await self._memories.remember(drafts, [draft.project for draft in drafts])

    async def _mark_read(self, stretch: _TurnRange) -> None:
        try:
            async with self._sessions.hold_log(stretch.session) as log:
                await self._sessions.write_head(
                    log, replace(log.head, read_until_turn=max(log.head.read_until_turn, stretch.last))
                )
        except NotFound:
            return


def create_session_reader(
    dependencies: Dependencies, ledger: CostLedger, sessions: SessionRegistry, memories: MemoryService
) -> SessionReader | None:
    """Create the reader from the settings.

    Returns None if no language model is in use.
    """
    settings = dependencies.settings.language
    if dependencies.language is None:
        return None
    return SessionReader(sessions, memories, dependencies.language, ledger, settings)


def split_into_ranges(turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """Split turns into ranges that each fit into one request.

    A turn is never divided, even if it is too long.
    """
    piece: list[Turn] = []
    size = 0
    for turn in turns:
        tokens = count_tokens(render_turns([turn]))
        if piece and size + tokens > MAX_RANGE_TOKENS:
            yield tuple(piece)
            piece, size = [], 0
        piece.append(turn)
        size += tokens
    if piece:
        yield tuple(piece)


def claim_to_draft(claim: VerifiedClaim, head: SessionHead, model: str) -> MemoryDraft:
    """Convert a verified claim to a fact draft.

    The draft quotes the session verbatim and names its source.
    """
    own = claim.by_user and claim.category in ("identity", "preference")
    return MemoryDraft(
        kind=Kind.FACT,
        title=derive_title(claim.sentence),
        content=claim.sentence,
        project=None if own else head.project,
        category=claim.category,
        key=claim.key,
        value=claim.value,
        scope=Scope.USER if own or head.project is None else Scope.PROJECT,
        confidence=USER_CONFIDENCE if claim.by_user else ASSISTANT_CONFIDENCE,
        importance=max(0.2, round(claim.importance, 2)),
        tags=(session_tag(head.session),),
        links=(
            {"type": "said_in", "ref": claim.message},
            {"type": "part_of", "ref": session_head_id(head.session, head.project)},
        ),
        trust=Trust.DERIVED,
        source={
            "type": "session",
            "session": head.session,
            "turn": claim.turn,
            "message": claim.message,
            "read_by": model,
            "prompt": FACTS_PROMPT.name,
        },
    )
