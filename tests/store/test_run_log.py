"""Run log: whole lines survive crashes, erased ones are gone."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from hunchd.domain.errors import NotFound, StorageFull
from hunchd.store.files import FileOperations
from hunchd.store.run_log import Line, RunLog


def test_lines_are_read_forwards_and_backwards(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "runs")
    assert log.list_runs() == []
    log.append("r1", [{"type": "x", "n": 1}, {"type": "x", "n": 2, "text": "ü\n"}])
    log.append("r1", [{"type": "x", "n": 3}])
    log.append("r2", [{"type": "x", "n": 4}])

    assert log.list_runs() == ["r2", "r1"]
    assert [line["n"] for line in log.read_lines("r1")] == [1, 2, 3]
    assert [line["n"] for line in log.read_backwards("r1")] == [3, 2, 1]
    assert ((tmp_path / "runs").stat().st_mode & 0o777, (tmp_path / "runs" / "r1.jsonl").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )


def test_torn_line_is_skipped_and_truncated(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append("r1", [{"type": "x", "n": 1}])
    with (tmp_path / "r1.jsonl").open("ab") as file:
        file.write(b'{"type": "x", "n": 2, "te')
    assert [line["n"] for line in log.read_lines("r1")] == [1]

    log.append("r1", [{"type": "x", "n": 3}])

    assert [line["n"] for line in log.read_lines("r1")] == [1, 3]
    assert [line["n"] for line in log.read_backwards("r1")] == [3, 1]


def test_damaged_line_is_skipped(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append("r1", [{"type": "x", "n": 1}, {"type": "x", "n": 2}, {"type": "x", "n": 3}])
    content = bytearray((tmp_path / "r1.jsonl").read_bytes())
    content[len(content) // 2 - 4] = 0
    (tmp_path / "r1.jsonl").write_bytes(content)

    assert [line["n"] for line in log.read_lines("r1")] == [1, 3]
    assert [line["n"] for line in log.read_backwards("r1")] == [3, 1]


def test_changes_keep_numbers_after_damage(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    changes: list[Line] = [{"type": "change", "n": number, "edits": []} for number in range(5)]
    log.append("r1", [{"type": "x"}, *changes[:3], {"type": "x"}, *changes[3:]])
    assert [number for number, _ in log.read_changes("r1", dict)] == [0, 1, 2, 3, 4]
    assert list(log.read_changes("r1", dict, range(3, 9))) == [(3, changes[3]), (4, changes[4])]

    content = (tmp_path / "r1.jsonl").read_bytes().replace(b'"n":1', b'"n":?')
    (tmp_path / "r1.jsonl").write_bytes(content)
    assert list(log.read_changes("r1", dict, {0, 1, 3})) == [(0, changes[0]), (3, changes[3])]


def test_append_on_full_disk_raises_storage_full(tmp_path: Path) -> None:
    class Full(FileOperations):
        def write(self, descriptor: int, content: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageFull):
        RunLog(tmp_path, Full()).append("r1", [{"type": "x", "n": 1}])


def test_prune_and_rewrite_remove_lines(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    for number in range(5):
        ids = (f"m{number}", "secret")
        log.append(f"r{number}", [{"type": "change", "id": one, "edits": [{"id": one}]} for one in ids])
    log.delete_old_runs(3)
    assert log.list_runs() == ["r4", "r3", "r2"]

    assert [(run, number, line["id"]) for run, number, line in log.find_changes("m3", 9)] == [("r3", 0, "m3")]
    assert [number for _, number, _ in log.find_changes("secret", 9)] == [1, 1, 1]
    log.rewrite_lines(lambda line: None if line["id"] == "secret" else line)

    assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())
    assert [line["id"] for line in log.read_lines("r3")] == ["m3"]


def test_append_during_rewrite_is_kept(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append("r1", [{"type": "change", "id": "secret"}, {"type": "change", "id": "m1"}])
    begun, go_on = Event(), Event()

    def change(line: Line) -> Line | None:
        begun.set()
        go_on.wait(10)
        return None if line["id"] == "secret" else line

    with ThreadPoolExecutor(2) as threads:
        rewriting = threads.submit(log.rewrite_lines, change)
        assert begun.wait(10)
        adding = threads.submit(log.append, "r1", [{"type": "change", "id": "m2"}])
        go_on.set()
        rewriting.result(10)
        adding.result(10)

    assert [line["id"] for line in log.read_lines("r1")] == ["m1", "m2"]


@pytest.mark.parametrize("length", [1, 100_000, 1_000_000])
def test_last_returns_newest_whole_line(tmp_path: Path, length: int) -> None:
    log = RunLog(tmp_path)
    log.append("r1", [{"type": "x", "n": 1}, {"type": "x", "n": 2, "text": "é" * length}])
    assert log.read_last_line("r1") == {"type": "x", "n": 2, "text": "é" * length}

    with (tmp_path / "r1.jsonl").open("ab") as file:
        file.write(b'{"type": "x", "n": 3, "te')
    last = log.read_last_line("r1")
    assert last is not None
    assert last["n"] == 2

    (tmp_path / "r2.jsonl").write_bytes(b'{"type": "be')
    assert log.read_last_line("r2") is None
    with pytest.raises(NotFound):
        log.read_last_line("r3")


@pytest.mark.parametrize("name", ["nothing", "../etc/passwd", "", "r" * 100])
def test_lines_of_unknown_run_raise_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        list(RunLog(tmp_path).read_lines(name))
