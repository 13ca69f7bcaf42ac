"""Cost of a large team: joining, what is mirrored, what one more statement costs, requests and price of a day.

    python benchmarks/team_scale.py --sizes 1000 10000 --store folder|s3
    python benchmarks/team_scale.py --mirror-only --sizes 10000 100000 1000000 --drawing docs/team-growth.svg
    python benchmarks/team_scale.py --mirror-only --sizes 1000000 --projects 50

Fills a dataset for each project with the signed statements of 200 members, then lets a real daemon join. With
`--mirror-only` there is no daemon: the records are fetched, verified and merged in this process, and the dataset is
searched in the place of the mirror, which the product never does, for comparison. Prints one line of JSON for each
size. The S3 server is moto (tests/object_stores.py) behind a proxy that counts.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import statistics
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lancedb
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from growth_drawing import draw
from lancedb.index import FTS
from proxy import Proxy
from team import Member, Store, create_member, open_store

from hunchd.domain.memory import Kind
from hunchd.features.team.clock import to_milliseconds
from hunchd.features.team.mirror import Mirror
from hunchd.features.team.signing import encode_public_key, keep_genuine, sign_record
from hunchd.protocol.team_records import (
    Founding,
    Membership,
    RecordKind,
    Statement,
    TeamRecord,
    compute_record_id,
    compute_team_id,
    encode_payload,
)
from hunchd.store.team_dataset import TABLE, TeamDataset

MEMBERS = 200
COMMIT = 2_000  # records
NONCE = "scale"
SETTINGS = "[team]\npoll_seconds = {poll}\n[consolidation]\nnightly = false\n[embedding]\nenabled = false\n"
SEARCHES = 200
LIST_OR_WRITE, READ, GIGABYTE = 5e-6, 4e-7, 0.09  # US dollars: Amazon S3 Standard, us-east-1, read from the internet
IDLE = 120.0  # seconds in which the requests of an idle member are counted, with the default interval
WORDS = re.findall(r"[A-Za-z]{3,}", Path(__file__).read_text())
PANELS = {
    "joining: processor seconds": "fetched_cpu_s_sum",
    "mirror: MiB": "mirror_mb_sum",
    "one more statement: seconds": "one_more_s_p50",
    "search of the dataset: seconds": "remote_search_s_p95",
}


@dataclass
class Author:
    """Simulated member: a key, a name, a counter."""

    number: int
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    version: int = 0

    @property
    def public(self) -> str:
        return encode_public_key(self.key)

    def sign(self, team: str, kind: RecordKind, subject: str, payload: str = "") -> dict[str, Any]:
        self.version += 1
        clock = to_milliseconds(datetime.now(UTC)) << 16 | self.version & 0xFFFF
        fields = {"author": self.public, "machine": f"m{self.number}", "clock": clock, "version": self.version}
        record = TeamRecord(id="", kind=kind, subject=subject, payload=payload, **fields)
        record = msgspec.structs.replace(record, id=compute_record_id(record, team))
        signed: dict[str, Any] = msgspec.to_builtins(sign_record(record, team, self.key))
        return signed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--store", choices=("folder", "s3"), default="folder")
    parser.add_argument("--mirror-only", action="store_true", help="without a daemon: fetch, verify, merge")
    parser.add_argument("--projects", type=int, default=1, help="datasets among which the statements are divided")
    parser.add_argument("--drawing", type=Path, help="SVG of the growth, with --mirror-only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ts-") as base, ExitStack() as stack:
        if arguments.mirror_only:
            measure_mirrors(Path(base), arguments, stack)
            return 0
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory(prefix="ts-") as base, ExitStack() as stack:
            print(json.dumps(measure(Path(base), arguments.store, size, stack)), flush=True)
    return 0


def measure(base: Path, kind: str, size: int, stack: ExitStack) -> dict[str, Any]:
    store = open_store(kind, base, stack)
    authors = [Author(number) for number in range(MEMBERS)]
    team = compute_team_id(authors[0].public, NONCE)
    began = time.monotonic()
    asyncio.run(fill(store, authors, team, range(size)))
    found: dict[str, Any] = {"store": kind, "statements": size, "filled_s": round(time.monotonic() - began, 1)}
    member = create_member("New", base, store, 1, SETTINGS.format(poll=1.0))
    member.daemon.start()
    stack.callback(member.daemon.stop)
    member.daemon.add(member.folder)
    found |= join(member, f"{store.uri}#{team}", size)
    found |= measure_search(member)
    found["incremental_s"] = measure_increments(member, store, authors, team)
    found |= measure_idle_requests(member, store, authors, team)
    return found


def measure_mirrors(base: Path, arguments: argparse.Namespace, stack: ExitStack) -> None:
    """Measure what the exchange does of a join, in this process and without memories, while the datasets grow."""
    store = open_store(arguments.store, base, stack)
    if store.port:
        proxy = Proxy(store.port)
        proxy.start()
        store = replace(store, credentials=store.credentials.replace(f":{store.port}", f":{proxy.port}"))
    projects = [replace(store, uri=f"{store.uri}/{number}") for number in range(arguments.projects)]
    authors = [Author(number) for number in range(MEMBERS)]
    team = compute_team_id(authors[0].public, NONCE)
    filled, found = 0, []
    for size in sorted(arguments.sizes):
        began = time.monotonic()
        for project in projects:
            asyncio.run(fill(project, authors, team, range(filled // len(projects), size // len(projects))))
        filled = size
        took = {"statements": size, "projects": len(projects), "filled_s": round(time.monotonic() - began)}
        mirrored = [measure_mirror(base, project, team, authors) for project in projects]
        found.append(took | summarize(mirrored))
        print(json.dumps({"store": arguments.store, **found[-1]}), flush=True)
    if arguments.drawing is not None:
        arguments.drawing.write_text(draw(found, "statements", PANELS))


def measure_mirror(base: Path, store: Store, team: str, authors: list[Author]) -> dict[str, list[float]]:
    """Fetch a dataset into a new mirror, then one more statement; search the dataset."""
    file = base / "mirror"
    mirror = Mirror(file)
    began = time.monotonic(), time.process_time()
    version = asyncio.run(fetch(store, mirror, team, 0))
    found = {"fetched_s": [time.monotonic() - began[0]], "fetched_cpu_s": [time.process_time() - began[1]]}
    found["mirror_mb"] = [sum(one.stat().st_size for one in base.glob("mirror*")) / 2**20]
    found["one_more_s"] = []
    for number in range(5):
        asyncio.run(append(store, [state(authors[number], team, f"late {number}")]))
        began = time.monotonic(), 0.0
        version = asyncio.run(fetch(store, mirror, team, version))
        found["one_more_s"].append(time.monotonic() - began[0])
    mirror.close()
    for one in base.glob("mirror*"):
        one.unlink()
    found["remote_search_s"] = asyncio.run(search_dataset(store))
    return found


async def search_dataset(store: Store) -> list[float]:
    """Search the words of the payloads in the dataset, with an index for them, which only this benchmark makes."""
    connection = await lancedb.connect_async(store.uri, storage_options=read_options(store) or None)
    table = await connection.open_table(TABLE)
    await table.create_index("payload", config=FTS())
    times = []
    for _ in range(SEARCHES):
        words = " ".join(random.choices(WORDS, k=2))
        began = time.monotonic()
        await table.query().nearest_to_text(words, columns="payload").limit(10).to_arrow()
        times.append(time.monotonic() - began)
    await table.drop_index("payload_idx")
    return times


def summarize(mirrored: list[dict[str, list[float]]]) -> dict[str, float]:
    """Return sums for what is kept; medians and 95th percentiles for what is waited for."""
    of = {name: [value for one in mirrored for value in one[name]] for name in mirrored[0]}
    found = {f"{name}_sum": round(sum(of[name]), 1) for name in ("fetched_s", "fetched_cpu_s", "mirror_mb")}
    for name in ("fetched_s", "one_more_s", "remote_search_s"):
        found[f"{name}_p50"] = round(statistics.median(of[name]), 4)
        found[f"{name}_p95"] = round(pick_p95(of[name]), 4)
    return found


def pick_p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


async def fetch(store: Store, mirror: Mirror, team: str, cursor: int) -> int:
    dataset = await TeamDataset.open(store.uri, read_options(store))
    newest = await dataset.read_version()
    async for rows in dataset.read_since(cursor, newest):
        records = keep_genuine([msgspec.convert(row, TeamRecord) for row in rows], team)
        mirror.receive(records, now_ms=to_milliseconds(datetime.now(UTC)))
    return newest


async def fill(store: Store, authors: list[Author], team: str, numbers: range) -> None:
    """Append the statements with these numbers, after the roster if there are no earlier ones."""
    dataset = await TeamDataset.open(store.uri, read_options(store), create=True)
    rows = create_roster(authors, team) if numbers.start == 0 else []
    for number in numbers:
        rows.append(state(random.choice(authors), team, f"choice {number}"))
        if len(rows) >= COMMIT:
            await dataset.append(rows, may_exist=False)
            rows = []
    await dataset.append(rows, may_exist=False)
    await dataset.compact(keep=timedelta(hours=1))


def create_roster(authors: list[Author], team: str) -> list[dict[str, Any]]:
    founding = encode_payload(Founding(nonce=NONCE, title="shop"))
    rows = [authors[0].sign(team, RecordKind.FOUND, team, founding)]
    for author in authors:
        name = encode_payload(Membership(name=f"Member {spell(author.number)}"))
        rows.append(author.sign(team, RecordKind.JOIN, author.public, name))
    return rows


def spell(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number)).capitalize()


def read_options(store: Store) -> dict[str, Any]:
    return next(iter(tomllib.loads(store.credentials).values()), {})


def state(author: Author, team: str, key: str) -> dict[str, Any]:
    value = " ".join(random.choices(WORDS, k=12))[:120]
    line = f"{key}: {value}"
    statement = Statement(
        kind=Kind.FACT, title=line, content=line, at=datetime.now(UTC), category="decision", key=key, value=value
    )
    subject = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
    return author.sign(team, RecordKind.STATE, subject, encode_payload(statement))


def join(member: Member, address: str, size: int) -> dict[str, Any]:
    began = time.monotonic()
    body = {"uri": address, "project": str(member.folder), "name": "New", "create": False}
    member.daemon.post("/team", body)
    received = None
    while True:
        status = member.daemon.get("/team", project=str(member.folder))
        if status["progress"]["received"] >= size and received is None:
            received = time.monotonic() - began
        if received is not None and not status["unapplied"]:
            break
        time.sleep(0.5)
    data = member.daemon.places.data
    proxy = member.proxy
    return {
        "members": status["members"],
        "received_after_s": round(received, 1),
        "all_shown_after_s": round(time.monotonic() - began, 1),
        "mirror_mb": round(sum(file.stat().st_size for file in data.glob("teams/*/*")) / 2**20, 1),
        "home_mb": round(sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) / 2**20, 1),
        "front_rss_mb": read_rss(member.daemon.pid),
        "join_requests": proxy.requests if proxy else None,
        "join_read_mb": round(proxy.received_bytes / 2**20, 1) if proxy else None,
    }


def read_rss(pid: int) -> int:
    fields = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) // 1_024


def measure_increments(member: Member, store: Store, authors: list[Author], team: str) -> list[float]:
    """Return the seconds until a new statement is known, polled every second: median and worst of ten."""
    times = []
    for number in range(10):
        asyncio.run(append(store, [state(authors[number], team, f"late {number}")]))
        began = time.monotonic()
        query = {"key": f"late {number}", "project": str(member.folder)}
        while member.daemon.request("GET", "/facts", query=query)[0] != 200:
            time.sleep(0.02)
        times.append(time.monotonic() - began)
    return [round(statistics.median(times), 2), round(max(times), 2)]


def measure_search(member: Member) -> dict[str, float]:
    """Return median and 95th percentile of a search in this machine's memories, in seconds."""
    times = []
    for _ in range(SEARCHES):
        body = {"project": str(member.folder), "query": " ".join(random.choices(WORDS, k=2))}
        began = time.monotonic()
        member.daemon.post("/search", body)
        times.append(time.monotonic() - began)
    return {"search_p50": round(statistics.median(times), 3), "search_p95": round(pick_p95(times), 3)}


