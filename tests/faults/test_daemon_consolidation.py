"""Consolidation under kills, a full disk and a flood of signals: resumed or undone, without loss."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.daemon.test_consolidation import SETTINGS, episode, exported, take
from tests.faults.test_daemon_disk_full import small_home  # noqa: F401 - a fixture
from tests.faults.test_full_disk import stuff

MEMORIES = 120
FLOOD = 6_000  # signals: more than the store takes while a run lasts


def fill(daemon: RunningDaemon, memories: int = MEMORIES) -> dict[str, Any]:
    take(daemon, *(episode(number, age=2 + number % 200) for number in range(memories)))
    twins = [episode(number, age=40) | {"id": f"m9{number:03d}"} for number in range(0, memories, 20)]
    take(daemon, *twins, *(twin | {"id": f"n{twin['id'][1:]}"} for twin in twins))
    return exported(daemon)


def unfinished(daemon: RunningDaemon) -> list[str]:
    runs = daemon.get("/consolidate")["items"]
    return [run["run"] for run in runs if run["status"] in ("running", "interrupted")]


def at_rest(daemon: RunningDaemon, *, within: float = 120) -> None:
    """Wait until no run is active or waits to be resumed."""
    daemon.wait_until(lambda: daemon.request("GET", "/health")[0] == 200, within=30, what="answer")
    daemon.wait_until(lambda: not unfinished(daemon), within=within, what="end the interrupted run")


def whole(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that nothing is lost and nothing is half done."""
    assert set(before) <= set(after)
    for identifier, told in before.items():
        now = after[identifier]
        assert now["content"] == told["content"]
        if now["status"] == "superseded":
            keeper = after[now["superseded_by"]]
            assert identifier in {link["ref"] for link in keeper["links"] if link["type"] == "merged_from"}
        for link in now["links"]:
            assert link["type"] != "part_of" or identifier in after[link["ref"]]["source"]["told"]


def killed_again_and_again(home: Path, *, kills: int, seed: int) -> tuple[int, Counter[str]]:
    """Kill runs at random moments; return the number of runs and the steps that were killed."""
    chance = random.Random(seed)
    begun_runs, steps = 0, Counter[str]()
    with running_daemon(home, settings=SETTINGS) as daemon:
        before = fill(daemon)
        # The helpers run from here on: a run is about as long as this one.
        daemon.post("/consolidate", {"dry_run": True})
        began = time.monotonic()
        run = daemon.post("/consolidate", {})
        length = time.monotonic() - began
        while sum(steps.values()) < kills:
            begun_runs += 1
            assert begun_runs <= 3 * kills, f"too many runs ended before they could be killed: {steps}"
            if run["status"] == "done":
                daemon.post(f"/consolidate/{run['run']}/undo", {})
                assert exported(daemon) == before
            begun = daemon.post("/consolidate", {"wait": False})["run"]
            time.sleep(chance.uniform(0, length))
            told = daemon.get(f"/consolidate/{begun}")
            steps.update([told["step"] or "before the first step"] if told["status"] == "running" else [])
            daemon.kill()
            daemon.start()
            at_rest(daemon)
            run = daemon.get(f"/consolidate/{begun}")
            assert run["status"] in ("done", "rolled_back"), run
            whole(before, exported(daemon))
            if run["status"] == "rolled_back":
                assert exported(daemon) == before
        if run["status"] == "done":
            daemon.post(f"/consolidate/{run['run']}/undo", {})
        assert exported(daemon) == before
    return begun_runs, steps


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_repeatedly_killed_runs_resume_without_loss(hunchd_home: Path) -> None:
    kills, seed = (
        int(os.environ.get(name, default)) for name, default in (("HUNCHD_KILLS", "5"), ("HUNCHD_SEED", "1"))
    )
    runs, steps = killed_again_and_again(hunchd_home, kills=kills, seed=seed)
    print(f"{kills} of {runs} runs were killed in their middle: {dict(steps)}")  # noqa: T201 - a figure to be told


@pytest.mark.timeout(180)
def test_killed_run_resumes_and_can_be_undone(hunchd_home: Path) -> None:
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        before = fill(daemon, 30)
        begun = daemon.post("/consolidate", {"wait": False})["run"]
        daemon.wait_until(
            lambda: daemon.get(f"/consolidate/{begun}").get("total") not in (0, None),
            within=60,
            what="change something",
        )
        daemon.kill()
        daemon.start()
        at_rest(daemon)

        assert daemon.get(f"/consolidate/{begun}")["status"] == "done"
        whole(before, exported(daemon))
        daemon.post(f"/consolidate/{begun}/undo", {})
        assert exported(daemon) == before


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_run_on_full_disk_resumes_with_space(small_home: Path) -> None:  # noqa: F811
    settings = SETTINGS + "reserve_mib = 4\nmin_free_mib = 1\n"
    with running_daemon(small_home, settings=settings) as daemon:
        before = fill(daemon, 60)
        stuff(small_home / "somebody-elses")
        status, answer = daemon.request("POST", "/consolidate", {}, timeout=120)
        if status == 200:  # what was left was enough for a part of it
            assert answer["status"] in ("done", "rolled_back")
        else:
            assert status in (503, 507), answer
        for file in small_home.glob("somebody-elses*"):
            file.unlink()
        daemon.wait_until(
            lambda: not any("full" in told for told in daemon.get("/status")["degraded"]), within=60, what="recover"
        )
        at_rest(daemon)
        whole(before, exported(daemon))
        for run in daemon.get("/consolidate")["items"]:
            if run["status"] == "done":
                daemon.post(f"/consolidate/{run['run']}/undo", {})
        assert exported(daemon) == before


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_signal_flood_during_run_is_kept(hunchd_home: Path, tmp_path: Path) -> None:
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        folder = tmp_path / "p"
        folder.mkdir()
        daemon.add(folder)
        before = fill(daemon)
        accepted: set[str] = set()
        stop = threading.Event()

        def flood() -> None:
            number = 0
            while not stop.is_set() and number < FLOOD:
                names = [f"e{number + one}" for one in range(100)]
                number += 100
                signals = [
                    {"kind": "file_saved", "project": str(folder), "path": f"{name}.py", "event_id": name}
                    for name in names
                ]
                status, _ = daemon.request("POST", "/signals", {"signals": signals}, timeout=60)
                if status == 202:
                    accepted.update(names)

        flooding = threading.Thread(target=flood)
        flooding.start()
        try:
            begun = daemon.post("/consolidate", {"wait": False})["run"]
            at_rest(daemon, within=150)
        finally:
            stop.set()
            flooding.join(60)
        at_rest(daemon)
        assert daemon.get(f"/consolidate/{begun}")["status"] == "done"
        whole(before, exported(daemon))
        told = daemon.request("GET", "/export", timeout=60)[1]
        assert all(f'"{name}"' in told for name in accepted)
        assert len(accepted) >= 100
