"""Which paths may be told at all: a name can be a secret, or lead to one."""

from __future__ import annotations

from functools import lru_cache

from hunchd.ingestion.redaction import redact
from hunchd.repository.names import is_readable_name, is_secret_file


@lru_cache(maxsize=1 << 16)
def may_be_named(path: str) -> bool:
    """False for files that are kept for secrets, for names that hold one, and for those that cannot be shown as they
    are: they are passed over everywhere."""
    return is_readable_name(path) and not is_secret_file(path) and redact(path).text == path
