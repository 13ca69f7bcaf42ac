"""SIGKILL at any moment: acknowledged records exist once, under their sequence number."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import hunchd
from hunchd.store.journal.journal import Journal
from tests.faults.appender import LIMITS
from tests.faults.records import records

ROOT = Path(__file__).parents[2]
SOURCE = Path(hunchd.__file__).parents[1]


@dataclass
class Seen:
    """Acknowledgements that the appenders printed before they were killed."""

    acknowledged: dict[int, int] = field(default_factory=dict)
    settled: int = 0

    def take(self, output: str) -> None:
        for line in output.splitlines(keepends=True):
            match line.split() if line.endswith("\n") else []:
                case ["ack", number, sequence]:
                    assert self.acknowledged.get(int(number), int(sequence)) == int(sequence)
                    self.acknowledged[int(number)] = int(sequence)
                case ["settling", sequence]:
                    self.settled = max(self.settled, int(sequence))


def run_and_kill(folder: Path, first: int, after: float) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.faults.appender", str(folder), str(first), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True) as child:
        assert child.stdout is not None
        begun = child.stdout.readline()
        killer = threading.Timer(after, child.kill)
        killer.start()
        output = begun + child.stdout.read()
        killer.join()
    assert child.returncode == -9
    return output


async def rounds(folder: Path, number: int, seed: int) -> Seen:
    chance, seen = random.Random(seed), Seen()
    for turn in range(number):
        seen.take(run_and_kill(folder, 1_000_000 * turn, chance.uniform(0, 0.25)))
        async with Journal.open(folder, limits=LIMITS) as journal:
            replayed = list(journal.iterate_records())
            found = {record.data["number"]: sequence for sequence, record in replayed}
            assert len(found) == len(replayed)
            due = {n: s for n, s in seen.acknowledged.items() if s > seen.settled and n % 50 != 7}
            assert due.items() <= found.items()
            kept = [number for number in seen.acknowledged if number % 50 != 7][-1_000:]
            assert await journal.append(records(kept)) == [seen.acknowledged[number] for number in kept]
            assert journal.damage_count == 0
    sequences = list(seen.acknowledged.values())
    assert len(set(sequences)) == len(sequences)
    return seen


async def test_three_kills_lose_no_record(tmp_path: Path) -> None:
    seen = await rounds(tmp_path / "journal", 3, seed=1)
    assert len(seen.acknowledged) > 10


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_many_kills_lose_no_record(tmp_path: Path) -> None:
    number = int(os.environ.get("HUNCHD_KILLS", "20"))
    seen = await rounds(tmp_path / "journal", number, seed=number)
    assert len(seen.acknowledged) > 20 * number
