"""Which stored records go when a member erases or withdraws something."""

from __future__ import annotations

from hunchd.daemon.team_process import list_erased
from hunchd.protocol.team_records import RecordKind
from tests.features.team.records import record, resolved, stated


def test_erasure_lists_resolutions_quoting_it() -> None:
    bob, cem, erasure = stated("bob", "x", 1), stated("cem", "y", 2), record(RecordKind.ERASE, "bob", "s", 6)
    older, quoting = resolved("ada", "y", [bob], 3, cem=2), resolved("ada", "x", [cem], 4, bob=1)
    later, other = resolved("ada", "y", [bob], 5, cem=2), resolved("dia", "x", [cem], 4, subject="t", bob=1)

    assert list_erased([bob, cem, erasure, older, quoting, later, other], [erasure]) == [bob, older, quoting]


def test_withdrawal_lists_earlier_resolutions() -> None:
    bob, earlier, withdrawal = (
        stated("ada", "x", 1),
        resolved("ada", "y", [], 2),
        record(RecordKind.UNRESOLVE, "ada", clock=3),
    )
    later = resolved("ada", "y", [], 4)

    assert list_erased([bob, earlier, withdrawal, later], [withdrawal]) == [earlier]
