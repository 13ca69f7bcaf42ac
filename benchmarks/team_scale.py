"""Cost of a large team: joining, what is mirrored, what one more statement costs, requests of an idle day.

    python benchmarks/team_scale.py --sizes 10000 30000 100000 --store folder|s3

Fills a dataset with the signed statements of 200 members about one project, then lets a real daemon join. Prints one
line of JSON for each size. The S3 server is moto (tests/object_stores.py) behind a proxy that counts.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
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
from hunchd.store.team_dataset import TeamDataset

MEMBERS = 200
COMMIT = 2_000  # records
NONCE = "scale"
SETTINGS = "[team]\npoll_seconds = {poll}\n[consolidation]\nnightly = false\n[embedding]\nenabled = false\n"
IDLE = 120.0  # seconds in which the requests of an idle member are counted, with the default interval
WORDS = Path(__file__).read_text().split()


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
    arguments = parser.parse_args()
    measure_size = measure_mirror if arguments.mirror_only else measure
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory(prefix="ts-") as base, ExitStack() as stack:
            print(json.dumps(measure_size(Path(base), arguments.store, size, stack)), flush=True)
    return 0


def measure(base: Path, kind: str, size: int, stack: ExitStack) -> dict[str, Any]:
    store = open_store(kind, base, stack)
    authors = [Author(number) for number in range(MEMBERS)]
    team = compute_team_id(authors[0].public, NONCE)
    began = time.monotonic()
    asyncio.run(fill(store, authors, team, size))
    found: dict[str, Any] = {"store": kind, "statements": size, "filled_s": round(time.monotonic() - began, 1)}
    member = create_member("New", base, store, 1, SETTINGS.format(poll=1.0))
    member.daemon.start()
    stack.callback(member.daemon.stop)
    member.daemon.add(member.folder)
    found |= join(member, f"{store.uri}#{team}", size)
    found["incremental_s"] = measure_increments(member, store, authors, team)
    found |= measure_idle_requests(member, store, authors, team)
    return found


def measure_mirror(base: Path, kind: str, size: int, stack: ExitStack) -> dict[str, Any]:
    """Measure what the exchange does of a join, in this process and without memories."""
    store = open_store(kind, base, stack)
    authors = [Author(number) for number in range(MEMBERS)]
    team = compute_team_id(authors[0].public, NONCE)
    asyncio.run(fill(store, authors, team, size))
    mirror = Mirror(base / "mirror")
    began = time.monotonic(), time.process_time()
    version = asyncio.run(fetch(store, mirror, team, 0))
    found = {"store": kind, "statements": size, "fetched_s": round(time.monotonic() - began[0], 1)}
    found |= {"fetched_cpu_s": round(time.process_time() - began[1], 1)}
    asyncio.run(append(store, [state(authors[0], team, "late")]))
    began = time.monotonic(), 0.0
    asyncio.run(fetch(store, mirror, team, version))
    found |= {"one_more_s": round(time.monotonic() - began[0], 2)}
    found |= {"mirror_mb": round((base / "mirror").stat().st_size / 2**20, 1)}
    found |= {"dataset_mb": round(sum(map(len, store.read())) / 2**20, 1)}
    mirror.close()
    return found


async def fetch(store: Store, mirror: Mirror, team: str, cursor: int) -> int:
    dataset = await TeamDataset.open(store.uri, read_options(store))
    newest = await dataset.read_version()
    async for rows in dataset.read_since(cursor, newest):
        records = keep_genuine([msgspec.convert(row, TeamRecord) for row in rows], team)
        mirror.receive(records, now_ms=to_milliseconds(datetime.now(UTC)))
    return newest


async def fill(store: Store, authors: list[Author], team: str, size: int) -> None:
    dataset = await TeamDataset.open(store.uri, read_options(store), create=True)
    founding = encode_payload(Founding(nonce=NONCE, title="shop"))
    rows = [authors[0].sign(team, RecordKind.FOUND, team, founding)]
    for author in authors:
        name = encode_payload(Membership(name=f"Member {spell(author.number)}"))
        rows.append(author.sign(team, RecordKind.JOIN, author.public, name))
    for number in range(size):
        rows.append(state(random.choice(authors), team, f"choice {number}"))
        if len(rows) >= COMMIT:
            await dataset.append(rows, may_exist=False)
            rows = []
    await dataset.append(rows, may_exist=False)
    await dataset.compact(keep=timedelta(hours=1))


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
        before = proxy.requests, proxy.received_bytes
        if statements:
            asyncio.run(append(store, [state(authors[0], team, "last")]))
        time.sleep(IDLE)
        counts.append((proxy.requests - before[0], proxy.received_bytes - before[1]))
    return {
        "idle_requests_a_day": round(counts[0][0] * 86_400 / IDLE),
        "idle_read_mb_a_day": round(counts[0][1] * 86_400 / IDLE / 2**20, 1),
        "requests_a_statement": counts[1][0] - counts[0][0],
        "read_kb_a_statement": round((counts[1][1] - counts[0][1]) / 1_024, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
