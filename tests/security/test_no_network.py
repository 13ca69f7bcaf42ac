"""Nothing leaves the machine: the daemon works where there is no network, and asks for none where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import commit, git, make_shop

WITHOUT_NETWORK = ("unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")


def can(command: Sequence[str]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def work(daemon: RunningDaemon, shop: Path) -> None:
    """A day in short: a repository with a remote, questions, memories with addresses in them, a commit."""
    git(shop, "remote", "add", "origin", "https://git.example/shop.git")
    (shop / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = https://git.example/x.git\n')
    daemon.add(shop)
    assert daemon.get("/context", project=str(shop), file="shop/basket.py")["status"] == "ok"
    daemon.post("/memories", {"kind": "fact", "project": str(shop), "content": "see https://docs.example/pnpm"})
    found = daemon.post("/search", {"project": str(shop), "query": "pnpm documentation", "depth": "deep"})
    assert found["results"] != []
    commit(shop, "Vouchers", {"shop/voucher.py": "import requests\n\n\ndef redeem() -> None:\n    pass\n"})
    daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=60, what="store it all")
    daemon.get("/export")


@pytest.mark.skipif(sys.platform != "linux" or not can(WITHOUT_NETWORK), reason="cannot make a network of its own")
def test_it_does_all_its_work_without_a_network(hunchd_home: Path, tmp_path: Path) -> None:
    with running_daemon(hunchd_home, wrapper=WITHOUT_NETWORK) as daemon:
        assert Path(f"/proc/{daemon.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        work(daemon, make_shop(tmp_path / "shop"))


# Every address that a process connects or sends to, as strace writes it.
ADDRESS = re.compile(r"sa_family=AF_INET6?, .*?(?:sin_addr=inet_addr\(|sin6_addr=|inet_pton\(AF_INET6, )\"?([\w.:]+)")
LOOPBACK = ("127.", "::1")


def reached(trace: str) -> set[str]:
    return {found[1] for found in ADDRESS.finditer(trace) if not found[1].startswith(LOOPBACK)}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_it_connects_to_nobody(hunchd_home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    watched = ("strace", "-D", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", str(trace))
    if not can((*watched[:-1], os.devnull)):
        pytest.skip("processes cannot be traced here")
    with running_daemon(hunchd_home, wrapper=watched) as daemon:
        work(daemon, make_shop(tmp_path / "shop"))
    seen = trace.read_text(errors="replace")
    assert "sendto(" in seen, "nothing was traced"
    assert reached(seen) == set()
    assert reached('1 connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("9.9.9.9")}, 16) = 0') == {
        "9.9.9.9"
    }
