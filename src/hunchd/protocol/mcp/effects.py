"""Steps that a conversation yields to its driver: daemon requests and pauses.

A conversation is a generator; its driver carries out each step and sends the result back in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar


class DaemonRequest(NamedTuple):
    """Request to the daemon's HTTP API: POST if it has a body, otherwise GET."""

    path: str
    body: Mapping[str, Any] | None = None


class Pause(NamedTuple):
    seconds: float


class RequestFailed(Exception):
    """Raised if a request fails.

    Either the driver throws it into the conversation, or the conversation raises it. `status` is the daemon's HTTP
    status, or 0 if no daemon answered. The message and the hint are shown to the agent.
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
