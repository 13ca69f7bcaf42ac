"""Profile, pages and sessions of the user on the real daemon: where they are shown, and where not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import make_shop


@pytest.fixture(scope="module")
def daemon(homes: Path) -> Iterator[RunningDaemon]:
    """Daemon for all tests here, each with its own words."""
    home = Path(tempfile.mkdtemp(dir=homes, prefix="s"))
    surroundings = {"HOME": str(home / "user"), "GIT_CONFIG_GLOBAL": os.devnull, "HF_HUB_OFFLINE": "1"}
    with running_daemon(home / "h", environment=surroundings) as started:
        yield started


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return str(make_shop(tmp_path / "shop"))


def put_document(daemon: RunningDaemon, path: str, content: str) -> None:
    status, answer = daemon.request("PUT", f"/documents{path}", {"content": content})
    assert status in (200, 201), answer


def prompt(daemon: RunningDaemon, message: str, session: str, **given: Any) -> str:
    return str(daemon.post("/context/compile", {"session": session, "message": message, **given})["messages"])


def test_prompt_after_restart_has_profile(daemon: RunningDaemon) -> None:
    put_document(daemon, "/profile/identity", "Works as a glaciologist.")

    daemon.restart()

    assert "glaciologist" in prompt(daemon, "go on", "first-after-start")


def test_long_page_is_shown_once(daemon: RunningDaemon) -> None:
    parts = "\n\n".join(f"## Topic {number}\n\n{'plain words ' * 60}marker{number}x" for number in range(12))
    put_document(daemon, "/profile/habits", parts)

    shown = prompt(daemon, "go on", "whole-page")

    assert [shown.count(f"marker{number}x") for number in range(12)] == [1] * 12
    daemon.request("DELETE", "/documents/profile/habits")


def test_session_without_project_stays_out_of_projects(daemon: RunningDaemon, shop: str) -> None:
    daemon.add(Path(shop))
    talk = [{"role": "user", "content": "We decided on a marzipan cake instead of a nougat cake for the party."}]
    daemon.post("/sessions/party/messages", {"messages": talk})
    daemon.post("/sessions/party/end", {})

    asked = "Which cake did we decide on, marzipan or nougat?"
    shown = prompt(daemon, asked, "in-the-shop", project=shop)
    bundle = str(daemon.get("/context", project=shop, query=asked)["items"])

    assert "marzipan cake" not in shown.replace(asked, "") + bundle
    assert "marzipan cake" in prompt(daemon, asked, "at-home").replace(asked, "")


def test_project_search_finds_reference_pages(daemon: RunningDaemon, shop: str) -> None:
    daemon.add(Path(shop))
    put_document(daemon, "/reference/tides", "The spring tide comes two days after the new moon.")
    put_document(daemon, "/conversations/tides", "Somebody talked about the spring tide and the new moon.")

    found = daemon.post("/search", {"query": "spring tide new moon", "project": shop})["results"]
    below = daemon.post("/search", {"query": "spring tide", "project": shop, "path_prefix": "/reference"})["results"]

    assert [one["source"].get("path") for one in found if one["kind"] == "document"] == ["/reference/tides"]
    assert [one["source"].get("path") for one in below] == ["/reference/tides"]


def test_profile_outlasts_5000_memories(daemon: RunningDaemon, shop: str) -> None:
    """Profile and facts are in every prompt: among many memories, after a start, without a store process."""
    daemon.add(Path(shop))
    put_document(daemon, "/profile/identity", "Works as a speleologist.")
    daemon.post("/memories", {"kind": "preference", "content": "I prefer carbide lamps.", "importance": 0.8})
    daemon.post("/memories", {"kind": "constraint", "content": "Never use dynamite.", "project": shop})
    for start in range(0, 5_000, 500):
        lines = [{"kind": "message", "content": f"remark {number}"} for number in range(start, start + 500)]
        daemon.post("/memories", {"memories": lines})

    def shows_all(session: str) -> bool:
        shown = prompt(daemon, "go on", session, project=shop)
        return all(word in shown for word in ("speleologist", "carbide lamps", "dynamite"))

    assert shows_all("crowded")
    daemon.restart()
    assert shows_all("crowded-after-start")
    for child in psutil.Process(daemon.pid).children(recursive=True):  # as after an idle minute
        child.terminate()
        child.wait(10)
    assert shows_all("crowded-after-idle")


def test_forget_many_erases_all_and_reports_them(daemon: RunningDaemon) -> None:
    lines = [{"kind": "message", "content": f"zeppelin number {number}"} for number in range(20)]
    ids = daemon.post("/memories", {"memories": lines})["ids"]

    answer = daemon.post("/memories/forget", {"ids": [*ids, "missing"]})

    assert [one["forgotten"] for one in answer["items"]] == ids
    assert daemon.post("/search", {"query": "zeppelin number"})["results"] == []
    files = [one for one in daemon.home.rglob("*") if one.is_file()]
    assert [one for one in files if b"zeppelin" in one.read_bytes()] == []


def test_complaint_moves_ranking_and_shows_in_why(daemon: RunningDaemon) -> None:
    notes = ("The regatta timer is written in Rust.", "The regatta scoreboard is written in Elm.")
    lines = [{"kind": "message", "content": text} for text in notes]
    ids = daemon.post("/memories", {"memories": lines})["ids"]
    asked = "In which language is the regatta program written?"

    daemon.post("/context/compile", {"session": "regatta", "message": asked})
    said = [{"role": "user", "content": asked}, {"role": "assistant", "content": "In Rust."}]
    daemon.post("/sessions/regatta/messages", {"messages": said})
    daemon.post("/context/compile", {"session": "regatta", "message": "That's not what I meant."})

    after = {one["id"]: one for one in daemon.post("/search", {"query": asked})["results"]}
    assert all("did not help with such a question" in after[one]["reasons"] for one in ids)
    events = [one["what"] for one in daemon.get(f"/memories/{ids[0]}/usage")["events"]]
    assert any(one.startswith("was not what was meant by: “In which language") for one in events)


def test_compaction_by_hand_stores_episodes(daemon: RunningDaemon) -> None:
    turns = [
        {"role": role, "content": f"{words} {number}"}
        for number in range(9)
        for role, words in (("user", "Please trim sail number"), ("assistant", "Trimmed sail number"))
    ]
    daemon.post("/sessions/sails/messages", {"messages": turns})
    daemon.post("/sessions/sails/compact", {})

    def has_episode() -> bool:
        return daemon.get("/memories", kind="episode", tag="session:sails")["total"] > 0

    daemon.wait_until(has_episode, within=30, what="store an episode")
