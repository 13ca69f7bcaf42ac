"""Benchmark of a consolidation run in the real daemon: duration, memory, and latency of `/context` meanwhile.

    python benchmarks/consolidation.py REPOSITORY [--memories 20000]

The memories are episodes of the last two years with generated texts from the repository's own words, a tenth of them
duplicated. `/context` is requested for files of the repository before and during the run, like an editor does.
Memory is sampled twice a second: of each process the proportional set size (PSS), which divides shared pages among all
processes of the machine that map them; of all together also `alone`, their size without other processes, with pages of
a file that several of them map counted once, and `resident`, the sum of resident sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from daemon import add, daemon, open_session

from hunchd.core.status import measure_process_memory
from hunchd.protocol.memories import memory_from_json
from hunchd.store.database.collection import Collection
from hunchd.store.database.folders import locate_collection
from hunchd.store.database.lance import create_session
from hunchd.store.database.tables import build_row
from hunchd.store.memory_codec import memory_to_plain

PAUSE = 0.05  # seconds between two requests of the editor
LOOK = 0.5  # seconds between two samples of the processes
BATCH = 2_000  # memories in one commit


def read_words(repository: Path) -> tuple[list[str], list[str]]:
    """Return the words of its commit messages, and its files."""
    log = subprocess.run(
        ["git", "-C", str(repository), "log", "-2000", "--format=%s"], capture_output=True, text=True, check=True
    ).stdout
    files = subprocess.run(
        ["git", "-C", str(repository), "ls-files"], capture_output=True, text=True, check=True
    ).stdout
    return sorted(set(re.findall(r"[A-Za-z_]{4,}", log))), files.split("\n")[:-1]


def memories(count: int, repository: Path, project: str) -> list[dict[str, Any]]:
    chance = random.Random(count)
    words, files = read_words(repository)
    now = datetime.now(UTC)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        at = (now - timedelta(days=chance.uniform(0, 700))).isoformat()
        if rows and chance.random() < 0.1:
            rows.append(chance.choice(rows[-500:]) | {"id": f"m{number:06d}"})
            continue
        title = " ".join(chance.sample(words, 6)).capitalize()
        sentences = [" ".join(chance.sample(words, chance.randint(6, 18))).capitalize() + "." for _ in range(5)]
        sentences[chance.randrange(5)] = f"We decided this because {' '.join(chance.sample(words, 6))}."
        rows.append(
            {
                "id": f"m{number:06d}",
                "kind": "episode",
                "project": project,
                "title": title,
                "content": f"{title}\n\n{' '.join(sentences)}",
                "at": at,
                "created": at,
                "updated": at,
                "trust": "untrusted",
                "importance": round(chance.uniform(0.2, 0.6), 2),
                "artifacts": [{"type": "file", "ref": path} for path in chance.sample(files, chance.randint(1, 4))],
                "source": {"type": "session"},
            }
        )
    return rows


async def fill(home: Path, project: str, lines: Sequence[dict[str, Any]]) -> None:
    """Write directly to the tables; no daemon is running."""
    collection = await Collection.open(locate_collection(home / "data", project), create_session())
    for begin in range(0, len(lines), BATCH):
        await collection.put(
            [build_row(memory_to_plain(memory_from_json(one))) for one in lines[begin : begin + BATCH]]
        )
    await collection.optimise(force=True)
    await collection.close()


async def measure_context(
    client: aiohttp.ClientSession, root: str, files: Sequence[str], stop: asyncio.Event
) -> list[float]:
    """Return the seconds of each answer."""
    chance, durations = random.Random(1), []
    while not stop.is_set():
        began = time.perf_counter()
        async with client.get("/context", params={"project": root, "file": chance.choice(files)}) as answer:
            await answer.read()
        durations.append(time.perf_counter() - began)
        await asyncio.sleep(PAUSE)
    return durations


@dataclass
class ProcessSamples:
    """Sampler of the daemon's processes during a run."""

    peak: dict[str, float] = field(default_factory=dict)  # MB, of each and of all together
    seconds: dict[str, float] = field(default_factory=dict)  # of a processor, by process
    steps: dict[str, float] = field(default_factory=dict)  # seconds on the clock, by step
    made_of: dict[str, float] = field(default_factory=dict)  # peak MB of all together, and its step
    most_at: str = ""


