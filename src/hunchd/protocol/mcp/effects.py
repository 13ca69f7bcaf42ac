"""Effects that a conversation yields to its driver.

They are requests to the daemon, and pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar


class DaemonRequest(NamedTuple):
    """Request in terms of the daemon's own HTTP API.

    It is POST with a body, GET without one.
    """

    path: str
    body: Mapping[str, Any] | None = None


class Pause(NamedTuple):
    seconds: float


class RequestFailed(Exception):
    """Failed request, thrown into the conversation by its driver or raised by it.

    `status` is the daemon's HTTP status, 0 if no daemon answered. The agent reads the message and the hint.
    """

    def __init__(self, message: str, *, hint: str | None = None, status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status


Result = TypeVar("Result")
Conversation: TypeAlias = Generator[DaemonRequest | Pause, Any, Result]
# The root of the repository that a path belongs to, or None.
RootOf: TypeAlias = Callable[[str], str | None]
