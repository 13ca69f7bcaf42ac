"""A session: what was said and done in order, how it falls into turns, and what it comes down to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal


class Event(StrEnum):
    """What a message of a session is."""

    USER = "user_message"
    ASSISTANT = "assistant_response"
    CALL = "tool_call"
    RESULT = "tool_result"
    SYSTEM = "system_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of a session's log. The log only grows: an entry never changes its number or its text."""

    number: int  # its place in the log, from 1
    id: str  # of the memory that keeps it
    event: Event
    text: str
    at: datetime
    tokens: int
    name: str | None = None  # of the speaker, or of the tool
    ref: str | None = None  # the caller's own key
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side says at once: a user's message, or an assistant's step with its tool calls and their results."""

    number: int  # from 1
    messages: tuple[Message, ...]

    @property
    def by_user(self) -> bool:
        return self.messages[0].event is Event.USER

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.messages)


def message_ref(session: str, number: int) -> str:
    """The key under which the memory of a message is known: tells its place."""
    return f"session:{session}:{number}"


def refs_beside(ref: str | None, reach: int) -> list[str]:
    """The keys of up to `reach` messages before and after the one that `ref` is the key of; none if it is of none."""
    if (place := place_in_session(ref)) is None:
        return []
    session, at = place
    return [f"{session}:{other}" for other in around(at, reach) if other != at]


def around(number: int, reach: int) -> range:
    """The numbers of up to `reach` messages before and after one, and its own; they begin with 1."""
    return range(max(1, number - reach), number + reach + 1)


def place_in_session(ref: str | None) -> tuple[str, int] | None:
    """What the keys of a session's messages begin with, and the number of the message that `ref` is the key of."""
    session, colon, number = (ref or "").rpartition(":")
    if not colon or not session.startswith("session:") or not (number.isascii() and number.isdigit()):
        return None
    return session, int(number)


def begins_turn(before: Message | None, message: Message) -> bool:
    """Whether a new turn begins with `message`: with each user message, and with each step of the assistant that
    follows a user or the results of the step before."""
    if before is None or message.event is Event.USER:
        return True
    if message.event is Event.ASSISTANT:
        return True
    return message.event is Event.CALL and before.event in (Event.USER, Event.RESULT, Event.SYSTEM)


def turns_of(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The log as turns; nothing is left out."""
    turns: list[list[Message]] = []
    before: Message | None = None
    for message in messages:
        if begins_turn(before, message):
            turns.append([])
        turns[-1].append(message)
        before = message
    return tuple(Turn(number, tuple(part)) for number, part in enumerate(turns, start=1))


PointKind = Literal["decision", "instruction", "preference", "action", "insight", "question"]
Outcome = Literal["success", "partial", "interrupted"]


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that is worth keeping of a stretch of turns, in the words in which it was said."""

    kind: PointKind
    text: str  # one line
    turn: int
    message: str  # id of the memory that keeps the message it was said in
    weight: float  # how much would be lost without it, 0..1
    by_user: bool = False


@dataclass(frozen=True, slots=True)
class Digest:
    """What the turns from `first` to `last` come down to."""

    first: int
    last: int
    points: tuple[Point, ...]
    tokens: int  # of the turns themselves

    def joined(self, other: Digest) -> Digest:
        """This stretch and the one behind it as one."""
        return Digest(self.first, other.last, self.points + other.points, self.tokens + other.tokens)


def joined(digests: Sequence[Digest]) -> Digest:
    """Stretches that follow each other as one."""
    whole = digests[0]
    for digest in digests[1:]:
        whole = whole.joined(digest)
    return whole
