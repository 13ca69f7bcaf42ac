"""Spool: reading, acknowledging, invalid messages and file safety."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from hunchd.domain.errors import ConfigError
from hunchd.signals.spool import MAX_SET_ASIDE, SpoolWatcher, create_spool_folders, open_spool
from hunchd.signals.watcher_thread import WatcherThread


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    directory = tmp_path / "spool"
    create_spool_folders(directory)
    return directory


def put(spool: Path, name: str, content: bytes | dict[str, object]) -> Path:
    place = spool / "new" / name
    place.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    place.chmod(0o600)
    return place


def test_shell_hook_messages_are_read(spool: Path) -> None:
    script = """
        umask 077
        printf '{"kind":"commit","sha":"1"}\n' >"$1/tmp/$$" && mv "$1/tmp/$$" "$1/new/$$.json"
        printf '{"kind":"commit","sha":"%s"}\n' 2 >>"$1/lines"
        printf '{"kind":"commit","sha":"%s"}\n' 3 >>"$1/lines"
    """
    subprocess.run(["sh", "-c", script, "sh", str(spool)], check=True)
    letters = open_spool(spool)

    assert sorted(entry.raw["sha"] for entry in letters if entry.raw) == ["1", "2", "3"]
    letters.acknowledge()
    assert list(open_spool(spool)) == []
    assert letters.set_aside_count == 0


def test_message_with_raw_tab_is_parsed(spool: Path) -> None:
    put(spool, "a.json", b'{"kind":"commit","project":"/a\tb"}')

    assert [entry.raw for entry in open_spool(spool)] == [{"kind": "commit", "project": "/a\tb"}]


def test_drain_repeats_messages_until_acknowledged(spool: Path) -> None:
    put(spool, "a.json", {"kind": "commit"})
    (spool / "lines").write_text('{"n":1}\n{"n":2}\n')
    (spool / "lines").chmod(0o600)

    first = list(open_spool(spool))
    again = list(open_spool(spool))

    assert len(first) == 3
    assert first == again
    assert len({entry.name for entry in first}) == 3


def test_lines_appended_during_drain_are_kept(spool: Path) -> None:
    (spool / "lines").write_text('{"n":1}\n')
    (spool / "lines").chmod(0o600)
    writer = (spool / "lines").open("a")
    letters = open_spool(spool)
    seen = list(letters)

    writer.write('{"n":2}\n')
    writer.close()
    letters.acknowledge()
    after = list(open_spool(spool))

    assert [entry.raw for entry in seen] == [{"n": 1}]
    assert [entry.raw for entry in after] == [{"n": 1}, {"n": 2}]
    assert after[0].name == seen[0].name, "the repeated one is recognised by its name"


def test_incomplete_line_is_awaited_then_rejected(spool: Path) -> None:
    place = put(spool, "lines.1", b'{"n":1}\n{"n":')
    assert list(open_spool(spool)) == []
    os.utime(place, (time.time() - 60, time.time() - 60))

    letters = open_spool(spool)
    assert [entry.raw for entry in letters] == [{"n": 1}, None]
    assert letters.set_aside_count == 1


def test_messages_are_read_oldest_first(spool: Path) -> None:
    for age, name in ((10, "z"), (30, "a"), (20, "m")):
        place = put(spool, name, {"name": name})
        os.utime(place, (time.time() - age, time.time() - age))

    assert [entry.raw for entry in open_spool(spool)] == [{"name": "a"}, {"name": "m"}, {"name": "z"}]


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"[1]", b'"text"', b"\xff\xfe", b'{"a":NaN}', b"[" * 30_000, b'{"a":"' + b"x" * 70_000 + b'"}'],
)
def test_invalid_messages_are_set_aside(spool: Path, content: bytes) -> None:
    put(spool, "bad", content)
    put(spool, "good", {"n": 1})
    letters = open_spool(spool)

    entries = list(letters)

    assert {entry.name: bool(entry.error) for entry in entries} == {"bad": True, "good": False}
    assert letters.set_aside_count == 1
    assert (spool / "aside" / "bad").exists()
    letters.acknowledge()
    assert list((spool / "new").iterdir()) == []


def test_oversized_line_is_set_aside(spool: Path) -> None:
    (spool / "lines").write_text('{"n":1}\n{"n":"' + "x" * 5_000 + '"}\n{"n":3}\n')
    (spool / "lines").chmod(0o600)
    letters = open_spool(spool)

    assert [entry.raw for entry in letters] == [{"n": 1}, None, {"n": 3}]
    assert letters.set_aside_count == 1


def test_unsafe_files_are_not_read(spool: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"kind":"private"}')
    (spool / "new" / "link").symlink_to(secret)
    os.mkfifo(spool / "new" / "pipe")
    (spool / "new" / "folder").mkdir()
    put(spool, "open", {"n": 1}).chmod(0o622)
    expected = {"link", "pipe", "folder", "open"}
    if os.getuid() == 0:
        os.chown(put(spool, "foreign", {"n": 2}), 12345, 12345)
        expected.add("foreign")
    letters = open_spool(spool)

    entries = list(letters)

    assert {entry.name for entry in entries if entry.error} == expected
    assert all(entry.raw is None for entry in entries)
    assert letters.set_aside_count == len(expected)
    assert list((spool / "new").iterdir()) == []
    assert secret.exists()


def test_set_aside_messages_are_limited(spool: Path) -> None:
    for number in range(MAX_SET_ASIDE + 30):
        put(spool, f"bad{number}", b"nonsense")
    letters = open_spool(spool)
    list(letters)
    letters.acknowledge()

    assert len(list((spool / "aside").iterdir())) == MAX_SET_ASIDE


def test_spool_folders_are_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        create_spool_folders(tmp_path / "spool")
    finally:
        os.umask(old)
    for folder in ("", "tmp", "new", "aside"):
        assert stat.S_IMODE((tmp_path / "spool" / folder).stat().st_mode) == 0o700


def test_symlinked_spool_raises_config_error(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "spool").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConfigError, match="link"):
        create_spool_folders(tmp_path / "spool")


def test_new_message_triggers_callback(spool: Path, thread: WatcherThread) -> None:
    news = threading.Semaphore(0)
    watcher = SpoolWatcher(spool, news.release, thread=thread)
    watcher.start()
    assert news.acquire(timeout=5), "what was there before is read at the start"

    put(spool, "a.json", {"n": 1})
    assert news.acquire(timeout=5)
    with (spool / "lines").open("a") as lines:
        lines.write('{"n":2}\n')
    assert news.acquire(timeout=5)

    watcher.stop()


def test_remaining_messages_trigger_callback_again(
    spool: Path, thread: WatcherThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunchd.signals.spool.RECHECK_DELAY", 0.05)
    monkeypatch.setattr("hunchd.signals.spool.MAX_FILES", 10)
    for number in range(25):
        put(spool, f"{number}.json", {"n": number})
    found: list[object] = []
    quiet = threading.Event()

    def news() -> None:
        letters = open_spool(spool)
        found.extend(entry.raw for entry in letters)
        letters.acknowledge()
        if not any((spool / "new").iterdir()):
            quiet.set()

    watcher = SpoolWatcher(spool, news, thread=thread)
    watcher.start()
    assert quiet.wait(5)
    watcher.stop()

    assert len(found) == 25
