"""Registry of sessions and their logs: durable append, paging, and complete erasure.

The head of a session is the record with its metadata, such as title, state and number of messages.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from hunchd.core.memory.journal_records import contains_any_memory
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.session_log import (
    HEAD_TAG,
    SessionHead,
    SessionLog,
    draft_to_message,
    head_from_memory,
    head_to_memory,
    mask_message,
    message_from_memory,
    message_to_memory,
    session_head_id,
    session_tag,
)
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.feature import Features
from hunchd.domain.errors import Conflict, HunchError, NotFound, Unavailable
from hunchd.domain.facts import MemoryChange
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.session import Message, MessageType
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.redaction import redact, redact_name
from hunchd.protocol.decoding import unknown_cursor
from hunchd.protocol.memories import derive_title
from hunchd.protocol.responses import PageAnswer, format_iso
from hunchd.protocol.session_answers import (
    LoggedMessageAnswer,
    MessagesAcceptedAnswer,
    SessionAnswer,
    SessionErasedAnswer,
    message_answer,
)
from hunchd.protocol.session_requests import AppendRequest, MessageDraft, PageRequest, SessionsRequest
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryStore

logger = logging.getLogger(__name__)

MAX_CACHED_LOGS = 16  # sessions whose messages stay in memory
MAX_CACHED_SIZE = 32 * 1024 * 1024  # approximate total size of the texts in cached logs
READY_TIMEOUT_SECONDS = 30.0  # seconds that a client waits for a starting daemon
# Longer texts are redacted and tokenized in a thread, so that other requests are not blocked.
LONG_TEXT_LENGTH = 32 * 1024  # characters


@dataclass(slots=True)
class _CachedLog:
    """Entry in the cache of logs; `lock` protects the log."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    log: SessionLog | None = None


