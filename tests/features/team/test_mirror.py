"""The mirror of a team's records: what is hidden, and what is left after leaving."""

from __future__ import annotations

from hunchd.features.team.mirror import Mirror, OwnRecord
from hunchd.protocol.team_records import RecordKind
from tests.features.team.records import TEAM, decode_value, stated


def create(mirror: Mirror, *news: OwnRecord) -> None:
    mirror.create_records(news, team=TEAM, author="own", machine="m", now_ms=1_000)


def test_forgotten_records_leave_no_text() -> None:
    mirror = Mirror(None)
    payload = stated("own", "Redis").payload
    create(mirror, *(OwnRecord(RecordKind.STATE, subject, payload, f"m-{subject}") for subject in ("s1", "s2")))
    [erased, _] = mirror.load_outbox(9).records
    mirror.remove_from_outbox(mirror.load_outbox(9).records)
    create(mirror, OwnRecord(RecordKind.ERASE, "s1"), OwnRecord(RecordKind.STATE, "s3", payload, "m-s3"))
    mirror.set_cursor(7)

    mirror.forget_records()

    assert [(one.kind, one.payload) for one in mirror.list_outbox()] == [(RecordKind.ERASE, "")]
    assert (mirror.cursor, mirror.load_subjects(["s2"])) == (0, {"s2": []})
    assert mirror.load_own(["s1", "s2"]) == {"s2": "m-s2"}
    mirror.receive([erased], now_ms=1_000)  # its erasure has not been sent yet
    assert [one.kind for one in mirror.load_subjects(["s1"])["s1"]] == [RecordKind.ERASE]
    create(mirror, OwnRecord(RecordKind.VOTE, "s2"))
    assert max(one.version for one in mirror.load_outbox(9).records) == 5


def test_only_present_records_are_hidden() -> None:
    mirror = Mirror(None)
    earlier, later = stated("ada", "Redis", 1), stated("ada", "NATS", 2)
    mirror.receive([earlier, stated("own", "Kafka")], now_ms=1_000)
    mirror.hide("s", "own")

    mirror.receive([later], now_ms=1_000)

    assert mirror.load_hidden() == {earlier.id}
    shown = [one for one in mirror.load_subjects(["s"])["s"] if one.id not in mirror.load_hidden()]
    assert {decode_value(one) for one in shown} == {"Kafka", "NATS"}
