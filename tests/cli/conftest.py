"""Fixtures of the command line tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.fake_daemon import FakeDaemon, running


@pytest.fixture
def fake() -> Iterator[FakeDaemon]:
    with running() as daemon:
        yield daemon


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Repository with one file; the test's current folder."""
    root = tmp_path / "shop"
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".git" / "refs").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text("def total(): ...\n")
    monkeypatch.chdir(root)
    return root
