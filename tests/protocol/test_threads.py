"""Matrix libraries imported in the block use one thread; children and users are not affected."""

from __future__ import annotations

import os

import pytest

from hunchd.protocol.threads import THREADS, one_thread_each


def test_one_thread_applies_to_block_not_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(THREADS, raising=False)
    with one_thread_each():
        assert os.environ[THREADS] == "1"
    assert THREADS not in os.environ


def test_one_thread_respects_users_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "3")
    with one_thread_each():
        assert os.environ[THREADS] == "3"
    assert os.environ[THREADS] == "3"
