from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.errors import InvalidInput
from hunchd.domain.signal import (
    CommandFinished,
    ContextUsed,
    ErrorReported,
    FileDeleted,
    FileOpened,
    FilesChanged,
    OperationEnded,
    Signal,
)
from hunchd.protocol.fields import MAX_TEXT_BYTES
from hunchd.protocol.signals import BODY_OF_KIND, SIGNAL_KINDS, parse_signal, signal_from_json, signal_to_json
from hunchd.protocol.struct_decoding import list_wire_names

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)

# One signal of each kind of the contract, with every field it may have.
SENT: dict[str, dict[str, Any]] = {
    "file_opened": {"path": "a.py"},
    "file_saved": {"file": "a.py"},
    "file_closed": {"path": "a.py"},
    "branch_checkout": {"branch": "json-provider", "from": "main"},
    "commit": {"sha": "a41c9e2"},
    "merge": {},
    "rewrite": {"old": "a41c9e2", "new": "A41C9E3"},
    "error": {"text": "boom", "command": "pytest", "exit_code": 1, "file": "a.py", "line": 3},
    "error_cleared": {"command": "pytest"},
    "command_finished": {"command": "make", "exit_code": 0, "duration_ms": 1234},
    "collaborator_joined": {"name": "Ada", "email": "ada@example.org"},
    "session_started": {"session": "s1"},
    "session_ended": {"session": "s1"},
    "used": {"path": "a.py", "id": "m1"},
}


def sent(kind: str, root: Path, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "project": str(root), **SENT[kind], **more}


@pytest.mark.parametrize("kind", SIGNAL_KINDS)
def test_signal_every_kind_survives_journal_round_trip(kind: str, tmp_path: Path) -> None:
    signal = parse_signal(sent(kind, tmp_path, event_id="e1", source="editor"), now=NOW)

    assert (signal.project, signal.at, signal.id, signal.source) == (str(tmp_path), NOW, "e1", "editor")
    assert signal_from_json(signal_to_json(signal)) == signal
    assert parse_signal(signal_to_json(signal), now=NOW) == signal


def test_signal_examples_cover_all_kinds() -> None:
    assert tuple(SENT) == SIGNAL_KINDS
    assert all(set(fields) <= set(list_wire_names(BODY_OF_KIND[kind])) for kind, fields in SENT.items())


@pytest.mark.parametrize(
    "signal",
    [
        FilesChanged(project="/p", at=NOW, saved=("a", "b"), deleted=("c",), complete=False),
        FileDeleted(project="/p", at=NOW, path="a", id="7", source="watcher"),
        OperationEnded(project="/p", at=NOW + timedelta(microseconds=1), operation="rebase", old="a", new="b"),
        ContextUsed(project="/p", at=NOW, memory="m1"),
    ],
)
def test_watcher_signals_stored_but_rejected_from_clients(signal: Signal) -> None:
    kept = signal_to_json(signal)

    assert signal_from_json(kept) == signal
    if not isinstance(signal, ContextUsed):
        with pytest.raises(InvalidInput, match="'kind' is"):
            parse_signal(kept, now=NOW)


@pytest.mark.parametrize(
    "raw", [{}, None, {"kind": "commit"}, {"kind": "commit", "at": "2025-01-01"}, {"kind": "x"}, {"kind": []}]
)
def test_stored_signal_damaged_is_rejected(raw: Any) -> None:
    with pytest.raises(InvalidInput):
        signal_from_json(raw)


