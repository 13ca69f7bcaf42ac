"""Filter that hides paths that must not be reported.

The name of a file can be a secret or lead to one.
"""

from __future__ import annotations

from functools import lru_cache

from hunchd.ingestion.redaction import redact
from hunchd.repository.path_kinds import is_readable_name, is_secret_file


@lru_cache(maxsize=1 << 16)
def is_reportable_path(path: str) -> bool:
    """Return False for paths that must not be reported.

    These are files that hold secrets, names that contain a secret, and names that cannot be displayed. All callers skip
    them.
    """
    return is_readable_name(path) and not is_secret_file(path) and redact(path).text == path
