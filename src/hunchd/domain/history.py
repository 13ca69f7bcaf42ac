"""Units of work in a repository's history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ChangeStatus = Literal["A", "M", "D", "R", "C", "T"]

LATEST: Final = 4_102_444_800  # seconds since the epoch: the year 2100, the latest time accepted


@dataclass(frozen=True, slots=True)
class PathChange:
    """Change to one path in a unit of work.

    `old_path` is set for a rename or a copy.
    """

    status: ChangeStatus
    path: str
    old_path: str | None = None
    old_blob: str = ""  # git blob id before and after; empty where there is none
    new_blob: str = ""
    added: int = 0  # lines; both are 0 if not counted
    deleted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Unit of work: a merged pull request or a direct commit.

    Each unit is one first-parent step of a branch.
    """

    sha: str
    parents: tuple[str, ...]
    author: str  # for a merge, the author of its last commit
    email: str
    at: int  # author time, seconds since the epoch (UTC)
    subject: str
    body: str = ""
    changes: tuple[PathChange, ...] = ()
    tags: tuple[str, ...] = ()
    branch: str = ""  # name of the merged branch, if the subject contains it
    coauthors: tuple[str, ...] = ()


def clamp_author_time(at: int) -> int:
    """Clamp an author time to the valid range.

    The clocks of authors may be wrong, and git stores any number.
    """
    return min(max(at, 0), LATEST)
