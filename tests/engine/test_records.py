"""Tests of journal records of memory changes."""

from __future__ import annotations

import json
from dataclasses import replace

from hunchd.domain.facts import Change
from hunchd.engine.keeping.records import change_of, holds_one_of, record_of, record_of_forgetting, tells_of
from hunchd.store.journal.journal import Record
from tests.consolidation.made import memory

ONE, OTHER = memory("one"), replace(memory("other"), links=({"type": "between", "ref": "one"},))


def roundtrip_json(record: Record) -> Record:
    return replace(record, data=json.loads(json.dumps(record.data)))


def test_change_record_roundtrip_preserves_change() -> None:
    several = Change((ONE, OTHER), ("gone",), "p")
    assert change_of(roundtrip_json(record_of(several))) == several
    assert change_of(roundtrip_json(record_of(Change((ONE,), project="p")))) == Change((ONE,), project="p", silent=True)
    forgotten = change_of(roundtrip_json(record_of_forgetting("one", "p")))
    assert forgotten == Change(deletions=("one",), project="p", silent=True)


def test_change_of_signal_record_is_none() -> None:
    assert change_of(Record(id="s", type="signal", project="p", data={}, at=0.0)) is None


def test_tells_of_matches_versions_and_quotes() -> None:
    version = record_of(Change((replace(ONE, id="one.1"),), project="p"))
    quoting = record_of(Change((OTHER, memory("third")), project="p"))
    unrelated = record_of(Change((memory("third"),), project="p"))
    assert [tells_of(record, "one") for record in (version, quoting, unrelated)] == [True, True, False]
    assert [holds_one_of(record, {"other"}) for record in (version, quoting, unrelated)] == [False, True, False]
    assert not tells_of(record_of_forgetting("one", "p"), "one")
