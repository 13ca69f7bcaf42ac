"""Whose memories a run is about: a project, or the user alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """`root` and `cache` are where its files and what was read of them are. The user's own memories have no files."""

    id: str | None
    name: str = ""
    root: str = ""
    cache: str = ""
    settled: bool = False  # the main line is checked out and read to its end: what is not there is gone
