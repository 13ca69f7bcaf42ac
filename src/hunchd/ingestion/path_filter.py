"""Filter for paths that must not be reported.

The name of a file can itself be a secret, or can lead to one.
"""

from __future__ import annotations

from functools import lru_cache

from hunchd.ingestion.redaction import redact
from hunchd.repository.path_kinds import is_readable_name, is_secret_file


@lru_cache(maxsize=1 << 16)
def is_reportable_path(path: str) -> bool:
    """Return True if `path` may be reported.

    It must not be reported if the file contains secrets, if the path itself contains a secret, or if the path
    cannot be displayed. All callers skip such paths.
    """
    return is_readable_name(path) and not is_secret_file(path) and redact(path).text == path
