"""A simulated team of real daemons on one dataset: edits, forgets, disputes, absence, kills, skewed clocks, bad stores.

    python benchmarks/team.py --members 3 --minutes 5 --store folder|s3|azure

Prints one line of JSON: whether every member ends with the same knowledge, what was lost, doubled or private in the
dataset, the lag from accepting a statement to seeing it elsewhere, and the requests and bytes of a member and hour.
The object stores need moto and Azurite (tests/object_stores.py); a proxy in front of them delays, refuses and counts.
Clock skew needs libfaketime (LD_PRELOAD named by HUNCHD_FAKETIME) and is left out without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.daemon.running import RunningDaemon  # noqa: E402
from tests.object_stores import azure_store, free_port, s3_store  # noqa: E402

SETTINGS = """
[team]
poll_seconds = 2.0
care_minutes = 1.0
[embedding]
enabled = false
[consolidation]
nightly = false
"""
KEYS = [f"subject {number}" for number in range(40)]
PRIVATE = "planted-and-private"


@dataclass
class Proxy:
    """TCP proxy in front of a store: counts, delays, refuses with 503, drops connections."""

    target: int
    port: int = field(default_factory=free_port)
    requests: int = 0
    received_bytes: int = 0
    delay: float = 0.0  # seconds before each request is passed on
    refused_share: float = 0.0
    is_down: bool = False

    def start(self) -> None:
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True).start()
        started.wait()

    async def _serve(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._handle, "127.0.0.1", self.port)
        started.set()
        async with server:
            await server.serve_forever()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                if self.is_down:
                    return
                await asyncio.sleep(self.delay)
                if random.random() < self.refused_share:
                    writer.write(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    await writer.drain()
                    return
                if upstream is None:
                    source, upstream = await asyncio.open_connection("127.0.0.1", self.target)
                    asyncio.create_task(self._copy_back(source, writer))  # noqa: RUF006 - ends with the connection
                upstream.write(head)
                await self._copy_body(head, reader, upstream)
        except (ConnectionError, asyncio.IncompleteReadError, OSError):
            pass
        finally:
            for each in (writer, upstream):
                if each is not None:
                    each.close()

    async def _copy_body(self, head: bytes, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter) -> None:
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
        }
        length = int(headers.get(b"content-length", 0))
        while length:
            chunk = await reader.read(min(length, 65_536))
            if not chunk:
                raise ConnectionResetError
            length -= len(chunk)
            upstream.write(chunk)
        await upstream.drain()

    async def _copy_back(self, source: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(65_536):
                self.received_bytes += len(chunk)
                writer.write(chunk)
                await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()


@dataclass
class Member:
    name: str
    daemon: RunningDaemon
    folder: Path
    stated: dict[str, tuple[str, float]] = field(default_factory=dict)  # key → value and time, as acknowledged
    forgotten: set[str] = field(default_factory=set)  # values
    is_up: bool = True

    def state(self, key: str, value: str) -> None:
        fact = {"kind": "fact", "key": key, "value": value, "category": "decision", "project": str(self.folder)}
        self.daemon.post("/memories", {**fact, "content": f"{key}: {value}"})
        self.stated[key] = (value, time.monotonic())

    def forget(self, key: str) -> None:
        status, answer = self.daemon.request("GET", "/facts", query={"key": key, "project": str(self.folder)})
        fact = answer.get("fact") if status == 200 else None
        own = self.stated.get(key)
        if fact is None or own is None or fact["value"] != own[0] or fact["trust"] != "user":
            return
        if self.daemon.request("DELETE", f"/memories/{fact['id']}")[0] == 200:
            self.forgotten.add(own[0])
            del self.stated[key]

    def resolve_one(self) -> bool:
        disputes = self.daemon.get("/contradictions", project=str(self.folder), status="open")["items"]
        if not disputes:
            return False
        choice = random.choice(("a_wins", "b_wins"))
        dispute = random.choice(disputes)
        return self.daemon.request("POST", f"/contradictions/{dispute['id']}/resolve", {"resolution": choice})[0] == 200

    def load_subjects(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self.daemon.get("/team/statements", project=str(self.folder), after=after, limit=1000)
            items += page["items"]
            if page["next"] is None:
                return items
            after = page["next"]

    def load_values(self) -> dict[str, list[str]]:
        """Return the values that are in play of each key: the current one, and those in open contradictions."""
        values: dict[str, set[str]] = {}
        for key in KEYS:
            status, answer = self.daemon.request("GET", "/facts", query={"key": key, "project": str(self.folder)})
            if status == 200 and answer["fact"] is not None and answer["fact"]["status"] == "active":
                values.setdefault(key, set()).add(answer["fact"]["value"].casefold())
        for one in self.daemon.get("/contradictions", project=str(self.folder), status="open", limit=1000)["items"]:
            for side in "ab":
                values.setdefault(one[side]["key"], set()).add(one[side]["value"].casefold())
        return {key: sorted(found) for key, found in values.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--store", choices=("folder", "s3", "azure"), default="folder")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    base = Path(tempfile.mkdtemp(prefix="tc-"))
    try:
        with ExitStack() as stack:
            print(json.dumps(run_campaign(arguments, base, stack)))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return 0


def run_campaign(arguments: argparse.Namespace, base: Path, stack: ExitStack) -> dict[str, Any]:
    uri, proxy, credentials, data = open_store(arguments.store, base, stack)
    members = [
        create_member(f"Member {letter}", base, credentials, number)
        for number, letter in list_letters(arguments.members)
    ]
    for member in members:
        member.daemon.start()
        stack.callback(member.daemon.stop)
        member.daemon.add(member.folder)
        plant_private(member)
    body = {"uri": uri, "create": True}
    for member in members:
        joined = member.daemon.post("/team", {**body, "project": str(member.folder), "name": member.name})
        body = {"uri": joined["address"], "create": False}
        time.sleep(3 if member is members[0] else 0)
    lags: list[float] = []
    counts = dict.fromkeys(("edits", "forgets", "resolutions", "kills", "absences", "outages"), 0)
    began = time.monotonic()
    while time.monotonic() - began < arguments.minutes * 60:
        act(members, proxy, counts, lags)
        time.sleep(random.uniform(0.05, 0.5))
    hours = (time.monotonic() - began) / 3_600
    traffic = (proxy.requests, proxy.received_bytes) if proxy is not None else (0, 0)
    return {"store": arguments.store, "members": len(members), "minutes": arguments.minutes, **counts} | judge(
        members, proxy, data, lags, traffic, hours
    )


def list_letters(count: int) -> list[tuple[int, str]]:
    return [(number, chr(ord("A") + number)) for number in range(count)]


def open_store(kind: str, base: Path, stack: ExitStack) -> tuple[str, Proxy | None, str, Path]:
    if kind == "folder":
        return str(base / "dataset"), None, "", base / "dataset"
    folder = base / "store"
    folder.mkdir()
    store = stack.enter_context((s3_store if kind == "s3" else azure_store)(folder))
    proxy = Proxy(store.port)
    proxy.start()
    return store.uri, proxy, store.credentials.replace(f":{store.port}", f":{proxy.port}"), folder


def create_member(name: str, base: Path, credentials: str, number: int) -> Member:
    folder = base / name.replace(" ", "") / "shop"
    folder.mkdir(parents=True)
    environment = {}
    if library := os.environ.get("HUNCHD_FAKETIME"):
        environment = {"LD_PRELOAD": library, "FAKETIME": f"{(number % 3 - 1) * 600:+d}"}
    daemon = RunningDaemon(base / name.replace(" ", "") / "home", settings=SETTINGS, environment=environment)
    daemon.places.config.mkdir(parents=True, mode=0o700)
    file = daemon.places.config / "team-credentials.toml"
    file.touch(mode=0o600)
    file.write_text(credentials)
    return Member(name, daemon, folder)


def plant_private(member: Member) -> None:
    folder = str(member.folder)
    member.daemon.post("/memories", {"kind": "fact", "content": f"{PRIVATE} of {member.name}"})
    member.daemon.post("/memories", {"kind": "preference", "content": PRIVATE, "project": folder})
    message = {"role": "user", "content": f"{PRIVATE} in a session"}
    member.daemon.post("/sessions/s/messages", {"project": folder, "messages": [message]})
    command = {"kind": "command_finished", "project": folder, "command": PRIVATE, "exit_code": 0, "duration_ms": 1}
    member.daemon.post("/signals", {"signals": [command]})


def act(members: list[Member], proxy: Proxy | None, counts: dict[str, int], lags: list[float]) -> None:
    """Let something happen; everything but the store's trouble happens to one member."""
    member = random.choice(members)
    chance = random.random()
    if not member.is_up:
        if chance < 0.1:
            member.daemon.start()
            member.is_up = True
        return
    if chance < 0.70:
        member.state(random.choice(KEYS), f"v{time.time_ns():x}")
        counts["edits"] += 1
    elif chance < 0.80 and member.stated:
        member.forget(random.choice(sorted(member.stated)))
        counts["forgets"] += 1
    elif chance < 0.90:
        counts["resolutions"] += member.resolve_one()
    elif chance < 0.92:
        member.daemon.kill()
        member.daemon.start()
        counts["kills"] += 1
    elif chance < 0.93:
        member.daemon.stop()
        member.is_up = False
        counts["absences"] += 1
    elif chance < 0.97 and proxy is not None:
        proxy.delay, proxy.refused_share, proxy.is_down = random.choice(
            ((0.0, 0.0, False), (0.0, 0.0, False), (0.5, 0.0, False), (0.0, 0.3, False), (0.0, 0.0, True))
        )
        counts["outages"] += proxy.is_down or proxy.refused_share > 0 or proxy.delay > 0
    elif proxy is None or not (proxy.is_down or proxy.delay or proxy.refused_share):
        measure_lag(members, lags)


