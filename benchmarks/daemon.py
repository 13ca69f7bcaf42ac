"""Benchmark of the daemon's cost and latency, from outside, on a temporary home.

    python benchmarks/daemon.py answers REPOSITORY     warm, unchanged and new bundles beside a no-op handler
    python benchmarks/daemon.py cold REPOSITORY        a new repository: first answer, indexing finished
    python benchmarks/daemon.py first KNOWN NEW…       an idle daemon that knows one: first answer of each new one
    python benchmarks/daemon.py idle REPOSITORY…       CPU, disk writes and memory of an idle daemon
    python benchmarks/daemon.py growth REPOSITORY      disk and memory over 10,000 signals

The no-op is an aiohttp handler in a process of its own that returns the bytes of the same bundle. It is asked in turn
with the daemon over the same kind of connection, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from hunchd.config.app_paths import resolve_app_paths
from hunchd.protocol.rendezvous import Rendezvous, read_rendezvous

TIDIED_AFTER = 150.0  # seconds after which old data is dropped and helper processes have ended

NO_OP = """
import sys
from aiohttp import web
body = open(sys.argv[1], "rb").read()
async def answer(request):
    return web.Response(body=body, content_type="application/json")
app = web.Application()
app.router.add_get("/", answer)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[2]), print=None, access_log=None)
"""


@contextmanager
def daemon(home: Path) -> Iterator[tuple[Rendezvous, int]]:
    """Run a daemon on `home`; yield its places and process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hunchd.daemon.main"], env={**os.environ, "HUNCHD_HOME": str(home)}, cwd="/"
    )
    file = resolve_app_paths({"HUNCHD_HOME": str(home)}).rendezvous_file
    try:
        while (rendezvous := read_rendezvous(file)) is None or rendezvous.pid != process.pid:
            time.sleep(0.01)
            if process.poll() is not None:
                raise SystemExit("the daemon ended at once")
        yield rendezvous, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def open_session(rendezvous: Rendezvous) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(rendezvous.url, headers={"Authorization": f"Bearer {rendezvous.token}"})


async def add(client: aiohttp.ClientSession, repository: Path, *, wait: bool = True) -> str:
    """Add a project and return its id."""
    async with client.post("/projects", json={"path": str(repository)}) as response:
        added = await response.json()
    if "error" in added:
        raise SystemExit(f"{repository}: {added['error']['message']}")
    while wait:
        async with client.get("/projects") as response:
            listed = (await response.json())["items"]
        if next(project for project in listed if project["id"] == added["id"])["state"] != "indexing":
            break
        await asyncio.sleep(0.2)
    return str(added["id"])


async def wait_until_idle(client: aiohttp.ClientSession) -> None:
    """Wait until all queues are empty, embeddings included."""
    while True:
        async with client.get("/status") as response:
            if not any((await response.json())["queues"].values()):
                return
        await asyncio.sleep(1)


async def time_request(client: aiohttp.ClientSession, path: str, **options: Any) -> tuple[float, int]:
    """Return milliseconds and status of one request."""
    began = time.perf_counter()
    async with client.get(path, **options) as response:
        await response.read()
        return (time.perf_counter() - began) * 1_000, response.status


def format_quantiles(values: Sequence[float]) -> str:
    ordered = sorted(values)
    p50, p95, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99))
    return f"p50 {p50:7.2f}   p95 {p95:7.2f}   p99 {p99:7.2f} ms   ({len(ordered)} requests)"


def list_files(repository: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=repository, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if name.endswith((".py", ".rs", ".ts", ".go", ".java", ".js"))]


