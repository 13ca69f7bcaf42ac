"""Numbered sample records for journal tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hunchd.store.journal.journal import Journal, JournalRecord
from hunchd.store.journal.segments import read_header, scan_segment


def record(number: int, *, project: str | None = "p1", text: str = "saved") -> JournalRecord:
    return JournalRecord(f"id-{number}", "signal", project, {"number": number, "text": text}, 1_700_000_000.0 + number)


def records(numbers: Iterable[int]) -> list[JournalRecord]:
    return [record(number) for number in numbers]


def numbers_in(journal: Journal, after: int | None = None) -> list[int]:
    """Return the numbers of the replayed records, in order."""
    return [record.data["number"] for _, record in journal.iterate_records(after)]


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.segment"))


def is_whole(segment: Path) -> bool:
    """Return True if the file consists of a header and intact frames only."""
    content = segment.read_bytes()
    return read_header(content) is not None and all(hasattr(found, "payload") for found in scan_segment(content))
