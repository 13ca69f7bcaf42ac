"""Nothing outside a project is read, whatever its tree contains and whatever a path says; and nothing hangs."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hunchd.repository.ignore import IgnoreRules, WalkLimits
from tests.daemon.running import RunningDaemon
from tests.repositories import make_shop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks through inotify, and makes what only Linux has")

MARK = "mark-of-the-outside"
OPENED, READ = 0x20, 0x1


class Readers:
    """Watch that counts reads of anything below `folder`."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for file in [path for path in folder.rglob("*") if path.is_file()]:
            assert libc.inotify_add_watch(self._descriptor, os.fsencode(file), OPENED | READ) >= 0

    def count(self) -> int:
        try:
            return len(os.read(self._descriptor, 65_536)) // struct.calcsize("iIII")
        except BlockingIOError:
            return 0

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Repository full of traps, and the files beside it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        for role in ("AUTHOR", "COMMITTER"):
            environment.setenv(f"GIT_{role}_NAME", "Ada")
            environment.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
        folder = tmp_path_factory.mktemp("trap")
        shop, outside = make_shop(folder / "shop"), folder / "outside"
    outside.mkdir()
    (outside / "code.py").write_text(f'def outside_code() -> None:\n    """{MARK}"""\n')
    (outside / "note.md").write_text(f"# {MARK}\n")
    (outside / "package.json").write_text(json.dumps({"scripts": {"test": MARK}}))
    set_traps(shop, outside)
    return shop, outside


def set_traps(shop: Path, outside: Path) -> None:
    (shop / "linked.py").symlink_to(outside / "code.py")
    (shop / "linked").symlink_to(outside)
    (shop / "package.json").symlink_to(outside / "package.json")
    (shop / "CONTRIBUTING.md").symlink_to(outside / "note.md")
    (shop / ".gitignore").symlink_to(outside / "note.md")
    (shop / "process").symlink_to("/proc/self")
    (shop / "memory.py").symlink_to("/proc/self/environ")
    (shop / "loop").symlink_to(shop)
    (shop / "endless").symlink_to("endless")
    os.mkfifo(shop / "pipe.py")
    os.mkfifo(shop / "pyproject.json")
    if os.geteuid() == 0:
        os.mknod(shop / "zero.py", 0o600 | 0o020000, os.makedev(1, 5))
    with (shop / "giant.py").open("wb") as giant:
        giant.truncate(10 * 1024**3)
    for name in (b"two\nlines.py", b"not\xff\xfeutf8.py", "right\u202etfel.py".encode(), b"tab\tname.py", b"-rf.py"):
        Path(os.fsdecode(os.fsencode(shop) + b"/" + name)).write_text("def odd() -> None:\n    pass\n")
    crowd = shop / "crowd"
    crowd.mkdir()
    for number in range(5_000):
        (crowd / f"{number}.dat2").touch()
    deep = shop
    for _ in range(120):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "deep.py").write_text("def deep() -> None:\n    pass\n")


@pytest.fixture(scope="module")
def readers(places: tuple[Path, Path]) -> Iterator[Readers]:
    watching = Readers(places[1])
    yield watching
    watching.close()


@pytest.fixture(scope="module")
def trapped(shared_daemon: RunningDaemon, places: tuple[Path, Path], readers: Readers) -> RunningDaemon:
    readers.count()
    shared_daemon.add(places[0], within=30)
    return shared_daemon


def test_hostile_tree_is_read_without_escape(
    trapped: RunningDaemon, places: tuple[Path, Path], readers: Readers
) -> None:
    shop, outside = places
    answer = trapped.get("/context", project=str(shop), file="shop/basket.py")
    assert "changed together" in answer["context"]
    listed = trapped.post("/context/predict", {"project": str(shop), "query": "outside code odd deep", "k": 50})
    shown = json.dumps([answer, listed, trapped.get("/status"), trapped.get("/memories", project=str(shop), limit=200)])
    trapped.wait_until(lambda: not any(trapped.get("/status")["queues"].values()), within=30, what="store it all")
    assert MARK not in shown
    assert "\\u202e" not in shown
    for path in trapped.home.rglob("*"):
        assert not path.is_file() or MARK.encode() not in path.read_bytes(), path
    assert readers.count() == 0
    (outside / "code.py").read_bytes()
    assert readers.count() > 0, "the watch works"


