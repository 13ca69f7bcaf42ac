"""Session service behind the API, and background condensing of the messages.

A session has a log of its messages, and a history, which is the condensed form that prompts contain. To fold
messages is to add them one by one to that history.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import TypeVar

from msgspec.structs import asdict

from hunchd.assembly.history import HistoryView, SessionHistory
from hunchd.assembly.prompt import DESIGN_BUDGET, HISTORY_SHARE, CompiledPrompt, PromptInputs, compile_prompt
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.question_preferences import QuestionPreferences
from hunchd.core.memory.session_log import (
    SessionHead,
    SessionLog,
    mask_message,
    message_from_memory,
    session_head_id,
    session_tag,
)
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import AppliedSignal, Feature
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.facts import (
    OWN_KINDS,
    MemoryChange,
    holds_in_every_project,
    is_over,
    is_presentable,
    is_shown_in_projects,
)
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.session import Turn, group_into_turns
from hunchd.domain.signal import SessionEnded
from hunchd.features.sessions.extraction import Extract, build_facts, episode_id, extract_episodes, finish_head
from hunchd.features.sessions.prompt_lines import (
    asks_nothing,
    filter_new_results,
    find_user_name,
    is_about_past,
    render_facts,
    render_profile,
    render_search_result,
    render_volatile_lines,
    select_supported,
    zone_of,
)
from hunchd.features.sessions.reactions import ReactionTracker
from hunchd.features.sessions.session_reader import SessionReader
from hunchd.features.sessions.session_registry import SessionRegistry, describe_session, get_session_title
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.redaction import redact_name
from hunchd.ingestion.session_digest import digest_turns
from hunchd.ingestion.session_statements import SentencePair, extract_statements, list_sentences
from hunchd.protocol.memories import MemoryDraft
from hunchd.protocol.requests import Depth, SearchRequest
from hunchd.protocol.responses import PageAnswer
from hunchd.protocol.search_results import SearchAnswer, SearchResult
from hunchd.protocol.session_answers import (
    CompactedAnswer,
    LoggedMessageAnswer,
    MessagesAcceptedAnswer,
    PromptAnswer,
    PromptHistoryAnswer,
    RetrievedAnswer,
    SessionAnswer,
    SessionEndedAnswer,
    SessionErasedAnswer,
)
from hunchd.protocol.session_requests import AppendRequest, CompileRequest, PageRequest, SessionsRequest
from hunchd.retrieval.outdated_messages import put_current_first

DEFAULT_HISTORY = int(HISTORY_SHARE * DESIGN_BUDGET)  # tokens
MAX_HISTORIES = 32  # cached histories
MAX_INLINE_MESSAGES = 50  # messages folded on the event loop; more are folded in a thread
MAX_RESULTS = 8  # search results in a prompt, each for the project and the user
MODEL_TIMEOUT_SECONDS = 10.0  # seconds for the sentences in some turns; most of it is for loading the model
MAX_COMPARED_FACTS = 100  # known facts that a new statement is compared with; 4 ms each
EPISODE_INTERVAL_TURNS = 20  # turns after which episodes are extracted again
IDLE_AFTER = timedelta(hours=12)  # a session unused for this long is ended
SWEEP_SECONDS = 3_600.0  # seconds between two checks for idle sessions


@dataclass(slots=True)
class _FoldedHistory:
    """Condensed history of a session, up to a certain message.

    Only one thread folds messages at a time, even if nobody is waiting for that thread any more.
    """

    log: SessionLog
    history: SessionHistory
    masks_contacts: bool
    consumed_count: int = 0
    lock: Lock = field(default_factory=Lock)

    @property
    def is_nearly_folded(self) -> bool:
        """True if the remaining messages can be folded quickly, on the event loop."""
        return not self.lock.locked() and len(self.log.messages) - self.consumed_count <= MAX_INLINE_MESSAGES

    def fold(self) -> HistoryView:
        """Fold the remaining messages of the log, and return the history."""
        with self.lock:
            forced_compactions, until = frozenset(self.log.head.compactions), len(self.log.messages)
            for message in self.log.messages[self.consumed_count : until]:
                self.history.add(mask_message(message) if self.masks_contacts else message)
                if message.number in forced_compactions:
                    self.history.compact()
            self.consumed_count = until
            return self.history.build_view()


@dataclass(frozen=True, slots=True)
class _ProjectFacts:
    """Facts about the project in a session's prompt.

    They remain unchanged until the next compaction, or until one of them is forgotten.
    """

    compactions: int
    facts: frozenset[str]  # ids
    lines: tuple[str, ...]


# Takes a request and a project id, or None for the user's own memories; returns the answer in good time.
SearchMemories = Callable[[SearchRequest, str | None], Awaitable[SearchAnswer]]
# Takes a project id, or None for the user; returns all facts and profile pages of that owner.
StandingMemories = Callable[[str | None], Iterable[Memory]]
Text = TypeVar("Text", bound=Hashable)
# Takes texts; returns what a model computes for each, or None if the model is not in use.
ComputeWithModel = Callable[[Sequence[Text]], Awaitable[Sequence[bytes] | None]]


class SessionService(Feature):
    """Service behind the session routes of the API."""

    def __init__(
        self,
        registry: SessionRegistry,
        memories: MemoryService,
        search: SearchMemories,
        standing: StandingMemories,
        *,
        secret: bytes,
        find_project_id: Callable[[str], str],
        now: Callable[[], datetime],
        rate: ComputeWithModel[SentencePair] | None = None,
        embed: ComputeWithModel[str] | None = None,
        reader: SessionReader | None = None,
        masks_contacts: bool = True,
        preferences: QuestionPreferences,
    ) -> None:
        self._registry = registry
        self._memories = memories
        self._search = search
        self._standing = standing
        self._secret = secret
        self._find_project_id = find_project_id  # maps a path or id to a project id; raises NotFound
        self._now = now
        self._rate = rate
        self._embed = embed
        self._reader = reader
        self._masks_contacts = masks_contacts  # in prompts
        self._reactions = ReactionTracker(preferences, now=now)
        self._histories: OrderedDict[tuple[str, int], _FoldedHistory] = OrderedDict()
        self._project_facts: OrderedDict[str, _ProjectFacts] = OrderedDict()
        self._changed_sessions: set[str] = set()
        self._sessions_to_end: set[str] = set()
        self._wake = asyncio.Event()

    # API

    async def append(self, session: str, request: AppendRequest) -> MessagesAcceptedAnswer:
        """Append messages; they are durable and searchable when this returns."""
        return await self._registry.append(session, request, self._resolve_owner(request.project))

    async def list_messages(self, session: str, request: PageRequest) -> PageAnswer[LoggedMessageAnswer]:
        """Return a page of a session's messages, oldest first."""
        return await self._registry.list_messages(session, request)

    async def list_sessions(self, request: SessionsRequest) -> PageAnswer[SessionAnswer]:
        """Return a page of the sessions, newest first."""
        return await self._registry.list_sessions(request, self._resolve_owner(request.project))

    async def get_session(self, session: str) -> SessionAnswer:
        """Return the metadata of a session."""
        return describe_session(await self._registry.get_head(session))

    def find_project_id(self, session: str) -> str | None:
        """Return the id of the project that a session belongs to.

        Returns None if the session has no project or is unknown.
        """
        head = self._registry.heads.get(redact_name(session))
        return head.project if head is not None else None

    async def end(self, session: str, outcome: str | None = None) -> SessionEndedAnswer:
        """Mark a session as ended, and store its episodes, facts and summary.

        Ending a session again without new messages changes nothing, except that a given `outcome` is stored.
        """
        session = redact_name(session)
        async with self._registry.hold_log(session) as log:
            turns = group_into_turns(log.messages)
            if turns:
                head = await self._store_facts(log.head, turns, await self._read_facts(log.head, turns))
                extract = await asyncio.to_thread(extract_episodes, head, turns, self._now(), is_ended=True)
                head = await self._store_episodes(head, extract)
                if head.ended_at is None or outcome is not None:
                    head = finish_head(head, extract, at=self._now(), outcome=outcome)
                await self._registry.write_head(log, self._add_compaction(log, head))
            head = replace(log.head, messages=len(log.messages))
        return SessionEndedAnswer(
            **asdict(describe_session(head)),
            episodes=[episode_id(session, head.project, number) for number in range(1, head.episodes + 1)],
            facts=[
                memory.id
                for memory in await self._registry.list_derived_memories(session, Kind.FACT)
                if not is_over(memory, self._now())
            ],
            summary=head.summary,
        )

    async def compact(self, session: str) -> CompactedAnswer:
        """Condense the history now; the log remains unchanged."""
        session = redact_name(session)
        async with self._registry.hold_log(session) as log:
            before = (await self._fold_history(log, DEFAULT_HISTORY)).tokens
            await self._registry.write_head(log, self._add_compaction(log, log.head))
            view = await self._fold_history(log, DEFAULT_HISTORY)
            self.on_session_grown(session)  # what was condensed becomes facts and episodes
            return CompactedAnswer(
                session=session,
                tokens_before=before,
                tokens_after=view.tokens,
                compactions=view.compactions,
                condensed_until=view.condensed_until,
            )

    def _add_compaction(self, log: SessionLog, head: SessionHead) -> SessionHead:
        """Return the metadata with a compaction added after the newest message.

        Cached histories of the session are dropped, because the compaction has to be applied to them too.
        """
        last = log.messages[-1].number if log.messages else 0
        for key in [key for key in self._histories if key[0] == head.session]:
            del self._histories[key]
        return replace(head, compactions=tuple(dict.fromkeys((*head.compactions, last)))) if last else head

    async def erase(self, session: str) -> SessionErasedAnswer:
        """Erase a session; nothing of it is left when this returns."""
        name = redact_name(session)
        self._reactions.forget(name)
        erased_memories = await self._registry.erase(session)
        for key in [key for key in self._histories if key[0] == name]:
            del self._histories[key]
        self._project_facts.clear()  # other sessions' prompts may contain its facts
        return erased_memories

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("condensing", self.run_condensing)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        if isinstance(applied_signal.signal, SessionEnded) and applied_signal.signal.session:
            self.request_end(applied_signal.signal.session)

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        self._registry.on_memory_changed(change)
        for session, known_facts in list(self._project_facts.items()):  # a prompt shows nothing that was deleted
            if not known_facts.facts.isdisjoint(change.deletions):
                del self._project_facts[session]

    async def forget_project(self, project_id: str) -> None:
        self._registry.forget_project(project_id)

    async def rewrite_summaries_without(self, memories: Iterable[Memory]) -> None:
        """Rewrite the titles and summaries of sessions without messages about to be forgotten.

        Those among `memories` that are not messages are ignored.
        """
        removed_ids: dict[str, set[str]] = {}
        for memory in memories:
            if message_from_memory(memory) is not None:
                removed_ids.setdefault(str(memory.source["session"]), set()).add(memory.id)
        for session, ids in removed_ids.items():
            with suppress(NotFound):
                await self._rewrite_summary_without(session, ids)

    async def _rewrite_summary_without(self, session: str, removed_ids: Set[str]) -> None:
        async with self._registry.hold_log(session) as log:
            remaining = [one for one in log.messages if one.id not in removed_ids]
            summary = ""
            if log.head.summary and (turns := group_into_turns(remaining)):
                extract = await asyncio.to_thread(extract_episodes, log.head, turns, self._now(), is_ended=True)
                summary = extract.summary
            title = get_session_title(remaining) or f"session {log.head.session}"
            await self._registry.write_head(log, replace(log.head, title=title, summary=summary))

    async def compile(self, request: CompileRequest) -> PromptAnswer:
        """Compile the prompt for the next request of a session; the log remains unchanged."""
        session = redact_name(request.session)
        try:
            async with self._registry.hold_log(session) as log:
                project = log.head.project
                view = await self._fold_history(log, whole := int(HISTORY_SHARE * request.budget))
        except NotFound:
            project, whole = self._resolve_owner(request.project), 0
            log = SessionLog(SessionHead(session=session, project=project, started_at=self._now()))
            view = SessionHistory(whole, digest_turns).build_view()
        histories_by_budget = {
            budget: one for (name, budget), one in self._histories.items() if name == session and one.log is log
        }

        def history(tokens: int) -> HistoryView:
            if tokens == whole:
                return view
            if tokens not in histories_by_budget:
                histories_by_budget[tokens] = self._start_history(log, tokens)
            return histories_by_budget[tokens].fold()

        now = self._now()
        own = [one for one in self._standing(None) if is_presentable(one, now)]
        if project is not None:
            own = [one for one in own if holds_in_every_project(one)]
        self._reactions.observe(session, project, request.message, log.messages)
        results, degradations = await self._search_memories(request.message, project, view)
        compiling = partial(
            compile_prompt,
            PromptInputs(
                history=history,
                message=request.message,
                budget=request.budget,
                system=request.system,
                tools=request.tools,
                profile=render_profile(own),
                background=self._get_project_fact_lines(session, project, view),
                retrieved=[text for _, text in results],
                volatile=render_volatile_lines(
                    now.astimezone(zone_of(own)),
                    find_user_name(own),
                    self._find_previous_session(session, project),
                    degradations,
                ),
                task=request.task,
            ),
        )
        # A history that does not fit is folded again with a smaller budget.
        prompt = compiling() if len(log.messages) <= MAX_INLINE_MESSAGES else await asyncio.to_thread(compiling)
        if (
            whole in histories_by_budget and self._histories.get((session, whole)) is histories_by_budget[whole]
        ):  # the session was neither compacted nor erased meanwhile
            for tokens, one in histories_by_budget.items():
                self._cache_history((session, tokens), one)
        shown_texts = [(result.id, text) for result, text in results if text in prompt.retrieved]
        self._reactions.remember(session, project, request.message, shown_texts, log.messages)
        return _build_prompt_answer(prompt, results, degradations)

    # Prompt sections

    async def _fold_history(self, log: SessionLog, budget: int) -> HistoryView:
        """Fold the history up to the end of `log`.

        The caller must hold the lock of the log.
        """
        key = (log.head.session, budget)
        folded_history = self._histories.get(key)
        if folded_history is None or folded_history.log is not log:
            folded_history = self._start_history(log, budget)
        self._cache_history(key, folded_history)
        return (
            folded_history.fold() if folded_history.is_nearly_folded else await asyncio.to_thread(folded_history.fold)
        )

    def _start_history(self, log: SessionLog, budget: int) -> _FoldedHistory:
        return _FoldedHistory(log, SessionHistory(budget, digest_turns), self._masks_contacts)

    def _cache_history(self, key: tuple[str, int], folded_history: _FoldedHistory) -> None:
        self._histories[key] = folded_history
        self._histories.move_to_end(key)
        while len(self._histories) > MAX_HISTORIES:
            self._histories.popitem(last=False)

    def _get_project_fact_lines(self, session: str, project: str | None, view: HistoryView) -> Sequence[str]:
        """Return the lines of a prompt that state facts about the project.

        They remain unchanged until the history is compacted, so that the provider's prompt cache is hit. Forgotten
        facts are dropped immediately.
        """
        if project is None:
            return ()
        project_facts = self._project_facts.get(session)
        if project_facts is None or project_facts.compactions != view.compactions:
            own = session_tag(session)  # facts of this session are in its history, or found by search
            facts = [
                fact for fact in self._standing(project) if own not in fact.tags and is_presentable(fact, self._now())
            ]
            ids = frozenset(fact.id for fact in facts)
            project_facts = self._project_facts[session] = _ProjectFacts(view.compactions, ids, render_facts(facts))
            while len(self._project_facts) > MAX_HISTORIES:
                self._project_facts.popitem(last=False)
        self._project_facts.move_to_end(session)
        return project_facts.lines

    async def _search_memories(
        self, message: str, project: str | None, view: HistoryView
    ) -> tuple[list[tuple[SearchResult, str]], list[str]]:
        """Search for memories about a message, without those already in the prompt.

        Returns each result with its rendered text, and the reasons why a search was incomplete.
        """
        if asks_nothing(message):
            return [], []
        depth: Depth = "deep" if is_about_past(message) else "shallow"
        owners = (project, None) if project is not None else (None,)
        matches: list[tuple[SearchResult, str]] = []
        degradations: list[str] = []
        shown_ids = {entry.message for entry in view.entries if entry.message}
        heads = {session_head_id(head.session, head.project) for head in self._registry.heads.values()}
        search_request = SearchRequest(query=message[:2_000], depth=depth, k=MAX_RESULTS)
        of_user = replace(search_request, kinds=OWN_KINDS) if project is not None else search_request
        answers = await asyncio.gather(
            *(self._search(search_request if owner is not None else of_user, owner) for owner in owners)
        )
        for owner, answer in zip(owners, answers, strict=True):
            degradations += answer.degraded
            results_now = put_current_first(answer.results, self._standing(owner), self._now())
            results_now = self._reactions.preferences.rerank(message, project, results_now)
            results = filter_new_results(results_now, shown_ids, heads)
            memories = await self._registry.get_memories([result.id for result in results], owner)
            known = [memories[result.id] for result in results if result.id in memories]  # the others are forgotten
            supported = {one.id for one in select_supported(message, known)}
            for result in (one for one in results if one.id in supported):
                memory = memories[result.id]
                if owner == project or is_shown_in_projects(memory):
                    text = render_search_result(memory, result.snippet, now=self._now(), secret=self._secret)
                    is_said = self._masks_contacts and memory.kind is Kind.MESSAGE
                    matches.append((result, mask_contacts(text) if is_said else text))
        matches.sort(key=lambda one: -one[0].score)
        return matches, list(dict.fromkeys(degradations))

    def _find_previous_session(self, session: str, project: str | None) -> SessionHead | None:
        """Return the most recent other session in the same project, or None."""
        others = [
            head
            for head in self._registry.heads.values()
            if head.session != session and head.project == project and head.last_message_at is not None
        ]
        return max(others, key=lambda head: (head.last_message_at or head.started_at, head.session), default=None)

    def _resolve_owner(self, name: str | None) -> str | None:
        return self._find_project_id(name) if name else None

    # Background work

    def on_session_grown(self, session: str) -> None:
        self._changed_sessions.add(session)
        self._wake.set()

    def request_end(self, session: str) -> None:
        """End a session in the background, after a client has reported its end."""
        self._sessions_to_end.add(redact_name(session))
        self._wake.set()

    async def run_condensing(self) -> None:
        """Fold new messages, write episodes and end idle sessions, until cancelled.

        Because this happens in the background, prompts do not have to wait for it.
        """
        while True:
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                self._sessions_to_end |= set(await self._registry.list_idle_sessions(self._now() - IDLE_AFTER))
            self._wake.clear()
            while self._changed_sessions or self._sessions_to_end:
                queue, action = (
                    (self._changed_sessions, self._extract_condensed)
                    if self._changed_sessions
                    else (self._sessions_to_end, self._end_if_open)
                )
                session = queue.pop()
                try:
                    await action(session)
                except NotFound:  # erased meanwhile
                    continue
                except HunchError:  # the supervisor restarts this task after a pause
                    queue.add(session)
                    self._wake.set()
                    raise

    async def _extract_condensed(self, session: str) -> None:
        """Store the facts stated in condensed turns, and from time to time the episodes.

        Episodes are stored every EPISODE_INTERVAL_TURNS, or after `compact` was called.
        """
        async with self._registry.hold_log(session) as log:
            read, until = log.head, (await self._fold_history(log, DEFAULT_HISTORY)).condensed_until
            turns = group_into_turns(log.messages)[:until]
            is_by_hand = read.compactions[-1:] == (log.messages[-1].number,)
        if until <= read.facts_until_turn:
            return
        drafts = await self._read_facts(read, turns)  # takes seconds, for which no request waits
        is_due = until // EPISODE_INTERVAL_TURNS > read.facts_until_turn // EPISODE_INTERVAL_TURNS
        extract = None
        if is_by_hand or is_due:
            extract = await asyncio.to_thread(extract_episodes, read, turns, self._now(), is_ended=False)
        async with self._registry.hold_log(session) as log:
            if log.head.facts_until_turn != read.facts_until_turn:
                return  # the session was ended meanwhile
            head = await self._store_facts(log.head, turns, drafts)
            if extract is not None:
                head = await self._store_episodes(head, extract)
            await self._registry.write_head(log, head)

    async def _end_if_open(self, session: str) -> None:
        head = self._registry.heads.get(session)
        if head is not None and head.ended_at is None:
            await self.end(session)

    async def _read_facts(self, head: SessionHead, turns: Sequence[Turn]) -> Sequence[MemoryDraft]:
        """Return the facts stated in the turns that have not been read yet."""
        if not (stretch := turns[head.facts_until_turn :]):
            return ()
        session_facts = [fact for fact in self._standing(head.project) if fact.source.get("type") == "session"]
        ratings = await self._compute(self._rate, await asyncio.to_thread(list_sentences, stretch))
        statements = await asyncio.to_thread(extract_statements, stretch, ratings)
        texts = list(dict.fromkeys(text for one in statements for text in (one.text, one.in_context)))
        texts += [fact.content for fact in session_facts[-MAX_COMPARED_FACTS:]]
        vectors = await self._compute(self._embed, texts)
        return await asyncio.to_thread(build_facts, head, turns[-1].number, statements, session_facts, vectors)

    async def _store_facts(
        self, head: SessionHead, turns: Sequence[Turn], drafts: Sequence[MemoryDraft]
    ) -> SessionHead:
        """Store facts, and return the updated metadata."""
        if len(turns) <= head.facts_until_turn:
            return head
        facts = await self._memories.remember(drafts, [draft.project for draft in drafts])
        if self._reader is not None:
            self._reader.enqueue(head.session)
        return replace(head, facts_until_turn=turns[-1].number, facts=head.facts + len(facts))

    async def _compute(self, model: ComputeWithModel[Text] | None, texts: Sequence[Text]) -> Mapping[Text, bytes]:
        """Apply a model to the texts; return the results, keyed by text.

        Returns an empty mapping if the model is not in use or does not answer in time. Many statements are missed
        in that case.
        """
        if not texts or model is None:
            return {}
        with suppress(TimeoutError, HunchError):
            async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
                results = await model(texts)
                return dict(zip(texts, results, strict=True)) if results is not None else {}
        return {}

    async def _store_episodes(self, head: SessionHead, extract: Extract) -> SessionHead:
        """Store the episodes, delete outdated ones, and return the updated metadata.

        Some stored episodes are outdated if the session was divided into more episodes before.
        """
        await self._memories.store(extract.episodes)
        episode_count = len(extract.episodes)
        stale = [
            episode_id(head.session, head.project, number) for number in range(episode_count + 1, head.episodes + 1)
        ]
        if stale:
            await self._registry.delete_memories(stale, head.project)
        return replace(head, episodes=episode_count)


def _build_prompt_answer(
    prompt: CompiledPrompt, results: Sequence[tuple[SearchResult, str]], degradations: Sequence[str]
) -> PromptAnswer:
    return PromptAnswer(
        messages=list(prompt.messages),
        token_count=prompt.token_count,
        sections=prompt.sections,
        prefix_digest=prompt.prefix_digest,
        pruned=list(prompt.pruned_sections),
        history=PromptHistoryAnswer(
            messages=len(prompt.view.entries),
            compactions=prompt.view.compactions,
            condensed_until=prompt.view.condensed_until,
        ),
        retrieved=[
            RetrievedAnswer(
                id=result.id, kind=result.kind, title=result.title, score=result.score, reasons=result.reasons
            )
            for result, text in results
            if text in prompt.retrieved
        ],
        degraded=list(degradations),
        tools=list(prompt.tools),
    )
