"""Run records, parsed from run logs: progress, results by owner, undo state."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hunchd.consolidation.plan import COUNTS, Step
from hunchd.consolidation.probing import Probe
from hunchd.protocol.answers import iso
from hunchd.store.run_log import RunLog

_TEXT = re.compile(r'"([^"\\]{1,200})"')  # short strings in a JSON line, ids among them


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the gate for an owner."""

    rolled_back: bool
    gate: Mapping[str, Any]

    def line(self, owner: str | None) -> dict[str, Any]:
        return {"type": "verdict", "owner": owner, "rolled_back": self.rolled_back, "gate": dict(self.gate)}


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a run: status, time and counts."""

    status: str  # done, rolled_back or stopped
    at: datetime
    counts: Mapping[str, int]

    def json(self) -> dict[str, Any]:
        return {"type": "ended", "status": self.status, "at": iso(self.at), "counts": dict(self.counts)}


@dataclass(slots=True)
class Record:
    """State of a run, as its log tells it."""

    run: str
    began: datetime
    trigger: str
    steps: tuple[Step, ...]
    owner_ids: tuple[str | None, ...]
    changes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    done: set[tuple[str | None, str]] = field(default_factory=set)  # (owner, step)
    probes: dict[str | None, list[Probe]] = field(default_factory=dict)
    tallies: dict[str, Any] | None = None
    lost: dict[str | None, Mapping[str, Any]] = field(default_factory=dict)  # owners whose changes are rolled back
    owners: dict[str | None, Verdict] = field(default_factory=dict)
    ended: Ended | None = None
    tries: int = 0
    undone: bool = False
    undone_changes: set[int] = field(default_factory=set)
    taking_back: bool = False  # an undo is unfinished
    change: int | None = None  # … of this change; None: of all changes

    def took_back(self, number: int, owner: str | None) -> bool:
        """Return True if a change was undone or rolled back."""
        lost = self.owners.get(owner)
        return self.undone or number in self.undone_changes or (lost is not None and lost.rolled_back)

    def json(self) -> dict[str, Any]:
        """Serialize the record for the API, without its changes."""
        rolled_back = [verdict.gate for verdict in self.owners.values() if verdict.rolled_back]
        ended = "undone" if self.undone else self.ended.status if self.ended is not None else "interrupted"
        status = "interrupted" if self.taking_back else ended  # an interrupted undo will be continued
        counts = {name: self.counts.get(name, 0) for name in COUNTS}
        return {
            "run": self.run,
            "status": status,
            "trigger": self.trigger,
            "began": iso(self.began),
            "ended": iso(self.ended.at) if self.ended is not None else None,
            "seconds": round((self.ended.at - self.began).total_seconds(), 2) if self.ended is not None else None,
            **counts,
            "total": self.changes,
            "gate": [{"project": owner, **verdict.gate} for owner, verdict in self.owners.items()],
            **({"lost": [loss for gate in rolled_back for loss in gate.get("losses", ())]} if rolled_back else {}),
        }


def recorded(log: RunLog, run: str, *, changes: bool = True) -> Record:
    """Parse the log of a run. Raises NotFound.

    Without `changes` this is fast, and the number of changes is unknown.
    """
    record = Record(run, datetime.fromtimestamp(0, UTC), "", (), ())
    for line in log.lines(run, changes=changes):
        match line["type"]:
            case "begun":
                record.began = datetime.fromisoformat(line["at"])
                record.trigger = line["trigger"]
                record.steps = tuple(Step(step) for step in line["steps"])
                record.owner_ids = tuple(line["owners"])
            case "probes":
                record.probes[line["owner"]] = [Probe.of_json(told) for told in line["probes"]]
            case "tallies":
                record.tallies = line["tallies"]
            case "change":
                record.changes += 1
                record.counts[line["counts"]] += 1
            case "did":
                record.counts[line["counts"]] += line["number"]
            case "step":
                record.done.add((line["owner"], line["step"]))
            case "lost":
                record.lost[line["owner"]] = line["gate"]
            case "verdict":
                record.owners[line["owner"]] = Verdict(line["rolled_back"], line["gate"])
            case "resumed":
                record.tries += 1
                record.ended = None
            case "no room":
                record.tries -= 1
            case "undoing":
                record.tries = record.tries + 1 if record.taking_back else 0
                record.taking_back, record.change = True, line["change"]
            case "left half done":
                record.taking_back = False
            case "ended":
                record.ended = Ended(line["status"], datetime.fromisoformat(line["at"]), line["counts"])
            case "undone" if line["change"] is None:
                record.undone, record.taking_back = True, False
            case "undone":
                record.undone_changes.add(line["change"])
                record.taking_back = False
    return record


def without(line: dict[str, Any], gone: frozenset[str], project: str | None) -> dict[str, Any] | None:
    """Remove erased memories from a log line.

    A change keeps its position and number.
    """
    match line["type"]:
        case "change":
            mine = project is not None and line["project"] == project
            if mine or (gone and _speaks_of(line["edits"], gone)):
                return {**line, "what": "(erased)", "why": "", "edits": []}
        case "probes":
            if project is not None and line["owner"] == project:
                return None
            kept = [one for one in line["probes"] if not gone.intersection(one["wanted"])]
            return {**line, "probes": kept}
        case "tallies":
            return {**line, "tallies": {name: told for name, told in line["tallies"].items() if name not in gone}}
        case "lost" | "verdict" if gone or line["owner"] == project:
            return {**line, "gate": {name: told for name, told in line["gate"].items() if name != "losses"}}
    return line


def _speaks_of(edits: list[dict[str, Any]], gone: frozenset[str]) -> bool:
    """Return True if a change holds text of a memory in `erased_ids`.

    As its own, as a version, or quoted by its id.
    """
    told = set(_TEXT.findall(json.dumps(edits, ensure_ascii=False)))
    return not gone.isdisjoint(told) or not gone.isdisjoint(one.partition(".")[0] for one in told)
