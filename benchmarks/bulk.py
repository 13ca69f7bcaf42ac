"""How long a daemon takes to settle many memories: accepted, stored, searchable by words, embedded.

    python benchmarks/bulk.py --memories 10000 --words 20

The texts are pieces of this repository's documentation, unlike each other, from a seed. Every second a search is asked,
to see what others notice. Processor seconds are those of all processes of the daemon.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
from load import wait_for_rendezvous

from hunchd.protocol.rendezvous import Rendezvous

BATCH = 500  # memories a request
DOCUMENTATION = Path(__file__).parents[1] / "docs"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=1_000, help="how many (1000)")
    parser.add_argument("--words", type=int, default=20, help="words of each text (20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which it is given up (600)")
    parser.add_argument("--import", dest="imported", action="store_true", help="by POST /import instead of /memories")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        home = Path(folder) / "home"
        environment = os.environ | {"HUNCHD_HOME": str(home)}
        daemon = subprocess.Popen([sys.executable, "-m", "hunchd.daemon.main"], env=environment)
        try:
            measure(options, wait_for_rendezvous(home), psutil.Process(daemon.pid))
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)
    return 0


def measure(options: argparse.Namespace, rendezvous: Rendezvous, daemon: psutil.Process) -> None:
    texts = list(make_texts(options.memories, options.words, options.seed))
    began = time.monotonic()
    send(rendezvous, texts, imported=options.imported)
    print(f"accepted: {time.monotonic() - began:.1f} s", flush=True)
    slowest, is_stored, is_embedded, said = 0.0, False, False, began
    while True:
        asked = time.monotonic()
        request(rendezvous, "POST", "/search", {"query": " ".join(texts[0].split()[:3]), "k": 5})
        slowest = max(slowest, time.monotonic() - asked)
        status = request(rendezvous, "GET", "/status")
        queues, store = status["queues"], status["store"]
        waiting = status.get("contradictions", {}).get("waiting", 0)
        elapsed = time.monotonic() - began
        if not is_stored and not queues["journal"] and not queues["writer"]:
            is_stored = True
            print(f"searchable by words in the store: {elapsed:.1f} s", flush=True)
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(
                f"  {elapsed:.0f} s: {queues}, {store.get('embedded')} of {store.get('rows')}, {waiting} to compare",
                flush=True,
            )
        if is_stored and not is_embedded and store.get("embedded", 0) >= store.get("rows", 1):
            is_embedded = True
            print(f"embedded: {elapsed:.1f} s, {options.memories / elapsed:.0f} a second", flush=True)
        if is_embedded and not waiting and not any(queues.values()):
            break
        if elapsed > options.limit:
            print(f"given up after {elapsed:.0f} s: {queues}, {store}")
            break
        time.sleep(1.0)
    cpu = sum(sum(one.cpu_times()[:2]) for one in (daemon, *daemon.children(recursive=True)))
    memory = sum(one.memory_info().rss for one in (daemon, *daemon.children(recursive=True)))
    rate = store.get("embedded", 0) / elapsed
    print(f"settled: {elapsed:.1f} s, {rate:.0f} a second, slowest search {slowest * 1_000:.0f} ms")
    print(f"processor {cpu:.1f} s, resident {memory / 2**20:.0f} MiB", flush=True)


def make_texts(count: int, length: int, seed: int) -> Iterator[str]:
    chosen = random.Random(seed)
    words = [word for page in sorted(DOCUMENTATION.glob("*.md")) for word in page.read_text().split() if word.isalpha()]
    for _ in range(count):
        begins = [chosen.randrange(len(words) - length) for _ in range(length // 5 + 1)]
        yield " ".join(word for begin in begins for word in words[begin : begin + 5])


def send(rendezvous: Rendezvous, texts: Sequence[str], *, imported: bool) -> None:
    if imported:
        lines = [json.dumps(build_line(number, text)) for number, text in enumerate(texts)]
        request(rendezvous, "POST", "/import", "\n".join(lines).encode(), type_="application/x-ndjson")
        return
    for begin in range(0, len(texts), BATCH):
        drafts = [{"kind": "episode", "content": text} for text in texts[begin : begin + BATCH]]
        request(rendezvous, "POST", "/memories", {"memories": drafts})


def build_line(number: int, text: str) -> Mapping[str, Any]:
    memory = {
        "id": f"bulk{number}",
        "kind": "episode",
        "title": text[:60],
        "content": text,
        "at": "2026-01-01T00:00:00Z",
    }
    return {"type": "memory", "version": 1, "data": memory}


def request(
    rendezvous: Rendezvous, method: str, path: str, body: object = None, *, type_: str = "application/json"
) -> Any:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {rendezvous.token}", "Content-Type": type_}
    message = urllib.request.Request(rendezvous.url + path, data=data, method=method, headers=headers)
    while True:
        try:
            with urllib.request.urlopen(message, timeout=120) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise SystemExit(f"{method} {path}: {error.code} {error.read()[:500]!r}") from error
            time.sleep(float(error.headers.get("Retry-After", "1")))


if __name__ == "__main__":
    sys.exit(main())
