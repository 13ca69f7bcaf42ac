"""Run records, parsed from run logs: progress, results for each owner, and undo state.

An owner is a project, or the user (None).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.json import Decoder
from msgspec.structs import asdict

from hunchd.consolidation.plan import ConsolidationStep
from hunchd.consolidation.regression_gate import Probe
from hunchd.consolidation.usage_feedback import UsageTally
from hunchd.domain.json_values import JsonObject
from hunchd.protocol.consolidation_answers import COUNTERS, GateAnswer, GateFigures, RunAnswer, RunStatus, StoreFigures
from hunchd.protocol.responses import TimeText, format_iso
from hunchd.store.run_log import RunLog

_TEXT_PATTERN = re.compile(r'"([^"\\]{1,200})"')  # short strings in a JSON line, including ids


class RunLine(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Line in the log of a run, stored as JSON."""


class BegunLine(RunLine, frozen=True, kw_only=True, tag="begun"):
    run: str = ""
    at: TimeText
    trigger: str
    steps: tuple[ConsolidationStep, ...]
    owners: tuple[str | None, ...]


class ProbesLine(RunLine, frozen=True, kw_only=True, tag="probes"):
    owner: str | None
    probes: list[Probe]


class TalliesLine(RunLine, frozen=True, kw_only=True, tag="tallies"):
    """Line with the usage that the run adds to memories, keyed by memory id.

    The line is written so that a run interrupted by a crash does not count the usage twice.
    """

    tallies: dict[str, UsageTally]


class _ChangeSummary(RunLine, frozen=True, kw_only=True, tag="change"):
    """Change, reduced to the fields that are counted."""

    step: str
    counts: str
    project: str | None


class DidLine(RunLine, frozen=True, kw_only=True, tag="did"):
    """Line that counts work not listed change by change, such as erasures.

    `counts` is the name of the counter that `number` is added to.
    """

    counts: str
    number: int


class StepLine(RunLine, frozen=True, kw_only=True, tag="step"):
    owner: str | None
    step: str


class LostLine(RunLine, frozen=True, kw_only=True, tag="lost"):
    """Line with a verdict of the gate that requires changes to be undone.

    The line is written before the changes are undone, so that a run interrupted by a crash finishes the undo.
    """

    owner: str | None
    gate: GateFigures


class VerdictLine(RunLine, frozen=True, kw_only=True, tag="verdict"):
    owner: str | None
    rolled_back: bool
    gate: GateFigures

    def undoes(self, step: str) -> bool:
        """Return True if the regression gate rolled back the changes made by a step."""
        return self.rolled_back or step in (self.gate.undone_steps or ())


class ResumedLine(RunLine, frozen=True, kw_only=True, tag="resumed"):
    at: TimeText


class NoRoomLine(RunLine, frozen=True, kw_only=True, tag="no room"):
    at: TimeText


class UndoingLine(RunLine, frozen=True, kw_only=True, tag="undoing"):
    at: TimeText
    change: int | None
    changes: frozenset[int] = frozenset()  # if there are several, `change` is one of them


class LeftHalfDoneLine(RunLine, frozen=True, kw_only=True, tag="left half done"):
    at: TimeText
    change: int | None


class EndedLine(RunLine, frozen=True, kw_only=True, tag="ended"):
    status: RunStatus
    at: TimeText
    counts: dict[str, int]
    store: StoreFigures | None = None  # None if the store did not report it


class UndoneLine(RunLine, frozen=True, kw_only=True, tag="undone"):
    at: TimeText
    change: int | None
    left: int = 0


_DECODER: Final = Decoder[Any](
    _ChangeSummary
    | BegunLine
    | ProbesLine
    | TalliesLine
    | DidLine
    | StepLine
    | LostLine
    | VerdictLine
    | ResumedLine
    | NoRoomLine
    | UndoingLine
    | LeftHalfDoneLine
    | EndedLine
    | UndoneLine
)
# Lines after which a run is over.
END_TYPES: Final = frozenset(line.__struct_config__.tag for line in (EndedLine, UndoneLine, LeftHalfDoneLine))


