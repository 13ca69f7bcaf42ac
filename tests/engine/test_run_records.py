"""Tests of run records, also after an erasure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hunchd.consolidation.plan import Planned, Step, entry_of
from hunchd.engine.nightly.run_records import recorded, without
from hunchd.store.run_log import RunLog
from tests.consolidation.made import memory


def change(name: str, project: str = "p", **fields: Any) -> dict[str, Any]:
    planned = Planned(Step.LINKS, "linked", f"about {name}", "why", (memory(name),), (memory(name, **fields),))
    return {"type": "change", **entry_of(planned, project).json()}


def test_recorded_parses_run_progress(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    begun = {"type": "begun", "at": "2026-01-01T03:00:00Z", "trigger": "nightly", "steps": ["links"], "owners": ["p"]}
    log.append("r1", [begun, change("m1", importance=0.9)])
    assert recorded(log, "r1").json()["status"] == "interrupted"

    log.append("r1", [{"type": "step", "owner": "p", "step": "links"}])
    log.append("r1", [{"type": "ended", "status": "done", "at": "2026-01-01T03:01:00Z", "counts": {"linked": 1}}])
    record = recorded(log, "r1")
    assert (record.done, record.changes, record.json()["status"]) == ({("p", "links")}, 1, "done")
    assert (record.json()["linked"], record.json()["seconds"]) == (1, 60.0)

    log.append("r1", [{"type": "undone", "at": "2026-01-01T04:00:00Z", "change": None, "left": 0}])
    assert recorded(log, "r1").json()["status"] == "undone"


def test_recorded_without_changes_keeps_undo_state(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    begun = {"type": "begun", "at": "2026-01-01T03:00:00Z", "trigger": "nightly", "steps": [], "owners": ["p", "q"]}
    log.append("r1", [begun, change("m1"), change("m2"), change("m3", project="q")])
    log.append("r1", [{"type": "verdict", "owner": "q", "rolled_back": True, "gate": {}}])
    log.append("r1", [{"type": "undone", "at": "2026-01-01T04:00:00Z", "change": 1, "left": 0}])

    record = recorded(log, "r1", changes=False)

    assert [record.took_back(number, owner) for number, owner in enumerate(("p", "p", "q"))] == [False, True, True]


def test_without_removes_versions_and_quotes() -> None:
    own = change("m1", importance=0.9)
    version = change("m1.abc", importance=0.9)
    quoted = change("x1", links=({"type": "a", "ref": "m1"},), source={"a": {"content": "its words"}})
    other = change("m2", source={"note": "say m1 aloud"})

    for line in (own, version, quoted):
        erased = without(line, frozenset({"m1"}), None)
        assert erased is not None
        assert (erased["edits"], erased["what"]) == ([], "(erased)")
    assert without(other, frozenset({"m1"}), None) == other


def test_without_removes_whole_project() -> None:
    probes = {"type": "probes", "owner": "q", "probes": []}
    assert without(change("m1", project="q", importance=0.9), frozenset(), "q") != change("m1", importance=0.9)
    assert without(probes, frozenset(), "q") is None
    assert without(change("m1", importance=0.9), frozenset(), "q") == change("m1", importance=0.9)
