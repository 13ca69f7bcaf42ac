"""Hook events of agents: context is sent once, only if relevant, and signals are stored afterwards."""

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
from hunchd.protocol.responses import AcceptedAnswer, make_rejection


def repository(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.fixture
async def shop(daemon: Daemon, tmp_path: Path) -> Path:
    """Repository that the daemon knows."""
    root = repository(tmp_path / "shop")
    await daemon.engine.add_project(str(root))
    return root


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend the time limits, so that responses are in time on a busy machine."""
    monkeypatch.setattr("hunchd.serving.agent_events._DELIVERY_SECONDS", 60.0)
    monkeypatch.setattr("hunchd.serving.agent_events._DELIVERY_SECONDS_AT_START", 60.0)


async def send_event(daemon: Daemon, agent: str, event: dict[str, Any]) -> str:
    response = await daemon.post(f"/agents/{agent}/events", event)
    assert (response.status, response.content_type) == (200, "text/plain"), await response.text()
    return await response.text()


async def list_signals(daemon: Daemon, number: int) -> list[dict[str, Any]]:
    """Return the resulting signals, which are stored after the response."""
    for _ in range(500):
        if len(daemon.engine.signals) >= number:
            break
        await asyncio.sleep(0.01)
    return daemon.engine.signals


def claude(event: str, root: Path, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "s1", "cwd": str(root), **more}


def edit(root: Path, path: str = "src/cart.py") -> dict[str, Any]:
    return claude("PreToolUse", root, tool_name="Edit", tool_input={"file_path": str(root / path)})


async def test_session_start_returns_project_context(daemon: Daemon, shop: Path) -> None:
    answer = await send_event(daemon, "claude-code", claude("SessionStart", shop, source="startup"))

    assert '"hookEventName": "SessionStart"' in answer
    assert "something that matters" in answer
    [asked] = daemon.engine.asked
    assert (asked.project, asked.file, asked.budget) == (str(shop), None, 1500)
    [signal] = await list_signals(daemon, 1)
    assert (signal["kind"], signal["session"], signal["source"]) == ("session_started", "s1", "agent")


async def test_file_event_is_signalled_always_explained_once(daemon: Daemon, shop: Path) -> None:
    first, second = (
        await send_event(daemon, "claude-code", edit(shop)),
        await send_event(daemon, "claude-code", edit(shop)),
    )

    assert ("something that matters" in first, second) == (True, "")
    assert [asked.file for asked in daemon.engine.asked] == ["src/cart.py"]
    assert [signal["path"] for signal in await list_signals(daemon, 2)] == ["src/cart.py"] * 2

    await send_event(daemon, "claude-code", claude("SessionStart", shop, source="clear"))
    assert "something that matters" in await send_event(daemon, "claude-code", edit(shop)), (
        "a new session is send_event again"
    )
    nameless = edit(shop) | {"session_id": ""}
    assert all([await send_event(daemon, "claude-code", nameless) for _ in range(2)])


def offer_items(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, *named: tuple[str, str]) -> None:
    """Let every context contain items of these kinds and titles."""
    whole = daemon.engine.get_context

    async def of_these(request: ContextRequest) -> Bundle:
        bundle = await whole(request)
        item = bundle.items[0]
        return replace(bundle, items=tuple(replace(item, id=title, kind=kind, title=title) for kind, title in named))

    monkeypatch.setattr(daemon.engine, "get_context", of_these)


async def test_items_already_shown_are_not_repeated(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_items(daemon, monkeypatch, ("convention", "tests: pytest"), ("file", "src/sum.py"))
    read = edit(shop) | {"tool_name": "Read"}
    for event in (claude("SessionStart", shop), read, edit(shop), edit(shop, "src/till.py")):
        await send_event(daemon, "claude-code", event)

    convention, file = ("tests: pytest",) * 2, ("src/sum.py",) * 2
    assert [asked.already_shown for asked in daemon.engine.asked] == [
        frozenset(),
        {convention},
        {convention, file},  # it belongs to the file that was read
        {convention},
    ]


async def test_late_response_is_repeated(daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.serving.agent_events._DELIVERY_SECONDS", 0.0)

    assert all([await send_event(daemon, "claude-code", edit(shop)) for _ in range(2)])


async def test_disconnected_hook_signal_is_stored(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, asked, gone = daemon.engine.get_context, asyncio.Event(), asyncio.Event()

    async def slow(request: ContextRequest) -> Bundle:
        asked.set()
        await gone.wait()
        return await whole(request)

    monkeypatch.setattr(daemon.engine, "get_context", slow)
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

    assert [signal["path"] for signal in await list_signals(daemon, 1)] == ["src/cart.py"]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert "something that matters" in await send_event(daemon, "claude-code", edit(shop)), "it was not send_event yet"


@pytest.mark.parametrize("in_time", [60.0, 0.0])
async def test_session_gets_at_most_24_contexts(
    daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch, in_time: float
) -> None:
    monkeypatch.setattr("hunchd.serving.agent_events._DELIVERY_SECONDS", in_time)
    answers = [await send_event(daemon, "claude-code", edit(shop, f"src/{number}.py")) for number in range(30)]

    assert sum(map(bool, answers)) == 24


async def test_failed_command_returns_related_errors(daemon: Daemon, shop: Path) -> None:
    failed = claude("PostToolUseFailure", shop, tool_name="Bash", tool_input={"command": "pytest"}, error="KeyError: 1")

    assert "something that matters" in await send_event(daemon, "claude-code", failed)
    [signal] = await list_signals(daemon, 1)
    assert (signal["kind"], signal["text"], signal["command"]) == ("error", "KeyError: 1", "pytest")
    assert (daemon.engine.asked[0].errors, daemon.engine.asked[0].activity) == (("KeyError: 1",), "debugging")


async def test_passing_command_clears_its_errors(daemon: Daemon, shop: Path) -> None:
    def ran(event: str, command: str, **more: Any) -> dict[str, Any]:
        return claude(event, shop, tool_name="Bash", tool_input={"command": command}, **more)

    passed = {"tool_response": {"stdout": "ok", "interrupted": False}}
    await send_event(daemon, "claude-code", ran("PostToolUse", "pytest", **passed))
    await send_event(daemon, "claude-code", ran("PostToolUseFailure", "pytest", error="KeyError: 1"))
    for command in ("ls", "pytest", "pytest"):
        assert await send_event(daemon, "claude-code", ran("PostToolUse", command, **passed)) == ""
    await send_event(daemon, "claude-code", claude("SessionEnd", shop))

    signals = await list_signals(daemon, 3)
    assert [(one["kind"], one.get("command")) for one in signals] == [
        ("error", "pytest"),
        ("error_cleared", "pytest"),
        ("session_ended", None),
    ]


async def test_stop_stores_message_and_session_end(daemon: Daemon, shop: Path) -> None:
    assert (
        await send_event(daemon, "claude-code", claude("Stop", shop, last_assistant_message="Totals are in cents."))
        == ""
    )
    assert await send_event(daemon, "claude-code", claude("Stop", shop)) == ""
    assert await send_event(daemon, "claude-code", claude("SessionEnd", shop, reason="exit")) == ""

    assert [signal["kind"] for signal in await list_signals(daemon, 1)] == ["session_ended"]
    page = await (await daemon.get("/sessions/s1/messages")).json()
    assert [message["content"] for message in page["items"]] == ["Totals are in cents."]


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude-code", "UserPromptSubmit"),
        ("codex", "UserPromptSubmit"),
        ("cursor", "beforeSubmitPrompt"),
        ("gemini", "BeforeAgent"),
    ],
)
async def test_prompt_is_logged_and_answered_emptily(daemon: Daemon, shop: Path, agent: str, name: str) -> None:
    prompt = {"hook_event_name": name, "session_id": "s1", "cwd": str(shop), "prompt": "Totals are in cents."}
    assert await send_event(daemon, agent, prompt) in ("", "{}")
    while (response := await daemon.get("/sessions/s1/messages")).status != 200:
        await asyncio.sleep(0.01)
    assert [(one["role"], one["content"]) for one in (await response.json())["items"]] == [
        ("user", "Totals are in cents.")
    ]


async def test_irrelevant_event_returns_empty_response(daemon: Daemon, shop: Path, tmp_path: Path) -> None:
    assert await send_event(daemon, "claude-code", claude("SubagentStop", shop)) == ""
    assert await send_event(daemon, "gemini", {"hook_event_name": "Notification", "cwd": str(shop)}) == "{}"
    assert await send_event(daemon, "cursor", {"hook_event_name": "beforeSubmitPrompt"}) == "{}"
    assert await send_event(daemon, "claude-code", claude("SessionStart", tmp_path)) == "", "no repository"
    assert await send_event(daemon, "claude-code", claude("SessionStart", Path("relative"))) == ""
    assert await send_event(daemon, "claude-code", edit(shop, "../elsewhere.py")) == "", "no file of this project"
    assert (daemon.engine.asked, daemon.engine.signals) == ([], [])
    assert (await daemon.post("/agents/zed/events", {})).status == 404


async def test_unknown_project_is_registered(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = repository(tmp_path / "new")

    async def unknown(request: ContextRequest) -> Bundle:
        raise NotFound("no such project")

    async def refused(raw: list[Any]) -> AcceptedAnswer:
        return AcceptedAnswer(accepted=0, rejected=[make_rejection(0, NotFound("none"))])

    monkeypatch.setattr(daemon.engine, "get_context", unknown)
    monkeypatch.setattr(daemon.engine, "accept", refused)

    assert await send_event(daemon, "claude-code", claude("SessionStart", new)) == ""
    for _ in range(500):
        if daemon.engine.project_ids:
            break
        await asyncio.sleep(0.01)
    assert list(daemon.engine.project_ids) == [str(new)]


async def test_conventions_alone_return_no_context(daemon: Daemon, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = daemon.engine.get_context

    async def general(request: ContextRequest) -> Bundle:
        bundle = await whole(request)
        return replace(bundle, items=tuple(replace(item, tier=3) for item in bundle.items))

    monkeypatch.setattr(daemon.engine, "get_context", general)

    assert await send_event(daemon, "claude-code", edit(shop)) == ""
    assert await send_event(daemon, "claude-code", claude("SessionStart", shop)) != "", "but at its start they are"


async def test_response_uses_each_agents_format(daemon: Daemon, shop: Path) -> None:
    began = {"session_id": "s", "cwd": str(shop)}
    assert (await send_event(daemon, "codex", {**began, "hook_event_name": "SessionStart"})).startswith("# None")
    cursor = {"hook_event_name": "sessionStart", "conversation_id": "c", "workspace_roots": [str(shop)]}
    assert (await send_event(daemon, "cursor", cursor)).startswith('{"additional_context": "# None')
    gemini = {**began, "session_id": "g", "hook_event_name": "SessionStart"}
    assert '"additionalContext": "# None' in await send_event(daemon, "gemini", gemini)
