"""Errors that are raised deliberately.

HunchError
├── InvalidInput       the caller sent something that cannot be accepted; names the field and what is allowed
├── NotFound           unknown project, memory or route
├── Conflict           the request contradicts the current state
├── TooLarge           a body, a file or a batch exceeds its limit
├── Overloaded         a bounded queue is full: retry after `retry_after` seconds
├── StorageFull        the disk is full; nothing was accepted
├── Unavailable        a component is starting, stopping or broken; everything else still works
├── ConfigError        a setting in the user's file cannot be used
├── StoreError         the database cannot be opened, read or written
│   ├── StoreClosed    a project's data is being erased, or the store is shutting down
│   └── AccessDenied   the credentials or the permissions of a folder do not allow the operation
└── RepositoryError    git or the working tree cannot be read
"""


class HunchError(Exception):
    """Error that is raised deliberately.

    `code` is for programs, `message` for the person who can act on it. `field` names the rejected field of a request;
    `hint` says what to do.
    """

    code = "error"

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.hint = hint


class InvalidInput(HunchError):
    code = "invalid"


class NotFound(HunchError):
    code = "not_found"


class Conflict(HunchError):
    code = "conflict"


class TooLarge(HunchError):
    code = "too_large"


class Overloaded(HunchError):
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class StorageFull(HunchError):
    code = "storage_full"


class Unavailable(HunchError):
    code = "unavailable"


class ConfigError(HunchError):
    code = "config"


class StoreError(HunchError):
    code = "store"


class StoreClosed(StoreError):
    """Raised if the store was closed on purpose and needs no repair."""

    code = "store_closed"


class AccessDenied(StoreError):
    code = "access_denied"


class RepositoryError(HunchError):
    code = "repository"
