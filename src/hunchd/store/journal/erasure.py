"""What is left of a segment when records are erased from it."""

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
    content: bytes
    entries: Entries
    last: int  # the newest sequence number, whether its record is still there or not
    erased: tuple[int, ...]  # keys of the ids of the erased records


def remaining(
    content: bytes, first: int, without: Callable[[Record], bool], *, up_to: int | None = None
) -> Remainder | None:
    """The segment without the records up to number `up_to` for which `without` is true, nor anything unreadable; None:
    as it was.

    Unreadable bytes may hold what is to be erased, and nobody can tell: they go.
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
        # Keeps the number used, and the next segment from missing its predecessor.
        pieces.append(erased_frame_bytes(last))
    return Remainder(b"".join(pieces), entries, last, tuple(erased))


def _is_unwanted(payload: memoryview, without: Callable[[Record], bool]) -> bool:
    try:
        record = record_of(payload)
    except (ValueError, KeyError, TypeError):
        return True
    return without(record)