def measure_lag(members: list[Member], lags: list[float]) -> None:
    """Measure how long a statement takes to the first other member, while the store is well."""
    author, reader = random.sample(members, 2)
    if not (author.is_up and reader.is_up):
        return
    key, value, began = f"lag {time.time_ns()}", "x", time.monotonic()
    author.state(key, value)
    del author.stated[key]
    while time.monotonic() - began < 60:
        query = {"key": key, "project": str(reader.folder)}
        if reader.daemon.request("GET", "/facts", query=query)[0] == 200:
            lags.append(time.monotonic() - began)
            return
        time.sleep(0.05)
    lags.append(60.0)


def judge(
    members: list[Member], proxy: Proxy | None, data: Path, lags: list[float], traffic: tuple[int, int], hours: float
) -> dict[str, Any]:
    """Let everybody come to rest, then compare."""
    if proxy is not None:
        proxy.delay, proxy.refused_share, proxy.is_down = 0.0, 0.0, False
    for member in members:
        if not member.is_up:
            member.daemon.start()
    deadline = time.monotonic() + 420
    views: list[str] = []
    values: list[dict[str, list[str]]] = []
    while time.monotonic() < deadline:
        time.sleep(5)
        statuses = [one.daemon.get("/team", project=str(one.folder)) for one in members]
        if any(one["unsent"] or one["unapplied"] or one["progress"]["state"] != "in step" for one in statuses):
            continue
        subjects = [one.load_subjects() for one in members]
        views = [json.dumps(one, sort_keys=True) for one in subjects]
        values = [one.load_values() for one in members]
        if len(set(views)) == 1 and all(one == values[0] for one in values):
            break
    statements = {
        (one["by"], one["key"]): one["value"] for subject in subjects for item in subject for one in item["statements"]
    }
    lost = [
        (member.name, key, value)
        for member in members
        for key, (value, _) in member.stated.items()
        if statements.get((member.name, key)) != value
    ]
    doubled = sum(
        len(item["statements"]) - len({one["by"] for one in item["statements"]}) for item in json.loads(views[0])
    )
    forgotten = {value for member in members for value in member.forgotten}
    returned = sorted(forgotten & {value for one in values for found in one.values() for value in found})
    contents = [file.read_bytes() for file in data.rglob("*") if file.is_file()]
    sorted_lags = sorted(lags)
    return {
        "same_views": len(set(views)) == 1,
        "same_values": all(one == values[0] for one in values),
        "differing_keys": [key for key in KEYS if len({json.dumps(one.get(key)) for one in values}) > 1],
        "subjects": len(json.loads(views[0])),
        "lost": lost,
        "doubled": doubled,
        "forgotten_returned": returned,
        "private_in_dataset": any(PRIVATE.encode() in content for content in contents),
        "forged": sum(one["progress"]["forged"] for one in statuses),
        "lag_p50": round(statistics.median(sorted_lags), 2) if lags else None,
        "lag_p95": round(sorted_lags[int(len(sorted_lags) * 0.95)], 2) if lags else None,
        "lags": len(lags),
        "requests_per_member_hour": round(traffic[0] / len(members) / hours),
        "kilobytes_per_member_hour": round(traffic[1] / len(members) / hours / 1_024),
        "errors": [line for member in members for line in member.daemon.log.splitlines() if " ERROR " in line][:5],
    }


if __name__ == "__main__":
    sys.exit(main())
