"""Isolation that every other test relies on."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest


def test_network_is_blocked() -> None:
    with socket.socket() as probe, pytest.raises(AssertionError, match=r"192\.0\.2\.1"):
        probe.connect(("192.0.2.1", 80))
    with pytest.raises(AssertionError, match=r"example\.org"):
        socket.create_connection(("example.org", 80))


def test_local_server_is_reachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_home_is_below_temporary_folder(hunchd_home: Path) -> None:
    assert os.environ["HUNCHD_HOME"] == str(hunchd_home)
    assert Path.home() != Path("/root")
    assert len(f"{hunchd_home}/run/daemon.sock") < 100