async def watch(client: aiohttp.ClientSession, pid: int, stop: asyncio.Event) -> ProcessSamples:
    samples, cpu_at_start = ProcessSamples(), dict[int, float]()
    while not stop.is_set():
        found = await asyncio.to_thread(
            lambda: [(name, child, *_read_usage(child)) for name, child in _list_processes(pid)]
        )
        weights: dict[str, float] = {}
        for name, child, size, seconds in found:
            weights[name] = weights.get(name, 0.0) + size
            if child in cpu_at_start:
                samples.seconds[name] = samples.seconds.get(name, 0.0) + seconds - cpu_at_start[child]
            elif name != "front":  # started for the run
                samples.seconds[name] = samples.seconds.get(name, 0.0) + seconds
            cpu_at_start[child] = seconds
        step = ((await status(client)).get("consolidation") or {}).get("step", "")
        together, made_of = await asyncio.to_thread(_measure_memory, [(name, child) for name, child, _, _ in found])
        if together["alone"] > samples.peak.get("alone", 0.0):
            samples.made_of, samples.most_at = made_of, step
        for name, size in {**weights, "all": sum(weights.values()), **together}.items():
            samples.peak[name] = max(samples.peak.get(name, 0.0), size)
        await asyncio.sleep(LOOK)
        samples.steps[step] = samples.steps.get(step, 0.0) + LOOK
    return samples


def _list_processes(pid: int) -> list[tuple[str, int]]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    processes = [("front", pid)]
    for child in children:
        with suppress(OSError):
            command = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            name = next((word.rpartition(".")[2] for word in command if word.startswith("hunchd.daemon.")), "other")
            processes.append((name, int(child)))
    return processes


def _read_usage(pid: int) -> tuple[float, float]:
    """Return MB of memory and processor seconds so far; nothing for an ended process."""
    try:
        stat_fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return measure_process_memory(pid) / 1e6, (int(stat_fields[11]) + int(stat_fields[12])) / os.sysconf(
            "SC_CLK_TCK"
        )
    except OSError:
        return 0.0, 0.0


