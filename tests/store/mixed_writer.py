"""Program that writes, overwrites, deletes, optimises and purges until it is killed: FOLDER SEED.

It prints each operation before and after it. An operation that was reported as done must survive any kill.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path

from hunchd.store.database.collection import Collection
from hunchd.store.database.lance import create_session
from tests.store.examples import embedded, memory


async def write_for_ever(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    collection = await Collection.open(folder, create_session())
    say("ready")
    for step in range(10**9):
        what = chance.choices(["put", "put many", "delete", "optimise", "purge"], [8, 4, 3, 2, 1])[0]
        numbers = [chance.randrange(300) for _ in range(40 if what == "put many" else 1)]
        text = f"{seed}-{step}"
        say("begin", what, [f"m{number}" for number in numbers], text)
        if what in ("put", "put many"):
            await collection.put([embedded(memory(number, text)) for number in numbers])
        elif what == "delete":
            await collection.delete([f"m{number}" for number in numbers])
        elif what == "optimise":
            await collection.optimise(force=True)
        else:
            await collection.purge()
        say("done", what, [f"m{number}" for number in numbers], text)


def say(*words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write_for_ever(Path(sys.argv[1]), int(sys.argv[2])))