class SessionRegistry:
    """Registry of all sessions and their logs.

    `heads` contains the metadata of every session. Logs are cached while they are in use.
    """

    def __init__(
        self,
        journal: Journal,
        memory_cache: MemoryCache,
        store: MemoryStore,
        writer: StoreWriter,
        memories: MemoryService,
        *,
        now: Callable[[], datetime],
        features: Features,
        masks_log: bool = False,
    ) -> None:
        self._journal = journal
        self._memory_cache = memory_cache
        self._store = store
        self._writer = writer
        self._memories = memories
        self._now = now
        self._features = features
        self._masks_log = masks_log  # contact data do not even reach the log
        self._logs: OrderedDict[str, _CachedLog] = OrderedDict()
        self._ready = asyncio.Event()
        self._own_ids: set[str] = set()  # ids that this object is storing or deleting
        self.heads: dict[str, SessionHead] = {}

    # Loading, and changes made elsewhere

    async def load_heads(self, projects: Sequence[str | None]) -> None:
        """Load the metadata of every session in `projects`.

        Until this has run, the registry cannot tell whether a session is new.
        """
        for project in projects:
            filters = Filters(project=project, kinds=(Kind.DOCUMENT,), tags=(HEAD_TAG,), statuses=())
            async for memory in self._iter_memories(filters):
                self.update_from_memory(memory)
        self._ready.set()

    def on_memory_changed(self, change: MemoryChange) -> None:
        """Update the metadata and drop cached logs after a change from elsewhere.

        Changes that this object makes itself are ignored.
        """
        for memory in change.memories:
            self.update_from_memory(memory)
        deleted_ids = set(change.deletions) - self._own_ids
        for session, shelf in self._logs.items():
            if shelf.log is not None and deleted_ids.intersection(message.id for message in shelf.log.messages):
                self._invalidate_log(session)
        for session, head in list(self.heads.items()):
            if session_head_id(session, head.project) in deleted_ids:
                del self.heads[session]

    def update_from_memory(self, memory: Memory) -> None:
        """Update the registry from a stored memory that belongs to a session.

        Metadata replaces the entry in the registry; a message invalidates the cached log of its session. Other
        memories are ignored.
        """
        if memory.id in self._own_ids:
            return
        if (head := head_from_memory(memory)) is not None:
            self.heads[head.session] = head
        elif memory.kind is Kind.MESSAGE:
            self._invalidate_log(str(memory.source.get("session")))

    def forget_project(self, project: str) -> None:
        """Drop all sessions that belong to a project."""
        for session in [session for session, head in self.heads.items() if head.project == project]:
            del self.heads[session]
            self._logs.pop(session, None)

    def _invalidate_log(self, session: str) -> None:
        """Drop the cached log of a session, which is then read again on demand."""
        if (shelf := self._logs.get(session)) is not None:
            shelf.log = None

    async def wait_until_ready(self) -> None:
        """Wait until the metadata of all sessions is loaded.

        Raises Unavailable after READY_TIMEOUT_SECONDS.
        """
        try:
            async with asyncio.timeout(READY_TIMEOUT_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable("sessions are still being loaded") from None

    # Log

    async def append(self, session: str, request: AppendRequest, project: str | None) -> MessagesAcceptedAnswer:
        """Store messages durably; a message whose ref is already known is not stored again.

        The session is created if it does not exist. Raises Conflict if the session belongs to a different project.
        """
        await self.wait_until_ready()
        session = redact_name(session)
        async with self.hold_log(session, project, new=True) as log:
            if request.project is not None and log.head.project != project:
                raise Conflict("this session belongs to another project", field="project")
            ids, fresh = await self._number_messages(log, request.messages)
            if fresh:
                await self._store_messages(log, fresh)
        if fresh:
            self._features.on_session_grown(session)
        return MessagesAcceptedAnswer(session=session, accepted=len(fresh), ids=ids, rejected=list(request.rejections))

    async def _number_messages(
        self, log: SessionLog, drafts: Sequence[MessageDraft]
    ) -> tuple[list[str], list[Message]]:
        """Return the ids for all drafts, and the new messages with their numbers.

        For a draft whose ref is already known, the id of the stored message is returned, and no new message is
        created. The same goes for a draft with a ref that repeats a message without one: what an agent's hook logged
        is in the agent's transcript too.
        """
        ids: list[str] = []
        fresh: list[Message] = []
        refs = {ref: message.id for ref, message in log.refs.items()}
        matched: set[str] = set()  # ids of messages without a ref that drafts repeat
        number, now = log.next_number, self._now()
        for draft in drafts:
            ref = redact_name(draft.ref) if draft.ref else None
            if ref is not None and ref in refs:
                ids.append(refs[ref])
                continue
            place = (draft, log.head.session, log.head.project, number, now)
            is_long = len(draft.text) >= LONG_TEXT_LENGTH
            message = await asyncio.to_thread(draft_to_message, *place) if is_long else draft_to_message(*place)
            message = mask_message(message) if self._masks_log else message
            known = log.without_ref.get((message.event, message.text)) if ref is not None else None
            if known is not None and known.id not in matched:
                matched.add(known.id)
                ids.append(known.id)
                continue
            fresh.append(message)
            ids.append(message.id)
            number += 1
            if ref is not None:
                refs[ref] = message.id
        return ids, fresh

    async def _store_messages(self, log: SessionLog, fresh: Sequence[Message]) -> None:
        now, head = self._now(), log.head
        memories = [message_to_memory(message, head.session, head.project, now) for message in fresh]
        if (
            head.session not in self.heads or head.ended_at is not None
        ):  # an ended session is continued by a new message
            head = replace(head, title=head.title or get_session_title(fresh), ended_at=None, outcome=None)
            if head.session not in self.heads:  # an imported session began when its first message was sent
                head = replace(head, started_at=min(head.started_at, *(message.at for message in fresh)))
            memories.insert(0, head_to_memory(head, now))
        await self._store_own(memories)
        log.extend(fresh)
        last = max(min(max(message.at for message in fresh), now), head.last_message_at or head.started_at)
        log.head = self.heads[head.session] = replace(head, messages=len(log.messages), last_message_at=last)
        self._evict_logs()

    @asynccontextmanager
    async def hold_log(
        self, session: str, project: str | None = None, *, new: bool = False
    ) -> AsyncIterator[SessionLog]:
        """Lock the log of a session until the `with` block ends, and yield the log.

        Raises NotFound if the session is unknown, unless `new` is True; in that case the log is empty and belongs
        to `project`.
        """
        await self.wait_until_ready()
        head = self.heads.get(session)
        if head is None and not new:
            raise NotFound(f"there is no session '{session}'", field="id", hint="GET /sessions lists them")
        while True:
            shelf = self._logs.setdefault(session, _CachedLog())
            self._logs.move_to_end(session)
            async with shelf.lock:
                if self._logs.get(session) is not shelf:
                    continue  # evicted while waiting: use the new entry
                head = self.heads.get(session)
                if head is None and not new:
                    raise NotFound(f"there is no session '{session}'")  # erased while waiting
                if shelf.log is None or head is None:
                    began = SessionHead(session=session, project=project, started_at=self._now())
                    shelf.log = SessionLog(began) if head is None else await self._read_log(head)
                yield shelf.log
                return

    async def _read_log(self, head: SessionHead) -> SessionLog:
        """Read the log of a session from the cache and the store.

        The messages are in the order in which they were accepted. The cache is read before the store, so that a
        message that moves from the cache to the store in between is seen exactly once.
        """
        filters = Filters(project=head.project, kinds=(Kind.MESSAGE,), tags=(session_tag(head.session),), statuses=())
        messages_by_number: dict[int, Message] = {}
        async for memory in self._iter_memories(filters):
            if (message := message_from_memory(memory)) is not None:
                messages_by_number.setdefault(message.number, message)
        log = SessionLog(replace(head, messages=len(messages_by_number)))
        log.extend([messages_by_number[number] for number in sorted(messages_by_number)])
        return log

    async def _iter_memories(self, filters: Filters) -> AsyncIterator[Memory]:
        """Yield every memory that matches, except those superseded by an edit."""
        await self._writer.wait_until_started()
        async for memory in self._memories.iter_all(filters):
            if memory.superseded_by is None:
                yield memory

    def _evict_logs(self) -> None:
        """Evict the least recently used logs if the cache is too large.

        Logs in use and the newest log are kept.
        """
        sizes = {session: shelf.log.size if shelf.log else 0 for session, shelf in self._logs.items()}
        total = sum(sizes.values())
        for session, shelf in list(self._logs.items())[:-1]:
            if len(self._logs) <= MAX_CACHED_LOGS and total <= MAX_CACHED_SIZE:
                break
            if not shelf.lock.locked():
                total -= sizes[session]
                del self._logs[session]

    # Queries

    async def list_messages(self, session: str, request: PageRequest) -> PageAnswer[LoggedMessageAnswer]:
        """Return a page of a session's messages, oldest first."""
        session = redact_name(session)
        after = _parse_cursor(request.cursor)
        async with self.hold_log(session) as log:
            part = [message for message in log.messages if message.number > after]
            page_messages = part[: request.limit]
            return PageAnswer(
                items=[message_answer(message, session) for message in page_messages],
                next=str(page_messages[-1].number) if len(part) > len(page_messages) else None,
                total=len(log.messages),
            )

    async def list_sessions(self, request: SessionsRequest, project: str | None) -> PageAnswer[SessionAnswer]:
        """Return a page of the sessions, newest first.

        If `request.project` is set, only the sessions of `project` are listed.
        """
        await self.wait_until_ready()
        matching_heads = [head for head in self.heads.values() if request.project is None or head.project == project]
        matching_heads.sort(key=lambda head: (head.started_at, head.session), reverse=True)
        first = _parse_cursor(request.cursor)
        page_heads = matching_heads[first : first + request.limit]
        next_index = first + len(page_heads)
        return PageAnswer(
            items=[describe_session(await self._refresh_counts(head)) for head in page_heads],
            next=str(next_index) if next_index < len(matching_heads) else None,
            total=len(matching_heads),
        )

    async def get_head(self, session: str) -> SessionHead:
        """Return the metadata of a session.

        Raises NotFound if there is no such session.
        """
        async with self.hold_log(redact_name(session)) as log:
            return replace(log.head, messages=len(log.messages))

    async def _refresh_counts(self, head: SessionHead) -> SessionHead:
        """Return the metadata of a session with an up-to-date number of messages.

        The time of the last message is updated as well. While a session is open, its stored metadata may be older
        than its last messages, unless its log is in use.
        """
        shelf = self._logs.get(head.session)
        if (
            (shelf is not None and shelf.log is not None)
            or head.ended_at is not None
            or head.last_message_at is not None
        ):
            return head
        filters = Filters(project=head.project, kinds=(Kind.MESSAGE,), tags=(session_tag(head.session),))
        await self._writer.drain()
        page = await self._store.list(filters, 1)
        last = page.items[0].at if page.items else None
        updated_head = self.heads[head.session] = replace(head, messages=page.total, last_message_at=last)
        return updated_head

    async def get_memories(self, ids: Sequence[str], project: str | None) -> dict[str, Memory]:
        """Return the memories that exist among `ids`, keyed by id.

        If the store does not answer, only cached memories are returned.
        """
        try:
            return await self._memories.find(ids, project)
        except HunchError as error:
            logger.warning("could not read %d memories for a prompt: %s", len(ids), error.message)
            return {one: memory for one in ids if (memory := self._memory_cache.get(one)) is not None}

    async def list_derived_memories(self, session: str, kind: Kind) -> list[Memory]:
        """Return the memories of one kind derived from a session, ordered by turn.

        Both those stored in the session's project and those stored for the user are included.
        """
        head = self.heads.get(session)
        derived_memories = []
        for owner in dict.fromkeys((head.project if head is not None else None, None)):
            filters = Filters(project=owner, kinds=(kind,), tags=(session_tag(session),))
            derived_memories += [memory async for memory in self._iter_memories(filters)]
        return sorted(derived_memories, key=lambda memory: (memory.source.get("turn", 0), memory.id))

    async def write_head(self, log: SessionLog, head: SessionHead) -> None:
        """Store changed metadata of a session; the caller must hold the log's lock."""
        log.head = self.heads[head.session] = head
        await self._store_own([head_to_memory(head, self._now())])

    async def _store_own(self, memories: Sequence[Memory]) -> None:
        ids = {memory.id for memory in memories}
        self._own_ids |= ids
        try:
            await self._memories.store(memories)
        finally:
            self._own_ids -= ids

    async def list_idle_sessions(self, moment: datetime) -> list[str]:
        """Return the names of open sessions without new messages since `moment`.

        Sessions without any messages are left out.
        """
        idle = []
        for session, head in list(self.heads.items()):
            if head.ended_at is None and (await self._refresh_counts(head)).last_message_at is not None:
                last = self.heads[session].last_message_at
                if last is not None and last < moment:
                    idle.append(session)
        return idle

    async def erase(self, session: str) -> SessionErasedAnswer:
        """Erase a session, its messages and everything derived from it.

        Answers exclude the session immediately; when this returns, it has been erased from disk as well.
        """
        session = redact_name(session)
        async with AsyncExitStack() as promises:
            with self._memories.purges.announce_deletion():
                removed_ids = await self._remove_session(session, promises)
            await asyncio.gather(*(self._memories.purges.purge(owner) for owner in removed_ids))
            ids = [one for of_owner in removed_ids.values() for one in of_owner]
            await self._features.forget_memories(ids)
        return SessionErasedAnswer(erased=session, memories=len(ids))

    async def _remove_session(self, session: str, promises: AsyncExitStack) -> dict[str | None, list[str]]:
        """Remove a session from answers and from the journal.

        Returns the ids to purge, keyed by project. The record of pending erasures lists them until `promises` is
        closed.
        """
        async with self.hold_log(session) as log:
            await self._writer.drain()
            removed_ids: dict[str | None, list[str]] = {}
            last = 0
            # Statements about the user are stored with the user's own memories, not the project's.
            for owner in dict.fromkeys((log.head.project, None)):
                filters = Filters(project=owner, tags=(session_tag(session),), statuses=())
                async with self._memories.change_lock:
                    memories = await self._memories.list_all(filters)
                    ids = [memory.id for memory in memories]
                    if owner == log.head.project:
                        ids += [message.id for message in log.messages]
                    ids += [one.id for one in await self._memories.list_conflicts_about(set(ids), owner)]
                    if ids := list(dict.fromkeys(ids)):
                        await promises.enter_async_context(self._memories.pending_erasures.record(ids, owner))
                        facts = [memory for memory in memories if memory.kind is Kind.FACT]
                        relinked_ids = await self._memories.relink(facts, owner)
                        last = max(
                            last, await self.delete_memories([one for one in ids if one not in relinked_ids], owner)
                        )
                        removed_ids[owner] = ids
            self.heads.pop(session, None)
            log.clear()
        self._logs.pop(session, None)
        all_removed_ids = frozenset(one for ids in removed_ids.values() for one in ids)
        await self._writer.drain()
        await self._journal.erase_records(lambda record: contains_any_memory(record, all_removed_ids), up_to=last)
        return removed_ids

    async def delete_memories(self, ids: Sequence[str], project: str | None) -> int:
        """Delete memories durably; return the sequence number of the last journal record."""
        self._own_ids |= set(ids)
        try:
            return await self._memories.delete(ids, project)
        finally:
            self._own_ids -= set(ids)


def describe_session(head: SessionHead) -> SessionAnswer:
    """Convert the metadata of a session to the form that the API returns."""
    return SessionAnswer(
        id=head.session,
        title=head.title,
        project=head.project,
        state="open" if head.ended_at is None else "ended",
        outcome=head.outcome,
        began=format_iso(head.started_at),
        last=format_iso(head.last_message_at) if head.last_message_at is not None else None,
        ended=format_iso(head.ended_at) if head.ended_at is not None else None,
        messages=head.messages,
    )


def get_session_title(messages: Sequence[Message]) -> str:
    """Return a title made from the user's first message.

    If the user has sent no message, the first message is used; if there are no messages, the title is "".
    """
    user_messages = [message for message in messages if message.event is MessageType.USER] or messages
    return derive_title(mask_contacts(redact(user_messages[0].text).text)) if user_messages else ""


def _parse_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 12:
        raise unknown_cursor()
    return int(cursor)
