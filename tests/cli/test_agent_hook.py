"""An agent's hook: forwards its payload, prints the response, and never fails, blocks or prints anything else."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.agents.supported_agents import get_launch_command
from hunchd.protocol.agent_hooks import parse_event
from tests.cli.fake_daemon import FakeDaemon

# Far above what a hook allows itself, far below what a command would wait for a daemon.
AT_MOST = 30.0  # seconds
ROUTE = "POST /agents/claude-code/events"
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s1", "text": "100 % »ß« 'quoted' \\n $HOME `id`"}

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


@pytest.fixture(params=["script", "python"])
def hook_command(request: pytest.FixtureRequest) -> list[str]:
    """Command of the hook: a script with curl, or Python without curl."""
    if request.param == "python":
        return [sys.executable, "-m", "hunchd.cli", "agent-hook"]
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    return ["sh", str(Path(__file__).parents[2] / "src" / "hunchd" / "cli" / "shell" / "agent-hook")]


def run_hook(hook_command: list[str], agent: str, told: Any, *, cwd: Path | None = None) -> str:
    """Run the hook; return its output and assert a successful exit."""
    given = told if isinstance(told, bytes) else json.dumps(told).encode()
    own = [sys.executable, "-m", "hunchd.cli"] if hook_command[0] == "sh" else []
    ended = subprocess.run(
        [*hook_command, agent, *own], input=given, capture_output=True, timeout=AT_MOST, check=False, cwd=cwd
    )
    assert ended.returncode == 0
    assert ended.stderr == b""
    return ended.stdout.decode().rstrip("\n")


@pytest.fixture
def patient(fake: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    """Fake daemon with a hook timeout that suits a busy machine."""
    monkeypatch.setenv("HUNCH_HOOK_PATIENCE", "20")
    return fake


def test_hook_forwards_payload_and_prints_response(patient: FakeDaemon, hook_command: list[str]) -> None:
    patient.routes[ROUTE] = (200, '{"a": "»ß« 100 % \\\\n"}'.encode())

    assert run_hook(hook_command, "claude-code", EVENT) == '{"a": "»ß« 100 % \\\\n"}'
    assert patient.bodies(ROUTE) == [EVENT]


def test_hook_large_event_is_sent_whole(patient: FakeDaemon, hook_command: list[str]) -> None:
    patient.routes[ROUTE] = (200, b"")
    large = EVENT | {"tool_response": "x" * 3_000_000}

    assert run_hook(hook_command, "claude-code", large) == ""
    assert patient.bodies(ROUTE) == [large]


def test_hook_error_response_prints_nothing(patient: FakeDaemon, hook_command: list[str]) -> None:
    patient.routes[ROUTE] = (500, {"error": {"code": "error", "message": "no"}})

    assert run_hook(hook_command, "claude-code", EVENT) == ""
    assert run_hook(hook_command, "gemini", b"not JSON: there is no such route") == "{}"


def test_hook_hanging_daemon_times_out(fake: FakeDaemon, hook_command: list[str]) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        path = str(Path(os.environ["HUNCHD_HOME"]) / "run" / "silent.sock")
        silent.bind(path)
        silent.listen()
        fake.publish(socket=path)

        assert run_hook(hook_command, "claude-code", EVENT) == ""
        assert run_hook(hook_command, "cursor", EVENT) == "{}"


def test_hook_session_start_has_longer_timeout(fake: FakeDaemon, hook_command: list[str]) -> None:
    """The daemon takes 0.2 s: too long for other hooks, however fast they start."""

    def slow(_: Any) -> tuple[int, bytes]:
        time.sleep(0.2)
        return 200, b"what this project is about"

    fake.routes[ROUTE] = slow

    told = [run_hook(hook_command, "claude-code", {"hook_event_name": "SessionStart"}) for _ in range(5)]
    assert "what this project is about" in told, "a busy machine may miss it now and then"
    assert run_hook(hook_command, "claude-code", EVENT) == ""


def test_hook_dead_daemon_is_not_contacted(patient: FakeDaemon, hook_command: list[str]) -> None:
    patient.routes[ROUTE] = (200, b"somebody else's answer")
    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    patient.publish(pid=dead.pid)

    assert run_hook(hook_command, "claude-code", EVENT) == ""
    assert patient.asked == []


def test_hook_without_daemon_prints_nothing(hook_command: list[str], tmp_path: Path) -> None:
    assert run_hook(hook_command, "claude-code", EVENT) == ""
    assert run_hook(hook_command, "cursor", b"") == "{}"
    assert run_hook(hook_command, "claude-code", {"hook_event_name": "SessionStart"}, cwd=tmp_path) == "", (
        "no repository"
    )


@needs_curl
def test_hook_untrusted_rendezvous_file_is_ignored(patient: FakeDaemon, tmp_path: Path) -> None:
    patient.routes[ROUTE] = (200, b"answer")
    script = ["sh", str(Path(__file__).parents[2] / "src" / "hunchd" / "cli" / "shell" / "agent-hook")]
    assert run_hook(script, "claude-code", EVENT) == "answer"
    file = Path(os.environ["HUNCHD_HOME"]) / "run" / "daemon.json"
    file.rename(tmp_path / "daemon.json")
    file.symlink_to(tmp_path / "daemon.json")

    assert run_hook(script, "claude-code", EVENT) == ""


@needs_curl
@pytest.mark.parametrize("began", ["SessionStart", "PreToolUse"])
def test_hook_session_start_launches_daemon(repository: Path, tmp_path: Path, began: str) -> None:
    note, hunch = tmp_path / "started", tmp_path / "hun ch"
    hunch.write_text(f'#!/bin/sh\necho "$@" > "{note}.new" && mv "{note}.new" "{note}"\n')
    hunch.chmod(0o700)
    (repository / "sub").mkdir()
    script = Path(__file__).parents[2] / "src" / "hunchd" / "cli" / "shell" / "agent-hook"
    event = json.dumps({"hook_event_name": began}).encode()
    ended = subprocess.run(
        ["sh", str(script), "codex", str(hunch)], input=event, capture_output=True, check=True, cwd=repository / "sub"
    )

    assert (ended.stdout, ended.stderr) == (b"", b"")
    if began == "SessionStart":
        for _ in range(1000):
            if note.exists():
                break
            subprocess.run(["sleep", "0.01"], check=True)
        assert note.read_text() == "start\n"
    else:
        assert not note.exists()


def test_hook_command_line_never_fails(tmp_path: Path) -> None:
    line = get_launch_command({"HUNCHD_HOME": "/home/o'neil/h"}).build_hook_line("codex")

    assert "agent-hook codex " in line
    done = subprocess.run(
        ["sh", "-c", line.replace("/agent-hook ", "/gone ")], input=b"{}", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


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
        ("claude-code", {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "pytest"},
                         "tool_response": {"stdout": "1 passed", "interrupted": False}}, "passed", ""),
        ("codex", {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "grep error ."},
                   "tool_response": "app.py:3: no error: here"}, "passed", ""),
    ],
)  # fmt: skip
def test_parse_events_of_all_agents(agent: str, told: dict[str, Any], kind: str, path: str) -> None:
    event = parse_event(agent, told)

    assert event is not None
    assert (event.kind, event.path) == (kind, path)


@pytest.mark.parametrize(
    "told",
    [
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make",
                                                                               "run_in_background": True}},
        {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git switch x"}},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make"},
         "tool_response": {"stdout": "", "interrupted": True}},
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
def test_parse_irrelevant_event_returns_none(told: Any) -> None:
    assert parse_event("claude-code", told) is None
