"""What an agent's hook says: once, only what matters, and nothing rather than late."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.agents.events import understood
from tests.cli.fake_daemon import FakeDaemon, bundle, project_at

# Far above what a hook allows itself, far below what a command would wait for a daemon.
AT_MOST = 30.0  # seconds


def hook(agent: str, told: Any) -> str:
    """What the hook prints; it must have ended well."""
    given = told if isinstance(told, bytes) else json.dumps(told).encode()
    ended = subprocess.run(
        [sys.executable, "-m", "hunchd.cli", "agent-hook", agent],
        input=given,
        capture_output=True,
        timeout=AT_MOST,
        check=False,
    )
    assert ended.returncode == 0
    assert ended.stderr == b""
    return ended.stdout.decode().rstrip("\n")


@pytest.fixture
def patient(fake: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    """A daemon that is waited for, however busy the machine is."""
    monkeypatch.setenv("HUNCH_HOOK_PATIENCE", "20")
    fake.routes["GET /context"] = (200, bundle())
    fake.routes["POST /context/assemble"] = (200, bundle())
    fake.routes["POST /signals"] = (202, {"accepted": 1, "rejected": []})
    return fake


def claude(event: str, root: Path, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "s1", "cwd": str(root), **more}


def edit(root: Path, path: str = "src/cart.py") -> dict[str, Any]:
    return claude("PreToolUse", root, tool_name="Edit", tool_input={"file_path": str(root / path)})


def test_a_session_begins_with_the_project_s_context(patient: FakeDaemon, repository: Path) -> None:
    answer = json.loads(hook("claude-code", claude("SessionStart", repository, source="startup")))

    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "src/tax.py" in answer["hookSpecificOutput"]["additionalContext"]
    asked = patient.bodies("GET /context")[0]
    assert (asked["project"], "file" in asked) == (str(repository), False)
    [signal] = patient.bodies("POST /signals")[0]["signals"]
    assert signal == {"kind": "session_started", "session": "s1", "project": str(repository), "source": "agent"}


def test_a_file_is_told_of_each_time_and_explained_once(
    patient: FakeDaemon, repository: Path, hunchd_home: Path
) -> None:
    first, second = hook("claude-code", edit(repository)), hook("claude-code", edit(repository))

    assert "src/tax.py" in first
    assert second == ""
    assert [each["file"] for each in patient.bodies("GET /context")] == ["src/cart.py"]
    assert [each["signals"][0]["path"] for each in patient.bodies("POST /signals")] == ["src/cart.py"] * 2
    [note] = (hunchd_home / "run" / "agents").iterdir()
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_a_new_session_is_told_again(patient: FakeDaemon, repository: Path) -> None:
    hook("claude-code", edit(repository))
    hook("claude-code", claude("SessionStart", repository, source="clear"))

    assert "src/tax.py" in hook("claude-code", edit(repository))


def test_a_failed_command_is_told_of_with_what_is_known_about_it(patient: FakeDaemon, repository: Path) -> None:
    failed = claude(
        "PostToolUseFailure", repository, tool_name="Bash", tool_input={"command": "pytest"}, error="KeyError: 'a'"
    )

    assert "src/tax.py" in hook("claude-code", failed)
    [signal] = patient.bodies("POST /signals")[0]["signals"]
    assert (signal["kind"], signal["text"], signal["command"]) == ("error", "KeyError: 'a'", "pytest")
    assert patient.bodies("POST /context/assemble")[0]["signals"]["recent_errors"] == [{"text": "KeyError: 'a'"}]


def test_the_agent_s_last_words_of_a_turn_are_kept_and_the_session_s_end_told(
    patient: FakeDaemon, repository: Path
) -> None:
    patient.routes["POST /sessions/s1/messages"] = (202, {})

    assert hook("claude-code", claude("Stop", repository, last_assistant_message="Totals are in cents now.")) == ""
    assert hook("claude-code", claude("Stop", repository)) == ""
    assert hook("claude-code", claude("SessionEnd", repository, reason="exit")) == ""

    assert patient.bodies("POST /sessions/s1/messages") == [
        {"messages": [{"role": "assistant", "content": "Totals are in cents now."}], "project": str(repository)}
    ]
    assert patient.bodies("POST /signals")[0]["signals"][0]["kind"] == "session_ended"


def test_a_prompt_is_none_of_our_business(patient: FakeDaemon, repository: Path) -> None:
    assert hook("claude-code", claude("UserPromptSubmit", repository, prompt="go on")) == ""
    assert patient.asked == []


def test_a_project_that_is_not_known_is_added_for_the_next_time(patient: FakeDaemon, repository: Path) -> None:
    patient.routes["GET /context"] = (404, {"error": {"code": "not_found", "message": "no such project"}})
    patient.routes["POST /projects"] = (200, project_at(repository))

    assert hook("claude-code", claude("SessionStart", repository)) == ""
    assert patient.bodies("POST /projects") == [{"path": str(repository)}]


def test_general_conventions_alone_are_not_worth_an_agent_s_attention(patient: FakeDaemon, repository: Path) -> None:
    items = [{**bundle()["items"][0], "tier": 3}]
    patient.routes["GET /context"] = (200, bundle(items=items))

    assert hook("claude-code", edit(repository)) == ""
    assert "src/tax.py" in hook("claude-code", claude("SessionStart", repository))  # but at its start they are


def test_each_agent_is_answered_in_its_own_words(patient: FakeDaemon, repository: Path) -> None:
    began = {"session_id": "s", "cwd": str(repository)}
    assert hook("codex", {**began, "hook_event_name": "SessionStart"}).startswith("# src/cart.py")
    cursor = {"hook_event_name": "sessionStart", "conversation_id": "c", "workspace_roots": [str(repository)]}
    assert set(json.loads(hook("cursor", cursor))) == {"additional_context"}
    gemini = {**began, "session_id": "g", "hook_event_name": "SessionStart"}
    assert "additionalContext" in json.loads(hook("gemini", gemini))["hookSpecificOutput"]
    assert hook("gemini", {**gemini, "hook_event_name": "Notification"}) == "{}"
    assert hook("cursor", {**cursor, "hook_event_name": "beforeSubmitPrompt"}) == "{}"


def test_a_daemon_that_hangs_is_not_waited_for(fake: FakeDaemon, repository: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        path = str(Path(os.environ["HUNCHD_HOME"]) / "run" / "silent.sock")
        silent.bind(path)
        silent.listen()
        fake.publish(socket=path)

        assert hook("claude-code", edit(repository)) == ""


def test_no_daemon_no_repository_and_no_sense_are_all_quiet(repository: Path, tmp_path: Path) -> None:
    assert hook("claude-code", edit(repository)) == ""
    assert hook("claude-code", claude("SessionStart", tmp_path)) == ""
    assert hook("claude-code", b"not JSON") == ""
    assert hook("claude-code", b"[1]") == ""
    assert hook("cursor", b"") == "{}"


@pytest.mark.parametrize(
    ("agent", "told", "kind", "path"),
    [
        ("claude-code", {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a"}},
         "opens", "a"),
        ("codex", {"hook_event_name": "PostToolUse", "tool_name": "apply_patch",
                   "tool_input": {"command": "*** Begin Patch\n*** Update File: src/a.py\n@@"}}, "edits", "src/a.py"),
        ("gemini", {"hook_event_name": "AfterTool", "tool_name": "replace", "tool_input": {"file_path": "a"}},
         "edits", "a"),
        ("codex", {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make"},
                   "tool_response": "Process exited with code 2\nOutput: no"}, "failed", ""),
        ("codex", {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make"},
                   "tool_response": "1 item\nTraceback (most recent call last):\n  x\nKeyError: 7"}, "failed", ""),
        ("gemini", {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": "make"},
                    "tool_response": {"llmContent": "no such file\nExit Code: 1"}}, "failed", ""),
        ("cursor", {"hook_event_name": "postToolUseFailure", "tool_name": "Shell", "tool_input": {"command": "make"},
                    "error_message": "no"}, "failed", ""),
        ("claude-code", {"hook_event_name": "PostToolUse", "tool_name": "Bash",
                         "tool_input": {"command": "git -C . switch main"}}, "checked_out", ""),
    ],
)  # fmt: skip
def test_events_of_all_agents_are_understood(agent: str, told: dict[str, Any], kind: str, path: str) -> None:
    event = understood(agent, told)

    assert event is not None
    assert (event.kind, event.path) == (kind, path)


@pytest.mark.parametrize(
    "told",
    [
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "git status"}},
        {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git switch x"}},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
         "tool_response": "Process exited with code 0"},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "grep -rn error ."},
         "tool_response": "app.py:3: no error: here"},
        {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "grep x y"},
         "error": "Exit code 1"},
        {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "make"},
         "error": "Interrupted", "is_interrupt": True},
        {"hook_event_name": "PreToolUse", "tool_name": "Glob", "tool_input": {"path": "src"}},
        {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": []},
        {"hook_event_name": ["x"]},
        None,
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_passed_over(told: Any) -> None:
    assert understood("claude-code", told) is None