def test_signal_misspelled_kind_gets_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'kind' is 'file-open'; allowed: file_opened, ") as refused:
        parse_signal({"kind": "file-open", "project": str(tmp_path)}, now=NOW)

    assert (refused.value.field, refused.value.hint) == ("kind", "did you mean 'file_opened'?")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"project": None}, "project"),
        ({"project": "relative"}, "project"),
        ({"path": None}, "path"),
        ({"path": 7}, "path"),
        ({"path": "../x"}, "path"),
        ({"at": "yesterday"}, "at"),
        ({"at": 1_700_000_000}, "at"),
        ({"at": "1969-12-31T00:00:00Z"}, "at"),
        ({"at": "9999-12-31T23:59:59-12:00"}, "at"),
        ({"at": "2500-01-01"}, "at"),
        ({"source": ["x"]}, "source"),
        ({"event_id": "x" * 500}, "event_id"),
        ({"path": "a\0"}, "path"),
        ({"path": "a\ud800"}, "path"),
        ({"soruce": "editor"}, "soruce"),
    ],
)
def test_signal_error_names_field(change: dict[str, Any], field: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_signal(sent("file_opened", tmp_path) | change, now=NOW)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        ("commit", {"sha": "HEAD"}, "sha"),
        ("commit", {"sha": None}, "sha"),
        ("rewrite", {"new": "--exec=x"}, "new"),
        ("branch_checkout", {"branch": " "}, "branch"),
        ("error", {"text": ""}, "text"),
        ("error", {"line": -1}, "line"),
        ("error", {"exit_code": True}, "exit_code"),
        ("command_finished", {"exit_code": None}, "exit_code"),
        ("command_finished", {"duration_ms": 1.5}, "duration_ms"),
        ("used", {"path": None, "id": None}, "path"),
        ("collaborator_joined", {"name": None}, "name"),
    ],
)
def test_signal_missing_required_field_is_rejected(
    kind: str, change: dict[str, Any], field: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_signal(sent(kind, tmp_path) | change, now=NOW)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("at", "means"),
    [
        ("2025-05-01T10:00:00Z", datetime(2025, 5, 1, 10, tzinfo=UTC)),
        ("2025-05-01T10:00:00", datetime(2025, 5, 1, 10, tzinfo=UTC)),
        ("2025-05-01T10:00:00+02:00", datetime(2025, 5, 1, 8, tzinfo=UTC)),
        ("2025-05-01", datetime(2025, 5, 1, tzinfo=UTC)),
        ("2031-01-01T00:00:00Z", NOW),
    ],
)
def test_signal_time_is_utc_and_never_future(at: str, means: datetime, tmp_path: Path) -> None:
    assert parse_signal(sent("file_opened", tmp_path, at=at), now=NOW).at == means


def test_signal_long_trace_loses_its_middle(tmp_path: Path) -> None:
    trace = "first line\n" + "é" * MAX_TEXT_BYTES + "\nValueError: last line"

    signal = parse_signal(sent("error", tmp_path, text=trace), now=NOW)

    assert isinstance(signal, ErrorReported)
    assert signal.text.startswith("first line")
    assert signal.text.endswith("last line")
    assert "bytes left out" in signal.text
    assert len(signal.text.encode()) <= MAX_TEXT_BYTES


def test_error_signal_outside_project_drops_file(tmp_path: Path) -> None:
    signal = parse_signal(sent("error", tmp_path, file="/usr/lib/python3/json.py"), now=NOW)

    assert isinstance(signal, ErrorReported)
    assert (signal.text, signal.file) == ("boom", None)


def test_signal_unknown_fields_are_ignored(tmp_path: Path) -> None:
    signal = parse_signal(sent("file_opened", tmp_path, window=3, cursor={"line": 1}), now=NOW)

    assert isinstance(signal, FileOpened)
    assert signal.path == "a.py"


def test_signal_integral_float_is_accepted(tmp_path: Path) -> None:
    signal = parse_signal(sent("command_finished", tmp_path, exit_code=0.0, duration_ms=12.0), now=NOW)

    assert isinstance(signal, CommandFinished)
    assert signal.duration_ms == 12


def test_used_signal_id_is_memory_not_event(tmp_path: Path) -> None:
    used = parse_signal(sent("used", tmp_path), now=NOW)
    opened = parse_signal(sent("file_opened", tmp_path, id="e7"), now=NOW)

    assert isinstance(used, ContextUsed)
    assert (used.memory, used.id, opened.id) == ("m1", "", "e7")
