"""Reader that lets a language model find facts in sessions that the rules missed.

It runs in the background within a daily budget. The progress is written in the head of each session, so a stop loses
nothing and nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hunchd.assembly.tokens import count
from hunchd.config.settings import LanguageSettings
from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Scope, Trust
from hunchd.domain.session import Turn, turns_of
from hunchd.engine.conversing.sessions import Sessions
from hunchd.engine.conversing.spending import Ledger, count_billed_tokens, estimate_worst_case
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.session_log import Head, head_id, session_tag
from hunchd.engine.state.feature import Feature
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.ingestion.personal_data import holds_personal_data
from hunchd.ingestion.quoted import Claim, checked, stretch_text
from hunchd.ingestion.redaction import redact
from hunchd.language.asking import Answer, Failure, Question
from hunchd.language.client import LanguageClient
from hunchd.language.prompts import FACTS
from hunchd.protocol.memories import MemoryDraft, title_of

logger = logging.getLogger(__name__)

STRETCH: Final = 6_000  # tokens of a session in one question: some twenty turns without what tools printed
LONGEST_ANSWER: Final = 2_000  # tokens: fifteen facts
FIRST_PAUSE: Final = 10.0  # seconds after a failure, doubled each time
LONGEST_PAUSE: Final = 3_600.0  # seconds
BREAKER: Final = 5  # consecutive failures after which it waits MAX_PAUSE_SECONDS
HOPELESS: Final = 3  # invalid answers about one range after which it is skipped
# Below the confidences of rule-based facts, so that a model's claim never replaces one.
SAID_BY_USER: Final = 0.75
SAID_BY_ASSISTANT: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Stretch:
    session: str
    turns: tuple[Turn, ...]

    @property
    def last(self) -> int:
        return self.turns[-1].number


class Reading(Feature):
    """Background reader: `note` queues a session, `run` reads it."""

    def __init__(
        self,
        sessions: Sessions,
        memories: Memories,
        client: LanguageClient,
        ledger: Ledger,
        settings: LanguageSettings,
        *,
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sessions = sessions
        self._memories = memories
        self._client = client
        self._ledger = ledger
        self._settings = settings
        self._rest = rest  # sleep function
        self._waiting: dict[str, None] = {}  # queued sessions, as an ordered set
        self._wake = asyncio.Event()
        self._failures = 0  # consecutive
        self._senseless = 0  # invalid answers about the current range
        self.trouble = ""  # reason for a pause; "" if there is none

    def note(self, session: str) -> None:
        """Queue a session.

        The rules have extracted its facts, the model may find more.
        """
        self._waiting[session] = None
        self._wake.set()

    def start(self, tasks: Tasks) -> None:
        tasks.start("reading", self.run)

    def status(self) -> dict[str, Any]:
        """Return what is switched on and what today has cost."""
        return {"language": self._figures()}

    def _figures(self) -> dict[str, Any]:
        today = self._ledger.today
        return {
            "model": self._settings.model,
            "spent_today_usd": round(today.usd, 4),
            "limit_usd": self._settings.daily_limit_usd,
            "questions": today.questions,
            "failed": today.failed,
            "waiting": len(self._waiting),
            **({"trouble": self.trouble} if self.trouble else {}),
        }

    async def run(self) -> None:
        """Read what earlier processes left, then new sessions, forever."""
        await self._sessions.begun()
        for head in list(self._sessions.heads.values()):
            if head.read < head.told and (head.last or head.began) >= self._ledger.since:
                self.note(head.session)
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._rest(self._settings.rest_seconds)
            while self._waiting:
                session = next(iter(self._waiting))
                if await self._read(session):
                    self._waiting.pop(session, None)

    async def _read(self, session: str) -> bool:
        """Ask about the next range of a session.

        Returns True if nothing is left.
        """
        try:
            stretch = await self._next(session)
        except NotFound:  # erased meanwhile
            return True
        if stretch is None:
            return True
        text = redact(stretch_text(stretch.turns)).text
        if text:
            question = Question(FACTS.system, f"<stretch>\n{text}\n</stretch>", FACTS.schema, LONGEST_ANSWER)
            if not await self._ask(question, stretch):
                return False
        await self._mark(stretch)
        return False

    async def _next(self, session: str) -> _Stretch | None:
        async with self._sessions.held(session) as log:
            left = turns_of(log.messages)[log.head.read : log.head.told]
            return _Stretch(session, next(stretches(left))) if left else None

    async def _ask(self, question: Question, stretch: _Stretch) -> bool:
        """Ask the model and store the verified claims.

        Returns True if the range is finished; otherwise some time has passed.
        """
        worst = await asyncio.to_thread(estimate_worst_case, question)
        if not self._ledger.reserve(*worst):
            self.trouble = f"today's limit of ${self._settings.daily_limit_usd:.2f} is reached"
            await self._rest(self._ledger.seconds_to_midnight())
            return False
        outcome = await self._client.ask(question)
        failed = isinstance(outcome, Failure)
        self._ledger.settle(worst, count_billed_tokens(outcome, worst), failed=failed)
        if isinstance(outcome, Answer):
            self.trouble, self._failures, self._senseless = "", 0, 0
            await self._keep(outcome, stretch)
            return True
        return await self._after(outcome)

    async def _after(self, failure: Failure) -> bool:
        """Wait after a failure; return True if the range is given up.

        Repeated invalid answers may be caused by the range itself; other failures are not.
        """
        self._failures += 1
        self.trouble = f"{failure.trouble}: {failure.message}"
        if failure.trouble in ("nonsense", "cut short"):
            self._senseless += 1
            if self._senseless >= HOPELESS:
                logger.warning("part of a session is skipped: %s", failure.message)
                self._senseless = 0
                return True
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._failures - 1))
        if failure.trouble == "refused" or self._failures >= BREAKER:
            pause = LONGEST_PAUSE
        pause = max(pause, min(failure.retry_after or 0.0, LONGEST_PAUSE))
        logger.warning("language model request failed (%s); retrying in %.0f s", self.trouble, pause)
        await self._rest(pause)
        return False

    async def _keep(self, answer: Answer, stretch: _Stretch) -> None:
        found = checked(answer.content, stretch.turns)
        if found.refused:
            logger.info("rejected claims of the language model: %s", dict(found.refused))
        head = self._sessions.heads.get(stretch.session)
        if head is None:
            return
        fit = [claim for claim in found.claims if not holds_personal_data(claim.sentence)]
        drafts = [draft_of(claim, head, self._settings.model) for claim in fit]
        await self._memories.remember(drafts, [draft.project for draft in drafts])

    async def _mark(self, stretch: _Stretch) -> None:
        try:
            async with self._sessions.held(stretch.session) as log:
                await self._sessions.write_head(log, replace(log.head, read=max(log.head.read, stretch.last)))
        except NotFound:
            return


def reading_of(parts: Parts, ledger: Ledger, sessions: Sessions, memories: Memories) -> Reading | None:
    """Create the reader from the settings.

    Returns None if it is switched off.
    """
    settings = parts.settings.language
    if parts.language is None:
        return None
    return Reading(sessions, memories, parts.language, ledger, settings)


def stretches(turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """Split turns into ranges that fit one request.

    A turn is never divided.
    """
    piece: list[Turn] = []
    size = 0
    for turn in turns:
        tokens = count(stretch_text([turn]))
        if piece and size + tokens > STRETCH:
            yield tuple(piece)
            piece, size = [], 0
        piece.append(turn)
        size += tokens
    if piece:
        yield tuple(piece)


def draft_of(claim: Claim, head: Head, model: str) -> MemoryDraft:
    """Convert a claim to a fact draft, quoted verbatim, with its source."""
    own = claim.by_user and claim.category in ("identity", "preference")
    return MemoryDraft(
        kind=Kind.FACT,
        title=title_of(claim.sentence),
        content=claim.sentence,
        project=None if own else head.project,
        category=claim.category,
        key=claim.key,
        value=claim.value,
        scope=Scope.USER if own or head.project is None else Scope.PROJECT,
        confidence=SAID_BY_USER if claim.by_user else SAID_BY_ASSISTANT,
        importance=max(0.2, round(claim.importance, 2)),
        tags=(session_tag(head.session),),
        links=(
            {"type": "said_in", "ref": claim.message},
            {"type": "part_of", "ref": head_id(head.session, head.project)},
        ),
        trust=Trust.DERIVED,
        source={
            "type": "session",
            "session": head.session,
            "turn": claim.turn,
            "message": claim.message,
            "read_by": model,
            "prompt": FACTS.name,
        },
    )
