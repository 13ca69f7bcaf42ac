"""Usage of shown memories: counted in memory, saved by id, applied by consolidation.

Nothing is written when something is shown. Explicit feedback (`/feedback`) is counted in the memory at once and
recorded here too; observed evidence (used, opened, asked again) is counted here. Each kind of evidence counts once a
day.
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

from hunchd.assembly.fencing import single_line
from hunchd.config.places import make_private
from hunchd.consolidation.reverting import EVERYTHING
from hunchd.consolidation.usefulness import CITED, IGNORED, MISSED, REVERTED, WRONG, Tally, examined
from hunchd.ingestion.redaction import redact
from hunchd.protocol.answers import iso

logger = logging.getLogger(__name__)

MOST: Final = 20_000  # memories with uncounted usage; the oldest are dropped
MOST_QUERIES: Final = 200
LONGEST_NOTE: Final = 200  # characters
MOST_EVENTS: Final = 12  # of one memory, for `hunch why`
# A query repeated so soon was not answered.
AGAIN_WITHIN: Final = timedelta(minutes=10)
# A file opened so soon after a memory about it was shown counts as opened because of it.
TAKEN_WITHIN: Final = timedelta(minutes=30)
LAST_SHOWN: Final = 50  # items
# Memories used so recently before a commit, or before changes were discarded, belong to it.
APPLIED_WITHIN: Final = timedelta(hours=4)
MOST_COMMITS: Final = 200  # commits whose used memories are recorded
_WEIGHTS: Final[Mapping[str, float]] = {
    "cited": CITED,
    "missed": MISSED,
    "wrong": WRONG,
    "ignored": IGNORED,
    "read anyway": IGNORED,
    "reverted": REVERTED,
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
    projects: list[str] = field(default_factory=list)  # projects in which it was shown

    def belongs(self, project: str | None) -> None:
        if project is not None and project not in self.projects:
            self.projects.append(project)

    @property
    def counts(self) -> bool:
        return bool(self.shown or self.cited or self.ignored >= 1.0 or self.evidence)


@dataclass(slots=True)
class _Asked:
    query: str
    project: str | None
    at: datetime
    found: tuple[str, ...]


class Usage:
    """Bounded recorder of what is shown and how it is used."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._queries: OrderedDict[tuple[str | None, str], _Asked] = OrderedDict()
        self._shown: OrderedDict[str, tuple[datetime, frozenset[str]]] = OrderedDict()  # id → (time, paths it is about)
        self._acted: OrderedDict[str, tuple[datetime, frozenset[str]]] = OrderedDict()  # same, for used memories
        self._read: dict[str, tuple[datetime, tuple[str, ...]]] = {}  # path → (read by agent at, ids shown about it)
        self._commits: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # commit → ids of memories used in it
        self.taken_by = ""  # id of the run that last took the usage
        self._changed = False

    # Events

    def shown(self, items: Iterable[tuple[str, Iterable[str]]], at: datetime, project: str | None = None) -> None:
        """Record the items shown in a project, in order.

        Each comes with the paths it is about.
        """
        self._settle(at)
        for identifier, about in items:
            self._shown.pop(identifier, None)
            self._shown[identifier] = (at, frozenset(about))
            self._note(identifier, "shown", at, project)
        while len(self._shown) > LAST_SHOWN:
            self._shown.popitem(last=False)

    def asked(self, query: str, project: str | None, found: Sequence[str], at: datetime) -> None:
        """Record a query and its results.

        If the same query is repeated soon, the first results did not help.
        """
        query = redact(" ".join(query.split())).text
        key = (project, query.casefold())
        before = self._queries.pop(key, None)
        if before is not None and timedelta() < at - before.at <= AGAIN_WITHIN:
            for place, identifier in enumerate(before.found, start=1):
                if not self._was_used(identifier, before.at):
                    self._judge(identifier, "ignored", at, examined(place), "the same was asked again")
        self._queries[key] = _Asked(query, project, at, tuple(found))
        while len(self._queries) > MOST_QUERIES:
            self._queries.popitem(last=False)
        self.shown(((identifier, ()) for identifier in found), at, project)

    def used(self, identifier: str, at: datetime, about: Iterable[str] = ()) -> None:
        """Record that a memory was acted on.

        `about` are the paths it is about, if known.
        """
        self._judge(identifier, "cited", at, 1.0, "was acted on")
        _, known = self._shown.get(identifier, (at, frozenset[str]()))
        self._acts_on(identifier, at, known | frozenset(about))

    def opened(self, path: str, at: datetime, *, by_agent: bool = False) -> None:
        """Record an opened file: what was shown about it shortly before was right.

        An agent that opens it although its content was shown found that insufficient, unless it goes on to change
        the file.
        """
        self._settle(at)
        about = [one for one, (shown, paths) in self._shown.items() if path in paths and _soon(shown, at)]
        if by_agent:
            if self._read.pop(path, None) is None and about:  # a second opening is for writing
                self._read[path] = (at, tuple(about))
            return
        for identifier in about:
            self._judge(identifier, "cited", at, 1.0, f"{path} was opened after it was shown")
            self._acts_on(identifier, at, frozenset((path,)))

    def saved(self, path: str) -> None:
        """Discard a pending reading of a file that is changed.

        To change a file, one has to read it in any case.
        """
        self._read.pop(path, None)

    def committed(self, sha: str, at: datetime) -> None:
        """Attribute what was acted on since the last commit to this one."""
        applied = tuple(one for one, (acted, _) in self._acted.items() if timedelta() <= at - acted <= APPLIED_WITHIN)
        self._acted.clear()
        if applied:
            self._commits[sha] = applied
            self._changed = True
        while len(self._commits) > MOST_COMMITS:
            self._commits.popitem(last=False)

    def reverted(self, sha: str, at: datetime) -> None:
        """Record that a commit was reverted.

        The sha may be abbreviated. What was acted on in it is reverted too.
        """
        for commit in [one for one in self._commits if one.startswith(sha)]:
            for identifier in self._commits.pop(commit):
                self._judge(identifier, "reverted", at, 1.0, f"{commit[:10]}, in which it was acted on, was reverted")

    def thrown_away(self, paths: Sequence[str], at: datetime) -> None:
        """Record that uncommitted changes to these paths were discarded."""
        for identifier, (acted, about) in list(self._acted.items()):
            within = EVERYTHING in paths or any(_names(named, one) for named in paths for one in about)
            if within and timedelta() <= at - acted <= APPLIED_WITHIN:
                del self._acted[identifier]
                self._judge(identifier, "reverted", at, 1.0, "was acted on, and the changes were thrown away")

    def told(self, identifier: str, outcome: str, at: datetime, *, note: str = "", project: str | None = None) -> None:
        """Record explicit feedback, which the memory has counted already."""
        record = self._record(identifier)
        record.belongs(project)
        said = single_line(redact(note).text, LONGEST_NOTE)
        self._event(record, at, f"you said: {outcome}" + (f" ({said})" if said else ""))
        if self._counts_today(record, f"told {outcome}", at):
            record.evidence += _WEIGHTS.get(outcome, 0.0) * 2
        record.last = at.isoformat() if outcome in ("cited", "missed") else record.last
        self._changed = True

    def forget(self, identifiers: Iterable[str]) -> None:
        """Drop all records of these memories, and the queries that found them."""
        gone = set(identifiers)
        for identifier in gone:
            self._records.pop(identifier, None)
            self._shown.pop(identifier, None)
            self._acted.pop(identifier, None)
        self._commits = OrderedDict(
            (sha, kept) for sha, ids in self._commits.items() if (kept := tuple(one for one in ids if one not in gone))
        )
        self._queries = OrderedDict(
            (key, asked) for key, asked in self._queries.items() if not gone.intersection(asked.found)
        )
        self._changed = True

    def forget_project(self, project: str) -> None:
        """Drop the queries of a project and the events that may name its files.

        Memory ids are kept; they say nothing without the memories.
        """
        self._queries = OrderedDict((key, asked) for key, asked in self._queries.items() if asked.project != project)
        for record in self._records.values():
            if project in record.projects:
                record.projects.remove(project)
                record.events.clear()
        self._changed = True

    # Results

    def tallies(self) -> dict[str, Tally]:
        """Return the uncounted usage by memory id."""
        return {
            identifier: Tally(
                shown=record.shown,
                cited=record.cited,
                ignored=float(int(record.ignored)),
                evidence=round(record.evidence, 3),
                last=datetime.fromisoformat(record.last) if record.last else None,
            )
            for identifier, record in self._records.items()
            if record.counts
        }

    def counted(self, tallies: Mapping[str, Tally], run: str = "") -> None:
        """Subtract usage that the memories have counted.

        Or that the log of `run` holds, which applies it. The last saved file may be older than that.
        """
        for identifier, tally in tallies.items():
            record = self._records.get(identifier)
            if record is not None:
                record.shown = max(0, record.shown - tally.shown)
                record.cited = max(0, record.cited - tally.cited)
                record.ignored = max(0.0, record.ignored - tally.ignored)
                record.evidence = 0.0
        self.taken_by = run
        self._changed = True

    def queries(self, project: str | None, most: int) -> list[str]:
        """Return the newest queries that found something."""
        found = [asked.query for asked in reversed(self._queries.values()) if asked.project == project and asked.found]
        return found[:most]

    def events(self, identifier: str) -> list[dict[str, str]]:
        """Return the events of one memory, newest first."""
        record = self._records.get(identifier)
        told = reversed(record.events) if record is not None else ()
        return [{"at": iso(datetime.fromisoformat(at)), "what": what} for at, what in told]

    # Storing

    def json(self) -> str | None:
        """Serialize the usage, or return None if nothing has changed since the last call."""
        if not self._changed:
            return None
        self._changed = False
        records = {identifier: asdict(record) for identifier, record in self._records.items()}
        queries = [[one.query, one.project, one.at.isoformat(), list(one.found)] for one in self._queries.values()]
        told = {
            "version": 1,
            "records": records,
            "queries": queries,
            "commits": self._commits,
            "taken_by": self.taken_by,
        }
        return json.dumps(told, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> Usage:
        """Load saved usage; start empty if the file is missing or invalid."""
        usage = cls()
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            for identifier, record in told["records"].items():
                usage._records[identifier] = _Record(**record)
            for query, project, at, found in told["queries"]:
                asked = _Asked(query, project, datetime.fromisoformat(at), tuple(found))
                usage._queries[project, query.casefold()] = asked
            usage._commits.update({sha: tuple(ids) for sha, ids in told.get("commits", {}).items()})
            usage.taken_by = str(told.get("taken_by", ""))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            logger.warning("usage file is not readable; counting starts anew: %s", path, exc_info=True)
            return cls()
        return usage

    def _settle(self, at: datetime) -> None:
        """Count files that an agent read, and did not change, as read anyway."""
        for path, (read, about) in list(self._read.items()):
            if not _soon(read, at):
                del self._read[path]
                for identifier in about:
                    self._judge(identifier, "read anyway", at, 1.0, f"an agent read {path} after it was shown this")

    def _acts_on(self, identifier: str, at: datetime, about: frozenset[str]) -> None:
        self._acted.pop(identifier, None)
        self._acted[identifier] = (at, about)
        while len(self._acted) > LAST_SHOWN:
            self._acted.popitem(last=False)

    def _judge(self, identifier: str, outcome: str, at: datetime, weight: float, what: str) -> None:
        record = self._record(identifier)
        if weight <= 0.0 or not self._counts_today(record, outcome, at):
            return
        if outcome == "cited":
            record.cited += 1
            record.last = at.isoformat()
        else:
            record.ignored += weight
        record.evidence += _WEIGHTS[outcome] * weight
        self._event(record, at, what)

    def _note(self, identifier: str, what: str, at: datetime, project: str | None) -> None:
        record = self._record(identifier)
        record.belongs(project)
        record.last = at.isoformat()
        if self._counts_today(record, what, at):
            record.shown += 1

    def _was_used(self, identifier: str, since: datetime) -> bool:
        record = self._records.get(identifier)
        return record is not None and any(
            datetime.fromisoformat(at) >= since and not what.startswith("the same") for at, what in record.events
        )

    def _record(self, identifier: str) -> _Record:
        record = self._records.pop(identifier, None) or _Record()
        self._records[identifier] = record
        while len(self._records) > MOST:
            self._records.popitem(last=False)
        self._changed = True
        return record

    def _counts_today(self, record: _Record, kind: str, at: datetime) -> bool:
        day = at.date().isoformat()
        if record.days.get(kind) == day:
            return False
        record.days[kind] = day
        return True

    def _event(self, record: _Record, at: datetime, what: str) -> None:
        record.events.append([at.isoformat(timespec="seconds"), what])
        del record.events[:-MOST_EVENTS]
        self._changed = True


def _soon(shown: datetime, at: datetime) -> bool:
    return timedelta() <= at - shown <= TAKEN_WITHIN


def _names(named: str, path: str) -> bool:
    """Return True if a path as written may name `path` or a parent.

    It may be relative to any folder.
    """
    named = named.rstrip("/")
    return path == named or path.endswith(f"/{named}") or f"/{path}".find(f"/{named}/") >= 0


def keep(path: Path, told: str) -> None:
    """Write serialized usage atomically. Raises OSError when the disk is full."""
    make_private(path.parent)
    draft = path.with_name(f".{path.name}")
    draft.touch(mode=0o600)
    draft.write_text(told, encoding="utf-8")
    draft.replace(path)