async def append(store: Store, rows: list[dict[str, Any]]) -> None:
    await (await TeamDataset.open(store.uri, read_options(store))).append(rows, may_exist=False)


def measure_idle_requests(member: Member, store: Store, authors: list[Author], team: str) -> dict[str, Any]:
    """Count the requests of a member who only listens, and those for one statement of another."""
    if (proxy := member.proxy) is None:
        return {}
    member.daemon.stop()
    member.daemon.settings = SETTINGS.format(poll=15.0)
    member.daemon.start()
    time.sleep(30)
    counts = []
    for statements in (0, 1):
        before = count(proxy)
        if statements:
            asyncio.run(append(store, [state(authors[0], team, "last")]))
        time.sleep(IDLE)
        counts.append([after - one for after, one in zip(count(proxy), before, strict=True)])
    idle, busy = counts
    statement = [max(one - other, 0) for one, other in zip(busy, idle, strict=True)]
    return {
        "idle_requests_a_day": round(idle[0] * 86_400 / IDLE),
        "idle_read_mb_a_day": round(idle[3] * 86_400 / IDLE / 2**20, 1),
        "idle_dollars_a_day": round(compute_price(idle) * 86_400 / IDLE, 4),
        "requests_a_statement": statement[0],
        "read_kb_a_statement": round(statement[3] / 1_024, 1),
        "dollars_a_statement": round(compute_price(statement), 6),
    }


def count(proxy: Proxy) -> tuple[int, int, int, int]:
    return proxy.requests, proxy.listings, proxy.writes, proxy.received_bytes


def compute_price(counts: Sequence[int]) -> float:
    requests, listings, writes, received_bytes = counts
    read = (requests - listings - writes) * READ
    return (listings + writes) * LIST_OR_WRITE + read + received_bytes / 1e9 * GIGABYTE


if __name__ == "__main__":
    sys.exit(main())
