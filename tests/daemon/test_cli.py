"""The command and the real daemon together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hunchd.cli.daemon_control import find_lock_holder
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol.rendezvous import read_rendezvous
from tests.daemon.running import RunningDaemon

pytestmark = pytest.mark.timeout(120)  # several real starts on a machine that may be busy


def hunch(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hunchd.cli", *argv], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    if (pid := find_lock_holder()) is not None:
        os.kill(pid, signal.SIGCONT)
        hunch("stop")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Repository in which cart.py and tax.py always change together, and readme.md never with them."""
    root = tmp_path / "shop"
    root.mkdir()
    run = lambda *argv: subprocess.run(["git", *argv], cwd=root, check=True, capture_output=True)  # noqa: E731
    run("init", "--quiet", "--initial-branch=main")
    for number in range(6):
        (root / "cart.py").write_text(
            f"import tax\n\n\ndef total(items):\n    return tax.added(sum(items)) + {number}\n"
        )
        (root / "tax.py").write_text(f"def added(amount: int) -> int:\n    return amount + {number}\n")
        run("add", "--all")
        run("commit", "--quiet", "-m", f"Round totals for country {number}")
        (root / "readme.md").write_text(f"# Shop {number}\n")
        run("add", "--all")
        run("commit", "--quiet", "-m", f"Say more about the shop {number}")
    return root


def test_context_starts_daemon_and_prints_related_files(shop: Path) -> None:
    told = hunch("context", "cart.py", cwd=shop)

    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("# cart.py · branch main · ")
    assert "- tax.py: changed together 6 of 6 times" in told.stdout

    predicted = json.loads(hunch("predict", "cart.py", "--json", cwd=shop).stdout)
    assert predicted["predicted_files"][0]["path"] == "tax.py"


def test_start_and_stop_json_output() -> None:
    first, second = (json.loads(hunch("start", "--json").stdout) for _ in range(2))
    told = read_rendezvous(resolve_app_paths().rendezvous_file)
    assert told is not None
    assert first == {"started": True, "pid": told.pid, "version": told.version, "url": told.url}
    assert second == first | {"started": False}

    restarted = json.loads(hunch("restart", "--json").stdout)
    assert restarted["started"]
    assert json.loads(hunch("stop", "--json").stdout) == {"stopped": restarted["pid"]}


def test_relative_home_is_shared_with_daemon(hunchd_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUNCHD_HOME", hunchd_home.name)
    monkeypatch.chdir(hunchd_home.parent)
    told = json.loads(hunch("start", "--json").stdout)
    assert told["pid"] == find_lock_holder()
    assert Path(f"/proc/{told['pid']}/environ").read_bytes().count(f"HUNCHD_HOME={hunchd_home}\0".encode()) == 1


def test_ten_concurrent_clients_start_one_daemon(shop: Path) -> None:
    clients = [
        subprocess.Popen([sys.executable, "-m", "hunchd.cli", "status", "--json"], stdout=subprocess.PIPE)
        for _ in range(10)
    ]
    answers = [json.loads(client.communicate(timeout=60)[0]) for client in clients]

    assert {client.returncode for client in clients} == {0}
    assert {answer["resources"]["pid"] for answer in answers} == {find_lock_holder()}


def test_killed_daemon_is_replaced_by_next_command(shop: Path) -> None:
    hunch("start")
    first = find_lock_holder()
    assert first is not None
    os.kill(first, signal.SIGKILL)
    _gone(first)

    told = hunch("projects")

    assert told.returncode == 0, told.stderr
    assert find_lock_holder() not in (None, first)


def test_hanging_daemon_is_reported_and_restarted() -> None:
    hunch("start")
    first = find_lock_holder()
    assert first is not None
    os.kill(first, signal.SIGSTOP)

    told = hunch("status")
    assert told.returncode == 3
    assert f"the daemon (pid {first}) is not responding (2 s)." in told.stderr

    again = hunch("restart")
    assert again.returncode == 0, again.stderr
    assert find_lock_holder() not in (None, first)


def test_stop_removes_process_and_rendezvous_file() -> None:
    hunch("start")
    pid = find_lock_holder()
    assert pid is not None

    assert hunch("stop").returncode == 0

    assert find_lock_holder() is None
    assert not _exists(pid)
    assert read_rendezvous(resolve_app_paths().rendezvous_file) is None


def test_invalid_settings_are_reported_at_start() -> None:
    ensure_private_folder(resolve_app_paths().config)
    resolve_app_paths().config_file.write_text("[serving]\nprot = 1\n")

    told = hunch("status")

    assert told.returncode == 3
    assert "[serving] has no setting 'prot'. Did you mean 'port'?" in told.stderr


def test_remembered_fact_survives_kill(shop: Path) -> None:
    told = hunch("remember", "carts are rounded half even", "--category", "decision", cwd=shop)
    assert told.returncode == 0, told.stderr
    pid = find_lock_holder()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    _gone(pid)

    assert "rounded half even" in hunch("search", "rounded", cwd=shop).stdout


def test_erase_everything_ends_process_deletes_files(shop: Path, hunchd_home: Path) -> None:
    hunch("context", "cart.py", cwd=shop)
    pid = find_lock_holder()
    assert pid is not None

    told = hunch("erase", "--everything", "--yes")

    assert told.returncode == 0, told.stderr
    assert not _exists(pid)
    assert not hunchd_home.exists()


def test_fresh_daemon_has_empty_queues(daemon: RunningDaemon) -> None:
    assert json.loads(hunch("status", "--json", "--no-start").stdout)["queues"] == {
        "journal": 0,
        "writer": 0,
        "embedding": 0,
    }


def _gone(pid: int) -> None:
    while _exists(pid):
        time.sleep(0.01)


def _exists(pid: int) -> bool:
    """Return True if the process still runs; a zombie does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False