async def answers(home: Path, repository: Path) -> None:
    with daemon(home) as (rendezvous, _):
        async with open_session(rendezvous) as client:
            await add(client, repository)
            names = list_files(repository)
            params = {"project": str(repository), "file": names[0]}
            await wait_until_idle(client)
            body, etag = await _wait_until_stable(client, params)
            body_file = home / "body.json"
            body_file.write_bytes(body)
            port = 18_000 + os.getpid() % 10_000
            no_op = await asyncio.create_subprocess_exec(sys.executable, "-c", NO_OP, str(body_file), str(port))
            try:
                async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as other:
                    await _measure_connection(other)
                    warm, bare, unchanged = [], [], []
                    for _ in range(2_000):
                        bare.append((await time_request(other, "/"))[0])
                        warm.append((await time_request(client, "/context", params=params))[0])
                        took, status = await time_request(
                            client, "/context", params=params, headers={"If-None-Match": etag}
                        )
                        assert status == 304, status
                        unchanged.append(took)
            finally:
                no_op.kill()
                await no_op.wait()
            fresh = [
                (await time_request(client, "/context", params={"project": str(repository), "file": name}))[0]
                for name in names[1:401]
            ]
            status_calls = [(await time_request(client, "/status"))[0] for _ in range(20)]
    print(f"bundle of {len(body):,} bytes")
    print("no-op handler    ", format_quantiles(bare))
    print(
        "warm bundle      ",
        format_quantiles(warm),
        f"   {statistics.median(warm) / statistics.median(bare):.2f}x at p50",
    )
    print("unchanged (304)  ", format_quantiles(unchanged))
    print("never seen before", format_quantiles(fresh))
    print("GET /status      ", format_quantiles(status_calls))


async def _wait_until_stable(client: aiohttp.ClientSession, params: dict[str, str]) -> tuple[bytes, str]:
    """Return bundle and ETag once they have been the same for ten seconds.

    Patterns arrive when everything else is indexed.
    """
    same_since, last_etag = time.monotonic(), ""
    while True:
        async with client.get("/context", params=params) as response:
            body, etag = await response.read(), response.headers["ETag"]
        if etag != last_etag:
            same_since, last_etag = time.monotonic(), etag
        if time.monotonic() - same_since > 10.0:
            return body, etag
        await asyncio.sleep(0.5)


async def _measure_connection(client: aiohttp.ClientSession) -> None:
    while True:
        try:
            await time_request(client, "/")
            return
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(0.05)


async def cold(home: Path, repository: Path) -> None:
    names = list_files(repository)
    began = time.perf_counter()
    with daemon(home) as (rendezvous, _):
        print(f"accepts requests after {time.perf_counter() - began:.2f} s")
        async with open_session(rendezvous) as client:
            began = time.perf_counter()
            await add(client, repository, wait=False)
            first, full, meanwhile = 0.0, 0.0, []
            for number in range(100_000):
                params = {"project": str(repository), "file": names[number % len(names)]}
                started = time.perf_counter()
                async with client.get("/context", params=params) as response:
                    bundle = await response.json()
                meanwhile.append((time.perf_counter() - started) * 1_000)
                if bundle["items"] and not first:
                    first = time.perf_counter() - began
                async with client.get("/projects") as response:
                    [project] = (await response.json())["items"]
                if project["state"] != "indexing":
                    full = time.perf_counter() - began
                    break
                await asyncio.sleep(0.02)
            print(f"first useful answer after {first:.2f} s; history, files and episodes read after {full:.1f} s")
            print("answers meanwhile", format_quantiles(meanwhile))
            await wait_until_idle(client)
            print(f"everything embedded after {time.perf_counter() - began:.1f} s")
            async with client.get("/status") as response:
                print("progress", json.dumps((await response.json())["projects"][0]["progress"]))


async def first(home: Path, known_repository: Path, new: Sequence[Path], rounds: int) -> None:
    """Measure each round in another order, without running helper processes.

    So everything that an answer waits for has to be loaded.
    """
    took: dict[str, list[float]] = {one.name: [] for one in new}
    with daemon(home) as (rendezvous, pid):
        async with open_session(rendezvous) as client:
            await add(client, known_repository)
            await wait_until_idle(client)
            for turn in range(rounds):
                for one in (*new[turn % len(new) :], *new[: turn % len(new)]):
                    while len(_list_processes(pid)) > 1:
                        await asyncio.sleep(0.5)
                    await asyncio.sleep(2)
                    took[one.name].append(await _first_answer(client, one))
                    print(f"  round {turn + 1}: {one.name} {took[one.name][-1]:.2f} s", flush=True)
    for name, seconds in took.items():
        print(
            f"{name:<16} {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}, {rounds} rounds)"
        )


