"""Typed filters for memories, so that no component builds filter strings itself."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

from hunchd.domain.memory import Kind, Memory, Scope, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions on memories; an empty field matches everything.

    If `project` is None, only the user's own memories match.
    """

    project: str | None = None
    kinds: tuple[Kind, ...] = ()
    scopes: tuple[Scope, ...] = ()
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    branch: str | None = None  # memories of this branch, or without a branch
    tags: tuple[str, ...] = ()  # all must match
    category: str | None = None
    key: str | None = None
    path_prefix: str | None = None  # prefix of a path that the memory is about
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None  # valid at that moment
    family: str | None = None  # this id and everything stored under it: versions, chunks, claims
    replaced_by: str | None = None  # id of the memory that superseded it


def matches(memory: Memory, filters: Filters) -> bool:
    """Return True if `memory` matches the filters.

    The store applies the same rules to the rows in its tables.
    """
    return (
        memory.project == filters.project
        and (not filters.kinds or memory.kind in filters.kinds)
        and (not filters.scopes or memory.scope in filters.scopes)
        and (not filters.statuses or memory.status in filters.statuses)
        and (filters.branch is None or memory.branch in (None, filters.branch))
        and set(filters.tags) <= set(memory.tags)
        and (filters.category is None or memory.category == filters.category)
        and (filters.key is None or memory.key == filters.key)
        and (filters.path_prefix is None or has_path(memory, filters.path_prefix))
        and (filters.since is None or memory.at >= filters.since)
        and (filters.until is None or memory.at <= filters.until)
        and (filters.as_of is None or _is_valid_at(memory, filters.as_of))
        and (filters.family is None or is_in_family(memory.id, filters.family))
        and (filters.replaced_by is None or memory.superseded_by == filters.replaced_by)
    )


def is_in_family(identifier: str, family: str) -> bool:
    """Return True if an id is `family` or is stored under it."""
    return identifier == family or identifier.startswith(f"{family}.")


def is_in_any_family(identifier: str, families: Container[str]) -> bool:
    """Return True if an id is one of `families` or is stored under one of them.

    The time this takes does not depend on the number of families.
    """
    return identifier in families or any(
        identifier[:at] in families for at, letter in enumerate(identifier) if letter == "."
    )


def has_path(memory: Memory, prefix: str) -> bool:
    """Return True if a memory is about a path with this prefix."""
    return any(path.startswith(prefix) for path in paths_of(memory))


def paths_of(memory: Memory) -> tuple[str, ...]:
    """Return the paths that a memory is about.

    These are its file artifacts, or, for a document, the path under which it is stored.
    """
    own = (memory.key,) if memory.kind is Kind.DOCUMENT and memory.key else ()
    return own + tuple([artifact.ref for artifact in memory.artifacts if artifact.type == "file"])


def _is_valid_at(memory: Memory, moment: datetime) -> bool:
    begins = memory.valid_from or memory.at
    return begins <= moment and (memory.valid_to is None or moment < memory.valid_to)
