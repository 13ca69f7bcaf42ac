"""Filter for paths that must not be reported.

The name of a file can be a secret, or can lead to one.
"""

from __future__ import annotations

from functools import lru_cache

from hunchd.ingestion.redaction import redact
from hunchd.repository.path_kinds import is_readable_name, is_secret_file


@lru_cache(maxsize=1 << 16)
def is_reportable_path(path: str) -> bool:
    """Return True if `path` may be reported.

    Paths of files that hold secrets, paths that contain a secret, and paths that cannot be displayed may not. All
    callers skip such paths.
    """
    return is_readable_name(path) and not is_secret_file(path) and redact(path).text == path
