"""Session log: durable append, paging, end, and complete erasure."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hunchd.domain.errors import Conflict, HunchError, NotFound, Unavailable
from hunchd.domain.facts import Change
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.session import Event, Message
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.records import holds_one_of
from hunchd.engine.keeping.session_log import (
    HEAD_TAG,
    Head,
    Log,
    head_id,
    head_of_memory,
    memory_of_head,
    memory_of_message,
    message_of,
    message_of_memory,
    session_tag,
)
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.state.feature import Features
from hunchd.ingestion.redaction import redact, redacted_name
from hunchd.protocol.answers import iso, page_json
from hunchd.protocol.decoding import no_cursor
from hunchd.protocol.memories import title_of
from hunchd.protocol.sessions import AppendRequest, MessageDraft, PageRequest, SessionsRequest, message_json
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Journal

logger = logging.getLogger(__name__)

HELD = 16  # sessions whose messages stay in memory
HELD_BYTES = 32 * 1024 * 1024  # approximate total size of their texts
BEGUN_WITHIN = 30.0  # seconds that a client waits for a starting daemon
# Longer texts are redacted and tokenized in a thread, so that other requests are not blocked.
LONG = 32 * 1024  # characters


@dataclass(slots=True)
class _Shelf:
    """Cache entry of a session; the lock protects its log."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    log: Log | None = None


