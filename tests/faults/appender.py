"""Program that appends to a journal and prints acknowledgements, to be killed or refused by its disk.

usage: appender FOLDER FIRST COUNT (0: for ever) [FILE_SIZE_LIMIT]
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
from itertools import count
from pathlib import Path

from hunchd.domain.errors import StorageFull
from hunchd.store.journal.journal import Journal, JournalLimits
from tests.faults.records import record

LIMITS = JournalLimits(segment_bytes=8_000, reserve_bytes=256 * 1024, remembered_ids=100_000)
# Settled so far behind that the test can tell what must still be replayed.
LAG = 200


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


async def append_for_ever(journal: Journal, first: int, number: int) -> None:
    """Append from three clients with occasional checkpoints and erasures."""
    choice = random.Random(first)
    numbers = iter(range(first, first + number) if number else count(first))

    async def client() -> None:
        for one in numbers:
            try:
                [sequence] = await journal.append([record(one, project="gone" if one % 50 == 7 else "p1")])
            except StorageFull:
                say("full", one)
                continue
            say("ack", one, sequence)
            if choice.random() < 0.01 and sequence > LAG:
                say("settling", sequence - LAG)
                await journal.write_checkpoint(sequence - LAG)
            if choice.random() < 0.005:
                await journal.erase_project("gone")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(client())


async def main() -> None:
    folder, first, number, *limit = sys.argv[1:]
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), int(limit[0])))
    async with Journal.open(Path(folder), limits=LIMITS) as journal:
        await append_for_ever(journal, int(first), int(number))
        say("set aside", journal.damage_count)


if __name__ == "__main__":
    asyncio.run(main())
