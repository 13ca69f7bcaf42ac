"""What a command can end with, each with its exit code.

CommandError         1  the work failed
├── WrongUsage       2  the arguments make no sense; says which and what would
├── NoDaemon         3  no daemon runs, or the one that does cannot be used
└── Refused          1  the daemon answered no, and said why; 2 where it was asked something that makes no sense
"""

from __future__ import annotations

from hunchd.domain.errors import HunchError


class CommandError(HunchError):
    exit_code = 1


class WrongUsage(CommandError):
    exit_code = 2


class NoDaemon(CommandError):
    exit_code = 3


class Refused(CommandError):
    """`status` is the HTTP status, `reason` the daemon's own code for it."""

    def __init__(self, message: str, *, status: int, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        if status in (400, 422):
            self.exit_code = WrongUsage.exit_code
        self.reason = reason
