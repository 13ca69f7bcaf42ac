"""An agent's hook: hands on what it is told, prints the answer, and never fails, waits or says anything else."""

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

from hunchd.cli.agents.known import start
from hunchd.protocol.agents import understood
from tests.cli.fake_daemon import FakeDaemon

# Far above what a hook allows itself, far below what a command would wait for a daemon.
AT_MOST = 30.0  # seconds
ROUTE = "POST /agents/claude-code/events"
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s1", "text": "100 % »ß« 'quoted' \\n $HOME `id`"}

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


@pytest.fixture(params=["script", "python"])
def words(request: pytest.FixtureRequest) -> list[str]:
    """The hook as it is called: a script with curl, or Python where there is none."""
    if request.param == "python":
        return [sys.executable, "-m", "hunchd.cli", "agent-hook"]
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    return ["sh", str(Path(__file__).parents[2] / "src" / "hunchd" / "cli" / "shell" / "agent-hook")]


def hook(words: list[str], agent: str, told: Any, *, cwd: Path | None = None) -> str:
    """What the hook prints; it must have ended well."""
    given = told if isinstance(told, bytes) else json.dumps(told).encode()
    own = [sys.executable, "-m", "hunchd.cli"] if words[0] == "sh" else []
    ended = subprocess.run(
        [*words, agent, *own], input=given, capture_output=True, timeout=AT_MOST, check=False, cwd=cwd
    )
    assert ended.returncode == 0
    assert ended.stderr == b""
    return ended.stdout.decode().rstrip("\n")


@pytest.fixture
def patient(fake: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    """A daemon that is waited for, however busy the machine is."""
    monkeypatch.setenv("HUNCH_HOOK_PATIENCE", "20")
    return fake


def test_what_it_is_told_goes_to_the_daemon_as_it_is_and_the_answer_is_printed(
    patient: FakeDaemon, words: list[str]
) -> None:
    patient.routes[ROUTE] = (200, '{"a": "»ß« 100 % \\\\n"}'.encode())

    assert hook(words, "claude-code", EVENT) == '{"a": "»ß« 100 % \\\\n"}'
    assert patient.bodies(ROUTE) == [EVENT]


def test_a_large_event_comes_through_whole(patient: FakeDaemon, words: list[str]) -> None:
    patient.routes[ROUTE] = (200, b"")
    large = EVENT | {"tool_response": "x" * 3_000_000}

    assert hook(words, "claude-code", large) == ""
    assert patient.bodies(ROUTE) == [large]


def test_a_daemon_that_refuses_is_as_good_as_none(patient: FakeDaemon, words: list[str]) -> None:
    patient.routes[ROUTE] = (500, {"error": {"code": "error", "message": "no"}})

    assert hook(words, "claude-code", EVENT) == ""
    assert hook(words, "gemini", b"not JSON: there is no such route") == "{}"


def test_a_daemon_that_hangs_is_not_waited_for(fake: FakeDaemon, words: list[str]) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        path = str(Path(os.environ["HUNCHD_HOME"]) / "run" / "silent.sock")
        silent.bind(path)
        silent.listen()
        fake.publish(socket=path)

        assert hook(words, "claude-code", EVENT) == ""
        assert hook(words, "cursor", EVENT) == "{}"


def test_at_the_beginning_of_a_session_it_waits_longer(fake: FakeDaemon, words: list[str]) -> None:
    """A fifth of a second: too long for the other hooks, however fast they start."""

    def slow(_: Any) -> tuple[int, bytes]:
        time.sleep(0.2)
        return 200, b"what this project is about"

    fake.routes[ROUTE] = slow

    told = [hook(words, "claude-code", {"hook_event_name": "SessionStart"}) for _ in range(5)]
    assert "what this project is about" in told, "a busy machine may miss it now and then"
    assert hook(words, "claude-code", EVENT) == ""


def test_an_address_of_a_daemon_that_has_died_is_not_asked(patient: FakeDaemon, words: list[str]) -> None:
    patient.routes[ROUTE] = (200, b"somebody else's answer")
    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    patient.publish(pid=dead.pid)

    assert hook(words, "claude-code", EVENT) == ""
    assert patient.asked == []


def test_without_a_daemon_it_is_quiet(words: list[str], tmp_path: Path) -> None:
    assert hook(words, "claude-code", EVENT) == ""
    assert hook(words, "cursor", b"") == "{}"
    assert hook(words, "claude-code", {"hook_event_name": "SessionStart"}, cwd=tmp_path) == "", "no repository"


@needs_curl
def test_a_rendezvous_file_that_leads_elsewhere_is_not_followed(patient: FakeDaemon, tmp_path: Path) -> None:
    patient.routes[ROUTE] = (200, b"answer")
    script = ["sh", str(Path(__file__).parents[2] / "src" / "hunchd" / "cli" / "shell" / "agent-hook")]
    assert hook(script, "claude-code", EVENT) == "answer"
    file = Path(os.environ["HUNCHD_HOME"]) / "run" / "daemon.json"
    file.rename(tmp_path / "daemon.json")
    file.symlink_to(tmp_path / "daemon.json")

    assert hook(script, "claude-code", EVENT) == ""


@needs_curl
@pytest.mark.parametrize("began", ["SessionStart", "PreToolUse"])
def test_a_session_that_begins_in_a_repository_has_the_daemon_started(
    repository: Path, tmp_path: Path, began: str
) -> None:
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


def test_what_agents_call_is_a_line_for_a_shell_that_never_fails(tmp_path: Path) -> None:
    line = start({"HUNCHD_HOME": "/home/o'neil/h"}).hook("codex")

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
def test_events_of_all_agents_are_understood(agent: str, told: dict[str, Any], kind: str, path: str) -> None:
    event = understood(agent, told)

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
def test_what_asks_for_nothing_is_passed_over(told: Any) -> None:
    assert understood("claude-code", told) is None
