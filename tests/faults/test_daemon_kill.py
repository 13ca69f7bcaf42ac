"""SIGKILL of the daemon at any moment: acknowledged data exists once, forgotten data is gone."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.faults.mixed_clients import Client, Kept

CLIENTS = 3
MOST = 1.2  # seconds of work before a kill: several batches and erasures
# Nothing but what is to be tested: no model, no watching; what is accepted is stored at once.
SETTINGS = "[signals]\nwatch_files = false\n[embedding]\nenabled = false\n[store]\ncommit_ms = 20\n"


def store_of(daemon: RunningDaemon) -> psutil.Process | None:
    """Return the current store process."""
    for child in psutil.Process(daemon.pid).children():
        try:
            if any("store_process" in word for word in child.cmdline()):
                return child
        except psutil.NoSuchProcess:
            continue
    return None


def kept(daemon: RunningDaemon) -> Kept:
    """Export everything once the daemon has replayed its journal."""
    answer: list[tuple[int, Any]] = []

    def exported() -> bool:
        answer[:] = [daemon.request("GET", "/export", timeout=60)]
        return answer[0][0] == 200  # 503 as long as the store process of before has not ended

    daemon.wait_until(exported, within=60, what="export")
    found = Kept()
    text = answer[0][1]
    for line in text.splitlines() if isinstance(text, str) else [json.dumps(text)]:
        found.take(json.loads(line))
    found.check()
    return found


class Trial:
    """Daemon on one home that is killed repeatedly."""

    def __init__(self, daemon: RunningDaemon, folder: Path, seed: int) -> None:
        self._daemon = daemon
        self._chance = random.Random(seed)
        folder.mkdir()
        daemon.add(folder)
        folder.rmdir()  # the next starts have nothing to index: this is about what is kept
        self.clients = [
            Client(f"c{number}s{seed}", str(folder), random.Random(seed * 100 + number)) for number in range(CLIENTS)
        ]
        self.killed_stores = 0

    def round(self, others: Sequence[Any] = ()) -> None:
        """Work, kill at a random moment, restart and check; `others` work and check like clients."""
        faults: list[BaseException] = []
        stop = threading.Event()

        def work(client: Any) -> None:
            try:
                client.work(self._daemon, stop)
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(client,)) for client in (*self.clients, *others)]
        for thread in threads:
            thread.start()
        if self._chance.random() < 0.3:
            time.sleep(self._chance.uniform(0.05, MOST / 2))
            self._kill_store()
        time.sleep(self._chance.uniform(0, MOST))
        self._daemon.kill()
        stop.set()
        for thread in threads:
            thread.join(30)
        assert not faults, faults
        self._daemon.start()
        found = kept(self._daemon)
        for client in (*self.clients, *others):
            client.settle(found)

    def _kill_store(self) -> None:
        if (store := store_of(self._daemon)) is not None:
            store.send_signal(signal.SIGKILL)
            self.killed_stores += 1

    @property
    def acknowledged(self) -> int:
        return sum(sum(client.acknowledged.values()) for client in self.clients)


def survives(home: Path, folder: Path, *, rounds: int, seed: int) -> Trial:
    with running_daemon(home, settings=SETTINGS) as daemon:
        trial = Trial(daemon, folder, seed)
        for _ in range(rounds):
            trial.round()
        return trial


@pytest.mark.timeout(180)
def test_two_kills_lose_and_duplicate_nothing(hunchd_home: Path, tmp_path: Path) -> None:
    trial = survives(hunchd_home, tmp_path / "p", rounds=2, seed=1)
    assert trial.acknowledged > 10


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_many_kills_lose_and_duplicate_nothing(hunchd_home: Path, tmp_path: Path) -> None:
    rounds = int(os.environ.get("HUNCHD_KILLS", "20"))
    trial = survives(hunchd_home, tmp_path / "p", rounds=rounds, seed=rounds)
    counted = sum((client.acknowledged for client in trial.clients), start=type(trial.clients[0].acknowledged)())
    print(f"{rounds} kills, {trial.killed_stores} more of the store alone; acknowledged: {dict(counted)}")  # noqa: T201
    assert trial.acknowledged > 5 * rounds  # on a machine that is busy with other things too
    assert trial.killed_stores > 0
