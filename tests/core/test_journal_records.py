"""Tests of journal records of memory changes."""

from __future__ import annotations

import json
from dataclasses import replace

from hunchd.core.memory.journal_records import (
    change_from_record,
    change_to_record,
    contains_any_memory,
    contains_memory_text,
    deletion_to_record,
)
from hunchd.domain.facts import MemoryChange
from hunchd.store.journal.journal import JournalRecord
from tests.consolidation.made import memory

ONE, OTHER = memory("one"), replace(memory("other"), links=({"type": "between", "ref": "one"},))


def roundtrip_json(record: JournalRecord) -> JournalRecord:
    return replace(record, data=json.loads(json.dumps(record.data)))


def test_change_record_roundtrip_preserves_change() -> None:
    several = MemoryChange((ONE, OTHER), ("gone",), "p")
    assert change_from_record(roundtrip_json(change_to_record(several))) == several
    assert change_from_record(roundtrip_json(change_to_record(MemoryChange((ONE,), project="p")))) == MemoryChange(
        (ONE,), project="p", silent=True
    )
    forgotten = change_from_record(roundtrip_json(deletion_to_record("one", "p")))
    assert forgotten == MemoryChange(deletions=("one",), project="p", silent=True)


def test_change_of_signal_record_is_none() -> None:
    assert change_from_record(JournalRecord(id="s", type="signal", project="p", data={}, at=0.0)) is None


def test_tells_of_matches_versions_and_quotes() -> None:
    version = change_to_record(MemoryChange((replace(ONE, id="one.1"),), project="p"))
    quoting = change_to_record(MemoryChange((OTHER, memory("third")), project="p"))
    unrelated = change_to_record(MemoryChange((memory("third"),), project="p"))
    assert [contains_memory_text(record, "one") for record in (version, quoting, unrelated)] == [True, True, False]
    assert [contains_any_memory(record, {"other"}) for record in (version, quoting, unrelated)] == [False, True, False]
    assert not contains_memory_text(deletion_to_record("one", "p"), "one")
