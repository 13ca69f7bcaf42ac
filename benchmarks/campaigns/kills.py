"""SIGKILL at random moments of writes, consolidation, import and erasure: what was acknowledged is there once, or gone.

    python -m benchmarks.campaigns.kills --kills 1000

Three clients send signals and add, change and forget memories (`tests/faults/mixed_clients.py`); a fourth imports,
starts consolidation runs, and registers, fills and erases a second project. In three of ten rounds the store process is
killed first. After each kill the daemon starts on the same folder; its export is compared with the acknowledgements.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from hunchd.cli import http
from tests.daemon.running import RunningDaemon, running_daemon
from tests.daemon.test_consolidation import days_ago, episode
from tests.faults.mixed_clients import Kept
from tests.faults.test_daemon_kill import SETTINGS, Trial

ROUNDS_A_HOME = 50  # then a new one: a start reads what was kept, and is to take no longer in the end
IMPORTED = 40  # memories of one import


class Steward:
    """Client with the work that takes longer: imports, runs, and a project that comes and goes."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance
        self._number = 0
        self._imported: set[str] = set()  # refs that were acknowledged
        self._erased: set[str] = set()  # contents that must not come back
        self._in_project: set[str] = set()  # contents of the project that is registered now
        self.acknowledged: Counter[str] = Counter()

    def work(self, daemon: RunningDaemon, stop: threading.Event) -> None:
        while not stop.is_set():
            what = self._chance.choice((self.bring, self.consolidate, self.fill, self.erase))
            try:
                what(daemon)
            except OSError:  # no answer, or half of one
                if stop.wait(0.01):
                    return

    def bring(self, daemon: RunningDaemon) -> None:
        """Import memories, some of them episodes that a run condenses."""
        self._number += 1
        refs = [f"brought-{self._number}-{n}" for n in range(IMPORTED)]
        lines = [
            {"id": f"b{self._number:04d}{n:02d}", "kind": "fact", "title": ref, "content": f"{ref} holds", "key": ref}
            | {"ref": ref, "at": days_ago(3), "created": days_ago(3), "updated": days_ago(3), "trust": "user"}
            for n, ref in enumerate(refs)
        ]
        lines += [episode(n, age=40, ref=f"episode-{n}") for n in range(self._number * 10, self._number * 10 + 10)]
        body = "\n".join(json.dumps({"type": "memory", "version": 1, "data": one}) for one in lines)
        assert daemon.told is not None
        answer = http.send_request(
            http.Address(daemon.told.socket, "127.0.0.1", 0),
            "POST",
            "/import",
            headers={"Authorization": f"Bearer {daemon.told.token}", "Content-Type": "application/x-ndjson"},
            body=body.encode(),
            timeout=60.0,
        )
        told = json.loads(answer.read_body())
        if answer.status == 200:
            assert not told["rejected"], told
            self._imported.update(refs)
            self.acknowledged["import"] += 1
        else:
            assert answer.status in (429, 503), told

    def consolidate(self, daemon: RunningDaemon) -> None:
        status, answer = daemon.request("POST", "/consolidate", {"wait": False}, timeout=30)
        assert status in (200, 202, 409, 429, 503), answer
        self.acknowledged["run"] += status == 200

    def fill(self, daemon: RunningDaemon) -> None:
        status, answer = daemon.request("POST", "/projects", {"path": str(self._folder)}, timeout=30)
        assert status in (200, 429, 503), answer
        if status != 200:
            return
        self._number += 1
        content = f"passing {self._number} of the second project"
        self._in_project.add(content)
        status, answer = daemon.request(
            "POST",
            "/memories",
            {"kind": "episode", "project": answer["id"], "content": content, "ref": content},
            timeout=30,
        )
        assert status in (201, 404, 429, 503), answer
        self.acknowledged["memory of a second project"] += status == 201

    def erase(self, daemon: RunningDaemon) -> None:
        status, answer = daemon.request("POST", "/projects", {"path": str(self._folder)}, timeout=30)
        if status != 200:
            return
        doomed = set(self._in_project)
        status, told = daemon.request("DELETE", f"/projects/{answer['id']}", timeout=60)
        assert status in (200, 404, 429, 503), told
        if status == 200:
            self._erased |= doomed
            self._in_project -= doomed
            self.acknowledged["erased project"] += 1

    def settle(self, kept: Kept) -> None:
        lost = [ref for ref in self._imported if ref not in kept.contents]
        assert not lost, f"imported memories are gone: {lost[:5]} of {len(lost)}"
        back = self._erased & set(kept.contents.values())
        assert not back, f"erased memories are back: {sorted(back)[:5]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="how many (20)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts, done, began, stores = Counter[str](), 0, time.monotonic(), 0
    while done < options.kills:
        rounds = min(ROUNDS_A_HOME, options.kills - done)
        seed = options.seed * 1_000 + done
        with tempfile.TemporaryDirectory(prefix="hd-") as name:
            folder = Path(name) / "second"
            folder.mkdir()
            with running_daemon(Path(name) / "home", settings=SETTINGS) as daemon:
                trial = Trial(daemon, Path(name) / "first", seed)
                steward = Steward(folder, random.Random(seed))
                for _ in range(rounds):
                    trial.round([steward])
                    done += 1
                stores += trial.killed_stores
                counts += sum((one.acknowledged for one in (*trial.clients, steward)), Counter[str]())
        spent = time.monotonic() - began
        print(f"{done} kills and {stores} of the store alone in {spent:.0f} s; {dict(counts)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
