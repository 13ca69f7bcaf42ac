"""Nothing leaves the machine: no connection beyond loopback, no file outside hunchd's own folders.

The environment holds nothing that marks a build server: libraries that report on their users are silent there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import commit, git, make_shop

WITHOUT_NETWORK = ("unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")
# All that a desktop session needs; CI, GITHUB_ACTIONS and their like are not among them.
DESKTOP_VARIABLES = ("HOME", "PATH", "LANG", "HUNCHD_HOME", "PYTHONPATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")
NETWORK_CALLS = "connect,sendto,sendmsg,sendmmsg"
FILE_CALLS = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"


@pytest.fixture(autouse=True)
def _desktop_environment(hunchd_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ) - set(DESKTOP_VARIABLES):
        if not name.startswith(("GIT_AUTHOR", "GIT_COMMITTER", "PYTEST")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # compiled modules beside the installed ones are Python's
    Path(os.environ["HOME"]).mkdir(parents=True, exist_ok=True)


def is_available(command: Sequence[str]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def use_every_part(daemon: RunningDaemon, shop: Path) -> None:
    """Use each part once: index, ask, remember, search, contradict, talk, consolidate, export."""
    git(shop, "remote", "add", "origin", "https://git.example/shop.git")
    (shop / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = https://git.example/x.git\n')
    daemon.add(shop)
    assert daemon.get("/context", project=str(shop), file="shop/basket.py")["status"] == "ok"
    for content in ("we use pnpm, see https://docs.example/pnpm", "we never use pnpm, only npm"):
        daemon.post("/memories", {"kind": "fact", "project": str(shop), "content": content})
    found = daemon.post("/search", {"project": str(shop), "query": "pnpm documentation", "depth": "deep"})
    assert found["results"] != []
    message = {"role": "user", "content": "We decided to use PostgreSQL because of JSON."}
    daemon.post("/sessions/s1/messages", {"messages": [message]})
    daemon.post("/sessions/s1/end", {})
    commit(shop, "Vouchers", {"shop/voucher.py": "import requests\n\n\ndef redeem() -> None:\n    pass\n"})
    daemon.wait_until(lambda: is_embedded(daemon), within=60, what="embed everything")
    daemon.post("/consolidate", {"dry_run": False})
    daemon.get("/export")


def is_embedded(daemon: RunningDaemon) -> bool:
    status = daemon.get("/status")
    embeddings = [project["progress"]["embeddings"] for project in status["projects"]]
    return not any(status["queues"].values()) and all(one["done"] == one["total"] > 0 for one in embeddings)


@pytest.mark.skipif(
    sys.platform != "linux" or not is_available(WITHOUT_NETWORK), reason="cannot create a network namespace"
)
def test_daemon_without_network_works(hunchd_home: Path, tmp_path: Path) -> None:
    with running_daemon(hunchd_home, wrapper=WITHOUT_NETWORK) as daemon:
        assert Path(f"/proc/{daemon.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        use_every_part(daemon, make_shop(tmp_path / "shop"))
    assert files_below(Path(os.environ["HOME"])) == []


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_daemon_traced_stays_on_machine(hunchd_home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ("strace", "-D", "-f", "-qq", "--seccomp-bpf", "-s", "4096", "-e", f"trace={NETWORK_CALLS},{FILE_CALLS}")
    if not is_available((*strace, "-o", os.devnull)):
        pytest.skip("processes cannot be traced here")
    with running_daemon(hunchd_home, wrapper=(*strace, "-o", str(trace))) as daemon:
        use_every_part(daemon, make_shop(tmp_path / "shop"))
    calls = trace.read_text(errors="replace")
    assert "sendto(" in calls, "the trace is empty"
    assert f"{hunchd_home}/" in " ".join(written_paths(calls)), "the trace holds no file"
    assert contacted_addresses(calls) == set()
    allowed = (f"{hunchd_home}/", "/dev/", "/proc/self/", "/tmp/hunchd-")
    assert {path for path in written_paths(calls) if not f"{path}/".startswith(allowed)} == set()
    assert files_below(Path(os.environ["HOME"])) == []


# An address that a process connects or sends to, as strace prints it.
ADDRESS = re.compile(r"sa_family=AF_INET6?, .*?(?:sin_addr=inet_addr\(|sin6_addr=|inet_pton\(AF_INET6, )\"?([\w.:]+)")
LOOPBACK = ("127.", "::1")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
READ_ONLY_OPEN = re.compile(r"\bopen(?:at)?\((?!.*O_(?:WRONLY|RDWR|CREAT))")


def contacted_addresses(trace: str) -> set[str]:
    return {match[1] for match in ADDRESS.finditer(trace) if not match[1].startswith(LOOPBACK)}


def written_paths(trace: str) -> Iterator[str]:
    """Yield each absolute path that a traced process opened for writing, created or renamed."""
    for line in trace.splitlines():
        call = line.split("(", 1)[0].rpartition(" ")[2]
        if call in FILE_CALLS.split(",") and not READ_ONLY_OPEN.search(line) and " = -1 " not in line:
            yield from (path for path in QUOTED.findall(line) if path.startswith("/"))


def test_trace_readers_find_violations() -> None:
    connect = '1 connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("9.9.9.9")}, 16) = 0'
    assert contacted_addresses(connect) == {"9.9.9.9"}
    trace = '1 openat(AT_FDCWD, "/h/id", O_RDWR|O_CREAT, 0600) = 3\n1 openat(AT_FDCWD, "/h/x", O_RDONLY) = 3'
    assert list(written_paths(trace)) == ["/h/id"]
