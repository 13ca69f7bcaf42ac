"""Small products are not shared among threads, and nobody else is told so."""

from __future__ import annotations

import os

import pytest

from hunchd.protocol.threads import THREADS, one_thread_each


def test_what_is_loaded_meanwhile_takes_one_thread_and_children_afterwards_what_they_like(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(THREADS, raising=False)
    with one_thread_each():
        assert os.environ[THREADS] == "1"
    assert THREADS not in os.environ


def test_what_the_user_says_of_threads_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "3")
    with one_thread_each():
        assert os.environ[THREADS] == "3"
    assert os.environ[THREADS] == "3"
