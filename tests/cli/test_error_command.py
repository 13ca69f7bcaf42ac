"""`hunch error`: sends the pasted error to the daemon and prints what the daemon knows about it."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.main import main
from tests.cli.fake_daemon import FakeDaemon

TRACE = b"\x1b[31mTraceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'price'\x1b[0m\n"
FIX = {"id": "m2", "content": "KeyError\nfixed in a.py\n\na.py\n-x\n+y", "artifacts": [{"type": "file", "ref": "a.py"}]}


@pytest.fixture
def asked(fake: FakeDaemon, repository: Path) -> FakeDaemon:
    source = {"path": "a.py", "line": 3, "last": "2026-01-01T00:00:00Z", "fixed_in": ["a.py"], "fix": "m2"}
    item: dict[str, Any] = {"id": "m1", "kind": "error", "reasons": ["fixed before in a.py: helped 1 of 1"]}
    error = {"id": "m1", "title": "KeyError: 'price'", "links": [{"type": "fixed_by", "ref": "m2"}]}
    fake.routes |= {
        "POST /signals": (202, {"accepted": 1, "rejected": []}),
        "POST /context/predict": (200, {"predicted_files": [{"path": "a.py", "score": 0.5, "confidence": 0.61}]}),
        "GET /context": (200, {"items": [item | {"source": source}]}),
        "GET /memories/m1": (200, error),
        "GET /memories/m2": (200, FIX),
    }
    return fake


def test_error_is_sent_and_explained(asked: FakeDaemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace").write_bytes(TRACE)

    assert main(["error", str(tmp_path / "trace")]) == 0

    [told] = asked.bodies("POST /signals")[0]["signals"]
    assert told["text"].startswith("Traceback")
    assert told["kind"] == "error"
    shown = capsys.readouterr().out
    assert shown.splitlines()[:2] == ["KeyError: 'price' (a.py:3)", "  fixed before in a.py: helped 1 of 1"]
    assert "+y" in shown
    assert "61%  a.py" in shown


def test_error_empty_text_is_wrong_usage(asked: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    assert main(["error"]) == 2
    assert asked.bodies("POST /signals") == []


def test_error_ambiguous_last_line_lists_candidates(
    asked: FakeDaemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"last": "2026-01-01T00:00:00Z", "candidates": ["a.py:3 in f, fixed before in a.py", "b.py:9"]}
    item = {"id": "m1", "kind": "error", "reasons": ["just now"], "source": source}
    asked.routes["GET /context"] = (200, {"items": [item]})
    (tmp_path / "line").write_text("KeyError: 'price'\n")

    assert main(["error", str(tmp_path / "line")]) == 0

    shown = capsys.readouterr().out
    assert "    a.py:3 in f, fixed before in a.py\n    b.py:9\n" in shown
    assert "no earlier fix" not in shown
