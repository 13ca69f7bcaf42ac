"""Mirror of a team's records on this machine, with the outbox of records to send.

Requests are answered from the mirror. It is an SQLite database, written in short transactions from a thread. As it
contains only the latest record in each register, its size depends on how much the team knows, not on how often that
knowledge has changed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from hunchd.features.team.clock import observe, tick
from hunchd.features.team.merge import ROSTER_GROUPS, STATEMENTS, get_register_key, merge_records
from hunchd.protocol.team_records import RecordKind, TeamRecord, compute_record_id

_CURSOR, _CLOCK, _VERSION, _CARE = "cursor", "clock", "version", "care"
_CHUNK: Final = 500  # names in one query; SQLite allows 32,766
_PRAGMAS: Final = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
_NAMES: Final = ("id", "author", "machine", "clock", "version", "kind", "subject", "payload")
_COLUMNS: Final = ", ".join(_NAMES)
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS figures (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS registers (grp TEXT, subject TEXT, author TEXT, id TEXT, machine TEXT, clock INTEGER,
  version INTEGER, kind TEXT, payload TEXT, PRIMARY KEY (subject, grp, author)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_author ON registers (author, grp);
CREATE TABLE IF NOT EXISTS outbox (version INTEGER PRIMARY KEY, record BLOB NOT NULL, attempted INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS pending (subject TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS own (subject TEXT PRIMARY KEY, memory TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_memory ON own (memory);
CREATE TABLE IF NOT EXISTS shown (subject TEXT, author TEXT, memory TEXT NOT NULL,
  PRIMARY KEY (subject, author)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hidden (record TEXT PRIMARY KEY) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class OwnRecord:
    """Record that this machine is going to create, still without time and id."""

    kind: RecordKind
    subject: str
    payload: str = ""
    memory: str | None = None  # id of the memory that it states


@dataclass(frozen=True, slots=True)
class Outbox:
    """Oldest records to send; `was_attempted`: some may have been sent."""

    records: tuple[TeamRecord, ...]
    was_attempted: bool


class Mirror:
    """Mirror of a team's records.

    It is stored in `file`, or in memory if `file` is None. It is not thread-safe: only one call may be made at a time.
    """

    def __init__(self, file: Path | None) -> None:
        if file is not None:
            with suppress(FileExistsError):  # SQLite creates its other files with the same mode
                os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        self._connection = sqlite3.connect(file or ":memory:", check_same_thread=False)
        self._connection.executescript(_PRAGMAS)
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    # Own records

    def create_records(self, news: Sequence[OwnRecord], *, team: str, author: str, machine: str, now_ms: int) -> None:
        """Store this machine's new records durably and for sending."""
        if not news:
            return
        clock, version = self._get_figure(_CLOCK), self._get_figure(_VERSION)
        records = []
        for new in news:
            clock, version = tick(clock, now_ms), version + 1
            record = TeamRecord(
                id="",
                author=author,
                machine=machine,
                clock=clock,
                version=version,
                kind=new.kind,
                subject=new.subject,
                payload=new.payload,
            )
            records.append(msgspec.structs.replace(record, id=compute_record_id(record, team)))
        with self._connection:
            self._set_figures({_CLOCK: clock, _VERSION: version})
            self._connection.executemany(
                "INSERT INTO outbox (version, record) VALUES (?, ?)",
                [(record.version, msgspec.json.encode(record)) for record in records],
            )
            self._mark_changed(self._merge(records))
            for new in news:
                self._set_own(new, before=records[0].version)
        self._forget_text(records)

    def _set_own(self, new: OwnRecord, *, before: int) -> None:
        if new.kind is RecordKind.STATE and new.memory is not None:
            self._connection.execute("REPLACE INTO own VALUES (?, ?)", (new.subject, new.memory))
        elif new.kind in (RecordKind.RETRACT, RecordKind.ERASE):
            self._connection.execute("DELETE FROM own WHERE subject = ?", (new.subject,))
        if new.kind is RecordKind.ERASE:  # unsent records still contain the text
            query = "SELECT version, record FROM outbox WHERE version < ?"
            waiting = self._connection.execute(query, (before,)).fetchall()
            outdated_versions = [
                (version,)
                for version, content in waiting
                if msgspec.json.decode(content, type=TeamRecord).subject == new.subject
            ]
            self._connection.executemany("DELETE FROM outbox WHERE version = ?", outdated_versions)

    def load_outbox(self, limit: int) -> Outbox:
        """Return the oldest records to send, and mark them attempted."""
        rows = self._connection.execute(
            "SELECT record, attempted, version FROM outbox ORDER BY version LIMIT ?", (limit,)
        ).fetchall()
        with self._connection:
            self._connection.executemany("UPDATE outbox SET attempted = 1 WHERE version = ?", [row[2:] for row in rows])
        records = tuple(msgspec.json.decode(row[0], type=TeamRecord) for row in rows)
        return Outbox(records, any(row[1] for row in rows))

    def list_outbox(self) -> list[OwnRecord]:
        """Return the records waiting to be sent, oldest first."""
        rows = self._connection.execute("SELECT record FROM outbox ORDER BY version")
        records = (msgspec.json.decode(row[0], type=TeamRecord) for row in rows)
        return [OwnRecord(record.kind, record.subject, record.payload) for record in records]

    def remove_from_outbox(self, records: Iterable[TeamRecord]) -> None:
        with self._connection:
            self._connection.executemany(
                "DELETE FROM outbox WHERE version = ?", [(record.version,) for record in records]
            )

    def count_outbox(self) -> int:
        return int(self._connection.execute("SELECT COUNT(*) FROM outbox").fetchone()[0])

    def find_own(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Map subjects of own statements about these memories to ids."""
        return dict(self._select_in("SELECT subject, memory FROM own WHERE memory", memory_ids))

    def _select_in(self, query: str, values: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield rows whose last column, named by `query`, is given."""
        for begin in range(0, len(values), _CHUNK):
            part = tuple(values[begin : begin + _CHUNK])
            marked_query = f"{query} IN ({','.join('?' * len(part))})"
            yield from self._connection.execute(marked_query, part)

    def load_own(self, subjects: Sequence[str]) -> dict[str, str]:
        """Map those of the subjects about which this machine made a statement to memory ids."""
        return dict(self._select_in("SELECT subject, memory FROM own WHERE subject", subjects))

    def list_own(self) -> dict[str, str]:
        """Map the subjects of all this machine's statements to memory ids."""
        return dict(self._connection.execute("SELECT subject, memory FROM own"))

    # Records of others

    def receive(self, records: Sequence[TeamRecord], *, now_ms: int) -> list[TeamRecord]:
        """Merge received records, and mark their subjects as pending.

        Returns the records that have become the latest or have lost their payload.
        """
        with self._connection:
            clock = self._get_figure(_CLOCK)
            for record in records:
                clock = observe(clock, record.clock, now_ms)
            self._set_figures({_CLOCK: clock})
            changed = self._merge(records)
            self._mark_changed(changed)
        self._forget_text(changed)
        return changed

    def _forget_text(self, records: Iterable[TeamRecord]) -> None:
        """Remove text that records erase from the write-ahead log."""
        if any(record.kind is RecordKind.ERASE for record in records):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _mark_changed(self, records: Sequence[TeamRecord]) -> None:
        """Mark the subjects of the changed records as pending.

        If a record changes the roster, all subjects about which the member concerned has made a statement are marked.
        """
        subjects = {record.subject for record in records}
        for record in records:
            # Such a record changes a name, or the validity of all statements by a member.
            if get_register_key(record).group in ROSTER_GROUPS:
                subjects |= self._list_subjects(record.author) | self._list_subjects(record.subject)
        self._connection.executemany("INSERT OR IGNORE INTO pending VALUES (?)", [(one,) for one in subjects])

    def _merge(self, records: Sequence[TeamRecord]) -> list[TeamRecord]:
        """Merge records; return those that are now the latest."""
        about = self.load_subjects(list({record.subject for record in records}))
        before = {get_register_key(record): record for found in about.values() for record in found}
        after = merge_records(before, records)
        changed = [record for key, record in after.items() if before.get(key) != record]
        self._connection.executemany(
            "DELETE FROM registers WHERE grp = ? AND subject = ? AND author = ?", list(before.keys() - after.keys())
        )
        self._connection.executemany(
            f"REPLACE INTO registers (grp, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(get_register_key(one).group, *map(msgspec.to_builtins(one).get, _NAMES)) for one in changed],
        )
        return changed

    def _list_subjects(self, author: str) -> set[str]:
        rows = self._connection.execute("SELECT subject FROM registers WHERE author = ?", (author,))
        return {row[0] for row in rows}

    def load_subjects(self, subjects: Sequence[str]) -> dict[str, list[TeamRecord]]:
        """Return each author's latest records about the given subjects, keyed by subject."""
        found: dict[str, list[TeamRecord]] = {subject: [] for subject in subjects}
        for row in self._select_in(f"SELECT {_COLUMNS} FROM registers WHERE subject", subjects):
            record = _to_record(row)
            found[record.subject].append(record)
        return found

    def load_roster_records(self) -> list[TeamRecord]:
        rows = self._select_in(f"SELECT {_COLUMNS} FROM registers WHERE grp", ROSTER_GROUPS)
        return [_to_record(row) for row in rows]

    def list_statement_subjects(self, after: str, limit: int) -> list[str]:
        """Return the next `limit` subjects with statements after `after`."""
        rows = self._connection.execute(
            "SELECT DISTINCT subject FROM registers WHERE grp = ? AND subject > ? ORDER BY subject LIMIT ?",
            (STATEMENTS, after, limit),
        )
        return [row[0] for row in rows]

    def count_statements(self) -> dict[str, int]:
        """Return the number of statements, keyed by author."""
        return dict(
            self._connection.execute(
                "SELECT author, COUNT(*) FROM registers WHERE grp = ? AND kind = ? GROUP BY author",
                (STATEMENTS, str(RecordKind.STATE)),
            )
        )

    def load_last_clocks(self) -> dict[str, int]:
        """Return the clock value of each author's latest record, keyed by author."""
        return dict(self._connection.execute("SELECT author, MAX(clock) FROM registers GROUP BY author"))

    # Memories into which records were projected; the author is "" for a key, which all authors share

    def set_shown(self, entries: Iterable[tuple[str, str, str]]) -> None:
        """Record subject, author ("" for a key) and memory of projections."""
        with self._connection:
            self._connection.executemany("REPLACE INTO shown VALUES (?, ?, ?)", list(entries))

    def load_shown(self, subjects: Sequence[str]) -> dict[str, dict[str, str]]:
        """Map each subject to its projected memories, by author."""
        found: dict[str, dict[str, str]] = {subject: {} for subject in subjects}
        query = "SELECT subject, author, memory FROM shown WHERE subject"
        for subject, author, memory in self._select_in(query, subjects):
            found[subject][author] = memory
        return found

    def mark_all_shown_pending(self) -> None:
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO pending SELECT DISTINCT subject FROM shown")

    def hide(self, subject: str, own_author: str) -> None:
        """Hide the other members' present statements about a subject."""
        with self._connection:
            query = "INSERT OR IGNORE INTO hidden SELECT id FROM registers WHERE subject = ? AND author <> ?"
            self._connection.execute(query, (subject, own_author))

    def load_hidden(self) -> frozenset[str]:
        """Return the ids of the hidden records."""
        return frozenset(row[0] for row in self._connection.execute("SELECT record FROM hidden"))

    def forget_records(self) -> None:
        """Delete all records except the state that a returning member needs.

        This is the clock, the memories that were stated, what was hidden, and unsent records without a text.
        """
        with self._connection:
            self._connection.execute("DELETE FROM registers WHERE kind <> 'erase'")  # erasures contain no text
            self._connection.execute("DELETE FROM pending")
            self._connection.execute("DELETE FROM shown")
            query = "DELETE FROM outbox WHERE json_extract(CAST(record AS TEXT), '$.kind') IN ('state', 'resolve')"
            self._connection.execute(query)
            self._set_figures({_CURSOR: 0})
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Progress

    @property
    def cursor(self) -> int:
        """Newest version of the dataset whose records have been received."""
        return self._get_figure(_CURSOR)

    def set_cursor(self, version: int) -> None:
        with self._connection:
            self._set_figures({_CURSOR: version})

    @property
    def first_care_epoch(self) -> int:
        """First epoch when this machine may compact the dataset again."""
        return self._get_figure(_CARE)

    def set_first_care_epoch(self, epoch: int) -> None:
        with self._connection:
            self._set_figures({_CARE: epoch})

    def list_pending(self, limit: int) -> list[str]:
        """Return up to `limit` subjects that were not applied yet."""
        return [row[0] for row in self._connection.execute("SELECT subject FROM pending LIMIT ?", (limit,))]

    def find_pending(self, subjects: Sequence[str]) -> set[str]:
        """Return those of the subjects that are pending."""
        return {row[0] for row in self._select_in("SELECT subject FROM pending WHERE subject", subjects)}

    def count_pending(self) -> int:
        return int(self._connection.execute("SELECT COUNT(*) FROM pending").fetchone()[0])

    def remove_pending(self, subjects: Iterable[str]) -> None:
        with self._connection:
            self._connection.executemany("DELETE FROM pending WHERE subject = ?", [(one,) for one in subjects])

    def _get_figure(self, name: str) -> int:
        row = self._connection.execute("SELECT value FROM figures WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row is not None else 0

    def _set_figures(self, values: dict[str, int]) -> None:
        self._connection.executemany("REPLACE INTO figures VALUES (?, ?)", list(values.items()))


def _to_record(row: Sequence[object]) -> TeamRecord:
    return msgspec.convert(dict(zip(_NAMES, row, strict=True)), type=TeamRecord)
