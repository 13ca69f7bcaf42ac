"""Responses of a real daemon during an agent's session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import make_shop

pytestmark = pytest.mark.daemon("shared")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def told(daemon: RunningDaemon, shop: Path, event: str, tool: str = "", path: str = "", session: str = "s1") -> str:
    body: dict[str, Any] = {"hook_event_name": event, "session_id": session, "cwd": str(shop)}
    if tool:
        body |= {"tool_name": tool, "tool_input": {"file_path": str(shop / path)}}
    answer = daemon.post("/agents/claude-code/events", body)
    return str(answer["hookSpecificOutput"]["additionalContext"]) if answer else ""


def test_context_shown_before_is_not_repeated(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    began = told(daemon, shop, "SessionStart")
    reads: list[str] = []
    while len(reads) < 20 and (not reads or reads[-1]):  # what came late, on a busy machine, is given again
        reads.append(told(daemon, shop, "PreToolUse", "Read", "shop/basket.py"))
    edited = told(daemon, shop, "PreToolUse", "Edit", "shop/basket.py")
    other = told(daemon, shop, "PreToolUse", "Edit", "shop/checkout.py")

    assert "## Background" in began
    assert "shop/checkout.py" in reads[0]
    assert "shop/checkout.py" not in edited
    assert "## Ask for more" not in other
    assert "tests/test_basket.py" in other, "it is told of each file that it belongs to"


def count_messages(daemon: RunningDaemon, session: str) -> int:
    status, answer = daemon.request("GET", f"/sessions/{session}/messages")
    return len(answer["items"]) if status == 200 else 0


def test_prompt_becomes_fact_when_history_is_compacted(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    said = "From now on we write change-log entries in the past tense."
    event = {"session_id": "s-hook", "cwd": str(shop)}
    daemon.post("/agents/claude-code/events", event | {"hook_event_name": "PreCompact", "trigger": "auto"})
    for name, text in (("UserPromptSubmit", {"prompt": said}), ("Stop", {"last_assistant_message": "Understood."})):
        daemon.post("/agents/claude-code/events", event | {"hook_event_name": name} | text)
    daemon.wait_until(lambda: count_messages(daemon, "s-hook") == 2, within=10, what="log both")
    daemon.post("/agents/claude-code/events", event | {"hook_event_name": "PreCompact", "trigger": "auto"})

    def facts() -> list[str]:
        found = daemon.post("/search", {"project": str(shop), "query": "tense of change-log entries"})["results"]
        return [str(one) for one in found if one["kind"] == "fact"]

    daemon.wait_until(lambda: any("past tense" in one for one in facts()), within=20, what="know what was said")


def test_imported_transcript_repeats_no_hook_message(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    event = {"session_id": "s-twice", "cwd": str(shop), "hook_event_name": "UserPromptSubmit", "prompt": "Go on."}
    for _ in range(2):  # it may be said again
        daemon.post("/agents/claude-code/events", event)

    daemon.wait_until(lambda: count_messages(daemon, "s-twice") == 2, within=10, what="log both")
    imported = [{"role": "user", "content": text, "ref": ref} for ref, text in (("1", "Go on."), ("2", "Stop."))]
    answer = daemon.post("/sessions/s-twice/messages", {"project": str(shop), "messages": imported})
    assert (answer["accepted"], count_messages(daemon, "s-twice")) == (1, 3)


def test_session_end_closes_agents_files(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    own = {"kind": "file_opened", "project": str(shop), "path": "docs/colours.md"}
    daemon.post("/signals", {"signals": [own]})
    for path in ("shop/basket.py", "docs/colours.md"):
        told(daemon, shop, "PreToolUse", "Read", path)

    def reasons() -> str:
        answer = daemon.post("/context/assemble", {"project": str(shop), "budget": 8000, "signals": {}})
        return " ".join(reason for item in answer["items"] for reason in item["reasons"])

    daemon.wait_until(lambda: "with basket.py" in reasons(), within=10, what="have it open")
    told(daemon, shop, "SessionEnd")
    daemon.wait_until(lambda: "with basket.py" not in reasons(), within=10, what="close it")
    files = daemon.post("/context/assemble", {"project": str(shop), "budget": 8000, "signals": {}})["items"]
    assert "file:docs/colours.md" not in {item["id"] for item in files}, "its user has it open still"


def test_error_is_shown_until_command_passes(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)

    def ran(event: str, **more: Any) -> None:
        command = {"command": "pytest tests/test_basket.py"}
        body = {"hook_event_name": event, "session_id": "s1", "cwd": str(shop), "tool_name": "Bash"}
        daemon.post("/agents/claude-code/events", body | {"tool_input": command} | more)

    def kinds() -> set[str]:
        answer = daemon.post("/context/assemble", {"project": str(shop), "budget": 8000, "signals": {}})
        return {item["kind"] for item in answer["items"]}

    ran("PostToolUseFailure", error="Exit code 1\nKeyError: 'apple'")
    daemon.wait_until(lambda: "error" in kinds(), within=10, what="show the error")
    ran("PostToolUse", tool_response={"stdout": "1 passed", "interrupted": False})
    daemon.wait_until(lambda: "error" not in kinds(), within=10, what="show it no more")
