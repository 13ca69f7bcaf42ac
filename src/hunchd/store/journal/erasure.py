"""Erasure of records from a segment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hunchd.store.journal.idlog import Entries
from hunchd.store.journal.segments import (
    FRAME_BYTES,
    HEADER_BYTES,
    Damage,
    Record,
    erased_frame_bytes,
    header_bytes,
    read_header,
    record_of,
    scan,
)


@dataclass(frozen=True, slots=True)
class Remainder:
    """Content of a segment after an erasure."""

    content: bytes
    entries: Entries
    last: int  # newest sequence number, even if its record was erased
    erased: tuple[int, ...]  # keys of the ids of the erased records


def remaining(
    content: bytes, first: int, without: Callable[[Record], bool], *, up_to: int | None = None
) -> Remainder | None:
    """Return the segment without some records; None if unchanged.

    Records for which `without` is true are left out. Only records up to number `up_to` are erased. Unreadable bytes
    are dropped too: they may hold what is to be erased, and nobody can tell.
    """
    whole = read_header(content) is not None
    pieces = [content[:HEADER_BYTES] if whole else header_bytes(first, 0)]
    entries, erased, last, damaged = Entries(), list[int](), 0, not whole
    for found in scan(content):
        if isinstance(found, Damage):
            damaged = True
            continue
        last = found.sequence
        if not found.id_key:
            continue
        if (up_to is None or found.sequence <= up_to) and _is_unwanted(found.payload, without):
            erased.append(found.id_key)
            continue
        pieces.append(content[found.offset : found.offset + FRAME_BYTES + len(found.payload)])
        entries.add(found.sequence, found.id_key, found.project_key)
    if not erased and not damaged:
        return None
    if last and (not entries or entries.sequences[-1] < last):
        # Keeps the number taken, and the next segment from reporting a gap before it.
        pieces.append(erased_frame_bytes(last))
    return Remainder(b"".join(pieces), entries, last, tuple(erased))


def _is_unwanted(payload: memoryview, without: Callable[[Record], bool]) -> bool:
    try:
        record = record_of(payload)
    except (ValueError, KeyError, TypeError):
        return True
    return without(record)
