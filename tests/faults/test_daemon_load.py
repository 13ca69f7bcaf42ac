"""Overload: the daemon asks clients to wait, keeps answering and loses nothing it accepted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.faults.test_daemon_kill import kept
from tests.repositories import make_shop

pytestmark = pytest.mark.timeout(300)

BURST = 20_000
AT_ONCE = 100  # signals in a request
CLIENTS = 8
# A short queue, so that it is full for certain.
SETTINGS = "[signals]\nqueue = 2000\n[embedding]\nenabled = false\n"


class Crowd:
    """Clients that send signals as fast as possible, and retry when told to."""

    def __init__(self, daemon: RunningDaemon, folder: Path) -> None:
        self._daemon = daemon
        self._folder = folder
        self._batches = iter(range(BURST // AT_ONCE))
        self._turn = threading.Lock()
        self.statuses: Counter[int] = Counter()
        self.acknowledged: set[str] = set()
        self.longest_queue = 0
        self.faults: list[BaseException] = []

    def send_everything(self) -> None:
        threads = [threading.Thread(target=self._client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            queues = self._daemon.get("/status")["queues"]
            self.longest_queue = max(self.longest_queue, queues["writer"])
            bundle = self._daemon.get("/context", project=str(self._folder), file="shop/basket.py")
            assert "changed together" in bundle["context"]
            time.sleep(0.05)
        assert not self.faults, self.faults

    def _client(self) -> None:
        try:
            while (batch := self._next()) is not None:
                names = [f"e{batch * AT_ONCE + one}" for one in range(AT_ONCE)]
                while not self._sent(names):
                    time.sleep(0.3)
        except BaseException as fault:
            self.faults.append(fault)

    def _next(self) -> int | None:
        with self._turn:
            return next(self._batches, None)

    def _sent(self, names: list[str]) -> bool:
        signals = [
            {"kind": "file_opened", "project": str(self._folder), "path": f"{name}.py", "event_id": name}
            for name in names
        ]
        status, answer = self._daemon.request("POST", "/signals", {"signals": signals})
        with self._turn:
            self.statuses[status] += 1
        if status == 202:
            assert answer == {"accepted": len(names), "rejected": []}
            self.acknowledged.update(names)
            return True
        assert (status, answer["error"]["code"]) == (429, "overloaded"), answer
        return False


@pytest.mark.slow
def test_burst_of_20000_signals_loses_none(hunchd_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(shop)
        crowd = Crowd(daemon, shop)
        crowd.send_everything()
        events = kept(daemon).events
        assert len(crowd.acknowledged) == BURST
        assert {name for name in events if name.startswith("e")} >= crowd.acknowledged
        assert crowd.statuses[429] > 0
        assert 0 < crowd.longest_queue <= 2_000
        assert all(task["failures"] == 0 for task in daemon.get("/status")["tasks"])


def test_full_queue_returns_429(hunchd_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    lazy = "[signals]\nqueue = 100\nwatch_files = false\n[embedding]\nenabled = false\n[store]\ncommit_ms = 60000\n"
    with running_daemon(hunchd_home, settings=lazy) as daemon:
        daemon.add(folder)
        crowd = Crowd(daemon, folder)
        assert crowd._sent([f"a{number}" for number in range(90)])
        assert not crowd._sent([f"b{number}" for number in range(20)])
        assert crowd._sent([f"c{number}" for number in range(10)])
        status, answer = daemon.request("POST", "/memories", {"kind": "fact", "content": "one too many"})
        assert (status, answer["error"]["code"]) == (429, "overloaded")
        assert daemon.get("/context", project=str(folder), file="a.py")["status"] in ("ok", "empty", "degraded")
        daemon.kill()
        daemon.settings = lazy.replace("60000", "20")
        daemon.start()
        assert kept(daemon).events.keys() == crowd.acknowledged
