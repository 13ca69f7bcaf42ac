"""Deduplication of replayed, repeated and concurrent messages."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, running_daemon

pytestmark = pytest.mark.timeout(180)

TOLD = 40
LAZY = "[signals]\nwatch_files = false\n[embedding]\nenabled = false\n[store]\ncommit_ms = {}\n"


def lines(daemon: RunningDaemon) -> list[dict[str, Any]]:
    """Return the exported memories and signals in a fixed order."""
    status, text = daemon.request("GET", "/export", timeout=90)
    assert status == 200, text
    told = [json.loads(line) for line in text.splitlines()]
    return sorted((line for line in told if line["type"] in ("memory", "signal")), key=lambda line: json.dumps(line))


def everything_told(daemon: RunningDaemon, folder: Path) -> None:
    project = str(folder)
    signals = [
        {"kind": "file_opened", "project": project, "path": f"{number}.py", "event_id": f"e{number}"}
        for number in range(TOLD)
    ]
    errors = [
        {"kind": "error", "project": project, "text": "KeyError: 'x'", "command": "pytest", "event_id": f"x{number}"}
        for number in range(3)
    ]
    daemon.post("/signals", {"signals": signals + errors})
    facts = [
        {"kind": "fact", "project": project, "ref": f"r{number}", "key": f"k{number}", "content": f"fact {number}"}
        for number in range(TOLD)
    ]
    ids = daemon.post("/memories", {"memories": facts})["ids"]
    for identifier in ids[:5]:
        assert daemon.request("PATCH", f"/memories/{identifier}", {"content": f"changed {identifier}"})[0] == 200


def test_repeated_journal_replay_is_idempotent(hunchd_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    with running_daemon(hunchd_home, settings=LAZY.format(60_000)) as daemon:  # nothing reaches the store
        daemon.add(folder)
        everything_told(daemon, folder)
        daemon.kill()
        saved = tmp_path / "journal"
        shutil.copytree(daemon.places.data / "journal", saved)
        daemon.settings = LAZY.format(20)
        kept = lines(daemon.start())
        assert Counter(line["type"] for line in kept) == {"signal": TOLD + 3, "memory": TOLD + 5 + 1}
        [error] = [line["data"] for line in kept if line["data"].get("kind") == "error" and "value" in line["data"]]
        assert error["value"] == "3"
        for _ in range(3):
            daemon.stop()
            shutil.rmtree(daemon.places.data / "journal")
            shutil.copytree(saved, daemon.places.data / "journal")
            assert lines(daemon.start()) == kept


def test_replay_keeps_last_change_despite_clock(hunchd_home: Path) -> None:
    """A corrected clock must not change the order of writes."""
    ahead = dict.fromkeys(("at", "created", "updated"), "2099-01-01T00:00:00Z")
    told = {"id": "m1", "kind": "episode", "title": "t", "content": "the first word", **ahead}
    with running_daemon(hunchd_home, settings=LAZY.format(60_000)) as daemon:  # nothing reaches the store
        assert daemon.post("/import", {"type": "memory", "version": 1, "data": told})["memories"] == 1
        assert daemon.request("PATCH", "/memories/m1", {"content": "the last word"})[0] == 200
        daemon.kill()
        daemon.start()
        assert daemon.get("/memories/m1")["content"] == "the last word"
        assert [one["snippet"] for one in daemon.post("/search", {"query": "word"})["results"]] == ["the last word"]
        assert daemon.request("DELETE", "/memories/m1")[0] in (200, 204)
        daemon.kill()
        daemon.start()
        assert daemon.request("GET", "/memories/m1")[0] == 404


def test_repeated_spool_messages_are_deduplicated(hunchd_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    with running_daemon(hunchd_home, settings=LAZY.format(20)) as daemon:
        daemon.add(folder)
        spool = daemon.places.spool

        def write(number: int) -> None:
            letter = {"kind": "file_opened", "project": str(folder), "path": f"{number}.py"}
            draft = spool / "tmp" / f"letter{number}"
            draft.write_text(json.dumps(letter))
            draft.chmod(0o600)
            draft.rename(spool / "new" / draft.name)

        for turn in range(3):
            if turn == 2:
                daemon.kill()
            for number in range(TOLD):
                write(number)
            if turn == 2:
                daemon.start()
            daemon.wait_until(lambda: not list((spool / "new").iterdir()), within=30, what="empty the letterbox")
            assert len([line for line in lines(daemon) if line["type"] == "signal"]) == TOLD


def test_concurrent_duplicate_event_is_stored_once(hunchd_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    with running_daemon(hunchd_home, settings=LAZY.format(20)) as daemon:
        daemon.add(folder)
        error = {"kind": "error", "project": str(folder), "text": "KeyError: 'x'", "event_id": "the-same"}

        def tell(_: int) -> int:
            return daemon.request("POST", "/signals", {"signals": [error, error]})[0]

        for _ in range(2):
            with ThreadPoolExecutor(10) as clients:
                assert set(clients.map(tell, range(30))) == {202}
            daemon.kill()
            daemon.start()
        kept = lines(daemon)
        assert Counter(line["type"] for line in kept) == {"signal": 1, "memory": 1}
        [value] = [line["data"]["value"] for line in kept if line["type"] == "memory"]
        assert value == "1"


def test_concurrent_posts_with_same_ref_deduplicate(hunchd_home: Path) -> None:
    with running_daemon(hunchd_home, settings=LAZY.format(20)) as daemon:

        def post(number: int) -> str:
            ref = f"r{number % 20}"
            [identifier] = daemon.post("/memories", {"kind": "fact", "ref": ref, "content": f"{ref} says the same"})[
                "ids"
            ]
            return str(identifier)

        with ThreadPoolExecutor(20) as clients:
            ids = set(clients.map(post, range(60)))
        assert len(ids) == 20
        kept = [line["data"] for line in lines(daemon)]
        assert sorted(memory["id"] for memory in kept) == sorted(ids)
        assert {memory["ref"] for memory in kept} == {f"r{number}" for number in range(20)}
