"""Signatures: nobody speaks as another, and a record is void in another team."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from hunchd.domain.errors import ConfigError
from hunchd.features.team.signing import create_key, is_genuine, load_key, sign_record
from hunchd.protocol.team_records import RecordKind, TeamRecord, compute_record_id
from tests.features.team.records import TEAM, record


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "key"


def make_signed(key_file: Path) -> TeamRecord:
    draft = record(RecordKind.STATE, create_key(key_file))
    return sign_record(draft, TEAM, load_key(key_file))


def test_key_is_private_and_kept(key_file: Path) -> None:
    public = create_key(key_file)

    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert create_key(key_file) == public


def test_signed_record_is_genuine(key_file: Path) -> None:
    assert is_genuine(make_signed(key_file), TEAM)


@pytest.mark.parametrize("field", ["author", "machine", "clock", "version", "kind", "subject", "payload", "signature"])
def test_changed_record_is_forged(key_file: Path, tmp_path: Path, field: str) -> None:
    changed = {"author": create_key(tmp_path / "other"), "clock": 7, "version": 7, "kind": RecordKind.ERASE}
    forged = msgspec.structs.replace(make_signed(key_file), **{field: changed.get(field, "forged")})
    with_own_id = msgspec.structs.replace(forged, id=compute_record_id(forged, TEAM))

    assert not is_genuine(forged, TEAM)
    assert not is_genuine(with_own_id, TEAM)


def test_record_of_other_team_is_forged(key_file: Path) -> None:
    assert not is_genuine(make_signed(key_file), "other")


def test_damaged_key_is_reported(key_file: Path) -> None:
    key_file.write_bytes(b"short")

    with pytest.raises(ConfigError, match="damaged"):
        load_key(key_file)
