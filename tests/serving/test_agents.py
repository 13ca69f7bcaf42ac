"""What an agent is told by its hooks: once, only what matters, and never before it was asked for."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opened_doors import TOKEN, Daemon

from hunchd.domain.context import Bundle
from hunchd.domain.errors import NotFound
from hunchd.protocol.requests import ContextRequest


def repository(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.fixture
async def shop(daemon: Daemon, tmp_path: Path) -> Path:
    """A repository that the daemon knows."""
    root = repository(tmp_path / "shop")
    await daemon.engine.add_project(str(root))
    return root


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, answers come in time."""
    monkeypatch.setattr("hunchd.serving.agents._IN_TIME", 60.0)
    monkeypatch.setattr("hunchd.serving.agents._IN_TIME_AT_THE_BEGINNING", 60.0)


async def told(daemon: Daemon, agent: str, event: dict[str, Any]) -> str:
    response = await daemon.post(f"/agents/{agent}/events", event)
    assert (response.status, response.content_type) == (200, "text/plain"), await response.text()
    return await response.text()


async def heard(daemon: Daemon, number: int) -> list[dict[str, Any]]:
    """The signals that came of it; they are taken in after the answer."""
    for _ in range(500):
        if len(daemon.engine.signals) >= number:
            break
        await asyncio.sleep(0.01)
    return daemon.engine.signals


def claude(event: str, root: Path, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "s1", "cwd": str(root), **more}


def edit(root: Path, path: str = "src/cart.py") -> dict[str, Any]:
    return claude("PreToolUse", root, tool_name="Edit", tool_input={"file_path": str(root / path)})


async def test_a_session_begins_with_the_project_s_context(daemon: Daemon, shop: Path) -> None:
    answer = await told(daemon, "claude-code", claude("SessionStart", shop, source="startup"))

    assert '"hookEventName": "SessionStart"' in answer
    assert "something that matters" in answer
    [asked] = daemon.engine.asked
    assert (asked.project, asked.file, asked.budget) == (str(shop), None, 1500)
    [signal] = await heard(daemon, 1)
    assert (signal["kind"], signal["session"], signal["source"]) == ("session_started", "s1", "agent")


async def test_a_file_is_told_of_each_time_and_explained_once(daemon: Daemon, shop: Path) -> None:
    first, second = await told(daemon, "claude-code", edit(shop)), await told(daemon, "claude-code", edit(shop))

    assert ("something that matters" in first, second) == (True, "")
    assert [asked.file for asked in daemon.engine.asked] == ["src/cart.py"]
    assert [signal["path"] for signal in await heard(daemon, 2)] == ["src/cart.py"] * 2

    await told(daemon, "claude-code", claude("SessionStart", shop, source="clear"))
    assert "something that matters" in await told(daemon, "claude-code", edit(shop)), "a new session is told again"
    nameless = edit(shop) | {"session_id": ""}
    assert all([await told(daemon, "claude-code", nameless) for _ in range(2)])


def offering(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, *named: tuple[str, str]) -> None:
    """From now on every context holds items of these kinds and titles."""
    whole = daemon.engine.context

    async def of_these(request: ContextRequest) -> Bundle:
        bundle = await whole(request)
        item = bundle.items[0]
        return replace(bundle, items=tuple(replace(item, id=title, kind=kind, title=title) for kind, title in named))

    monkeypatch.setattr(daemon.engine, "context", of_these)


