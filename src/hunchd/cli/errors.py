"""Errors of commands, with their exit codes.

CommandError         1  the operation failed
├── WrongUsage       2  the arguments are invalid; the message says which, and what is valid
├── NoDaemon         3  no daemon is running, or the running one cannot be used
└── RequestRejected  1  the daemon rejected the request and gave a reason; 2 if the request was invalid
"""

from __future__ import annotations

from hunchd.domain.errors import HunchError


class CommandError(HunchError):
    exit_code = 1


class WrongUsage(CommandError):
    exit_code = 2


class NoDaemon(CommandError):
    exit_code = 3


class RequestRejected(CommandError):
    """Error response from the daemon.

    `status` is the HTTP status; `reason` is the daemon's error code.
    """

    def __init__(self, message: str, *, status: int, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        if status in (400, 422):
            self.exit_code = WrongUsage.exit_code
        self.reason = reason
