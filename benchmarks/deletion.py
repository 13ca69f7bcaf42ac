"""Benchmark of deletion: how long until 150 of 5,000 memories are gone from disk.

    python benchmarks/deletion.py --kept 5000 --deleted 150

Three clients: one request after the other, all at once, and `hunch forget` with all ids. Afterwards every file of the
home is searched for a word that only the deleted memories had.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import aiohttp
from daemon import daemon, open_session

MARK: Final = "xylophonist"
AT_ONCE: Final = 100  # memories in one request


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=int, default=5_000, help="memories that stay")
    parser.add_argument("--deleted", type=int, default=150, help="memories that are deleted by each client")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, daemon(Path(home)) as (rendezvous, _):

        async def measure() -> None:
            async with open_session(rendezvous) as client:
                await fill(client, given.kept, "sailor")
                for name in ("one after the other", "at once", "hunch forget"):
                    ids = await fill(client, given.deleted, MARK)
                    await asyncio.sleep(3.0)  # the table has them by then
                    began = time.perf_counter()
                    await delete(name, client, ids, home)
                    seconds = time.perf_counter() - began
                    print(f"{name}: {given.deleted} of {given.kept + given.deleted} in {seconds:.2f} s", flush=True)

        asyncio.run(measure())
        leftovers = [str(one) for one in Path(home).rglob("*") if one.is_file() and MARK.encode() in one.read_bytes()]
        print(f"files that still contain a deleted text: {leftovers or 'none'}")
    return 0


async def fill(client: aiohttp.ClientSession, count: int, word: str) -> list[str]:
    """Store `count` memories and return their ids."""
    ids: list[str] = []
    for start in range(0, count, AT_ONCE):
        drafts = [
            {"kind": "message", "content": f"The {word} number {number} prefers harbour {number % 97}."}
            for number in range(start, min(count, start + AT_ONCE))
        ]
        async with client.post("/memories", json={"memories": drafts}) as response:
            answer = await response.json()
            if "ids" not in answer:
                raise SystemExit(str(answer))
            ids += answer["ids"]
    return ids


async def delete(name: str, client: aiohttp.ClientSession, ids: list[str], home: str) -> None:
    if name == "hunch forget":
        command = [sys.executable, "-m", "hunchd.cli", "forget", *ids]
        await asyncio.to_thread(
            subprocess.run, command, env={**os.environ, "HUNCHD_HOME": home}, check=True, stdout=subprocess.DEVNULL
        )
    elif name == "at once":
        await asyncio.gather(*(delete_one(client, one) for one in ids))
    else:
        for one in ids:
            await delete_one(client, one)


async def delete_one(client: aiohttp.ClientSession, identifier: str) -> None:
    async with client.delete(f"/memories/{identifier}") as response:
        response.raise_for_status()


if __name__ == "__main__":
    sys.exit(main())
