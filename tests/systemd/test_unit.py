"""The systemd unit says what the daemon does."""

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
from hunchd.cli.service import wanted_files
from hunchd.config.places import places

UNIT = Path(__file__).parents[2] / "systemd" / "hunchd.service"


@pytest.fixture
def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None, comment_prefixes="#", strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    return unit["Service"]


def test_systemd_is_told_when_the_daemon_is_ready_and_when_it_hangs(service: configparser.SectionProxy) -> None:
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 10
    assert service["Restart"] == "on-failure"


def test_the_service_cannot_gain_rights_or_speak_other_protocols(service: configparser.SectionProxy) -> None:
    assert service["NoNewPrivileges"] == "yes"
    assert service["UMask"] == "0077"
    assert service["RestrictAddressFamilies"] == "AF_UNIX AF_INET AF_INET6"


@pytest.mark.parametrize("home", [None, '/srv/my "own" 100% $HOME'])
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_to_complain_about(tmp_path: Path, home: str | None) -> None:
    environment = {"HUNCHD_HOME": home} if home else {}
    written = wanted_files("systemd", places(environment), environment)
    for path, content in written.items():
        (tmp_path / path.name).write_bytes(content)

    told = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", *(tmp_path / path.name for path in written)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.returncode, told.stdout + told.stderr) == (0, "")


def test_the_units_start_this_installation_with_its_own_home(tmp_path: Path) -> None:
    home = str(tmp_path / "a home")
    units = wanted_files("systemd", places({"HUNCHD_HOME": home}), {"HUNCHD_HOME": home, "XDG_CONFIG_HOME": "/etc/me"})
    text = {path.name: content.decode() for path, content in units.items()}

    assert {str(path.parent) for path in units} == {"/etc/me/systemd/user"}
    assert f"\nExecStart={sys.executable} -m hunchd.daemon.main\n" in text["hunchd.service"]
    assert f'\nEnvironment="HUNCHD_HOME={home}"\n' in text["hunchd.service"]
    assert f"\nListenStream={home}/run/hunchd.sock\n" in text["hunchd.socket"]


def test_the_socket_of_a_home_that_lies_too_deep_for_one_is_where_clients_look_for_it() -> None:
    environment = {"HUNCHD_HOME": f"/{'d' * 150}", "XDG_RUNTIME_DIR": "/tmp"}
    where = places(environment)
    (text,) = [
        content.decode()
        for path, content in wanted_files("systemd", where, environment).items()
        if path.name == "hunchd.socket"
    ]
    assert f"\nListenStream={where.socket_file}\n" in text


def test_the_socket_is_where_clients_look_for_it_and_theirs_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    where = places({"XDG_RUNTIME_DIR": str(tmp_path / "run")})
    socket = (UNIT.parent / "hunchd.socket").read_text()

    assert where.socket_file == tmp_path / "run" / "hunchd" / "hunchd.sock"
    assert "ListenStream=%t/hunchd/hunchd.sock\nSocketMode=0600\nDirectoryMode=0700\n" in socket


def test_the_agent_of_launchd_is_valid_and_says_what_the_unit_says() -> None:
    (content,) = wanted_files("launchd", places({"HUNCHD_HOME": "/a <home>"}), {"HUNCHD_HOME": "/a <home>"}).values()
    agent = plistlib.loads(content)

    # What launchd.plist(5) calls these keys, and which type each has.
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


def test_where_no_manager_listens_nothing_is_written(
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
def test_a_real_manager_starts_wakes_watches_upgrades_and_removes_it() -> None:
    here = Path(__file__).parent
    told = subprocess.run(
        ["unshare", "-m", "-f", "bash", here / "user-systemd.sh", here / "life.sh"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("ok ") == 11
