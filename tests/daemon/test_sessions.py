"""Sessions on the real daemon: durable through a kill, listed, compiled, ended, erased without a trace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import make_shop

CANARY = "zanzibarquokka"


@pytest.fixture(scope="module")
def daemon(homes: Path) -> Iterator[RunningDaemon]:
    """Daemon for all tests here, each with its own sessions: a start takes longer than the tests."""
    home = Path(tempfile.mkdtemp(dir=homes, prefix="s"))
    surroundings = {"HOME": str(home / "user"), "GIT_CONFIG_GLOBAL": os.devnull, "HF_HUB_OFFLINE": "1"}
    with running_daemon(home / "h", environment=surroundings) as started:
        yield started


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return str(make_shop(tmp_path / "shop"))


def said(number: int, text: str, role: str = "user") -> dict[str, Any]:
    return {"ref": f"m{number}", "role": role, "content": text}


def test_accepted_messages_survive_kill_and_resend(daemon: RunningDaemon) -> None:
    sent = [said(n, f"message number {n} about lighthouses", "user" if n % 2 else "assistant") for n in range(1, 31)]
    first = daemon.post("/sessions/s1/messages", {"messages": sent})
    daemon.kill()
    daemon.start()

    again = daemon.post("/sessions/s1/messages", {"messages": [*sent, said(31, "one more")]})
    page = daemon.get("/sessions/s1/messages", limit=20)
    rest = daemon.get("/sessions/s1/messages", limit=20, cursor=page["next"])

    assert (first["accepted"], again["accepted"]) == (30, 1)
    assert again["ids"][:30] == first["ids"]
    assert [one["content"] for one in page["items"] + rest["items"]] == [one["content"] for one in sent] + ["one more"]
    assert (page["total"], rest["next"]) == (31, None)
    assert [one["number"] for one in page["items"]] == list(range(1, 21))


def test_imported_session_last_is_time_said(daemon: RunningDaemon) -> None:
    old = {"ref": "1", "role": "user", "content": "an old word", "at": "2025-03-09T10:00:00Z"}
    daemon.post("/sessions/imported/messages", {"messages": [old]})
    [listed] = [one for one in daemon.get("/sessions")["items"] if one["id"] == "imported"]
    assert listed["last"] == "2025-03-09T10:00:00Z"


def test_search_within_session(daemon: RunningDaemon) -> None:
    for session in ("a", "b"):
        daemon.post(f"/sessions/{session}/messages", {"messages": [said(1, f"the pelican cache lives in {session}")]})

    found = daemon.post("/search", {"query": "pelican cache", "session": "a", "kinds": ["message"]})["results"]

    assert [(one["source"]["session"], one["ref"]) for one in found] == [("a", "m1")]
    daemon.restart()
    question = {"query": "pelican cache", "session": "b", "kinds": ["message"]}

    def refs() -> list[str]:
        return [one["ref"] for one in daemon.post("/search", question)["results"]]

    daemon.wait_until(lambda: refs() == ["m1"], within=20.0, what="find the message in the store")


def test_ended_session_yields_episodes_and_facts(daemon: RunningDaemon, shop: str) -> None:
    project = daemon.add(Path(shop))["id"]
    talk = [
        said(1, "We use PostgreSQL instead of MySQL for the ledger, because we need JSON columns."),
        said(2, "Understood. I will change the driver.", "assistant"),
        said(3, "I prefer small commits."),
        said(4, "Done, all tests pass.", "assistant"),
    ]
    daemon.post("/sessions/ending/messages", {"messages": talk, "project": shop})

    ended = daemon.post("/sessions/ending/end", {})
    episode = daemon.get(f"/memories/{ended['episodes'][0]}")
    facts = [daemon.get(f"/memories/{one}") for one in ended["facts"]]

    assert (ended["state"], ended["outcome"]) == ("ended", "success")
    assert len(ended["episodes"]) == 1
    assert episode["source"]["turns"] == [1, 4]
    assert {(fact["category"], fact.get("project")) for fact in facts} == {("decision", project), ("preference", None)}
    assert any("PostgreSQL" in fact["content"] for fact in facts)


def test_compiled_prompt_contains_history_and_decisions(daemon: RunningDaemon, shop: str) -> None:
    daemon.add(Path(shop))
    talk = [said(1, "Let's go with zstandard for the archive format.")]
    talk += [said(n, f"step {n}: look at module_{n}", "assistant" if n % 2 else "user") for n in range(2, 60)]
    daemon.post("/sessions/long/messages", {"messages": talk, "project": shop})

    prompt = daemon.post("/context/compile", {"session": "long", "message": "Which archive format did we decide on?"})
    later = daemon.post("/context/compile", {"session": "long", "message": "And now something else"})

    assert prompt["token_count"] <= 32_000
    assert "zstandard" in str(prompt["messages"])
    assert prompt["prefix_digest"] == later["prefix_digest"]
    assert prompt["history"]["compactions"] > 0
    assert prompt["messages"][-1]["content"][-1]["text"] == "Which archive format did we decide on?"


def test_erased_session_leaves_no_bytes(daemon: RunningDaemon) -> None:
    talk = [said(n, f"I prefer the {CANARY} number {n}") for n in range(1, 25)]
    daemon.post("/sessions/gone/messages", {"messages": talk})
    daemon.post("/sessions/stays/messages", {"messages": [said(1, "something else entirely")]})
    daemon.post("/sessions/gone/end", {})

    status, _ = daemon.request("DELETE", "/sessions/gone")

    assert status == 200
    assert daemon.request("GET", "/sessions/gone")[0] == 404
    assert daemon.post("/search", {"query": CANARY})["results"] == []
    left = {one["id"] for one in daemon.get("/sessions")["items"]}
    assert "stays" in left
    assert "gone" not in left
    data = daemon.places.data
    assert [path for path in data.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []


def test_forgotten_message_is_removed_from_title(daemon: RunningDaemon) -> None:
    talk = [said(1, f"the {CANARY} is not to be told"), said(2, "anything else is")]
    [first, second] = daemon.post("/sessions/titled/messages", {"messages": talk})["ids"]
    assert CANARY in daemon.get("/sessions/titled")["title"]

    daemon.request("DELETE", f"/memories/{first}")

    assert daemon.get("/sessions/titled")["title"] == "anything else is"
    data = daemon.places.data
    assert [path for path in data.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []
    assert daemon.restart().get("/sessions/titled")["title"] == "anything else is"
    daemon.request("DELETE", f"/memories/{second}")
    told = daemon.get("/sessions/titled")
    assert (told["title"], told["messages"]) == ("session titled", 0)


def test_session_message_cannot_be_edited(daemon: RunningDaemon) -> None:
    [message] = daemon.post("/sessions/kept/messages", {"messages": [said(1, "tabs, please")]})["ids"]
    [head] = [one["id"] for one in daemon.get("/memories", kind="document", tag="session:kept")["items"]]
    for identifier in (message, head):
        for patch in ({"content": "spaces, please"}, {"tags": []}, {"status": "archived"}):
            status, answer = daemon.request("PATCH", f"/memories/{identifier}", patch)
            assert (status, "cannot be changed" in answer["error"]["message"]) == (409, True)
    assert [one["content"] for one in daemon.get("/sessions/kept/messages")["items"]] == ["tabs, please"]


def test_erased_session_facts_disappear_everywhere(daemon: RunningDaemon, shop: str) -> None:
    daemon.add(Path(shop))
    talk = [said(1, f"We use {CANARY} instead of MySQL for the ledger, because we need JSON columns.")]
    daemon.post("/sessions/stated/messages", {"messages": talk, "project": shop})
    daemon.post("/sessions/stated/end", {})
    daemon.post("/sessions/other/messages", {"messages": [said(1, "Fix the basket")], "project": shop})

    def told() -> list[bool]:
        bundle = daemon.get("/context", project=shop)
        prompt = daemon.post("/context/compile", {"session": "other", "message": "go on"})
        return [CANARY in str(answer) for answer in (bundle, prompt)]

    before = told()
    daemon.request("DELETE", "/sessions/stated")

    assert (before, told()) == ([True, True], [False, False])


def test_erased_session_restores_superseded_facts(daemon: RunningDaemon) -> None:
    for session, before in (("pnpm", "npm"), ("yarn", "pnpm"), ("bun", "yarn")):
        daemon.post(f"/sessions/{session}/messages", {"messages": [said(1, f"We use {session} instead of {before}.")]})
        daemon.post(f"/sessions/{session}/end", {})

    def values() -> list[str]:
        fact = daemon.get("/facts", key="package manager")["fact"]
        return [one["value"] for one in daemon.get(f"/memories/{fact['id']}/history")["items"]]

    told = [values()]
    for session in ("yarn", "bun"):
        daemon.request("DELETE", f"/sessions/{session}")
        told.append(values())

    assert told == [["bun", "yarn", "pnpm"], ["bun", "pnpm"], ["pnpm"]]
    daemon.request("DELETE", "/sessions/pnpm")
    assert daemon.request("GET", "/facts", query={"key": "package manager"})[0] == 404


def test_session_ended_signal_closes_session(daemon: RunningDaemon, shop: str) -> None:
    daemon.add(Path(shop))
    daemon.post("/sessions/told/messages", {"messages": [said(1, "Fix the basket")], "project": shop})

    daemon.post("/signals", {"signals": [{"kind": "session_ended", "project": shop, "session": "told"}]})

    daemon.wait_until(lambda: daemon.get("/sessions/told")["state"] == "ended", within=60, what="close the session")


@pytest.mark.parametrize("newer_first", [True, False])
def test_late_statement_does_not_replace_newer_one(daemon: RunningDaemon, shop: str, *, newer_first: bool) -> None:
    daemon.add(Path(shop))
    told = [
        (f"old{newer_first}", "2025-01-15T10:00:00Z", "We decided to use Corvex instead of Blinko for the seal."),
        (f"new{newer_first}", "2025-09-01T10:00:00Z", "We decided to use Tallow instead of Blinko for the seal."),
    ]
    for session, at, text in reversed(told) if newer_first else told:
        message = {**said(1, text), "at": at}
        daemon.post(f"/sessions/{session}/messages", {"messages": [message], "project": shop})
        daemon.post(f"/sessions/{session}/end", {})

    def values(**moment: str) -> list[str]:
        asked = {"query": "what is used for the seal", "project": shop, "kinds": ["fact"], **moment}
        texts = " ".join(one["snippet"] for one in daemon.post("/search", asked)["results"])
        return [name for name in ("Corvex", "Tallow") if name in texts]

    daemon.wait_until(lambda: values() == ["Tallow"], within=20.0, what="show the newer value only")
    daemon.wait_until(
        lambda: values(as_of="2025-06-01T00:00:00Z") == ["Corvex"], within=20.0, what="know the older one"
    )
    sessions = {one["id"]: one["began"] for one in daemon.get("/sessions", limit=100)["items"]}
    assert sessions[told[0][0]].startswith("2025-01-15")


def test_client_text_in_message_becomes_no_user_fact(daemon: RunningDaemon, shop: str) -> None:
    daemon.add(Path(shop))
    text = "<skills>\nWe decided to use Corvid instead of Magpie.\n</skills>\nWe decided to use Heron instead of Stork."
    daemon.post("/sessions/put/messages", {"messages": [said(1, text)], "project": shop})
    daemon.post("/sessions/put/end", {})

    def facts() -> str:
        return str([one["content"] for one in daemon.get("/memories", project=shop, kind="fact", limit=50)["items"]])

    daemon.wait_until(lambda: "Heron" in facts(), within=20.0, what="keep the user's decision")
    assert "Corvid" not in facts()
