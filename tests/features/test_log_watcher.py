"""Tests of the log watcher: new errors once, also after rotation."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.features.observation.log_watcher import MAX_ERRORS, LogWatcher

ERROR = "2026-11-22 10:00:01 ERROR shop: order {} lost\n"


async def _discard(_: object) -> None:
    """Discard reports: the tests poll themselves."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    file = tmp_path / "logs" / "shop.log"
    file.write_text(ERROR.format("before"))
    return file


def write(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def logs(root: Path, *patterns: str) -> LogWatcher:
    return LogWatcher(patterns or ("logs/*.log",), lambda: [root], _discard)


def test_new_error_is_reported_once(log: Path, tmp_path: Path) -> None:
    watched = logs(tmp_path)
    assert watched.poll() == []
    write(log, ERROR.format(1) + "2026-11-22 10:00:02 INFO fine\n2026-11-22 10:00:03 ERR")
    [told] = watched.poll()
    assert told == {"kind": "error", "project": str(tmp_path), "text": "ERROR: shop: order 1 lost", "source": "log"}
    write(log, "OR shop: no disk\n")
    assert watched.poll() == []  # it may go on
    assert [one["text"] for one in watched.poll()] == ["ERROR: shop: no disk"]
    assert watched.poll() == []


def test_rotated_log_is_read_from_start(log: Path, tmp_path: Path) -> None:
    watched = logs(tmp_path)
    watched.poll()
    log.rename(log.with_suffix(".old"))
    log.write_text(ERROR.format(2) + "x\n")
    (tmp_path / "logs" / "web.log").write_text(ERROR.format(3) + "x\n")
    assert [one["text"] for one in watched.poll()] == ["ERROR: shop: order 2 lost", "ERROR: shop: order 3 lost"]
    log.write_text(ERROR.format(4)[:40] + "\n")
    assert watched.poll() == []
    assert len(watched.poll()) == 1


def test_error_burst_reports_newest(log: Path, tmp_path: Path) -> None:
    watched = logs(tmp_path, str(log))
    watched.poll()
    write(log, "".join(ERROR.format(number) for number in range(100)) + "x\n")
    told = watched.poll()
    assert len(told) == MAX_ERRORS
    assert told[-1]["text"] == "ERROR: shop: order 99 lost"


def test_files_outside_project_are_ignored(tmp_path: Path, log: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.log"
    outside.write_text("")
    watched = logs(tmp_path, str(outside), "logs", "missing/*.log")
    watched.poll()
    outside.write_text(ERROR.format(1) + "x\n")
    assert watched.poll() == []


def test_folder_with_glob_characters_is_matched(tmp_path: Path) -> None:
    root = tmp_path / "[draft] shop*"
    root.mkdir()
    log = root / "app.log"
    log.touch()
    watched = logs(root, "*.log", "~nobody-is-called-so/*.log")
    watched.poll()
    write(log, ERROR.format(1) + "x\n")
    assert [one["text"] for one in watched.poll()] == ["ERROR: shop: order 1 lost"]
