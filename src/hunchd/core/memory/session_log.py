"""Conversion of session messages and session metadata to memories and back, without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hunchd.assembly.token_counter import count_tokens
from hunchd.core.memory.drafts import memory_id, redact_memory
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Kind, Levels, Memory, Scope, Trust
from hunchd.domain.session import Message, MessageType, message_ref
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.personal_data import redact_identity_numbers
from hunchd.ingestion.redaction import redact, redact_name, redact_values
from hunchd.protocol.memories import derive_title
from hunchd.protocol.session_requests import MessageDraft

HEAD_TAG = "conversation"
_TRUST_BY_TYPE = {MessageType.USER: Trust.USER, MessageType.RESULT: Trust.UNTRUSTED}
_SPEAKER_BY_TYPE = {
    MessageType.USER: "user",
    MessageType.ASSISTANT: "assistant",
    MessageType.CALL: "call",
    MessageType.RESULT: "result",
    MessageType.SYSTEM: "system",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHead:
    """Metadata of a session, without its messages."""

    session: str
    project: str | None  # project id
    started_at: datetime
    title: str = ""
    summary: str = ""
    ended_at: datetime | None = None
    outcome: str | None = None
    messages: int = 0  # count when the head was last written
    last_message_at: datetime | None = None
    episodes: int = 0  # episodes created from it
    facts: int = 0  # facts created from it
    facts_until_turn: int = 0  # number of the last turn processed by the rules that extract facts
    read_until_turn: int = 0  # number of the last turn read by a language model
    compactions: tuple[int, ...] = ()  # numbers of the messages after which the history was condensed on demand


@dataclass(slots=True)
class SessionLog:
    """Messages of one session, kept in memory during use."""

    head: SessionHead
    messages: list[Message] = field(default_factory=list)
    refs: dict[str, Message] = field(default_factory=dict)
    without_ref: dict[tuple[MessageType, str], Message] = field(default_factory=dict)  # by what was said
    size: int = 0  # number of characters in all texts

    @property
    def next_number(self) -> int:
        return self.messages[-1].number + 1 if self.messages else 1

    def extend(self, messages: Sequence[Message]) -> None:
        self.messages.extend(messages)
        self.refs.update({message.ref: message for message in messages if message.ref is not None})
        self.without_ref.update({(one.event, one.text): one for one in messages if one.ref is None})
        self.size += sum(len(message.text) for message in messages)

    def clear(self) -> None:
        self.messages.clear()
        self.refs.clear()
        self.without_ref.clear()
        self.size = 0


def session_tag(session: str) -> str:
    """Return the tag that all memories of a session have."""
    return redact_name(f"session:{session}")


def session_head_id(session: str, project: str | None) -> str:
    return memory_id(project, f"session:{session}")


def draft_to_message(draft: MessageDraft, session: str, project: str | None, number: int, now: datetime) -> Message:
    """Convert a draft to a message without secrets.

    `number` is the message's number in the log.
    """
    text = redact(draft.text).text
    if draft.event in (MessageType.USER, MessageType.ASSISTANT):
        text = redact_identity_numbers(text)
    return Message(
        number=number,
        id=memory_id(project, f"session:{session}:{number}"),
        event=draft.event,
        text=text,
        at=draft.at or now,
        tokens=count_tokens(text),
        name=redact_name(draft.name) if draft.name else None,
        ref=redact_name(draft.ref) if draft.ref else None,
        data=redact_values(dict(draft.data))[0],
    )


def mask_message(message: Message) -> Message:
    """Replace the contact data in a message with the names of their kinds."""
    text = mask_contacts(message.text)
    data = json.loads(mask_contacts(json.dumps(message.data, ensure_ascii=False))) if message.data else message.data
    if text == message.text and data == message.data:
        return message
    return replace(message, text=text, tokens=count_tokens(text), data=data)


def message_to_memory(message: Message, session: str, project: str | None, now: datetime) -> Memory:
    speaker = message.name or _SPEAKER_BY_TYPE[message.event]
    source: JsonObject = {
        "type": "session",
        "session": session,
        "number": message.number,
        "event": message.event.value,
        "tokens": message.tokens,
    }
    if message.name is not None:
        source["name"] = message.name
    if message.ref is not None:
        source["ref"] = message.ref
    if message.data:
        source["data"] = dict(message.data)
    return Memory(
        id=message.id,
        kind=Kind.MESSAGE,
        title=derive_title(f"{speaker}: {message.text}"),
        content=message.text,
        at=message.at,
        created=now,
        updated=now,
        project=project,
        ref=message_ref(session, message.number),
        category=message.event.value,
        scope=Scope.USER,
        importance=0.5 if message.event in (MessageType.USER, MessageType.ASSISTANT) else 0.2,
        tags=(session_tag(session),),
        trust=_TRUST_BY_TYPE.get(message.event, Trust.DERIVED),
        source=source,
    )


def message_from_memory(memory: Memory) -> Message | None:
    """Convert a memory to a session message.

    Returns None if the memory is not a message.
    """
    source = memory.source
    number = source.get("number")
    if memory.kind is not Kind.MESSAGE or not isinstance(number, int) or "session" not in source:
        return None
    data = source.get("data")
    return Message(
        number=number,
        id=memory.id,
        event=MessageType(source.get("event", MessageType.USER)),
        text=memory.content,
        at=memory.at,
        tokens=int(source.get("tokens", 0)) or count_tokens(memory.content),
        name=source.get("name"),
        ref=source.get("ref"),
        data=data if isinstance(data, Mapping) else {},
    )


def head_to_memory(head: SessionHead, now: datetime) -> Memory:
    source: JsonObject = {"type": "session", "session": head.session, "messages": head.messages}
    counts = {
        "episodes": head.episodes,
        "facts": head.facts,
        "told": head.facts_until_turn,
        "read": head.read_until_turn,
    }
    source |= {name: number for name, number in counts.items() if number}
    if head.compactions:
        source["compactions"] = list(head.compactions)
    if head.ended_at is not None:
        source |= {"ended": head.ended_at.isoformat(), "outcome": head.outcome}
    if head.last_message_at is not None:
        source["last"] = head.last_message_at.isoformat()
    title = head.title or f"session {head.session}"
    return redact_memory(
        Memory(
            id=session_head_id(head.session, head.project),
            kind=Kind.DOCUMENT,
            title=title,
            content=head.summary or title,
            at=head.started_at,
            created=head.started_at,
            updated=now,
            project=head.project,
            ref=f"session:{head.session}",
            key=f"/conversations/{head.session}",
            levels=Levels(index=title),
            scope=Scope.USER,
            tags=(session_tag(head.session), HEAD_TAG),
            trust=Trust.DERIVED,
            source=source,
        )
    )


def head_from_memory(memory: Memory) -> SessionHead | None:
    """Convert a memory to session metadata; return None for other memories."""
    session = memory.source.get("session")
    if memory.kind is not Kind.DOCUMENT or HEAD_TAG not in memory.tags or not isinstance(session, str):
        return None
    source = memory.source
    return SessionHead(
        session=session,
        project=memory.project,
        started_at=memory.at,
        title=memory.title,
        summary=memory.content,
        ended_at=_parse_datetime(source.get("ended")),
        outcome=source.get("outcome"),
        messages=int(source.get("messages", 0)),
        last_message_at=_parse_datetime(source.get("last")),
        episodes=int(source.get("episodes", 0)),
        facts=int(source.get("facts", 0)),
        facts_until_turn=int(source.get("told", 0)),
        read_until_turn=int(source.get("read", 0)),
        compactions=tuple(source.get("compactions", ())),
    )


def _parse_datetime(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None
