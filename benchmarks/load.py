"""Benchmark of the daemon under load: a burst and a steady stream of signals, with questions meanwhile.

    python benchmarks/load.py                      one minute of 1,000 signals a second
    python benchmarks/load.py --seconds 600        the ten minutes of the goal
    python benchmarks/load.py --rate 300 --batch 1 slower, each signal in a request of its own

The same stream is sent to a bare server that only appends the bytes, synced, and answers 202: the baseline of this
machine at that time. Prints figures and judges nothing but loss: a signal that was acknowledged and is missing
afterwards gives exit status 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil
from aiohttp import web

from hunchd.config.app_paths import resolve_app_paths
from hunchd.protocol.rendezvous import Rendezvous, read_rendezvous

CLIENTS = 8
QUESTIONS = 0.05  # seconds between two questions
BARE_SECONDS = 30.0  # of the stream to the bare server, before and after the daemon's


@dataclass
class Tally:
    acknowledged: set[str] = field(default_factory=set)
    latencies: list[float] = field(default_factory=list)  # seconds, from sending a signal to its acknowledgement
    answers: list[float] = field(default_factory=list)  # seconds, of /context
    statuses: Counter[int] = field(default_factory=Counter)
    memory: int = 0  # peak bytes of all processes
    front: int = 0  # peak bytes of the front
    number: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--burst", type=int, default=20_000, help="signals sent as quickly as possible (20000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the steady stream (60)")
    parser.add_argument("--rate", type=int, default=1_000, help="signals a second (1000)")
    parser.add_argument("--batch", type=int, default=10, help="signals in a request (10)")
    parser.add_argument("--bare", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare is not None:
        asyncio.run(serve_bare(options.bare))
        return 0
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        home, shop = Path(folder) / "home", Path(folder) / "shop"
        make_repository(shop)
        environment = os.environ | {"HUNCHD_HOME": str(home)}
        daemon = subprocess.Popen([sys.executable, "-m", "hunchd.daemon.main"], env=environment)
        try:
            return asyncio.run(measure_daemon(options, wait_for_rendezvous(home), daemon.pid, shop))
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(10)


def make_repository(folder: Path) -> None:
    folder.mkdir()
    (folder / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "Start"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def wait_for_rendezvous(home: Path) -> Rendezvous:
    file = resolve_app_paths({"HUNCHD_HOME": str(home)}).rendezvous_file
    deadline = time.monotonic() + 30
    while (rendezvous := read_rendezvous(file)) is None:
        if time.monotonic() > deadline:
            raise SystemExit("the daemon did not start")
        time.sleep(0.02)
    return rendezvous


async def serve_bare(folder: Path) -> None:
    """Serve `POST /signals` with a synced append, and write the address into the folder."""
    with (folder / "appended").open("ab") as file:

        def append(body: bytes) -> None:
            file.write(body)
            file.flush()
            os.fdatasync(file.fileno())

        async def take(request: web.Request) -> web.Response:
            await asyncio.to_thread(append, await request.read())
            return web.json_response({"accepted": True}, status=202)

        app = web.Application()
        app.router.add_post("/signals", take)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        (folder / "address.new").write_text(f"http://{host}:{port}")
        (folder / "address.new").rename(folder / "address")
        await asyncio.Event().wait()


async def measure_bare(options: argparse.Namespace, shop: Path) -> None:
    """Send the same stream to the bare server."""
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        server = await asyncio.create_subprocess_exec(sys.executable, __file__, "--bare", folder)
        try:
            address = Path(folder) / "address"
            while not address.exists():
                await asyncio.sleep(0.02)
            connector = aiohttp.TCPConnector(limit=32)
            async with aiohttp.ClientSession(address.read_text(), connector=connector) as session:
                tally = Tally()
                began = time.perf_counter()
                await send_stream(session, shop, tally, options.rate, options.batch, min(options.seconds, BARE_SECONDS))
                print_tally("bare server", tally, time.perf_counter() - began)
        finally:
            server.kill()
            await server.wait()


async def measure_daemon(options: argparse.Namespace, rendezvous: Rendezvous, pid: int, shop: Path) -> int:
    # Connections of a machine full of editors and hooks; a daemon closes idle ones beyond 256.
    connector = aiohttp.TCPConnector(limit=32)
    headers = {"Authorization": f"Bearer {rendezvous.token}"}
    async with aiohttp.ClientSession(rendezvous.url, connector=connector, headers=headers) as session:
        async with session.post("/projects", json={"path": str(shop)}) as response:
            response.raise_for_status()
        await asyncio.sleep(3)  # indexed and embedded by then
        lost_count = 0
        for name, run in (
            ("burst", lambda tally: send_burst(session, shop, tally, options.burst)),
            ("stream", lambda tally: send_stream(session, shop, tally, options.rate, options.batch, options.seconds)),
        ):
            if name == "stream":
                await measure_bare(options, shop)
            tally = Tally()
            beside = [asyncio.create_task(ask(session, shop, tally)), asyncio.create_task(sample_memory(pid, tally))]
            began = time.perf_counter()
            await run(tally)
            told_in = time.perf_counter() - began
            for task in beside:
                task.cancel()
            stored = await count_stored(session, name)
            print_tally(name, tally, told_in, time.perf_counter() - began)
            missing = tally.acknowledged - stored.keys()
            repeated = sum(times > 1 for times in stored.values())
            print(f"  lost {len(missing)}, there twice {repeated}")
            lost_count += len(missing) + repeated
        await measure_bare(options, shop)
    return 1 if lost_count else 0


async def send_burst(session: aiohttp.ClientSession, shop: Path, tally: Tally, most: int) -> None:
    """Send signals as fast as they are accepted, 100 in a request.

    Rejected ones are sent again when the daemon asks for it.
    """
    waiting = iter(range(0, most, 100))

    async def client() -> None:
        for _ in waiting:
            await send(session, shop, tally, "burst", 100)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def send_stream(
    session: aiohttp.ClientSession, shop: Path, tally: Tally, rate: int, batch: int, seconds: float
) -> None:
    """Send signals at a steady rate, even if the answers do not keep up."""
    began, sending = time.perf_counter(), set[asyncio.Task[None]]()
    for number in range(int(rate * seconds / batch)):
        if (pause := began + number * batch / rate - time.perf_counter()) > 0:
            await asyncio.sleep(pause)
        task = asyncio.create_task(send(session, shop, tally, "stream", batch))
        sending.add(task)
        task.add_done_callback(sending.discard)
    await asyncio.gather(*sending)


async def send(session: aiohttp.ClientSession, shop: Path, tally: Tally, name: str, size: int) -> None:
    events = [f"{name}{tally.number + one}" for one in range(size)]
    tally.number += size
    signals = [
        {"kind": "file_opened", "project": str(shop), "path": f"a{hash(event) % 500}.py", "event_id": event}
        for event in events
    ]
    while True:
        began = time.perf_counter()
        async with session.post("/signals", json={"signals": signals}) as response:
            tally.statuses[response.status] += 1
            await response.read()
            if response.status == 202:
                tally.latencies.append(time.perf_counter() - began)
                tally.acknowledged.update(events)
                return
            if response.status != 429:
                raise SystemExit(f"answered {response.status}: {await response.text()}")
            await asyncio.sleep(float(response.headers["Retry-After"]))


async def ask(session: aiohttp.ClientSession, shop: Path, tally: Tally) -> None:
    while True:
        began = time.perf_counter()
        async with session.get("/context", params={"project": str(shop), "file": "cart.py"}) as response:
            await response.read()
            response.raise_for_status()
        tally.answers.append(time.perf_counter() - began)
        await asyncio.sleep(QUESTIONS)


async def sample_memory(pid: int, tally: Tally) -> None:
    front = psutil.Process(pid)
    while True:
        weights = [front.memory_info().rss]
        for child in front.children():
            try:
                weights.append(child.memory_info().rss)
            except psutil.NoSuchProcess:
                continue
        tally.front, tally.memory = max(tally.front, weights[0]), max(tally.memory, sum(weights))
        await asyncio.sleep(0.5)


async def count_stored(session: aiohttp.ClientSession, name: str) -> Counter[str]:
    """Return the events of that name in the store after all queues are empty."""
    for _ in range(600):
        async with session.get("/status") as response:
            if (await response.json())["queues"]["writer"] == 0:
                break
        await asyncio.sleep(0.2)
    counts = Counter[str]()
    async with session.get("/export") as response:
        response.raise_for_status()
        async for line in response.content:
            record = json.loads(line)
            if record["type"] == "signal" and (event := record["data"]["id"]).startswith(name):
                counts[event] += 1
    return counts


def print_tally(name: str, tally: Tally, told_in: float, stored_in: float | None = None) -> None:
    count = len(tally.acknowledged)
    print(f"{name}: {count:,} signals acknowledged in {told_in:.1f} s ({count / told_in:,.0f}/s)", end="")
    print(f", stored after {stored_in:.1f} s" if stored_in else "", end="")
    print(f"; answers {dict(tally.statuses)}")
    for what, seconds in (("acknowledged", tally.latencies), ("/context", tally.answers)):
        ordered = sorted(seconds)
        if ordered:
            at = {
                share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1_000 for share in (0.5, 0.95, 0.99)
            }
            shown = ", ".join(f"p{share * 100:g} {value:.1f} ms" for share, value in at.items())
            print(f"  {what}: {shown} ({len(ordered):,} times)")
    if tally.memory:
        print(f"  resident at most {tally.memory >> 20} MiB in all, {tally.front >> 20} MiB the front")


if __name__ == "__main__":
    sys.exit(main())
