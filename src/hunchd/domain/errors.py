"""Everything that can go wrong on purpose.

HunchError
├── InvalidInput       the caller sent something we cannot accept; names the field and what is allowed
├── NotFound           there is no such project, memory, route
├── Conflict           the request contradicts what is there
├── TooLarge           a body, a file or a batch over its limit
├── Overloaded         a bounded queue is full: try again after `retry_after` seconds
├── StorageFull        the disk refuses; nothing was accepted
├── Unavailable        a part is starting, stopping or broken; the rest goes on
├── ConfigError        the user's file says something we cannot do
├── StoreError         the database cannot be opened, read or written
│   └── StoreClosed    what is kept of a project is being erased, or the store ends
└── RepositoryError    git or the working tree cannot be read
"""


class HunchError(Exception):
    """A deliberate error: `code` for programs, the message for the person who can act."""

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
    """Nothing is wrong with the store: there is nothing to be mended."""

    code = "store_closed"


class RepositoryError(HunchError):
    code = "repository"