def _measure_memory(processes: Sequence[tuple[str, int]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return MB of all processes without other processes' share, MB of each alone, and of all files."""
    resident = 0
    own: dict[str, int] = {}  # kB
    shared: dict[str, int] = {}  # kB by file, maximum over the processes
    for process, pid in processes:
        files: dict[str, int] = {}
        path, size = "", 0
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
                name, _, value = line.partition(":")
                if name == "Rss":
                    size = int(value.split()[0])
                    resident += size
                elif name == "Anonymous":
                    own[process] = own.get(process, 0) + (anonymous := int(value.split()[0]))
                    files[path] = files.get(path, 0) + size - anonymous
                elif (parts := line.split(maxsplit=5)) and "-" in parts[0]:
                    path = parts[5] if len(parts) > 5 else ""
        shared |= {path: max(many, shared.get(path, 0)) for path, many in files.items()}
    made_of = {name: size * 1024 / 1e6 for name, size in (*own.items(), ("files", sum(shared.values())))}
    return {"alone": sum(made_of.values()), "resident": resident * 1024 / 1e6}, made_of


def format_rounded(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in sorted(figures.items(), key=lambda one: -one[1]))


def format_quantiles(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    figures = {
        name: ordered[min(len(ordered) - 1, int(len(ordered) * share))] for name, share in (("p50", 0.5), ("p95", 0.95))
    }
    shown = ", ".join(f"{name} {value * 1e3:.1f} ms" for name, value in figures.items())
    return f"{shown}, worst {ordered[-1] * 1e3:.0f} ms of {len(ordered)}"


async def prepare(repository: Path, count: int, home: Path) -> None:
    """Fill a store and keep it."""
    with daemon(home) as (rendezvous, _):
        async with open_session(rendezvous) as client:
            await add(client, repository)
            project = await get_project(client)
            while any((await status(client))["queues"].values()):
                await asyncio.sleep(0.5)
    await asyncio.sleep(1)  # the store process ends with its daemon
    began = time.monotonic()
    await fill(home, project["id"], memories(count, repository, project["id"]))
    print(f"{count:,} memories beside those of its history, stored in {time.monotonic() - began:.0f} s", flush=True)


async def get_project(client: aiohttp.ClientSession) -> dict[str, Any]:
    async with client.get("/projects") as answer:
        project: dict[str, Any] = (await answer.json())["items"][0]
        return project


async def status(client: aiohttp.ClientSession) -> dict[str, Any]:
    async with client.get("/status") as answer:
        body: dict[str, Any] = await answer.json()
        return body


async def stop_after(client: aiohttp.ClientSession, after: float) -> None:
    """Stop the run if it lasts that long."""
    await asyncio.sleep(after)
    async with client.get("/consolidate") as answer:
        running = [run["run"] for run in (await answer.json())["items"] if run["status"] == "running"]
    for run in running:
        began = time.monotonic()
        async with client.post(f"/consolidate/{run}/stop", json={}) as answer:
            await answer.read()
        print(f"stopped {time.monotonic() - began:.2f} s after it was asked to")


async def measure(repository: Path, home: Path, *, quiet: float, most: float, back: bool) -> None:
    with daemon(home) as (rendezvous, pid):
        async with open_session(rendezvous) as client:
            client._timeout = aiohttp.ClientTimeout(total=1_800)
            await add(client, repository)
            project = await get_project(client)
            _, files = read_words(repository)
            stop = asyncio.Event()
            asking = asyncio.create_task(measure_context(client, project["path"], files[:40], stop))
            await asyncio.sleep(quiet)
            stop.set()
            print(f"/context before: {format_quantiles(await asking)}")
            memory = {name: _read_usage(child)[0] for name, child in _list_processes(pid)}
            print(f"memory in MB before: {format_rounded(memory)}", flush=True)
            stop = asyncio.Event()
            asking = asyncio.create_task(measure_context(client, project["path"], files[:40], stop))
            watching = asyncio.create_task(watch(client, pid, stop))
            began = time.monotonic()
            stopping = asyncio.create_task(stop_after(client, most))
            async with client.post("/consolidate", json={}) as answer:
                run = await answer.json()
            stopping.cancel()
            took = time.monotonic() - began
            stop.set()
            if "run" not in run:
                log = (home / "state" / "hunchd.log").read_text()[-3_000:]
                raise SystemExit(f"the run failed after {took:.0f} s: {run}\n{log}")
            counts = {name: value for name, value in run.items() if isinstance(value, int) and value}
            print(f"run: {run['status']} in {took:.1f} s: {counts}")
            print(f"gate: {run.get('gate')}")
            print(f"/context during: {format_quantiles(await asking)}")
            samples = await watching
            print(f"memory in MB at most: {format_rounded(samples.peak)}")
            print(
                f"alone at most, of their own and of files, in '{samples.most_at}': {format_rounded(samples.made_of)}"
            )
            print(f"seconds of a processor: {format_rounded(samples.seconds)}")
            print(f"seconds by step: {format_rounded(samples.steps)}", flush=True)
            if back:
                began = time.monotonic()
                async with client.post(f"/consolidate/{run['run']}/undo", json={}) as answer:
                    print(f"undone in {time.monotonic() - began:.1f} s: {await answer.json()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument(
        "--home", type=Path, help="where the store is, or will be; default: a folder for this time only"
    )
    parser.add_argument("--only", choices=("fill", "run"), help="one half of it")
    parser.add_argument("--quiet", type=float, default=8.0, help="seconds of questions before the run (default 8)")
    parser.add_argument("--most", type=float, default=1_500.0, help="seconds after which the run is stopped")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hunchd-consolidation-") as folder:
        home, repository = options.home or Path(folder), options.repository.resolve()
        (home / "config").mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = ("[signals]", "watch_files = false", "[embedding]", "enabled = false", "[index]", "patterns = false")
        (home / "config" / "config.toml").write_text("\n".join(lines) + "\n")
        if options.only != "run":
            asyncio.run(prepare(repository, options.memories, home))
        if options.only != "fill":
            asyncio.run(measure(repository, home, quiet=options.quiet, most=options.most, back=options.only is None))


if __name__ == "__main__":
    main()
