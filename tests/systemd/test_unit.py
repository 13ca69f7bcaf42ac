"""The systemd unit says what the daemon does."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_finds_nothing_to_complain_about(tmp_path: Path) -> None:
    program = tmp_path / "hunchd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "hunchd.service"
    unit.write_text(UNIT.read_text().replace("%h/.local/bin/hunchd", str(program)))

    told = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(unit)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.returncode, told.stdout + told.stderr) == (0, "")
