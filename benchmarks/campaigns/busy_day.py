"""A busy day at real speed: clients and three editors at once, with slopes of memory, descriptors, threads and disk.

    python -m benchmarks.campaigns.busy_day --repo CLONE --minutes 60 --clients 20

Each editor opens, changes and saves files of a copy of the clone and asks for context; now and then one of them commits
or switches the branch. Each client remembers, searches, asks for context, appends to sessions and reports errors, about
once in two seconds. Half-way a consolidation run is started. Every ten seconds the process tree is measured; slopes are
least squares over the last two thirds. The exit status is 1 after any 5xx but 503 and 507.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression, quantiles

import psutil

from hunchd.core.status import measure_folder_bytes, measure_process_memory
from tests.daemon.running import RunningDaemon, running_daemon
from tests.security.test_fuzz import ALLOWED

EDITORS = 3
SAMPLE_SECONDS = 10.0
MEASURES = ("memory MiB", "front MiB", "descriptors", "threads", "disk MiB")
WORDS = "cache session parser router token retry budget schema index worker queue timeout cookie lock".split()  # noqa: SIM905


@dataclass
class Day:
    daemon: RunningDaemon
    repo: Path
    stop: threading.Event = field(default_factory=threading.Event)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # of GET /context
    failures: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, method: str, path: str, body: object = None, **query: str) -> None:
        began = time.monotonic()
        try:
            status, answer = self.daemon.request(method, path, body, query=query or None)
        except OSError as error:
            status, answer = 599, repr(error)
        with self.guard:
            self.statuses[status] += 1
            if path == "/context":
                self.seconds.append(time.monotonic() - began)
            if status >= 500 and status not in ALLOWED:
                self.failures.append(f"{status} {method} {path}: {str(answer)[:200]}")

    def signal(self, kind: str, **fields: str) -> None:
        self.ask("POST", "/signals", {"signals": [{"kind": kind, "project": str(self.repo), **fields}]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True, help="a git clone, which is copied")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        repo, home = Path(folder) / "repo", Path(folder) / "home"
        shutil.copytree(options.repo, repo, symlinks=True)
        with running_daemon(home) as daemon:
            daemon.add(repo, within=600)
            day = Day(daemon, repo)
            workers = [(edit, number) for number in range(EDITORS)] + [
                (use, number) for number in range(options.clients)
            ]
            threads = [threading.Thread(target=run, args=(work, day, number)) for work, number in workers]
            for thread in threads:
                thread.start()
            samples = watch(day, home, options.minutes * 60)
            day.stop.set()
            for thread in threads:
                thread.join(60)
            report(day, samples)
            traces = daemon.log.count("Traceback")
            degraded = daemon.get("/status")["degraded"]
            print(f"{traces} tracebacks in the log; degraded at the end: {degraded}")
            if traces:
                print(daemon.log[daemon.log.find("Traceback") - 300 :][:3_000])
    return 1 if day.failures else 0


def run(work: object, day: Day, number: int) -> None:
    chance = random.Random(number)
    while not day.stop.is_set():
        try:
            work(day, number, chance)  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 - a client that dies is a finding
            day.failures.append(f"client: {error!r}")


def edit(day: Day, number: int, chance: random.Random) -> None:
    """Work on one file: open, ask, change, save; sometimes commit or switch the branch."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=day.repo, capture_output=True, text=True, check=False)
    files = listed.stdout.split() or ["README.md"]
    path = chance.choice(files)
    day.signal("file_opened", path=path)
    day.ask("GET", "/context", project=str(day.repo), file=path)
    for _ in range(chance.randrange(1, 5)):
        day.stop.wait(chance.uniform(1.0, 6.0))
        with (day.repo / path).open("a") as file:
            file.write(f"\n# {chance.choice(WORDS)} {chance.random()}\n")
        day.signal("file_saved", path=path)
        day.ask("GET", "/context", project=str(day.repo), file=path)
    if number == 0 and chance.random() < 0.1:
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        message = f"Rework the {chance.choice(WORDS)}"
        subprocess.run([*git, "commit", "-qam", message], cwd=day.repo, check=False, capture_output=True)
        if chance.random() < 0.3:
            subprocess.run([*git, "checkout", "-qB", chance.choice(WORDS)], cwd=day.repo, check=False)


def use(day: Day, number: int, chance: random.Random) -> None:
    """Do what an agent, a hook or a person does, once."""
    day.stop.wait(chance.expovariate(0.5))
    one, two = chance.sample(WORDS, 2)
    project = str(day.repo)
    match chance.randrange(8):
        case 0:
            content = f"the {one} waits for the {two} at most {chance.randrange(900)} ms"
            day.ask("POST", "/memories", {"kind": "episode", "project": project, "content": content})
        case 1 | 2:
            day.ask("POST", "/search", {"project": project, "query": f"where does the {one} use the {two}", "k": 5})
        case 3 | 4:
            day.ask("GET", "/context", project=project, query=f"{one} {two}")
        case 5:
            message = {"role": "user", "content": f"the {one} must not touch the {two}, remember that"}
            day.ask("POST", f"/sessions/s{number}-{int(time.time()) // 600}/messages", {"messages": [message]})
        case 6:
            day.signal("error", text=f"Traceback (most recent call last):\n  File 'x.py', line 3\nKeyError: '{one}'")
        case _:
            day.signal("command_finished", command=f"pytest -k {one}", exit_code=chance.choice("01"))  # refused: a text


def watch(day: Day, home: Path, seconds: float) -> list[tuple[float, ...]]:
    samples: list[tuple[float, ...]] = []
    began, is_consolidated = time.monotonic(), False
    while (elapsed := time.monotonic() - began) < seconds:
        time.sleep(SAMPLE_SECONDS)
        samples.append((time.monotonic() - began, *measure(psutil.Process(day.daemon.pid), home)))
        if elapsed > seconds / 2 and not is_consolidated:
            is_consolidated = True
            day.ask("POST", "/consolidate", {"wait": False})
    return samples


def measure(front: psutil.Process, home: Path) -> tuple[float, ...]:
    memory = own = descriptors = threads = 0.0
    for process in (front, *front.children(recursive=True)):
        try:
            size = measure_process_memory(process.pid) / 2**20
            memory += size
            own = size if process.pid == front.pid else own
            descriptors += process.num_fds()
            threads += process.num_threads()
        except psutil.Error:  # a helper that has just ended
            continue
    return memory, own, descriptors, threads, measure_folder_bytes(home) / 2**20


def report(day: Day, samples: list[tuple[float, ...]]) -> None:
    settled = samples[len(samples) // 3 :]
    hours = [sample[0] / 3_600 for sample in settled]
    for index, name in enumerate(MEASURES, 1):
        values = [sample[index] for sample in settled]
        slope = linear_regression(hours, values).slope
        print(f"{name:12} {values[0]:8.1f} → {values[-1]:8.1f}, highest {max(values):8.1f}, {slope:+8.2f} an hour")
    cuts = quantiles(day.seconds, n=100)
    print(
        f"{len(day.seconds)} contexts: p50 {cuts[49] * 1e3:.0f} ms, p95 {cuts[94] * 1e3:.0f}, p99 {cuts[98] * 1e3:.0f}"
    )
    print(f"{day.statuses.total()} requests: {dict(sorted(day.statuses.items()))}; {len(day.failures)} failures")
    print(*Counter(day.failures).most_common(10), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
