"""Usage of memories: which ones were shown, used or judged by the user.

Usage is kept in RAM, saved to a file keyed by memory id, and added to the memories by consolidation; showing a
memory does not write to the store. Explicit feedback (`/feedback`) updates the memory's own counts at once and is
recorded here as well; observed evidence (a memory was used, its file was opened, its query was repeated) is
recorded only here. Each kind of evidence counts at most once a day per memory.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from hunchd.assembly.fencing import to_single_line
from hunchd.consolidation.usage_feedback import (
    CITED_WEIGHT,
    IGNORED_WEIGHT,
    MISSED_WEIGHT,
    WRONG_WEIGHT,
    UsageTally,
    estimate_attention,
)
from hunchd.ingestion.redaction import redact
from hunchd.protocol.knowledge_answers import UsageEvent
from hunchd.protocol.responses import format_iso

logger = logging.getLogger(__name__)

MAX_MEMORIES: Final = 20_000  # memories with usage that no run has counted yet; the oldest are dropped
MAX_QUERIES: Final = 200
MAX_NOTE_LENGTH: Final = 200  # characters
MAX_EVENTS: Final = 12  # events of one memory, shown by `hunch why`
# A query that is repeated within this time was not answered.
REPEAT_WINDOW: Final = timedelta(minutes=10)
# A file opened within this time after a memory about it was shown counts as opened because of that memory.
OPEN_WINDOW: Final = timedelta(minutes=30)
MAX_SHOWN: Final = 50  # items
_EVIDENCE_WEIGHTS: Final[Mapping[str, float]] = {
    "cited": CITED_WEIGHT,
    "missed": MISSED_WEIGHT,
    "wrong": WRONG_WEIGHT,
    "ignored": IGNORED_WEIGHT,
    "read anyway": IGNORED_WEIGHT,
}


@dataclass(slots=True)
class _Record:
    shown: int = 0
    cited: int = 0
    ignored: float = 0.0
    evidence: float = 0.0
    last: str = ""  # ISO 8601
    days: dict[str, str] = field(default_factory=dict)  # kind of evidence → last day on which it counted
    events: list[list[str]] = field(default_factory=list)  # [time, text]; texts may name files of `projects`
    projects: list[str] = field(default_factory=list)  # projects in which the memory was shown

    def add_project(self, project: str | None) -> None:
        if project is not None and project not in self.projects:
            self.projects.append(project)

    @property
    def has_counts(self) -> bool:
        return bool(self.shown or self.cited or self.ignored >= 1.0 or self.evidence)


@dataclass(slots=True)
class _Query:
    query: str
    project: str | None
    at: datetime
    results: tuple[str, ...]


class UsageTracker:
    """Tracker of the display and use of memories.

    The number of memories, queries and events that it records is limited.
    """

    def __init__(self) -> None:
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._queries: OrderedDict[tuple[str | None, str], _Query] = OrderedDict()
        self._shown_items: OrderedDict[str, tuple[datetime, frozenset[str]]] = (
            OrderedDict()
        )  # id → (time, paths that the item is about)
        self._agent_reads: dict[
            str, tuple[datetime, tuple[str, ...]]
        ] = {}  # path → (time at which an agent read it, ids shown about it)
        self.last_run = ""  # id of the run that last counted the usage
        self._last_returned = ""  # rollback that last returned usage
        self._is_changed = False

    # Events

    def record_shown(
        self, items: Iterable[tuple[str, Iterable[str]]], at: datetime, project: str | None = None
    ) -> None:
        """Record the items that were shown in a project, in display order.

        Each item consists of an id and the paths that the item is about.
        """
        self._expire_agent_reads(at)
        for identifier, about in items:
            self._shown_items.pop(identifier, None)
            self._shown_items[identifier] = (at, frozenset(about))
            self._count_shown(identifier, "shown", at, project)
        while len(self._shown_items) > MAX_SHOWN:
            self._shown_items.popitem(last=False)

    def record_query(self, query: str, project: str | None, result_ids: Sequence[str], at: datetime) -> None:
        """Record a query and the ids of its results.

        If the same query is repeated soon, the results it found the first time count as ignored.
        """
        query = redact(" ".join(query.split())).text
        key = (project, query.casefold())
        before = self._queries.pop(key, None)
        if before is not None and timedelta() < at - before.at <= REPEAT_WINDOW:
            for place, identifier in enumerate(before.results, start=1):
                if not self._was_used(identifier, before.at):
                    self._record_evidence(
                        identifier, "ignored", at, estimate_attention(place), "the same query was repeated"
                    )
        self._queries[key] = _Query(query, project, at, tuple(result_ids))
        while len(self._queries) > MAX_QUERIES:
            self._queries.popitem(last=False)
        self.record_shown(((identifier, ()) for identifier in result_ids), at, project)

    def record_use(self, identifier: str, at: datetime) -> None:
        """Record that somebody acted on a memory."""
        self._record_evidence(identifier, "cited", at, 1.0, "was acted on")

    def record_open(self, path: str, at: datetime, *, by_agent: bool = False) -> None:
        """Record that a file was opened.

        This counts as a use of the memories about the file that were shown recently. If an agent opens a file after
        it was shown memories about it, those memories count as insufficient, unless the agent then changes the
        file.
        """
        self._expire_agent_reads(at)
        about = [
            one
            for one, (shown_at, paths) in self._shown_items.items()
            if path in paths and _is_within_open_window(shown_at, at)
        ]
        if by_agent:
            if self._agent_reads.pop(path, None) is None and about:  # an agent opens a file a second time to change it
                self._agent_reads[path] = (at, tuple(about))
            return
        for identifier in about:
            self._record_evidence(identifier, "cited", at, 1.0, f"{path} was opened after it was shown")

    def record_save(self, path: str) -> None:
        """Discard the record that an agent read this file, which has now changed.

        An agent has to read a file before it can change it, even if the memories it was shown were useful.
        """
        self._agent_reads.pop(path, None)

    def record_feedback(
        self, identifier: str, outcome: str, at: datetime, *, note: str = "", project: str | None = None
    ) -> None:
        """Record explicit feedback, which the memory's own counts already include."""
        record = self._get_record(identifier)
        record.add_project(project)
        comment = to_single_line(redact(note).text, MAX_NOTE_LENGTH)
        self._append_event(record, at, f"you said: {outcome}" + (f" ({comment})" if comment else ""))
        if self._is_first_today(record, f"told {outcome}", at):
            record.evidence += _EVIDENCE_WEIGHTS.get(outcome, 0.0) * 2
        record.last = at.isoformat() if outcome in ("cited", "missed") else record.last
        self._is_changed = True

    def forget(self, identifiers: Iterable[str]) -> None:
        """Drop all records of the given memories, and the queries that found them."""
        forgotten_ids = set(identifiers)
        for identifier in forgotten_ids:
            self._records.pop(identifier, None)
            self._shown_items.pop(identifier, None)
        self._queries = OrderedDict(
            (key, query) for key, query in self._queries.items() if not forgotten_ids.intersection(query.results)
        )
        self._is_changed = True

    def forget_project(self, project: str) -> None:
        """Drop the queries made in a project, and events that may name its files.

        Memory ids are kept, because they reveal nothing without the memories.
        """
        self._queries = OrderedDict((key, query) for key, query in self._queries.items() if query.project != project)
        for record in self._records.values():
            if project in record.projects:
                record.projects.remove(project)
                record.events.clear()
        self._is_changed = True

    # Results

    def get_tallies(self) -> dict[str, UsageTally]:
        """Return the usage that no run has counted yet, keyed by memory id."""
        return {identifier: _make_tally(record) for identifier, record in self._records.items() if record.has_counts}

    def get_tally(self, identifier: str) -> UsageTally:
        """Return the usage of one memory that no run has counted yet."""
        record = self._records.get(identifier)
        return _make_tally(record) if record is not None else UsageTally()

    def subtract_tallies(self, tallies: Mapping[str, UsageTally], run: str = "") -> None:
        """Subtract usage that has been recorded elsewhere.

        Such usage has been counted in the memories, or is in the log of `run`, which will add it to them. The usage
        file on disk may be older and still contain it.
        """
        for identifier, tally in tallies.items():
            record = self._records.get(identifier)
            if record is not None:
                record.shown = max(0, record.shown - tally.shown)
                record.cited = max(0, record.cited - tally.cited)
                record.ignored = max(0.0, record.ignored - tally.ignored)
                record.evidence = 0.0
        self.last_run = run
        self._is_changed = True

    def return_tallies(self, tallies: Mapping[str, UsageTally], rollback: str) -> None:
        """Add usage back after the run that counted it was undone.

        `rollback` identifies the undo. Usage is added only once for the same rollback, even if the call is repeated
        after a crash.
        """
        if rollback == self._last_returned:
            return
        for identifier, tally in tallies.items():
            record = self._get_record(identifier)
            record.shown += tally.shown
            record.cited += tally.cited
            record.ignored += tally.ignored
            record.evidence += tally.evidence
            record.last = max(record.last, tally.last.isoformat() if tally.last is not None else "")
        self._last_returned = rollback
        self._is_changed = True

    def list_queries(self, project: str | None, limit: int) -> list[str]:
        """Return at most `limit` queries that found something, newest first."""
        queries = [
            query.query for query in reversed(self._queries.values()) if query.project == project and query.results
        ]
        return queries[:limit]

    def list_events(self, identifier: str) -> list[UsageEvent]:
        """Return the recorded events of one memory, newest first."""
        record = self._records.get(identifier)
        events = reversed(record.events) if record is not None else ()
        return [UsageEvent(at=format_iso(datetime.fromisoformat(at)), what=what) for at, what in events]

    # Storing

    def dump(self) -> str | None:
        """Return the usage data as JSON, None if unchanged."""
        if not self._is_changed:
            return None
        self._is_changed = False
        records = {identifier: asdict(record) for identifier, record in self._records.items()}
        queries = [[one.query, one.project, one.at.isoformat(), list(one.results)] for one in self._queries.values()]
        content = {
            "version": 1,
            "records": records,
            "queries": queries,
            "taken_by": self.last_run,
            "returned_by": self._last_returned,
        }
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> UsageTracker:
        """Load saved usage data; none if it cannot be read."""
        usage = cls()
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            for identifier, record in content["records"].items():
                usage._records[identifier] = _Record(**record)
            for query, project, at, result_ids in content["queries"]:
                saved_query = _Query(query, project, datetime.fromisoformat(at), tuple(result_ids))
                usage._queries[project, query.casefold()] = saved_query
            usage.last_run = str(content.get("taken_by", ""))
            usage._last_returned = str(content.get("returned_by", ""))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            logger.warning("could not read the usage file %s; starting with empty usage data", path, exc_info=True)
            return cls()
        return usage

    def _expire_agent_reads(self, at: datetime) -> None:
        """Record evidence about the files that an agent read but did not change in time.

        It is evidence that the memories shown about such a file were not enough.
        """
        for path, (read_at, about) in list(self._agent_reads.items()):
            if not _is_within_open_window(read_at, at):
                del self._agent_reads[path]
                for identifier in about:
                    self._record_evidence(
                        identifier, "read anyway", at, 1.0, f"an agent still read {path} after this was shown"
                    )

    def _record_evidence(self, identifier: str, outcome: str, at: datetime, weight: float, what: str) -> None:
        record = self._get_record(identifier)
        if weight <= 0.0 or not self._is_first_today(record, outcome, at):
            return
        if outcome == "cited":
            record.cited += 1
            record.last = at.isoformat()
        else:
            record.ignored += weight
        record.evidence += _EVIDENCE_WEIGHTS[outcome] * weight
        self._append_event(record, at, what)

    def _count_shown(self, identifier: str, what: str, at: datetime, project: str | None) -> None:
        record = self._get_record(identifier)
        record.add_project(project)
        record.last = at.isoformat()
        if self._is_first_today(record, what, at):
            record.shown += 1

    def _was_used(self, identifier: str, since: datetime) -> bool:
        record = self._records.get(identifier)
        return record is not None and any(
            datetime.fromisoformat(at) >= since and not what.startswith("the same") for at, what in record.events
        )

    def _get_record(self, identifier: str) -> _Record:
        record = self._records.pop(identifier, None) or _Record()
        self._records[identifier] = record
        while len(self._records) > MAX_MEMORIES:
            self._records.popitem(last=False)
        self._is_changed = True
        return record

    def _is_first_today(self, record: _Record, kind: str, at: datetime) -> bool:
        day = at.date().isoformat()
        if record.days.get(kind) == day:
            return False
        record.days[kind] = day
        return True

    def _append_event(self, record: _Record, at: datetime, what: str) -> None:
        record.events.append([at.isoformat(timespec="seconds"), what])
        del record.events[:-MAX_EVENTS]
        self._is_changed = True


def _make_tally(record: _Record) -> UsageTally:
    return UsageTally(
        shown=record.shown,
        cited=record.cited,
        ignored=float(int(record.ignored)),
        evidence=round(record.evidence, 3),
        last=datetime.fromisoformat(record.last) if record.last else None,
    )


def _is_within_open_window(shown_at: datetime, at: datetime) -> bool:
    return timedelta() <= at - shown_at <= OPEN_WINDOW
