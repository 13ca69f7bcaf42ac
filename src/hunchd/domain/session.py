"""Session data: messages in order, turns, and digests of turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal


class MessageType(StrEnum):
    """Type of a message in a session."""

    USER = "user_message"
    ASSISTANT = "assistant_response"
    CALL = "tool_call"
    RESULT = "tool_result"
    SYSTEM = "system_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Entry of a session's append-only log; its number and text never change."""

    number: int  # position in the log, from 1
    id: str  # id of its memory
    event: MessageType
    text: str
    at: datetime
    tokens: int
    name: str | None = None  # name of the speaker or the tool
    ref: str | None = None  # the caller's own key
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive messages from one side of a conversation.

    A turn is either a user message, or an assistant step with its tool calls and their results.
    """

    number: int  # from 1
    messages: tuple[Message, ...]

    @property
    def by_user(self) -> bool:
        return self.messages[0].event is MessageType.USER

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.messages)


def message_ref(session: str, number: int) -> str:
    """Return the `ref` of the memory that stores a message.

    It has the form `session:SESSION:NUMBER`.
    """
    return f"session:{session}:{number}"


def neighbour_refs(ref: str | None, reach: int) -> list[str]:
    """Return the refs of up to `reach` messages on each side of a message.

    Returns an empty list if `ref` is not the ref of a message.
    """
    if (place := parse_message_ref(ref)) is None:
        return []
    session, at = place
    return [f"{session}:{other}" for other in neighbour_numbers(at, reach) if other != at]


def neighbour_numbers(number: int, reach: int) -> range:
    """Return the message numbers within `reach` of `number`, and `number` itself.

    Message numbers start at 1.
    """
    return range(max(1, number - reach), number + reach + 1)


def parse_message_ref(ref: str | None) -> tuple[str, int] | None:
    """Split the ref of a message into `session:SESSION` and the message number.

    Returns None for any other ref.
    """
    session, colon, number = (ref or "").rpartition(":")
    if not colon or not session.startswith("session:") or not (number.isascii() and number.isdigit()):
        return None
    return session, int(number)


def starts_turn(before: Message | None, message: Message) -> bool:
    """Return True if `message` starts a new turn.

    The first message starts a turn, and so does each user or assistant message. A tool call starts one unless it
    follows an assistant message or another tool call.
    """
    if before is None or message.event is MessageType.USER:
        return True
    if message.event is MessageType.ASSISTANT:
        return True
    return message.event is MessageType.CALL and before.event in (
        MessageType.USER,
        MessageType.RESULT,
        MessageType.SYSTEM,
    )


def group_into_turns(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """Group messages into turns; every message belongs to exactly one turn."""
    turns: list[list[Message]] = []
    before: Message | None = None
    for message in messages:
        if starts_turn(before, message):
            turns.append([])
        turns[-1].append(message)
        before = message
    return tuple(Turn(number, tuple(part)) for number, part in enumerate(turns, start=1))


PointKind = Literal["decision", "instruction", "preference", "action", "insight", "question"]
Outcome = Literal["success", "partial", "interrupted"]


@dataclass(frozen=True, slots=True)
class Point:
    """Statement from a session that is worth keeping, quoted verbatim."""

    kind: PointKind
    text: str  # one line
    turn: int
    message: str  # id of the memory of the quoted message
    weight: float  # importance, 0..1
    by_user: bool = False


@dataclass(frozen=True, slots=True)
class Digest:
    """Points worth keeping from the turns `first` to `last` of a session."""

    first: int
    last: int
    points: tuple[Point, ...]
    tokens: int  # tokens of the original turns

    def join(self, other: Digest) -> Digest:
        """Merge this digest with `other`, which covers the turns that follow."""
        return Digest(self.first, other.last, self.points + other.points, self.tokens + other.tokens)


def join_digests(digests: Sequence[Digest]) -> Digest:
    """Merge digests of consecutive turns into one."""
    whole = digests[0]
    for digest in digests[1:]:
        whole = whole.join(digest)
    return whole
