"""Tests of run records, also after an erasure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hunchd.consolidation.plan import ConsolidationStep, PlannedChange, make_entry
from hunchd.features.consolidation.run_records import load_run_record, remove_erased
from hunchd.protocol.responses import to_json
from hunchd.store.run_log import RunLog
from tests.consolidation.made import memory


def change(name: str, project: str = "p", **fields: Any) -> dict[str, Any]:
    planned = PlannedChange(
        ConsolidationStep.LINKS, "linked", f"about {name}", "why", (memory(name),), (memory(name, **fields),)
    )
    return {"type": "change", **to_json(make_entry(planned, project))}


def test_recorded_parses_run_progress(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    begun = {"type": "begun", "at": "2026-01-01T03:00:00Z", "trigger": "nightly", "steps": ["links"], "owners": ["p"]}
    log.append("r1", [begun, change("m1", importance=0.9)])
    assert load_run_record(log, "r1").to_answer().status == "interrupted"

    log.append("r1", [{"type": "step", "owner": "p", "step": "links"}])
    log.append("r1", [{"type": "ended", "status": "done", "at": "2026-01-01T03:01:00Z", "counts": {"linked": 1}}])
    record = load_run_record(log, "r1")
    assert (record.finished_steps, record.changes, record.to_answer().status) == ({("p", "links")}, 1, "done")
    assert (record.to_answer().linked, record.to_answer().seconds) == (1, 60.0)

    log.append("r1", [{"type": "undone", "at": "2026-01-01T04:00:00Z", "change": None, "left": 0}])
    assert load_run_record(log, "r1").to_answer().status == "undone"


def test_recorded_keeps_undo_state(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    begun = {"type": "begun", "at": "2026-01-01T03:00:00Z", "trigger": "nightly", "steps": [], "owners": ["p", "q"]}
    log.append("r1", [begun, change("m1"), change("m2"), change("m3", project="q")])
    log.append("r1", [{"type": "verdict", "owner": "q", "rolled_back": True, "gate": {}}])
    log.append("r1", [{"type": "undone", "at": "2026-01-01T04:00:00Z", "change": 1, "left": 0}])

    record = load_run_record(log, "r1")

    assert [record.is_change_undone(number, owner, "dedupe") for number, owner in enumerate(("p", "p", "q"))] == [
        False,
        True,
        True,
    ]


def test_without_removes_versions_and_quotes() -> None:
    own = change("m1", importance=0.9)
    version = change("m1.abc", importance=0.9)
    quoted = change("x1", links=({"type": "a", "ref": "m1"},), source={"a": {"content": "its words"}})
    other = change("m2", source={"note": "say m1 aloud"})

    for line in (own, version, quoted):
        erased = remove_erased(line, frozenset({"m1"}), None)
        assert erased is not None
        assert (erased["edits"], erased["what"]) == ([], "(erased)")
    assert remove_erased(other, frozenset({"m1"}), None) == other


def test_without_removes_whole_project() -> None:
    probes = {"type": "probes", "owner": "q", "probes": []}
    assert remove_erased(change("m1", project="q", importance=0.9), frozenset(), "q") != change("m1", importance=0.9)
    assert remove_erased(probes, frozenset(), "q") is None
    assert remove_erased(change("m1", importance=0.9), frozenset(), "q") == change("m1", importance=0.9)
