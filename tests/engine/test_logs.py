"""Log files that the settings name: what is written from now on is read, once, wherever the file goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.engine.logs import MOST_ERRORS, Logs

ERROR = "2026-11-22 10:00:01 ERROR shop: order {} lost\n"


async def _nobody(_: object) -> None:
    """Nobody is told: the tests look by themselves."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    file = tmp_path / "logs" / "shop.log"
    file.write_text(ERROR.format("before"))
    return file


def write(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def logs(root: Path, *patterns: str) -> Logs:
    return Logs(patterns or ("logs/*.log",), lambda: [root], _nobody)


def test_an_error_is_told_once_and_what_was_there_before_is_not(log: Path, tmp_path: Path) -> None:
    watched = logs(tmp_path)
    assert watched.look() == []
    write(log, ERROR.format(1) + "2026-11-22 10:00:02 INFO fine\n2026-11-22 10:00:03 ERR")
    [told] = watched.look()
    assert told == {"kind": "error", "project": str(tmp_path), "text": "ERROR: shop: order 1 lost", "source": "log"}
    write(log, "OR shop: no disk\n")
    assert watched.look() == []  # it may go on
    assert [one["text"] for one in watched.look()] == ["ERROR: shop: no disk"]
    assert watched.look() == []


def test_a_log_that_is_rotated_or_new_is_read_from_its_beginning(log: Path, tmp_path: Path) -> None:
    watched = logs(tmp_path)
    watched.look()
    log.rename(log.with_suffix(".old"))
    log.write_text(ERROR.format(2) + "x\n")
    (tmp_path / "logs" / "web.log").write_text(ERROR.format(3) + "x\n")
    assert [one["text"] for one in watched.look()] == ["ERROR: shop: order 2 lost", "ERROR: shop: order 3 lost"]
    log.write_text(ERROR.format(4)[:40] + "\n")
    assert watched.look() == []
    assert len(watched.look()) == 1


def test_a_storm_is_told_by_its_end(log: Path, tmp_path: Path) -> None:
    watched = logs(tmp_path, str(log))
    watched.look()
    write(log, "".join(ERROR.format(number) for number in range(100)) + "x\n")
    told = watched.look()
    assert len(told) == MOST_ERRORS
    assert told[-1]["text"] == "ERROR: shop: order 99 lost"


def test_what_is_no_file_of_the_project_is_left_alone(tmp_path: Path, log: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.log"
    outside.write_text("")
    watched = logs(tmp_path, str(outside), "logs", "missing/*.log")
    watched.look()
    outside.write_text(ERROR.format(1) + "x\n")
    assert watched.look() == []


def test_the_logs_of_a_project_in_a_folder_with_an_odd_name_are_found(tmp_path: Path) -> None:
    root = tmp_path / "[draft] shop*"
    root.mkdir()
    log = root / "app.log"
    log.touch()
    watched = logs(root, "*.log", "~nobody-is-called-so/*.log")
    watched.look()
    write(log, ERROR.format(1) + "x\n")
    assert [one["text"] for one in watched.look()] == ["ERROR: shop: order 1 lost"]
