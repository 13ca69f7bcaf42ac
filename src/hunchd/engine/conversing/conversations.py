"""Session API: append, background condensing, prompt compilation, end, erasure."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any

from hunchd.assembly.compiling import DESIGN, HISTORY, Compiled, Ingredients, compiled
from hunchd.assembly.history import History, View
from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.facts import OWN_KINDS, Change, holds_in_every_project, is_shown_in_projects, is_told
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.session import Turn, turns_of
from hunchd.domain.signal import SessionEnded
from hunchd.engine.conversing.extracting import Extract, episode_id, extracted, facts_in, finished
from hunchd.engine.conversing.known import (
    asks_nothing,
    fact_lines,
    found_text,
    looks_back,
    name_of,
    profile_lines,
    volatile_lines,
    worth_showing,
    zone_of,
)
from hunchd.engine.conversing.reading import Reading
from hunchd.engine.conversing.sessions import Sessions, head_json, title_of_session
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.session_log import Head, Log, head_id, message_of_memory, session_tag
from hunchd.engine.state.feature import AppliedSignal, Feature
from hunchd.engine.state.parts import Tasks
from hunchd.engine.state.project import Project
from hunchd.ingestion.digesting import digested
from hunchd.ingestion.redaction import redacted_name
from hunchd.protocol.requests import Depth, SearchRequest
from hunchd.protocol.sessions import AppendRequest, CompileRequest, PageRequest, SessionsRequest

DEFAULT_HISTORY = int(HISTORY * DESIGN)  # tokens
VIEWS = 32  # cached histories
MANY = 50  # messages folded on the event loop; more are folded in a thread
FOUND = 8  # search results in a prompt, for the project and for the user each
SEARCH_WITHIN = 2.0  # seconds; then the prompt is compiled without the missing results
EPISODE_EVERY = 20  # turns
IDLE = timedelta(hours=12)  # a session unused for this long is ended
SWEEP = 3_600.0  # seconds between two checks for idle sessions


@dataclass(slots=True)
class _Folded:
    """History folded so far.

    Only one thread folds it at a time, even if nobody waits for that thread any more.
    """

    log: Log
    history: History
    consumed: int = 0
    lock: Lock = field(default_factory=Lock)

    @property
    def is_at_hand(self) -> bool:
        """True if folding the rest is fast enough for the event loop."""
        return not self.lock.locked() and len(self.log.messages) - self.consumed <= MANY

    def view(self) -> View:
        """Fold the rest of the log and return the history."""
        with self.lock:
            forced, until = frozenset(self.log.head.compactions), len(self.log.messages)
            for message in self.log.messages[self.consumed : until]:
                self.history.add(message)
                if message.number in forced:
                    self.history.compact()
            self.consumed = until
            return self.history.view()


@dataclass(frozen=True, slots=True)
class _Background:
    """Project facts in a prompt, frozen since the last compaction.

    They change only with a compaction, or when one of them is forgotten.
    """

    compactions: int
    facts: frozenset[str]  # ids
    lines: tuple[str, ...]


# A request, in a project or among what is the user's own → the answer.
SearchMemories = Callable[[SearchRequest, str | None], Awaitable[dict[str, Any]]]
# A project id, or None for the user → the facts and profile pages held of it, all of them.
StandingMemories = Callable[[str | None], Iterable[Memory]]


class Conversations(Feature):
    """Service that the session routes call."""

    def __init__(
        self,
        sessions: Sessions,
        memories: Memories,
        search: SearchMemories,
        standing: StandingMemories,
        *,
        secret: bytes,
        project_id: Callable[[str], str],
        now: Callable[[], datetime],
        reading: Reading | None = None,
    ) -> None:
        self._sessions = sessions
        self._memories = memories
        self._search = search
        self._standing = standing
        self._secret = secret
        self._project_id = project_id  # maps a path or id to a project id; raises NotFound
        self._now = now
        self._reading = reading
        self._folded: OrderedDict[tuple[str, int], _Folded] = OrderedDict()
        self._backgrounds: OrderedDict[str, _Background] = OrderedDict()
        self._grown: set[str] = set()
        self._ending: set[str] = set()
        self._wake = asyncio.Event()

    # API

    async def append(self, session: str, request: AppendRequest) -> dict[str, Any]:
        """Store messages: durable when this returns, searchable at once."""
        return await self._sessions.append(session, request, self._owner(request.project))

    async def page(self, session: str, request: PageRequest) -> dict[str, Any]:
        """Return a page of a session's messages."""
        return await self._sessions.page(session, request)

    async def known(self, request: SessionsRequest) -> dict[str, Any]:
        """Return a page of the sessions."""
        return await self._sessions.known(request, self._owner(request.project))

    async def session(self, session: str) -> dict[str, Any]:
        """Return the metadata of a session."""
        return head_json(await self._sessions.head(session))

    def project_of(self, session: str) -> str | None:
        """Return the project id of a session.

        Returns None if it has none or is unknown.
        """
        head = self._sessions.heads.get(redacted_name(session))
        return head.project if head is not None else None

    async def end(self, session: str, outcome: str | None = None) -> dict[str, Any]:
        """Close the session and store its episodes, facts and summary.

        Ending it again without new messages changes nothing.
        """
        session = redacted_name(session)
        async with self._sessions.held(session) as log:
            turns = turns_of(log.messages)
            if turns:
                head = await self._keep_facts(log.head, turns)
                extract = await asyncio.to_thread(extracted, head, turns, self._now(), ended=True)
                head = await self._keep_episodes(head, extract)
                if head.ended is None or outcome is not None:
                    head = finished(head, extract, at=self._now(), outcome=outcome)
                await self._sessions.write_head(log, self._compacted(log, head))
            head = replace(log.head, messages=len(log.messages))
        return head_json(head) | {
            "episodes": [episode_id(session, head.project, number) for number in range(1, head.episodes + 1)],
            "facts": [memory.id for memory in await self._sessions.made(session, Kind.FACT)],
            "summary": head.summary,
        }

    async def compact(self, session: str) -> dict[str, Any]:
        """Condense the history now; the log stays as it is."""
        session = redacted_name(session)
        async with self._sessions.held(session) as log:
            before = (await self._view(log, DEFAULT_HISTORY)).tokens
            await self._sessions.write_head(log, self._compacted(log, log.head))
            view = await self._view(log, DEFAULT_HISTORY)
            return {
                "session": session,
                "tokens_before": before,
                "tokens_after": view.tokens,
                "compactions": view.compactions,
                "condensed_until": view.condensed_until,
            }

    def _compacted(self, log: Log, head: Head) -> Head:
        """Add a compaction after the newest message; cached histories are folded again."""
        last = log.messages[-1].number if log.messages else 0
        for key in [key for key in self._folded if key[0] == head.session]:
            del self._folded[key]
        return replace(head, compactions=tuple(dict.fromkeys((*head.compactions, last)))) if last else head

    async def erase(self, session: str) -> dict[str, Any]:
        """Erase the session; no byte of it is left when this returns."""
        erased = await self._sessions.erase(session)
        name = redacted_name(session)
        for key in [key for key in self._folded if key[0] == name]:
            del self._folded[key]
        self._backgrounds.clear()  # other sessions' prompts may contain its facts
        return erased

    def start(self, tasks: Tasks) -> None:
        tasks.start("condensing", self.keep_condensing)

    def on_signal(self, applied: AppliedSignal) -> None:
        if isinstance(applied.signal, SessionEnded) and applied.signal.session:
            self.wish_end(applied.signal.session)

    def on_memory_changed(self, change: Change, project: Project | None) -> None:
        self._sessions.changed(change)
        for session, known in list(self._backgrounds.items()):  # a prompt shows nothing that was deleted
            if not known.facts.isdisjoint(change.deletions):
                del self._backgrounds[session]

    async def forget_project(self, project_id: str) -> None:
        self._sessions.forget_project(project_id)

    async def retell(self, memory: Memory) -> None:
        """Rewrite title and summary of a session without one message.

        Called when that message is about to be forgotten.
        """
        message = message_of_memory(memory)
        if message is None:
            return
        with suppress(NotFound):
            async with self._sessions.held(str(memory.source["session"])) as log:
                left = [one for one in log.messages if one.id != memory.id]
                summary = ""
                if log.head.summary and (turns := turns_of(left)):
                    extract = await asyncio.to_thread(extracted, log.head, turns, self._now(), ended=True)
                    summary = extract.summary
                title = title_of_session(left) or f"session {log.head.session}"
                await self._sessions.write_head(log, replace(log.head, title=title, summary=summary))

    async def compile(self, request: CompileRequest) -> dict[str, Any]:
        """Compile the prompt for the session's next request.

        Nothing is added to the log.
        """
        session = redacted_name(request.session)
        try:
            async with self._sessions.held(session) as log:
                project = log.head.project
                view = await self._view(log, whole := int(HISTORY * request.budget))
        except NotFound:
            project, whole = self._owner(request.project), 0
            log = Log(Head(session=session, project=project, began=self._now()))
            view = History(whole, digested).view()
        folded = {budget: one for (name, budget), one in self._folded.items() if name == session and one.log is log}

        def history(tokens: int) -> View:
            if tokens == whole:
                return view
            if tokens not in folded:
                folded[tokens] = _Folded(log, History(tokens, digested))
            return folded[tokens].view()

        now = self._now()
        own = [one for one in self._standing(None) if is_told(one, now)]
        if project is not None:
            own = [one for one in own if holds_in_every_project(one)]
        found, degraded = await self._found(request.message, project, view)
        compiling = partial(
            compiled,
            Ingredients(
                history=history,
                message=request.message,
                budget=request.budget,
                system=request.system,
                tools=request.tools,
                profile=profile_lines(own),
                background=self._background(session, project, view),
                retrieved=[text for _, text in found],
                volatile=volatile_lines(
                    now.astimezone(zone_of(own)), name_of(own), self._last(session, project), degraded
                ),
                task=request.task,
            ),
        )
        # A history that does not fit is folded again with a smaller budget.
        prompt = compiling() if len(log.messages) <= MANY else await asyncio.to_thread(compiling)
        if whole in folded and self._folded.get((session, whole)) is folded[whole]:  # neither compacted nor erased
            for tokens, one in folded.items():
                self._remember((session, tokens), one)
        return _prompt_json(prompt, found, degraded)

    # Prompt sections

    async def _view(self, log: Log, budget: int) -> View:
        """Fold the history of a held log up to its end."""
        key = (log.head.session, budget)
        folded = self._folded.get(key)
        if folded is None or folded.log is not log:
            folded = _Folded(log, History(budget, digested))
        self._remember(key, folded)
        return folded.view() if folded.is_at_hand else await asyncio.to_thread(folded.view)

    def _remember(self, key: tuple[str, int], folded: _Folded) -> None:
        self._folded[key] = folded
        self._folded.move_to_end(key)
        while len(self._folded) > VIEWS:
            self._folded.popitem(last=False)

    def _background(self, session: str, project: str | None, view: View) -> Sequence[str]:
        """Return the project's facts for a prompt.

        They stay unchanged until the history is compacted, so that the prompt cache hits; forgotten facts are
        dropped at once.
        """
        if project is None:
            return ()
        known = self._backgrounds.get(session)
        if known is None or known.compactions != view.compactions:
            own = session_tag(session)  # facts of this session are in its history, or found by search
            facts = [fact for fact in self._standing(project) if own not in fact.tags and is_told(fact, self._now())]
            ids = frozenset(fact.id for fact in facts)
            known = self._backgrounds[session] = _Background(view.compactions, ids, fact_lines(facts))
            while len(self._backgrounds) > VIEWS:
                self._backgrounds.popitem(last=False)
        self._backgrounds.move_to_end(session)
        return known.lines

    async def _found(
        self, message: str, project: str | None, view: View
    ) -> tuple[list[tuple[dict[str, Any], str]], list[str]]:
        """Search memories for the message that the prompt does not show anyway.

        Also returns the reasons why a search was incomplete.
        """
        if asks_nothing(message):
            return [], []
        depth: Depth = "deep" if looks_back(message) else "shallow"
        owners = (project, None) if project is not None else (None,)
        found: list[tuple[dict[str, Any], str]] = []
        degraded: list[str] = []
        shown = {entry.message for entry in view.entries if entry.message}
        heads = {head_id(head.session, head.project) for head in self._sessions.heads.values()}
        asked = SearchRequest(query=message[:2_000], depth=depth, k=FOUND)
        of_user = replace(asked, kinds=OWN_KINDS) if project is not None else asked
        answers = await asyncio.gather(
            *(self._search_in_time(asked if owner is not None else of_user, owner) for owner in owners)
        )
        for owner, answer in zip(owners, answers, strict=True):
            degraded += answer["degraded"]
            results = worth_showing(answer["results"], shown, heads)
            memories = await self._sessions.memories([str(result["id"]) for result in results], owner)
            for result in results:
                memory = memories.get(str(result["id"]))  # None if it was forgotten meanwhile
                if memory is not None and (owner == project or is_shown_in_projects(memory)):
                    text = found_text(memory, str(result["snippet"]), now=self._now(), secret=self._secret)
                    found.append((dict(result), text))
        found.sort(key=lambda one: -float(one[0]["score"]))
        return found, list(dict.fromkeys(degraded))

    async def _search_in_time(self, asked: SearchRequest, owner: str | None) -> dict[str, Any]:
        try:
            async with asyncio.timeout(SEARCH_WITHIN):
                return await self._search(asked, owner)
        except TimeoutError:
            return {"results": [], "degraded": ["the memory search did not finish in time"]}

    def _last(self, session: str, project: str | None) -> Head | None:
        """Return the previous session of the same project."""
        others = [
            head
            for head in self._sessions.heads.values()
            if head.session != session and head.project == project and head.last is not None
        ]
        return max(others, key=lambda head: (head.last or head.began, head.session), default=None)

    def _owner(self, named: str | None) -> str | None:
        return self._project_id(named) if named else None

    # Background work

    def on_session_grown(self, session: str) -> None:
        self._grown.add(session)
        self._wake.set()

    def wish_end(self, session: str) -> None:
        """Close the session in the background.

        A client reported that it is over.
        """
        self._ending.add(redacted_name(session))
        self._wake.set()

    async def keep_condensing(self) -> None:
        """Fold new messages, write episodes and end idle sessions, forever.

        Folding in the background means that no prompt waits for it.
        """
        while True:
            try:
                async with asyncio.timeout(SWEEP):
                    await self._wake.wait()
            except TimeoutError:
                self._ending |= set(await self._sessions.idle_since(self._now() - IDLE))
            self._wake.clear()
            while self._grown or self._ending:
                waiting, does = (self._grown, self._advance) if self._grown else (self._ending, self._close)
                session = waiting.pop()
                try:
                    await does(session)
                except NotFound:  # erased meanwhile
                    continue
                except HunchError:  # the supervisor restarts this task after a pause
                    waiting.add(session)
                    self._wake.set()
                    raise

    async def _advance(self, session: str) -> None:
        """Store facts of condensed turns at once, and episodes every EPISODE_INTERVAL_TURNS."""
        async with self._sessions.held(session) as log:
            until, told = (await self._view(log, DEFAULT_HISTORY)).condensed_until, log.head.told
            if until <= told:
                return
            turns = turns_of(log.messages)[:until]
            head = await self._keep_facts(log.head, turns)
            if until // EPISODE_EVERY > told // EPISODE_EVERY:
                extract = await asyncio.to_thread(extracted, head, turns, self._now(), ended=False)
                head = await self._keep_episodes(head, extract)
            await self._sessions.write_head(log, head)

    async def _close(self, session: str) -> None:
        head = self._sessions.heads.get(session)
        if head is not None and head.ended is None:
            await self.end(session)

    async def _keep_facts(self, head: Head, turns: Sequence[Turn]) -> Head:
        """Store the facts that the newest turns state; return the updated head."""
        if not (stretch := turns[head.told :]):
            return head
        said = [fact for fact in self._standing(head.project) if fact.source.get("type") == "session"]
        drafts = await asyncio.to_thread(facts_in, head, stretch, said)
        kept = await self._memories.remember(drafts, [draft.project for draft in drafts])
        if self._reading is not None:
            self._reading.note(head.session)
        return replace(head, told=turns[-1].number, facts=head.facts + len(kept))

    async def _keep_episodes(self, head: Head, extract: Extract) -> Head:
        """Write the episodes, replace those of an earlier division, return the updated head."""
        await self._memories.keep(extract.episodes)
        made = len(extract.episodes)
        stale = [episode_id(head.session, head.project, number) for number in range(made + 1, head.episodes + 1)]
        if stale:
            await self._sessions.forget(stale, head.project)
        return replace(head, episodes=made)


def _prompt_json(
    prompt: Compiled, found: Sequence[tuple[dict[str, Any], str]], degraded: Sequence[str]
) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "messages": list(prompt.messages),
        "token_count": prompt.token_count,
        "sections": dict(prompt.sections),
        "prefix_digest": prompt.prefix_digest,
        "pruned": list(prompt.pruned),
        "history": {
            "messages": len(prompt.view.entries),
            "compactions": prompt.view.compactions,
            "condensed_until": prompt.view.condensed_until,
        },
        "retrieved": [
            {name: result[name] for name in ("id", "kind", "title", "score", "reasons")}
            for result, text in found
            if text in prompt.retrieved
        ],
        "degraded": list(degraded),
    }
    return answer | ({"tools": list(prompt.tools)} if prompt.tools else {})
