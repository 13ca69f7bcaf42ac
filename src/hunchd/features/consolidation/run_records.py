"""Run records, parsed from run logs: progress, results by owner, undo state."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hunchd.consolidation.plan import COUNTERS, ConsolidationStep
from hunchd.consolidation.regression_gate import Probe
from hunchd.protocol.responses import format_iso
from hunchd.store.run_log import RunLog

_TEXT_PATTERN = re.compile(r'"([^"\\]{1,200})"')  # short strings in a JSON line, ids among them


@dataclass(frozen=True, slots=True)
class GateResult:
    """Result of the gate for an owner."""

    is_rolled_back: bool
    gate: Mapping[str, Any]

    def to_line(self, owner: str | None) -> dict[str, Any]:
        return {"type": "verdict", "owner": owner, "rolled_back": self.is_rolled_back, "gate": dict(self.gate)}


@dataclass(frozen=True, slots=True)
class RunEnd:
    """End of a run: status, time and counts."""

    status: str  # done, rolled_back or stopped
    at: datetime
    counts: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        return {"type": "ended", "status": self.status, "at": format_iso(self.at), "counts": dict(self.counts)}


@dataclass(slots=True)
class RunRecord:
    """State of a run, as its log tells it."""

    run: str
    began: datetime
    trigger: str
    steps: tuple[ConsolidationStep, ...]
    owner_ids: tuple[str | None, ...]
    changes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    finished_steps: set[tuple[str | None, str]] = field(default_factory=set)  # (owner, step)
    probes: dict[str | None, list[Probe]] = field(default_factory=dict)
    tallies: dict[str, Any] | None = None
    failed_gates: dict[str | None, Mapping[str, Any]] = field(
        default_factory=dict
    )  # owners whose changes are rolled back
    owners: dict[str | None, GateResult] = field(default_factory=dict)
    end: RunEnd | None = None
    tries: int = 0
    is_undone: bool = False
    undone_changes: set[int] = field(default_factory=set)
    is_undoing: bool = False  # an undo is unfinished
    undo_change: int | None = None  # … of this change; None: of all changes

    def is_change_undone(self, number: int, owner: str | None) -> bool:
        """Return True if a change was undone or rolled back."""
        gate_result = self.owners.get(owner)
        return (
            self.is_undone or number in self.undone_changes or (gate_result is not None and gate_result.is_rolled_back)
        )

    def to_json(self) -> dict[str, Any]:
        """Serialize the record for the API, without its changes."""
        rolled_back = [verdict.gate for verdict in self.owners.values() if verdict.is_rolled_back]
        status_text = "undone" if self.is_undone else self.end.status if self.end is not None else "interrupted"
        status = "interrupted" if self.is_undoing else status_text  # an interrupted undo will be continued
        counts = {name: self.counts.get(name, 0) for name in COUNTERS}
        return {
            "run": self.run,
            "status": status,
            "trigger": self.trigger,
            "began": format_iso(self.began),
            "ended": format_iso(self.end.at) if self.end is not None else None,
            "seconds": round((self.end.at - self.began).total_seconds(), 2) if self.end is not None else None,
            **counts,
            "total": self.changes,
            "gate": [{"project": owner, **verdict.gate} for owner, verdict in self.owners.items()],
            **({"lost": [loss for gate in rolled_back for loss in gate.get("losses", ())]} if rolled_back else {}),
        }


def load_run_record(log: RunLog, run: str, *, changes: bool = True) -> RunRecord:
    """Parse the log of a run. Raises NotFound.

    Without `changes` this is fast, and the number of changes is unknown.
    """
    record = RunRecord(run, datetime.fromtimestamp(0, UTC), "", (), ())
    for line in log.read_lines(run, changes=changes):
        match line["type"]:
            case "begun":
                record.began = datetime.fromisoformat(line["at"])
                record.trigger = line["trigger"]
                record.steps = tuple(ConsolidationStep(step) for step in line["steps"])
                record.owner_ids = tuple(line["owners"])
            case "probes":
                record.probes[line["owner"]] = [Probe.from_json(raw) for raw in line["probes"]]
            case "tallies":
                record.tallies = line["tallies"]
            case "change":
                record.changes += 1
                record.counts[line["counts"]] += 1
            case "did":
                record.counts[line["counts"]] += line["number"]
            case "step":
                record.finished_steps.add((line["owner"], line["step"]))
            case "lost":
                record.failed_gates[line["owner"]] = line["gate"]
            case "verdict":
                record.owners[line["owner"]] = GateResult(line["rolled_back"], line["gate"])
            case "resumed":
                record.tries += 1
                record.end = None
            case "no room":
                record.tries -= 1
            case "undoing":
                record.tries = record.tries + 1 if record.is_undoing else 0
                record.is_undoing, record.undo_change = True, line["change"]
            case "left half done":
                record.is_undoing = False
            case "ended":
                record.end = RunEnd(line["status"], datetime.fromisoformat(line["at"]), line["counts"])
            case "undone" if line["change"] is None:
                record.is_undone, record.is_undoing = True, False
            case "undone":
                record.undone_changes.add(line["change"])
                record.is_undoing = False
    return record


def remove_erased(line: dict[str, Any], erased_ids: frozenset[str], project: str | None) -> dict[str, Any] | None:
    """Remove erased memories from a log line.

    A change keeps its position and number.
    """
    match line["type"]:
        case "change":
            mine = project is not None and line["project"] == project
            if mine or (erased_ids and _contains_any_memory(line["edits"], erased_ids)):
                return {**line, "what": "(erased)", "why": "", "edits": []}
        case "probes":
            if project is not None and line["owner"] == project:
                return None
            probes = [one for one in line["probes"] if not erased_ids.intersection(one["wanted"])]
            return {**line, "probes": probes}
        case "tallies":
            return {**line, "tallies": {name: raw for name, raw in line["tallies"].items() if name not in erased_ids}}
        case "lost" | "verdict" if erased_ids or line["owner"] == project:
            return {**line, "gate": {name: raw for name, raw in line["gate"].items() if name != "losses"}}
    return line


def _contains_any_memory(edits: list[dict[str, Any]], erased_ids: frozenset[str]) -> bool:
    """Return True if a change holds text of a memory in `erased_ids`.

    As its own, as a version, or quoted by its id.
    """
    texts = set(_TEXT_PATTERN.findall(json.dumps(edits, ensure_ascii=False)))
    return not erased_ids.isdisjoint(texts) or not erased_ids.isdisjoint(one.partition(".")[0] for one in texts)