async def test_what_a_session_was_told_it_is_not_told_again(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering(daemon, monkeypatch, ("convention", "tests: pytest"), ("file", "src/sum.py"))
    read = edit(shop) | {"tool_name": "Read"}
    for event in (claude("SessionStart", shop), read, edit(shop), edit(shop, "src/till.py")):
        await told(daemon, "claude-code", event)

    convention, file = ("tests: pytest",) * 2, ("src/sum.py",) * 2
    assert [asked.told for asked in daemon.engine.asked] == [
        frozenset(),
        {convention},
        {convention, file},  # it belongs to the file that was read
        {convention},
    ]


async def test_an_answer_that_may_have_come_too_late_is_given_again(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunchd.serving.agents._IN_TIME", 0.0)

    assert all([await told(daemon, "claude-code", edit(shop)) for _ in range(2)])


async def test_what_a_hook_told_counts_though_it_did_not_wait_for_the_answer(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, asked, gone = daemon.engine.context, asyncio.Event(), asyncio.Event()

    async def slow(request: ContextRequest) -> Bundle:
        asked.set()
        await gone.wait()
        return await whole(request)

    monkeypatch.setattr(daemon.engine, "context", slow)
    _, writer = await asyncio.open_unix_connection(str(daemon.socket))
    body = json.dumps(edit(shop)).encode()
    head = f"POST /agents/claude-code/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await asyncio.wait_for(asked.wait(), 5)
    writer.close()
    await writer.wait_closed()
    await asyncio.sleep(0.05)  # until the daemon has seen it go
    gone.set()

    assert [signal["path"] for signal in await heard(daemon, 1)] == ["src/cart.py"]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert "something that matters" in await told(daemon, "claude-code", edit(shop)), "it was not told yet"


@pytest.mark.parametrize("in_time", [60.0, 0.0])
async def test_a_session_is_given_two_dozen_contexts_at_most(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch, in_time: float
) -> None:
    monkeypatch.setattr("hunchd.serving.agents._IN_TIME", in_time)
    answers = [await told(daemon, "claude-code", edit(shop, f"src/{number}.py")) for number in range(30)]

    assert sum(map(bool, answers)) == 24


async def test_a_failed_command_is_told_of_with_what_is_known_about_it(daemon: Daemon, shop: Path) -> None:
    failed = claude("PostToolUseFailure", shop, tool_name="Bash", tool_input={"command": "pytest"}, error="KeyError: 1")

    assert "something that matters" in await told(daemon, "claude-code", failed)
    [signal] = await heard(daemon, 1)
    assert (signal["kind"], signal["text"], signal["command"]) == ("error", "KeyError: 1", "pytest")
    assert (daemon.engine.asked[0].errors, daemon.engine.asked[0].activity) == (("KeyError: 1",), "debugging")


async def test_a_command_that_passes_after_it_failed_clears_its_errors(daemon: Daemon, shop: Path) -> None:
    def ran(event: str, command: str, **more: Any) -> dict[str, Any]:
        return claude(event, shop, tool_name="Bash", tool_input={"command": command}, **more)

    passed = {"tool_response": {"stdout": "ok", "interrupted": False}}
    await told(daemon, "claude-code", ran("PostToolUse", "pytest", **passed))
    await told(daemon, "claude-code", ran("PostToolUseFailure", "pytest", error="KeyError: 1"))
    for command in ("ls", "pytest", "pytest"):
        assert await told(daemon, "claude-code", ran("PostToolUse", command, **passed)) == ""
    await told(daemon, "claude-code", claude("SessionEnd", shop))

    signals = await heard(daemon, 3)
    assert [(one["kind"], one.get("command")) for one in signals] == [
        ("error", "pytest"),
        ("error_cleared", "pytest"),
        ("session_ended", None),
    ]


async def test_the_agent_s_last_words_of_a_turn_are_kept_and_the_session_s_end_told(daemon: Daemon, shop: Path) -> None:
    assert await told(daemon, "claude-code", claude("Stop", shop, last_assistant_message="Totals are in cents.")) == ""
    assert await told(daemon, "claude-code", claude("Stop", shop)) == ""
    assert await told(daemon, "claude-code", claude("SessionEnd", shop, reason="exit")) == ""

    assert [signal["kind"] for signal in await heard(daemon, 1)] == ["session_ended"]
    page = await (await daemon.get("/sessions/s1/messages")).json()
    assert [message["content"] for message in page["items"]] == ["Totals are in cents."]


async def test_what_asks_for_nothing_is_answered_with_nothing(daemon: Daemon, shop: Path, tmp_path: Path) -> None:
    assert await told(daemon, "claude-code", claude("UserPromptSubmit", shop, prompt="go on")) == ""
    assert await told(daemon, "gemini", {"hook_event_name": "Notification", "cwd": str(shop)}) == "{}"
    assert await told(daemon, "cursor", {"hook_event_name": "beforeSubmitPrompt"}) == "{}"
    assert await told(daemon, "claude-code", claude("SessionStart", tmp_path)) == "", "no repository"
    assert await told(daemon, "claude-code", claude("SessionStart", Path("relative"))) == ""
    assert await told(daemon, "claude-code", edit(shop, "../elsewhere.py")) == "", "no file of this project"
    assert (daemon.engine.asked, daemon.engine.signals) == ([], [])
    assert (await daemon.post("/agents/zed/events", {})).status == 404


async def test_a_project_that_is_not_known_is_added_for_the_next_time(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = repository(tmp_path / "new")

    async def unknown(request: ContextRequest) -> Bundle:
        raise NotFound("no such project")

    async def refused(raw: list[Any]) -> dict[str, Any]:
        return {"accepted": 0, "rejected": [{"index": 0, "error": {"code": "not_found", "message": "none"}}]}

    monkeypatch.setattr(daemon.engine, "context", unknown)
    monkeypatch.setattr(daemon.engine, "accept_signals", refused)

    assert await told(daemon, "claude-code", claude("SessionStart", new)) == ""
    for _ in range(500):
        if daemon.engine.project_ids:
            break
        await asyncio.sleep(0.01)
    assert list(daemon.engine.project_ids) == [str(new)]


async def test_general_conventions_alone_are_not_worth_an_agent_s_attention(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = daemon.engine.context

    async def general(request: ContextRequest) -> Bundle:
        bundle = await whole(request)
        return replace(bundle, items=tuple(replace(item, tier=3) for item in bundle.items))

    monkeypatch.setattr(daemon.engine, "context", general)

    assert await told(daemon, "claude-code", edit(shop)) == ""
    assert await told(daemon, "claude-code", claude("SessionStart", shop)) != "", "but at its start they are"


async def test_each_agent_is_answered_in_its_own_words(daemon: Daemon, shop: Path) -> None:
    began = {"session_id": "s", "cwd": str(shop)}
    assert (await told(daemon, "codex", {**began, "hook_event_name": "SessionStart"})).startswith("# None")
    cursor = {"hook_event_name": "sessionStart", "conversation_id": "c", "workspace_roots": [str(shop)]}
    assert (await told(daemon, "cursor", cursor)).startswith('{"additional_context": "# None')
    gemini = {**began, "session_id": "g", "hook_event_name": "SessionStart"}
    assert '"additionalContext": "# None' in await told(daemon, "gemini", gemini)
