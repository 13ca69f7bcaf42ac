"""Detection of reverts in commit messages."""

from __future__ import annotations

import re
from typing import Final

_REVERT_LINE: Final = re.compile(r"\b[Rr]everts? (?:commit )?([0-9a-f]{7,40})\b")


def find_reverted_commits(message: str) -> list[str]:
    """Return the ids of the commits that a commit message says it reverts.

    The ids may be full or abbreviated.
    """
    return _REVERT_LINE.findall(message)