async def _first_answer(client: aiohttp.ClientSession, repository: Path) -> float:
    """Return seconds from adding a project to its first bundle with an item.

    The first file that has one counts; then the project is removed again.
    """
    names = list_files(repository)
    began = time.perf_counter()
    added = await add(client, repository, wait=False)
    for number in range(100_000):
        params = {"project": str(repository), "file": names[number % len(names)]}
        async with client.get("/context", params=params) as response:
            if (await response.json())["items"]:
                break
        await asyncio.sleep(0.02)
    seconds = time.perf_counter() - began
    async with client.delete(f"/projects/{added}") as response:
        assert response.status < 300, await response.text()
    return seconds


async def idle(home: Path, repositories: Sequence[Path], seconds: float) -> None:
    with daemon(home) as (rendezvous, pid):
        async with open_session(rendezvous) as client:
            for repository in repositories:
                await add(client, repository)
            await wait_until_idle(client)
        print("at work: ", _format_memory(pid))
        while len(_list_processes(pid)) > 1:
            await asyncio.sleep(1)
        await asyncio.sleep(5)
        before, written = _read_cpu(pid), _read_written_bytes(pid)
        await asyncio.sleep(seconds)
        used = _read_cpu(pid) - before
        written = _read_written_bytes(pid) - written
        print(f"idle for {seconds:.0f} s: {used / seconds:.4%} of a core, {written} bytes written")
        print("at rest: ", _format_memory(pid))


async def growth(home: Path, repository: Path) -> None:
    names = list_files(repository)
    with daemon(home) as (rendezvous, pid):
        async with open_session(rendezvous) as client:
            await add(client, repository)
            await wait_until_idle(client)
            before = _measure_disk(home)
            for start in range(0, 10_000, 100):
                batch = [
                    {"kind": "file_opened", "project": str(repository), "path": names[number % len(names)]}
                    for number in range(start, start + 100)
                ]
                async with client.post("/signals", json={"signals": batch}) as response:
                    assert response.status == 202, await response.text()
            await wait_until_idle(client)
            print(f"10,000 signals: disk {before / 1e6:.1f} → {_measure_disk(home) / 1e6:.1f} MB;", _format_memory(pid))
            await asyncio.sleep(TIDIED_AFTER)
            print(f"{TIDIED_AFTER:.0f} s later: disk {_measure_disk(home) / 1e6:.1f} MB;", _format_memory(pid))


def _list_processes(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(int(child) for child in children)]


def _format_memory(pid: int) -> str:
    parts = []
    for one in _list_processes(pid):
        rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
        name = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")[2].decode()
        parts.append((name, int(rollup.split("Pss:")[1].split()[0]) / 1024))
    return f"{sum(size for _, size in parts):.0f} MB proportional ({', '.join(f'{n} {s:.0f}' for n, s in parts)})"


def _read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read_written_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().split("\nwrite_bytes: ")[1].split()[0])


def _measure_disk(home: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in home.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("answers", "cold", "first", "idle", "growth"))
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to be idle")
    parser.add_argument("--rounds", type=int, default=3, help="how often each new one is added")
    options = parser.parse_args()
    runs: dict[str, Callable[[Path], Any]] = {
        "answers": lambda home: answers(home, options.repository[0].resolve()),
        "cold": lambda home: cold(home, options.repository[0].resolve()),
        "first": lambda home: first(
            home, options.repository[0].resolve(), [one.resolve() for one in options.repository[1:]], options.rounds
        ),
        "idle": lambda home: idle(home, [one.resolve() for one in options.repository], options.seconds),
        "growth": lambda home: growth(home, options.repository[0].resolve()),
    }
    with tempfile.TemporaryDirectory(prefix="hunchd-bench-") as home:
        asyncio.run(runs[options.what](Path(home)))


if __name__ == "__main__":
    main()
