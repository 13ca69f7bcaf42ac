"""Failing files and power cuts under the whole daemon: every process of it runs with `files.c` preloaded (Linux, gcc).

    python -m benchmarks.campaigns.file_faults fail --minutes 20 --jobs 2
    python -m benchmarks.campaigns.file_faults cut --runs 50

`fail`: a first run counts the writes, syncs, renames and created files of a fixed series of requests (signals, memories
added, changed and forgotten, an import, a consolidation run, a project that comes and goes). Then the n-th of a kind
fails with EIO or ENOSPC, once or from then on, for every n in an order drawn by `--seed`, until all are tried or
`--minutes` are over; a further call with `--skip` continues. The verdict counts the places by their outcome. `cut`:
clients work, all processes are killed at a random moment, and the folder is brought to a state that a disk may show
afterwards: of each file what was synced and perhaps some more or zeros, of each folder the names as synced and perhaps
some later changes of them. After each run the daemon starts without faults, and what was acknowledged is compared with
its export.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.campaigns.kills import Steward
from tests.daemon.running import RunningDaemon
from tests.faults.mixed_clients import Client
from tests.faults.test_daemon_kill import SETTINGS, kept

KINDS = ("write", "sync", "rename", "open")
STATE = struct.Struct("12q")  # counted and fail_at of each kind, failed, error, lasting, links
STEPS = 40  # requests of the series
REFUSALS = (429, 503, 507)


class PatientClient(Client):
    """Client that takes refusals for what they are, and remembers internal errors."""

    faults: list[str]

    def _asked(self, daemon: RunningDaemon, method: str, path: str, body: Any, success: int) -> Any:
        status, answer = daemon.request(method, path, body, timeout=20)
        if status == success:
            self.acknowledged[method + path.partition("/m")[0]] += 1
            return answer
        if status not in REFUSALS:
            self.faults.append(f"{status} {method} {path}: {str(answer)[:200]}")
        return None


@dataclass
class Bench:
    """Home with the shared state of the preloaded library."""

    folder: Path
    library: Path
    daemon: RunningDaemon = field(init=False)

    def __post_init__(self) -> None:
        for name in ("first", "second", "shadow"):
            (self.folder / name).mkdir()
        self.arm()
        self.daemon = RunningDaemon(self.home, SETTINGS, self.environment)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "HUNCHD_FAULTS_ROOT": f"{self.home}/",
            "HUNCHD_FAULTS_STATE": str(self.folder / "state"),
            "HUNCHD_FAULTS_LOG": str(self.folder / "log"),
            "HUNCHD_FAULTS_SHADOW": str(self.folder / "shadow"),
        }

    def arm(self, kind: int = 0, at: int = 0, *, error: int = 0, lasting: bool = False) -> None:
        fail_at = [at if index == kind else 0 for index in range(len(KINDS))]
        (self.folder / "state").write_bytes(STATE.pack(*[0] * len(KINDS), *fail_at, 0, error, lasting, 0))

    def read_counts(self) -> tuple[int, ...]:
        return STATE.unpack((self.folder / "state").read_bytes())[: len(KINDS)]

    def start_clean(self) -> RunningDaemon:
        self.daemon = RunningDaemon(self.home, SETTINGS)
        return self.daemon.start()

    def cut_power(self) -> None:
        front = psutil.Process(self.daemon.pid)
        processes = [front, *front.children(recursive=True)]
        for act in (psutil.Process.suspend, psutil.Process.kill):
            for process in processes:
                try:
                    act(process)
                except psutil.NoSuchProcess:
                    continue
        self.daemon.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fail", "cut"))
    parser.add_argument("--runs", type=int, default=20, help="power cuts")
    parser.add_argument("--minutes", type=float, default=20.0, help="for failures")
    parser.add_argument("--jobs", type=int, default=2, help="failures tried at once")
    parser.add_argument("--skip", type=int, default=0, help="places that an earlier call has tried")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        library = Path(folder) / "files.so"
        source = Path(__file__).with_name("files.c")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
        bad = run_cuts(library, options.runs, options.seed) if options.what == "cut" else run_failures(library, options)
    return 1 if bad else 0


def run_failures(library: Path, options: argparse.Namespace) -> int:
    """Try the places until the time is over, print a verdict and return how many lost something."""
    began = time.monotonic()
    trouble, counts = try_place(library, options.seed)
    if trouble or sum(counts) < STEPS:
        print(f"no verdict: without a fault, {trouble or 'the daemon did not start in time'}")
        return 1
    print("without a fault: nothing lost")
    places = [(kind, at) for kind, count in enumerate(counts) for at in range(1, count + 1)]
    random.Random(options.seed).shuffle(places)
    print(f"{len(places)} places: {dict(zip(KINDS, counts, strict=True))}", flush=True)
    remaining = iter(enumerate(places[options.skip :], options.skip))
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    guard = threading.Lock()

    def work() -> None:
        while time.monotonic() - began < options.minutes * 60:
            with guard:
                place = next(remaining, None)
            if place is None:
                return
            number, (kind, at) = place
            error, is_lasting = (errno.EIO, errno.ENOSPC)[number % 2], number % 4 == 3
            trouble, _ = try_place(library, options.seed, kind, at, error=error, is_lasting=is_lasting)
            fault = f"{errno.errorcode[error]}{' from then on' if is_lasting else ''}"
            with guard:
                outcomes[f"{KINDS[kind]}, {fault}"]["trouble" if trouble else "nothing lost"] += 1
                if trouble:
                    print(f"place {number}, {KINDS[kind]} {at}, {fault}: {trouble}", flush=True)

    workers = [threading.Thread(target=work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return print_verdict(outcomes, len(places), options.skip)


def print_verdict(outcomes: dict[str, Counter[str]], places: int, skipped: int) -> int:
    """Print the outcomes by kind of failure, and return how many places lost something."""
    for fault, counted in sorted(outcomes.items()):
        print(f"  {fault}: {dict(counted)}")
    total = sum(outcomes.values(), Counter[str]())
    verdict = "FAILED" if total["trouble"] else "passed"
    print(
        f"{verdict}: {total.total()} of {places} places tried after the first {skipped}, {total['trouble']} in trouble"
    )
    return total["trouble"]


def try_place(
    library: Path, seed: int, kind: int = 0, at: int = 0, *, error: int = 0, is_lasting: bool = False
) -> tuple[str, tuple[int, ...]]:
    """Run the series in a home of its own; return what is wrong, and how many operations of each kind it has."""
    with tempfile.TemporaryDirectory(prefix="hd-", ignore_cleanup_errors=True) as name:
        bench = Bench(Path(name), library)
        bench.arm(kind, at, error=error, lasting=is_lasting)
        return try_once(bench, seed), bench.read_counts()


def try_once(bench: Bench, seed: int) -> str:
    """Run the series, restart without faults and check; return what is wrong."""
    client = PatientClient("c", str(bench.folder / "first"), random.Random(seed))
    client.faults = []
    steward = Steward(bench.folder / "second", random.Random(seed))
    try:
        bench.daemon.start()
        do_series(bench.daemon, client, steward)
    except (AssertionError, OSError) as error:  # it did not start, or ended: allowed, if the next start is well
        if "Steward" in str(error):
            client.faults.append(str(error)[:200])
    bench.daemon.kill()
    counts = bench.read_counts()
    bench.arm()
    trouble = check(bench, [client, steward])
    (bench.folder / "state").write_bytes(STATE.pack(*counts, *[0] * (STATE.size // 8 - len(counts))))
    return trouble or "; ".join(client.faults[:2])


def do_series(daemon: RunningDaemon, client: Client, steward: Steward) -> None:
    daemon.request("POST", "/projects", {"path": client.project})
    long_work: Sequence[Callable[[RunningDaemon], None]] = (
        steward.bring,
        steward.fill,
        steward.consolidate,
        steward.erase,
    )
    for number in range(STEPS):
        short = client.chance.choices((client.tell, client.remember, client.change, client.forget), (5, 4, 3, 2))[0]
        work = long_work[number // 10] if number % 10 == 5 else short
        try:
            work(daemon)
        except OSError:
            assert daemon.process is not None
            if daemon.process.poll() is not None:
                return


def check(bench: Bench, clients: Sequence[Any]) -> str:
    try:
        found = kept(bench.start_clean())
        for client in clients:
            client.settle(found)
        degraded = bench.daemon.get("/status")["degraded"]
    except (AssertionError, OSError) as error:
        return f"{str(error)[:600] or error!r}\n{bench.daemon.log[-3_000:]}"
    finally:
        bench.daemon.kill()
    return "" if not any("lost" in one for one in degraded) else str(degraded)


def run_cuts(library: Path, runs: int, seed: int) -> int:
    outcomes: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    for number in range(runs):
        chance = random.Random(seed * 1_000 + number)
        with tempfile.TemporaryDirectory(prefix="hd-") as name:
            bench = Bench(Path(name), library)
            clients = [
                PatientClient(f"c{n}", str(bench.folder / "first"), random.Random(chance.random())) for n in (0, 1)
            ]
            steward = Steward(bench.folder / "second", chance)
            work_until_cut(bench, [*clients, steward], chance.uniform(0.2, 4.0))
            undone = apply_cut(bench.folder / "log", bench.home, chance)
            began = time.monotonic()
            trouble = check(bench, [*clients, steward])
            acknowledged += sum((one.acknowledged for one in (*clients, steward)), Counter[str]())
        outcomes[trouble[:200] or "nothing lost"] += 1
        print(f"cut {number}: {undone}, ready after {time.monotonic() - began:.1f} s: {trouble or 'well'}", flush=True)
    print(f"{dict(outcomes)}; acknowledged {dict(acknowledged)}")
    return runs - outcomes["nothing lost"]


def work_until_cut(bench: Bench, clients: Sequence[Any], seconds: float) -> None:
    bench.daemon.start()
    bench.daemon.request("POST", "/projects", {"path": str(bench.folder / "first")})
    stop = threading.Event()
    for client in clients:
        client.faults = []
    threads = [threading.Thread(target=client.work, args=(bench.daemon, stop)) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    bench.cut_power()
    stop.set()
    for thread in threads:
        thread.join(30)


def apply_cut(log: Path, home: Path, chance: random.Random) -> Counter[str]:
    """Bring the files to what a disk may show; return how many changes were undone."""
    synced: dict[str, int] = {}
    pending: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)  # folder → changes of names, not synced
    for line in log.read_text(errors="surrogateescape").splitlines():
        what, size, one, other = line.split("\t")
        match what:
            case "sync":
                synced[one] = int(size)
            case "folder":
                pending[one].clear()
            case "new":
                synced[one] = 0
                pending[os.path.dirname(one)].append((what, one, other))
            case "rename":
                synced[other] = synced.pop(one, synced.get(other, 0)) if one else synced.get(other, 1 << 60)
                pending[os.path.dirname(other)].append((what, one, other))
            case "gone":
                pending[os.path.dirname(one)].append((what, one, other))
    undone: Counter[str] = Counter()
    for changes in pending.values():
        for what, one, other in reversed(changes[chance.randint(0, len(changes)) :]):
            undone[what] += undo(what, one, other)
    for path in (path for path in home.rglob("*") if path.is_file() and not path.is_symlink()):
        durable, size = synced.get(str(path), 1 << 60), path.stat().st_size
        if size > durable:
            undone["tail"] += 1
            spoil_tail(path, durable, chance.randint(durable, size), are_zeros=chance.random() < 0.3)
    return undone


def undo(what: str, one: str, other: str) -> int:
    try:
        if what == "new":
            os.unlink(one)
        elif what == "gone":
            os.link(other, one)
        elif one:
            os.replace(other, one)
        else:
            os.unlink(other)
    except OSError:  # what stands there now is of a later change
        return 0
    return 1


def spoil_tail(path: Path, durable: int, end: int, *, are_zeros: bool) -> None:
    with path.open("r+b") as file:
        if are_zeros:
            file.seek(durable)
            file.write(bytes(end - durable))
        file.truncate(end)


if __name__ == "__main__":
    sys.exit(main())
