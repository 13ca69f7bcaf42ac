"""Erasure of records from a segment, which is one file of the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hunchd.store.journal.id_log import IdEntries
from hunchd.store.journal.segments import (
    FRAME_BYTES,
    HEADER_BYTES,
    DamagedRange,
    JournalRecord,
    decode_record,
    encode_erased_frame,
    encode_header,
    read_header,
    scan_segment,
)


@dataclass(frozen=True, slots=True)
class SegmentRemainder:
    """Content of a segment after an erasure."""

    content: bytes
    entries: IdEntries
    last: int  # newest sequence number, even if its record was erased
    erased_keys: tuple[int, ...]  # keys of the ids of the erased records


def erase_records(
    content: bytes, first: int, should_erase: Callable[[JournalRecord], bool], *, up_to: int | None = None
) -> SegmentRemainder | None:
    """Return the segment without the records to be erased.

    Returns None if the segment does not change. `content` is the segment, and `first` is its first sequence number. A
    record is erased if `should_erase` returns True for it and its number is at most `up_to`. Unreadable bytes are
    dropped as well, since it is impossible to tell whether they contain data to be erased.
    """
    has_header = read_header(content) is not None
    pieces = [content[:HEADER_BYTES] if has_header else encode_header(first, 0)]
    entries, erased_keys, last, is_damaged = IdEntries(), list[int](), 0, not has_header
    for item in scan_segment(content):
        if isinstance(item, DamagedRange):
            is_damaged = True
            continue
        last = item.sequence
        if not item.id_key:
            continue
        if (up_to is None or item.sequence <= up_to) and _should_erase(item.payload, should_erase):
            erased_keys.append(item.id_key)
            continue
        pieces.append(content[item.offset : item.offset + FRAME_BYTES + len(item.payload)])
        entries.add(item.sequence, item.id_key, item.project_key)
    if not erased_keys and not is_damaged:
        return None
    if last and (not entries or entries.sequences[-1] < last):
        # Without it, the number could be used again, and the next segment would report a gap before it.
        pieces.append(encode_erased_frame(last))
    return SegmentRemainder(b"".join(pieces), entries, last, tuple(erased_keys))


def _should_erase(payload: memoryview, should_erase: Callable[[JournalRecord], bool]) -> bool:
    try:
        record = decode_record(payload)
    except (ValueError, KeyError, TypeError):
        return True
    return should_erase(record)
