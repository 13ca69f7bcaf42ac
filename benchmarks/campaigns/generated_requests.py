"""Requests generated from the OpenAPI document and hostile bodies, against a daemon with a project: no 5xx, no hang.

    python -m venv /tmp/schemathesis && /tmp/schemathesis/bin/pip install schemathesis
    python -m benchmarks.campaigns.generated_requests --schemathesis /tmp/schemathesis/bin/schemathesis \
        --requests 100000 --hostile 20000

schemathesis (4.32) generates the requests; it is no dependency of this repository. `GET /events` is left out: it
never ends. Hostile bodies are mutations of valid requests and random JSON, sent to every route that takes a body, some
with random bytes in them. The exit status is 1 after any 5xx but 503 and 507, any answer that takes longer than
`--patience` seconds, or a daemon that does not answer as before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hunchd.serving.openapi import OPERATIONS
from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import make_shop
from tests.security.test_fuzz import ALLOWED, Wire, memory_of, mutated, right, still_good, value

CLIENTS = 3
SKIPPED = ("/events", "/mcp", "/agents/{id}/events")  # endless, or with a protocol of its own that has its own tests
SETTINGS = "[signals]\nwatch_files = false\n"


@dataclass
class Tally:
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, status: int, seconds: float, what: str) -> None:
        self.statuses[status] += 1
        self.slowest = max(self.slowest, (seconds, what))
        if status >= 500 and status not in ALLOWED:
            self.failures.append(f"{status}: {what}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemathesis", metavar="COMMAND", help="if omitted, only hostile bodies are sent")
    parser.add_argument("--requests", type=int, default=5_000, help="generated requests, about (5000)")
    parser.add_argument("--hostile", type=int, default=2_000, help="hostile bodies (2000)")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds that an answer may take (30)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        shop = make_shop(Path(folder) / "shop")
        with running_daemon(Path(folder) / "home", settings=SETTINGS) as daemon:
            daemon.add(shop)
            fill(daemon, str(shop))
            memory = memory_of(daemon.pid)
            is_good = send_hostile(daemon, str(shop), options)
            is_good = (not options.schemathesis or run_schemathesis(daemon, options)) and is_good
            daemon.add(shop)  # it may have been removed by a generated request
            still_good(daemon, str(shop))
            print(f"front grew by {(memory_of(daemon.pid) - memory) / 2**20:.0f} MiB")
            traces = daemon.log.count("Traceback")
            print(f"{traces} tracebacks in the log")
            if traces:
                print(daemon.log[daemon.log.find("Traceback") - 300 :][:3_000])
    return 0 if is_good and not traces else 1


def fill(daemon: RunningDaemon, shop: str) -> None:
    facts = [{"kind": "fact", "project": shop, "content": f"rule {n} holds", "key": f"k{n}"} for n in range(50)]
    daemon.post("/memories", {"memories": facts})
    daemon.request("PUT", "/documents/notes", {"content": "what is known"})
    daemon.post("/sessions/s1/messages", {"project": shop, "messages": [{"role": "user", "content": "use pnpm"}]})


def send_hostile(daemon: RunningDaemon, shop: str, options: argparse.Namespace) -> bool:
    tallies = [Tally() for _ in range(CLIENTS)]
    shares = [options.hostile // CLIENTS + (n < options.hostile % CLIENTS) for n in range(CLIENTS)]
    threads = [
        threading.Thread(target=send_share, args=(daemon, shop, Random(options.seed * 100 + n), share, tally))
        for n, (share, tally) in enumerate(zip(shares, tallies, strict=True))
    ]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sum((tally.statuses for tally in tallies), Counter[int]())
    failures = [failure for tally in tallies for failure in tally.failures]
    slowest = max(tally.slowest for tally in tallies)
    print(f"{statuses.total()} hostile bodies in {time.monotonic() - began:.0f} s: {dict(sorted(statuses.items()))}")
    print(f"slowest {slowest[0]:.1f} s: {slowest[1][:100]}", *failures[:20], sep="\n", flush=True)
    return not failures and slowest[0] <= options.patience and statuses.total() == options.hostile


def send_share(daemon: RunningDaemon, shop: str, random: Random, count: int, tally: Tally) -> None:
    valid = right(shop)
    routes = [key for key, operation in OPERATIONS.items() if operation.body is not None and key[1] not in SKIPPED]
    with Wire(daemon) as wire:
        for _ in range(count):
            method, path = random.choice(routes)
            body = make_body(random, valid.get((method, path)))
            address = path.replace("{id}", random.choice(("m1", "s1", "k1"))).replace("{path}", "notes")
            began = time.monotonic()
            try:
                status, answer = wire.ask(method, address, body)
            except OSError as error:
                tally.failures.append(f"{error!r}: {method} {address} {body[:500]!r}")
                wire.connection.close()
                continue
            tally.add(status, time.monotonic() - began, f"{method} {address} {body[:500]!r} {answer[:200]!r}")


def make_body(random: Random, good: Any) -> bytes:
    body = json.dumps(mutated(random, good) if good is not None and random.random() < 0.8 else value(random)).encode()
    if random.random() < 0.2:
        cut = random.randrange(len(body) + 1)
        body = body[:cut] + random.randbytes(random.randrange(1, 4)) + body[cut:]
    return body


def run_schemathesis(daemon: RunningDaemon, options: argparse.Namespace) -> bool:
    assert daemon.told is not None
    count = len(OPERATIONS) - len(SKIPPED)
    command = [
        options.schemathesis, "run", f"{daemon.told.url}/openapi.json", "--url", daemon.told.url,
        "-H", f"Authorization: Bearer {daemon.told.token}",
        "--checks", "not_a_server_error", "--phases", "fuzzing,coverage", "--continue-on-failure",
        "--max-examples", str(max(1, options.requests // count)), "--mode", "all",
        "--seed", str(options.seed), "--request-timeout", str(options.patience), "--workers", str(CLIENTS),
        "--suppress-health-check", "all", "--warnings", "off", "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    for path in SKIPPED:
        command += ["--exclude-path", path]
    with tempfile.TemporaryDirectory() as folder:  # it writes reports
        return subprocess.run(command, check=False, cwd=folder).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
