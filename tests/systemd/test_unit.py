"""Tests of the systemd units and the launchd agent."""

from __future__ import annotations

import configparser
import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hunchd.cli.main import main
from hunchd.cli.service import build_service_files
from hunchd.config.app_paths import resolve_app_paths

UNIT = Path(__file__).parents[2] / "systemd" / "hunchd.service"


@pytest.fixture
def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None, comment_prefixes="#", strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    return unit["Service"]


def test_unit_uses_notify_and_watchdog(service: configparser.SectionProxy) -> None:
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 10
    assert service["Restart"] == "on-failure"


def test_unit_restricts_privileges_and_address_families(service: configparser.SectionProxy) -> None:
    assert service["NoNewPrivileges"] == "yes"
    assert service["UMask"] == "0077"
    assert service["RestrictAddressFamilies"] == "AF_UNIX AF_INET AF_INET6"


@pytest.mark.parametrize("home", [None, '/srv/my "own" 100% $HOME'])
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_unit_passes_systemd_analyze(tmp_path: Path, home: str | None) -> None:
    environment = {"HUNCHD_HOME": home} if home else {}
    written = build_service_files("systemd", resolve_app_paths(environment), environment)
    for path, content in written.items():
        (tmp_path / path.name).write_bytes(content)

    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", *(tmp_path / path.name for path in written)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_unit_starts_this_installation_and_home(tmp_path: Path) -> None:
    home = str(tmp_path / "a home")
    units = build_service_files(
        "systemd", resolve_app_paths({"HUNCHD_HOME": home}), {"HUNCHD_HOME": home, "XDG_CONFIG_HOME": "/etc/me"}
    )
    text = {path.name: content.decode() for path, content in units.items()}

    assert {str(path.parent) for path in units} == {"/etc/me/systemd/user"}
    assert f"\nExecStart={sys.executable} -m hunchd.daemon.main\n" in text["hunchd.service"]
    assert f'\nEnvironment="HUNCHD_HOME={home}"\n' in text["hunchd.service"]
    assert f"\nListenStream={home}/run/hunchd.sock\n" in text["hunchd.socket"]


def test_unit_socket_path_for_deep_home() -> None:
    environment = {"HUNCHD_HOME": f"/{'d' * 150}", "XDG_RUNTIME_DIR": "/tmp"}
    where = resolve_app_paths(environment)
    (text,) = [
        content.decode()
        for path, content in build_service_files("systemd", where, environment).items()
        if path.name == "hunchd.socket"
    ]
    assert f"\nListenStream={where.socket_file}\n" in text


def test_unit_socket_path_and_mode(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    where = resolve_app_paths({"XDG_RUNTIME_DIR": str(tmp_path / "run")})
    socket = (UNIT.parent / "hunchd.socket").read_text()

    assert where.socket_file == tmp_path / "run" / "hunchd" / "hunchd.sock"
    assert "ListenStream=%t/hunchd/hunchd.sock\nSocketMode=0600\nDirectoryMode=0700\n" in socket


def test_launchd_agent_matches_unit() -> None:
    (content,) = build_service_files(
        "launchd", resolve_app_paths({"HUNCHD_HOME": "/a <home>"}), {"HUNCHD_HOME": "/a <home>"}
    ).values()
    agent = plistlib.loads(content)

    # Keys and types of launchd.plist(5).
    known = {
        "Label": str,
        "ProgramArguments": list,
        "RunAtLoad": bool,
        "KeepAlive": dict,
        "ThrottleInterval": int,
        "ProcessType": str,
        "LowPriorityIO": bool,
        "Nice": int,
        "Umask": int,
        "WorkingDirectory": str,
        "StandardErrorPath": str,
        "EnvironmentVariables": dict,
    }
    assert {name: type(value) for name, value in agent.items()} == known
    assert agent["ProgramArguments"] == [sys.executable, "-m", "hunchd.daemon.main"]
    assert agent["EnvironmentVariables"] == {"HUNCHD_HOME": "/a <home>"}
    assert agent["Umask"] == 0o077


@pytest.mark.process
def test_install_without_manager_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    assert main(["service", "install", "--manager", "systemd"]) == 1

    assert "Failed to connect to bus" in capsys.readouterr().err
    assert not (tmp_path / "config").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.getuid() != 0 or not Path("/lib/systemd/systemd").exists(),
    reason="needs root and an installed systemd, for a user manager in a namespace of its own",
)
def test_service_lifecycle_under_real_systemd() -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        ["unshare", "-m", "-f", "bash", here / "user-systemd.sh", here / "life.sh"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == 11