class Sessions:
    """Registry of all sessions.

    `heads` are those known, logs are cached while in use.
    """

    def __init__(
        self,
        journal: Journal,
        hot: HotTier,
        store: StoreClient,
        writer: Writer,
        memories: Memories,
        *,
        now: Callable[[], datetime],
        features: Features,
    ) -> None:
        self._journal = journal
        self._hot = hot
        self._store = store
        self._writer = writer
        self._memories = memories
        self._now = now
        self._features = features
        self._shelves: OrderedDict[str, _Shelf] = OrderedDict()
        self._ready = asyncio.Event()
        self._own: set[str] = set()  # ids that this object is storing or deleting
        self.heads: dict[str, Head] = {}

    # Loading, and changes made elsewhere

    async def warm(self, projects: Sequence[str | None]) -> None:
        """Load the heads of all sessions.

        Before, it is unknown whether a session is new.
        """
        for project in projects:
            filters = Filters(project=project, kinds=(Kind.DOCUMENT,), tags=(HEAD_TAG,), statuses=())
            async for memory in self._all(filters):
                self.noticed(memory)
        self._ready.set()

    def changed(self, change: Change) -> None:
        """Invalidate cached logs and heads after changes made elsewhere."""
        for memory in change.memories:
            self.noticed(memory)
        gone = set(change.deletions) - self._own
        for session, shelf in self._shelves.items():
            if shelf.log is not None and gone.intersection(message.id for message in shelf.log.messages):
                self._let_go(session)
        for session, head in list(self.heads.items()):
            if head_id(session, head.project) in gone:
                del self.heads[session]

    def noticed(self, memory: Memory) -> None:
        """Update the registry with one stored memory."""
        if memory.id in self._own:
            return
        if (head := head_of_memory(memory)) is not None:
            self.heads[head.session] = head
        elif memory.kind is Kind.MESSAGE:
            self._let_go(str(memory.source.get("session")))

    def forget_project(self, project: str) -> None:
        """Drop the sessions of a project."""
        for session in [session for session, head in self.heads.items() if head.project == project]:
            del self.heads[session]
            self._shelves.pop(session, None)

    def _let_go(self, session: str) -> None:
        """Drop the cached log of a session.

        It is read again on demand.
        """
        if (shelf := self._shelves.get(session)) is not None:
            shelf.log = None

    async def begun(self) -> None:
        """Wait until the heads are loaded.

        Raises Unavailable after READY_TIMEOUT_SECONDS.
        """
        try:
            async with asyncio.timeout(BEGUN_WITHIN):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable("sessions are still being loaded") from None

    # Log

    async def append(self, session: str, request: AppendRequest, project: str | None) -> dict[str, Any]:
        """Store messages durably; one with a known ref changes nothing.

        Raises Conflict when the session belongs to another project.
        """
        await self.begun()
        session = redacted_name(session)
        async with self.held(session, project, new=True) as log:
            if request.project is not None and log.head.project != project:
                raise Conflict("this session belongs to another project", field="project")
            ids, fresh = await self._numbered(log, request.messages)
            if fresh:
                await self._keep(log, fresh)
        if fresh:
            self._features.on_session_grown(session)
        answer: dict[str, Any] = {"session": session, "accepted": len(fresh), "ids": ids}
        return answer | ({"rejected": list(request.rejected)} if request.rejected else {})

    async def _numbered(self, log: Log, drafts: Sequence[MessageDraft]) -> tuple[list[str], list[Message]]:
        """Return the ids of all drafts, and the new messages with their numbers."""
        ids: list[str] = []
        fresh: list[Message] = []
        refs = {ref: message.id for ref, message in log.refs.items()}
        number, now = log.next_number, self._now()
        for draft in drafts:
            ref = redacted_name(draft.ref) if draft.ref else None
            if ref is not None and ref in refs:
                ids.append(refs[ref])
                continue
            place = (draft, log.head.session, log.head.project, number, now)
            is_long = len(draft.text) >= LONG
            message = await asyncio.to_thread(message_of, *place) if is_long else message_of(*place)
            fresh.append(message)
            ids.append(message.id)
            number += 1
            if ref is not None:
                refs[ref] = message.id
        return ids, fresh

    async def _keep(self, log: Log, fresh: Sequence[Message]) -> None:
        now, head = self._now(), log.head
        kept = [memory_of_message(message, head.session, head.project, now) for message in fresh]
        if head.session not in self.heads or head.ended is not None:  # an ended session may be continued
            head = replace(head, title=head.title or title_of_session(fresh), ended=None, outcome=None)
            if head.session not in self.heads:  # an imported session began when its first message was sent
                head = replace(head, began=min(head.began, *(message.at for message in fresh)))
            kept.insert(0, memory_of_head(head, now))
        await self._keep_own(kept)
        log.extend(fresh)
        log.head = self.heads[head.session] = replace(head, messages=len(log.messages), last=now)
        self._shrink()

    @asynccontextmanager
    async def held(self, session: str, project: str | None = None, *, new: bool = False) -> AsyncIterator[Log]:
        """Hold the log of a session exclusively.

        Raises NotFound for an unknown session unless `new` is set.
        """
        await self.begun()
        head = self.heads.get(session)
        if head is None and not new:
            raise NotFound(f"there is no session '{session}'", field="id", hint="GET /sessions lists them")
        while True:
            shelf = self._shelves.setdefault(session, _Shelf())
            self._shelves.move_to_end(session)
            async with shelf.lock:
                if self._shelves.get(session) is not shelf:
                    continue  # evicted while waiting: use the new entry
                head = self.heads.get(session)
                if head is None and not new:
                    raise NotFound(f"there is no session '{session}'")  # erased while waiting
                if shelf.log is None or head is None:
                    began = Head(session=session, project=project, began=self._now())
                    shelf.log = Log(began) if head is None else await self._read(head)
                yield shelf.log
                return

    async def _read(self, head: Head) -> Log:
        """Read the log in the order of acceptance.

        The cache comes before the store, so that a message that moves in between is seen once.
        """
        filters = Filters(project=head.project, kinds=(Kind.MESSAGE,), tags=(session_tag(head.session),), statuses=())
        found: dict[int, Message] = {}
        async for memory in self._all(filters):
            if (message := message_of_memory(memory)) is not None:
                found.setdefault(message.number, message)
        log = Log(replace(head, messages=len(found)))
        log.extend([found[number] for number in sorted(found)])
        return log

    async def _all(self, filters: Filters) -> AsyncIterator[Memory]:
        """Yield every memory that matches, without those superseded by an edit."""
        await self._writer.begun()
        async for memory in self._memories.each(filters):
            if memory.superseded_by is None:
                yield memory

    def _shrink(self) -> None:
        """Evict the least recently used logs; one that is in use stays."""
        sizes = {session: shelf.log.size if shelf.log else 0 for session, shelf in self._shelves.items()}
        total = sum(sizes.values())
        for session, shelf in list(self._shelves.items())[:-1]:
            if len(self._shelves) <= HELD and total <= HELD_BYTES:
                break
            if not shelf.lock.locked():
                total -= sizes[session]
                del self._shelves[session]

    # Queries

    async def page(self, session: str, request: PageRequest) -> dict[str, Any]:
        """Return a page of the log, oldest first."""
        session = redacted_name(session)
        after = _number(request.cursor)
        async with self.held(session) as log:
            part = [message for message in log.messages if message.number > after]
            shown = part[: request.limit]
            return page_json(
                [message_json(message, session) for message in shown],
                next_cursor=str(shown[-1].number) if len(part) > len(shown) else None,
                total=len(log.messages),
            )

    async def known(self, request: SessionsRequest, project: str | None) -> dict[str, Any]:
        """Return a page of the sessions, newest first, optionally of one project."""
        await self.begun()
        wanted = [head for head in self.heads.values() if request.project is None or head.project == project]
        wanted.sort(key=lambda head: (head.began, head.session), reverse=True)
        first = _number(request.cursor)
        shown = wanted[first : first + request.limit]
        following = first + len(shown)
        return page_json(
            [head_json(await self._counted(head)) for head in shown],
            next_cursor=str(following) if following < len(wanted) else None,
            total=len(wanted),
        )

    async def head(self, session: str) -> Head:
        """Return the metadata of a session. Raises NotFound."""
        async with self.held(redacted_name(session)) as log:
            return replace(log.head, messages=len(log.messages))

    async def _counted(self, head: Head) -> Head:
        """Return the head with current counts.

        The head of an unused session may have been written before its last messages.
        """
        shelf = self._shelves.get(head.session)
        if (shelf is not None and shelf.log is not None) or head.ended is not None or head.last is not None:
            return head
        filters = Filters(project=head.project, kinds=(Kind.MESSAGE,), tags=(session_tag(head.session),))
        await self._writer.drained()
        page = await self._store.list(filters, 1)
        last = page.items[0].at if page.items else None
        counted = self.heads[head.session] = replace(head, messages=page.total, last=last)
        return counted

    async def memories(self, ids: Sequence[str], project: str | None) -> dict[str, Memory]:
        """Return the existing memories among `ids`, by id.

        Those that are not cached are read from the store in one call. If the store does not answer, only cached
        ones are
        returned.
        """
        found = {one: memory for one in ids if (memory := self._hot.get(one)) is not None}
        missing = [one for one in ids if one not in found and not self._hot.is_tombstoned(one)]
        if missing:
            try:
                found |= {memory.id: memory for memory in await self._store.get(missing, project)}
            except HunchError as error:
                logger.warning("%d memories could not be read for a prompt: %s", len(missing), error.message)
        return found

    async def made(self, session: str, kind: Kind) -> list[Memory]:
        """Return the memories derived from a session, ordered by turn.

        Includes the project's and the user's own.
        """
        head = self.heads.get(session)
        found = []
        for owner in dict.fromkeys((head.project if head is not None else None, None)):
            filters = Filters(project=owner, kinds=(kind,), tags=(session_tag(session),))
            found += [memory async for memory in self._all(filters)]
        return sorted(found, key=lambda memory: (memory.source.get("turn", 0), memory.id))

    async def write_head(self, log: Log, head: Head) -> None:
        """Store a changed head; the caller holds the log."""
        log.head = self.heads[head.session] = head
        await self._keep_own([memory_of_head(head, self._now())])

    async def _keep_own(self, memories: Sequence[Memory]) -> None:
        ids = {memory.id for memory in memories}
        self._own |= ids
        try:
            await self._memories.keep(memories)
        finally:
            self._own -= ids

    async def idle_since(self, moment: datetime) -> list[str]:
        """Return the open sessions without new messages since `moment`."""
        idle = []
        for session, head in list(self.heads.items()):
            if head.ended is None and (await self._counted(head)).last is not None:
                last = self.heads[session].last
                if last is not None and last < moment:
                    idle.append(session)
        return idle

    async def erase(self, session: str) -> dict[str, Any]:
        """Erase a session, its messages and everything derived from it.

        Answers exclude it at once, the disk before this returns.
        """
        session = redacted_name(session)
        async with AsyncExitStack() as promises:
            with self._memories.purges.coming():
                gone = await self._taken_out(session, promises)
            await asyncio.gather(*(self._memories.purges.purge(owner) for owner in gone))
            ids = [one for of_owner in gone.values() for one in of_owner]
            await self._features.forget_memories(ids)
        return {"erased": session, "memories": len(ids)}

    async def _taken_out(self, session: str, promises: AsyncExitStack) -> dict[str | None, list[str]]:
        """Remove the session from answers and journal.

        Returns the ids to purge, by project. The erasures are recorded in `promises`.
        """
        async with self.held(session) as log:
            await self._writer.drained()
            gone: dict[str | None, list[str]] = {}
            last = 0
            # Statements about the user are stored with the user's own memories, not the project's.
            for owner in dict.fromkeys((log.head.project, None)):
                filters = Filters(project=owner, tags=(session_tag(session),), statuses=())
                async with self._memories.changing:
                    made = await self._memories.all_of(filters)
                    ids = [memory.id for memory in made]
                    if owner == log.head.project:
                        ids += [message.id for message in log.messages]
                    ids += [one.id for one in await self._memories.conflicts_about(set(ids), owner)]
                    if ids := list(dict.fromkeys(ids)):
                        await promises.enter_async_context(self._memories.unfinished.promised(ids, owner))
                        facts = [memory for memory in made if memory.kind is Kind.FACT]
                        kept = await self._memories.relink(facts, owner)
                        last = max(last, await self.forget([one for one in ids if one not in kept], owner))
                        gone[owner] = ids
            self.heads.pop(session, None)
            log.clear()
        self._shelves.pop(session, None)
        barred = frozenset(one for ids in gone.values() for one in ids)
        await self._writer.drained()
        await self._journal.rewrite(lambda record: holds_one_of(record, barred), up_to=last)
        return gone

    async def forget(self, ids: Sequence[str], project: str | None) -> int:
        """Delete memories durably; return the sequence number of the last record."""
        self._own |= set(ids)
        try:
            return await self._memories.bury(ids, project)
        finally:
            self._own -= set(ids)


def head_json(head: Head) -> dict[str, Any]:
    """Serialize a session's metadata for the API."""
    return {
        "id": head.session,
        "title": head.title,
        "project": head.project,
        "state": "open" if head.ended is None else "ended",
        "outcome": head.outcome,
        "began": iso(head.began),
        "last": iso(head.last) if head.last is not None else None,
        "ended": iso(head.ended) if head.ended is not None else None,
        "messages": head.messages,
    }


def title_of_session(messages: Sequence[Message]) -> str:
    """Return the user's first message as title, "" if there is none."""
    said = [message for message in messages if message.event is Event.USER] or messages
    return title_of(redact(said[0].text).text) if said else ""


def _number(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 12:
        raise no_cursor()
    return int(cursor)
