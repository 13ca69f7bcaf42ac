"""Daemon on a full disk: it answers, rejects writes and recovers by itself."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.faults.test_daemon_kill import kept
from tests.faults.test_full_disk import stuff
from tests.repositories import make_shop

pytestmark = pytest.mark.timeout(180)

SETTINGS = "[embedding]\nenabled = false\n[store]\ncommit_ms = 20\nreserve_mib = 4\nmin_free_mib = 1\n"


@pytest.fixture
def small_home(hunchd_home: Path) -> Iterator[Path]:
    """Mount a file system of 24 MiB as home."""
    hunchd_home.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", str(hunchd_home)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("file systems can be mounted by root only")
    yield hunchd_home
    subprocess.run(["umount", "--lazy", str(hunchd_home)], check=True)


class Teller:
    """Client that sends events and records which were accepted."""

    def __init__(self, daemon: RunningDaemon, folder: Path) -> None:
        self._daemon = daemon
        self._folder = folder
        self.accepted: set[str] = set()
        self.refused = 0
        self._number = 0

    def tell(self, events: int = 20) -> int:
        names = [f"e{self._number + one}" for one in range(events)]
        self._number += events
        text = "x" * 2_000  # so that a full disk is met soon
        signals = [
            {
                "kind": "command_finished",
                "project": str(self._folder),
                "command": text,
                "exit_code": 0,
                "event_id": name,
            }
            for name in names
        ]
        status, answer = self._daemon.request("POST", "/signals", {"signals": signals})
        if status == 202:
            assert answer == {"accepted": events, "rejected": []}
            self.accepted.update(names)
        else:
            assert (status, answer["error"]["code"]) in ((507, "storage_full"), (429, "overloaded")), answer
            self.refused += 1
        return int(status)


def context(daemon: RunningDaemon, shop: Path) -> dict[str, Any]:
    answer: dict[str, Any] = daemon.get("/context", project=str(shop), file="shop/basket.py")
    return answer


def test_daemon_on_full_disk_recovers_without_loss(small_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(small_home, settings=SETTINGS) as daemon:
        daemon.add(shop)
        teller = Teller(daemon, shop)
        assert teller.tell() == 202
        ballast = small_home / "somebody-elses"
        stuff(ballast)
        deadline = time.monotonic() + 60
        while teller.tell() != 507:
            assert time.monotonic() < deadline, "the disk never refused"
            stuff(small_home / f"more-{time.monotonic_ns()}")
        assert context(daemon, shop)["status"] in ("ok", "degraded")
        assert "changed together" in context(daemon, shop)["context"]
        told = daemon.get("/status")
        assert told["status"] == "degraded"
        assert any("full" in complaint or "No space" in complaint for complaint in told["degraded"])
        status, answer = daemon.request("POST", "/memories", {"kind": "fact", "content": "y" * 5_000})
        assert (status, answer["error"]["code"]) in ((507, "storage_full"), (503, "unavailable"), (503, "store"))

        for file in small_home.iterdir():
            if file.is_file():
                file.unlink()
        freed = time.monotonic()
        daemon.wait_until(lambda: teller.tell() == 202, within=10, what="accept signals again")
        print(f"accepted again after {time.monotonic() - freed:.1f} s")  # noqa: T201 - a figure to be told
        daemon.wait_until(lambda: _at_rest(daemon), within=60, what="store what waited")
        print(f"all stored after {time.monotonic() - freed:.1f} s")  # noqa: T201
        assert teller.refused > 0
        daemon.kill()
        daemon.start()
        assert set(kept(daemon).events) >= teller.accepted


def _at_rest(daemon: RunningDaemon) -> bool:
    status = daemon.get("/status")
    return status["queues"]["writer"] == 0 and not any("full" in told for told in status["degraded"])


def test_low_disk_space_is_reported_as_degraded(small_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(small_home, settings=SETTINGS.replace("min_free_mib = 1\n", "min_free_mib = 10\n")) as daemon:
        daemon.add(shop)
        assert not any("are free" in told for told in daemon.get("/status")["degraded"])
        ballast = small_home / "somebody-elses"
        ballast.write_bytes(bytes(14 * 1024 * 1024))
        assert any("are free" in told and "less than 10" in told for told in daemon.get("/status")["degraded"])
        assert Teller(daemon, shop).tell() == 202
        ballast.unlink()
        assert not any("are free" in told for told in daemon.get("/status")["degraded"])


def test_daemon_starts_on_full_disk_and_recovers(small_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(small_home, settings=SETTINGS) as daemon:
        daemon.add(shop)
        teller = Teller(daemon, shop)
        assert teller.tell() == 202
        daemon.kill()
        for number in range(3):  # the reserve is given up for the daemon's own records, not for others
            stuff(small_home / f"somebody-elses-{number}")
        daemon.start()
        daemon.get("/status")
        assert context(daemon, shop)["status"] in ("ok", "degraded")
        for file in small_home.glob("somebody-elses-*"):
            os.unlink(file)  # noqa: PTH108
        daemon.wait_until(lambda: teller.tell() == 202, within=10, what="accept signals again")
        daemon.wait_until(lambda: _at_rest(daemon), within=60, what="store what waited")
        assert set(kept(daemon).events) >= teller.accepted


def test_add_project_on_full_disk_returns_507(small_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(small_home, settings=SETTINGS) as daemon:
        stuff(small_home / "somebody-elses")
        status, answer = daemon.request("POST", "/projects", {"path": str(shop)})
        assert (status, answer["error"]["code"]) == (507, "storage_full")
        (small_home / "somebody-elses").unlink()
        assert daemon.add(shop)["state"] == "ready"
