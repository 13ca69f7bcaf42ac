"""Socket activation: the service manager may listen before the daemon runs and after it has ended."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hunchd.cli.client import is_answering
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.config.settings import Settings
from hunchd.daemon import main
from hunchd.daemon.main import LOG_BACKUPS, _configure_logging
from hunchd.daemon.service_manager import take_inherited_sockets
from hunchd.protocol.rendezvous import read_rendezvous
from tests.daemon.running import running_daemon

# What a manager does before it starts a service: listen, and hand the socket over as descriptor 3.
MANAGER = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
os.dup2(listening.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_daemon_serves_inherited_socket_and_keeps_it(hunchd_home: Path) -> None:
    where = resolve_app_paths({"HUNCHD_HOME": str(hunchd_home)})
    for folder in (hunchd_home, where.runtime):
        ensure_private_folder(folder)
    path = where.runtime / "given.sock"

    with running_daemon(hunchd_home, wrapper=(sys.executable, "-c", MANAGER, str(path))) as daemon:
        told = read_rendezvous(where.rendezvous_file)
        assert told is not None
        assert told.socket == str(path)
        assert is_answering(told)
        variables = Path(f"/proc/{daemon.pid}/fd/3").readlink()
        assert str(variables).startswith("socket:")

    assert path.is_socket()
    assert not where.socket_file.exists()


def test_inherited_sockets_of_other_process_are_ignored() -> None:
    environment = {"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "http", "HOME": "/"}

    assert take_inherited_sockets(environment) == []
    assert environment == {"HOME": "/"}


@pytest.fixture
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


@pytest.mark.usefixtures("_root_logger_as_before")
def test_log_rotation_deletes_oldest_file(monkeypatch: pytest.MonkeyPatch) -> None:
    where = resolve_app_paths()
    ensure_private_folder(where.state)
    monkeypatch.setattr(main, "MAX_LOG_BYTES", 1024 * 1024)
    _configure_logging(where, Settings(), to_stderr=False)
    for number in range(6_000):
        logging.getLogger("hunchd.test").info("%06d %s", number, "x" * 1_000)

    logs = sorted(where.state.iterdir())
    assert [file.name for file in logs] == ["hunchd.log", *(f"hunchd.log.{n}" for n in range(1, LOG_BACKUPS + 1))]
    assert sum(file.stat().st_size for file in logs) <= (LOG_BACKUPS + 1) * 1024 * 1024
    assert "005999" in where.log_file.read_text()