OUTSIDE = (
    "../outside/code.py",
    "shop/../../outside/code.py",
    "linked.py",
    "linked/code.py",
    "process/environ",
    "memory.py",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/mem",
    "/dev/zero",
    "//etc/passwd",
    "..",
    "../..",
    ".",
    "",
    "\0",
    "a\0b",
    "endless",
    "loop/loop/loop/../../../outside/code.py",
    "file:///etc/passwd",
    "..\\outside\\code.py",
    "..%2foutside%2fcode.py",
    "~/.ssh/id_rsa",
    "x/" * 3_000 + "y",
    "../" * 1_000 + "etc/passwd",
    "pipe.py",
    "zero.py",
    "giant.py",
    "two\nlines.py",
    "right\u202etfel.py",
    "not\udcffutf8.py",
)


def questions(project: str, path: str) -> list[tuple[str, str, Any, dict[str, str]]]:
    """Return requests with the path in every field that takes one."""
    signals = [
        {"kind": kind, "project": project, "path": path}
        for kind in ("file_opened", "file_saved", "file_closed", "used")
    ]
    error = {
        "kind": "error",
        "project": project,
        "text": f'File "{path}", line 1\nKeyError: 1',
        "file": path,
        "line": 1,
    }
    told = {"current_file": path, "open_files": [path, "shop/basket.py"]}
    fact = {"kind": "fact", "project": project, "content": "x", "artifacts": [{"type": "file", "ref": path}]}
    return [
        ("GET", "/context", None, {"project": project, "file": path}),
        ("GET", "/context", None, {"project": path, "file": "shop/basket.py"}),
        ("POST", "/context/assemble", {"project": project, "signals": told}, {}),
        ("POST", "/context/predict", {"project": project, "file_opened": path, "open_files": [path]}, {}),
        ("POST", "/signals", {"signals": [*signals, error]}, {}),
        ("POST", "/signals", {"signals": [{"kind": "file_opened", "project": path, "path": "x"}]}, {}),
        ("POST", "/expand", {"project": project, "id": f"file:{path}"}, {}),
        ("POST", "/search", {"project": project, "query": "code", "path_prefix": path}, {}),
        ("GET", "/memories", None, {"project": project, "path_prefix": path}),
        ("POST", "/memories", fact, {}),
        ("POST", "/feedback", {"items": [{"id": f"file:{path}", "outcome": "cited", "project": project}]}, {}),
        ("GET", "/export", None, {"project": path}),
    ]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: ascii(path[:24]))
def test_path_fields_cannot_escape_or_hang(
    trapped: RunningDaemon, places: tuple[Path, Path], readers: Readers, path: str
) -> None:
    for method, route, body, query in questions(str(places[0]), path):
        readable = {name: value.encode("utf-8", "surrogateescape") for name, value in query.items()}
        status, answer = trapped.request(method, route, body, query=readable)
        assert status < 500, (route, body, answer)
        assert MARK not in json.dumps(answer)
        assert "root:x:0" not in json.dumps(answer)
    assert readers.count() == 0
    assert trapped.request("GET", "/health")[0] == 200


@pytest.mark.parametrize(
    "path", ["relative", "../outside", "/dev/null", "/proc/self/mem", "/nowhere\0", "/no/where", ""]
)
def test_non_folder_is_rejected_as_project(trapped: RunningDaemon, path: str) -> None:
    before = trapped.get("/projects")["total"]
    assert trapped.request("POST", "/projects", {"path": path})[0] in (400, 422)
    assert trapped.get("/projects")["total"] == before


def test_huge_folder_walk_stops_at_limit(tmp_path: Path) -> None:
    """Uses a smaller limit: the walk must stop there."""
    for number in range(3_000):
        (tmp_path / f"{number}.py").touch()

    walk = IgnoreRules.load(tmp_path).walk(WalkLimits(entries_per_folder=1_000))

    assert len(list(walk)) == 1_000