@dataclass(slots=True)
class RunRecord:
    """State of a run, as read from its log."""

    run: str
    began: datetime
    trigger: str
    steps: tuple[ConsolidationStep, ...]
    owner_ids: tuple[str | None, ...]
    changes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    counts_by_step: Counter[tuple[str | None, str, str]] = field(default_factory=Counter)  # (owner, step, counter)
    finished_steps: set[tuple[str | None, str]] = field(default_factory=set)  # (owner, step)
    probes: dict[str | None, list[Probe]] = field(default_factory=dict)
    tallies: dict[str, UsageTally] | None = None
    failed_gates: dict[str | None, GateFigures] = field(default_factory=dict)  # owners whose changes are rolled back
    owners: dict[str | None, VerdictLine] = field(default_factory=dict)
    end: EndedLine | None = None
    tries: int = 0
    is_undone: bool = False
    undone_changes: set[int] = field(default_factory=set)
    is_undoing: bool = False  # an undo is unfinished
    undoing_changes: frozenset[int] | None = None  # numbers of the changes being undone; None if all are

    def is_change_undone(self, number: int, owner: str | None, step: str) -> bool:
        """Return True if a change was undone by the user or by the gate.

        The change is identified by its `number`, its owner and its step.
        """
        verdict = self.owners.get(owner)
        return self.is_undone or number in self.undone_changes or (verdict is not None and verdict.undoes(step))

    def finish_owner(self, verdict: VerdictLine) -> None:
        """Record that the run is finished for one owner.

        Changes that were undone with their step are subtracted from the counts.
        """
        self.owners[verdict.owner] = verdict
        if not verdict.rolled_back:
            for (owner, step, counter), number in self.counts_by_step.items():
                if owner == verdict.owner and verdict.undoes(step):
                    self.counts[counter] -= number

    def to_answer(self) -> RunAnswer:
        """Convert the record to the form that the API returns, without its changes."""
        undone = [verdict.gate for verdict in self.owners.values() if verdict.gate.undone is not UNSET]
        status = "undone" if self.is_undone else self.end.status if self.end is not None else "interrupted"
        ended_at = datetime.fromisoformat(self.end.at) if self.end is not None else None
        return RunAnswer(
            run=self.run,
            status="interrupted" if self.is_undoing else status,  # an interrupted undo will be continued
            trigger=self.trigger,
            began=format_iso(self.began),
            ended=format_iso(ended_at) if ended_at is not None else None,
            seconds=round((ended_at - self.began).total_seconds(), 2) if ended_at is not None else None,
            total=self.changes,
            store=(self.end.store if self.end is not None else None) or UNSET,
            gate=[GateAnswer(project=owner, **asdict(verdict.gate)) for owner, verdict in self.owners.items()],
            lost=[loss for gate in undone for loss in gate.losses or ()] if undone else UNSET,
        ).with_counts({name: self.counts.get(name, 0) for name in COUNTERS})


def load_run_record(log: RunLog, run: str) -> RunRecord:
    """Load a run from its log; raises NotFound."""
    record = RunRecord(run, datetime.fromtimestamp(0, UTC), "", (), ())
    for entry in log.decode_lines(run, _DECODER):
        match entry:
            case _ChangeSummary() as line:
                record.changes += 1
                record.counts[line.counts] += 1
                record.counts_by_step[line.project, line.step, line.counts] += 1
            case BegunLine() as line:
                record.began = datetime.fromisoformat(line.at)
                record.trigger, record.steps, record.owner_ids = line.trigger, line.steps, line.owners
            case ProbesLine() as line:
                record.probes[line.owner] = line.probes
            case TalliesLine() as line:
                record.tallies = line.tallies
            case DidLine() as line:
                record.counts[line.counts] += line.number
            case StepLine() as line:
                record.finished_steps.add((line.owner, line.step))
            case LostLine() as line:
                record.failed_gates[line.owner] = line.gate
            case VerdictLine() as line:
                record.finish_owner(line)
            case ResumedLine():
                record.tries += 1
                record.end = None
            case NoRoomLine():
                record.tries -= 1
            case UndoingLine() as line:
                record.tries = record.tries + 1 if record.is_undoing else 0
                record.is_undoing = True
                record.undoing_changes = None if line.change is None else line.changes | {line.change}
            case LeftHalfDoneLine():
                record.is_undoing = False
            case EndedLine() as line:
                record.end = line
            case UndoneLine(change=None):
                record.is_undone, record.is_undoing = True, False
            case UndoneLine(change=int(change)):
                record.undone_changes.add(change)
                record.is_undoing = False
    return record


def remove_erased(line: JsonObject, erased_ids: frozenset[str], project: str | None) -> JsonObject | None:
    """Return a log line without the text of erased memories.

    `erased_ids` are the ids of the erased memories; if `project` is given, everything about that project is removed
    too. A change keeps its position and number. Returns None if the whole line has to be deleted.
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


def _contains_any_memory(edits: list[JsonObject], erased_ids: frozenset[str]) -> bool:
    """Return True if a change contains text from a memory in `erased_ids`.

    The text may come from the memory itself, from one of its versions, or from another memory that quotes it and
    refers to its id.
    """
    texts = set(_TEXT_PATTERN.findall(json.dumps(edits, ensure_ascii=False)))
    return not erased_ids.isdisjoint(texts) or not erased_ids.isdisjoint(one.partition(".")[0] for one in texts)
