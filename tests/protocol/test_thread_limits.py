"""Matrix libraries imported in the block use one thread; children and users are not affected."""

from __future__ import annotations

import os

import pytest

from hunchd.protocol.thread_limits import THREADS_VARIABLE, limit_to_one_thread


def test_one_thread_applies_to_block_not_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    with limit_to_one_thread():
        assert os.environ[THREADS_VARIABLE] == "1"
    assert THREADS_VARIABLE not in os.environ


def test_one_thread_respects_users_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "3")
    with limit_to_one_thread():
        assert os.environ[THREADS_VARIABLE] == "3"
    assert os.environ[THREADS_VARIABLE] == "3"
