"""`hunch sessions` and `hunch import-transcripts`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.main import main
from hunchd.ingestion.transcripts import cursor
from tests.cli.fake_daemon import FakeDaemon

Output = pytest.CaptureFixture[str]

HEAD = {
    "id": "s1",
    "title": "Fix the parser",
    "project": "p1",
    "state": "ended",
    "outcome": "success",
    "began": "2026-01-02T03:04:05Z",
    "last": "2026-01-02T04:04:05Z",
    "ended": "2026-01-02T04:04:05Z",
    "messages": 2,
}
MESSAGES = [
    {"number": 1, "role": "user", "content": "Fix the\nparser", "event_type": "user_message"},
    {
        "number": 2,
        "role": "tool",
        "name": "Read",
        "content": "def \x1b[31mpar\u200bse\U000e0041",
        "event_type": "tool_result",
    },
]


def test_sessions_list_and_show_strip_controls(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /sessions"] = (200, {"items": [HEAD], "next": None, "total": 1})
    fake.routes["GET /sessions/s1"] = (200, HEAD)
    fake.routes["GET /sessions/s1/messages"] = (200, {"items": MESSAGES, "next": None, "total": 2})

    assert main(["sessions", "list"]) == 0
    assert main(["sessions", "show", "s1"]) == 0
    told = capsys.readouterr().out

    assert "Fix the parser" in told
    assert "success" in told
    assert "Read" in told
    assert "[31mparse" in told
    assert not set("\x1b\u200b\U000e0041") & set(told)


def test_sessions_without_action_lists(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /sessions"] = (200, {"items": [], "next": None})

    assert main(["sessions"]) == 0

    assert "no sessions yet" in capsys.readouterr().err


def test_sessions_end_and_delete_print_result(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /sessions/s1"] = (200, HEAD)
    fake.routes["POST /sessions/s1/end"] = (
        200,
        HEAD | {"episodes": ["e1"], "facts": ["f1", "f2"], "summary": "Decided"},
    )
    fake.routes["DELETE /sessions/s1"] = (200, {"erased": "s1", "memories": 7})

    assert main(["sessions", "end", "s1"]) == 0
    assert main(["sessions", "delete", "s1"]) == 1  # nobody said yes
    assert main(["sessions", "delete", "s1", "--yes"]) == 0
    told = capsys.readouterr().out

    assert "1 episodes, 2 facts" in told
    assert "7 memories erased" in told
    assert [route for route, _ in fake.asked if route.startswith("DELETE")] == ["DELETE /sessions/s1"]


def test_sessions_missing_id_is_wrong_usage(fake: FakeDaemon, capsys: Output) -> None:
    assert main(["sessions", "show"]) == 2
    assert "needs the ID" in capsys.readouterr().err


@pytest.fixture
def transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> Path:
    """Transcript that Claude Code would have written of one session in the repository and one elsewhere."""
    home = tmp_path / "someone"
    monkeypatch.setenv("HOME", str(home))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "AIDER_CHAT_HISTORY_FILE"):
        monkeypatch.delenv(variable, raising=False)
    folder = home / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    for session, place in (("here", repository), ("elsewhere", tmp_path / "nobody-knows")):
        event = {"type": "user", "uuid": "u1", "timestamp": "2026-01-02T03:04:05Z", "cwd": str(place)}
        (folder / f"{session}.jsonl").write_text(json.dumps(event | {"message": {"role": "user", "content": "hello"}}))
    return folder


def known(fake: FakeDaemon, repository: Path) -> None:
    project = {"id": "p1", "path": str(repository), "name": "shop", "worktrees": []}
    fake.routes["GET /projects"] = (200, {"items": [project], "next": None, "total": 1})


def test_import_transcripts_skips_unknown_projects(
    fake: FakeDaemon, transcript: Path, repository: Path, capsys: Output
) -> None:
    known(fake, repository)
    taken: list[Any] = []

    def take(body: Any) -> tuple[int, Any]:
        taken.append(body)
        return 202, {"session": "here", "accepted": len(body["messages"]), "ids": ["m"]}

    fake.routes["POST /sessions/here/messages"] = take
    fake.routes["POST /sessions/here/end"] = (200, {})

    assert main(["import-transcripts", "--from", "claude-code", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert [(one["session"], one["accepted"]) for one in told["sessions"]] == [("here", 1)]
    assert taken == [{"messages": [{"ref": "u1:0", "role": "user", "content": "hello", "at": taken[0]["messages"][0]["at"]}], "project": "p1"}]  # fmt: skip  # noqa: E501
    assert list(told["unknown"].values()) == [1]


def test_import_transcripts_dry_run_sends_nothing(
    fake: FakeDaemon, transcript: Path, repository: Path, capsys: Output
) -> None:
    known(fake, repository)

    assert main(["import-transcripts", "--dry-run", "--all"]) == 0

    assert "2 sessions with 2 messages would be imported" in capsys.readouterr().err
    assert [route for route, _ in fake.asked if route.startswith("POST")] == []


def test_import_transcripts_ends_session_without_times(fake: FakeDaemon, transcript: Path, repository: Path) -> None:
    known(fake, repository)
    folder = Path.home() / ".cursor" / "projects" / cursor.folder_name(str(repository)).removeprefix("cursor:")
    log = folder / "agent-transcripts" / "c1" / "c1.jsonl"
    log.parent.mkdir(parents=True)
    said = {"type": "text", "text": "<user_query>\nWe use tabs.\n</user_query>"}
    log.write_text(json.dumps({"role": "user", "message": {"content": [said]}}))
    fake.routes["POST /sessions/c1/messages"] = (202, {"session": "c1", "accepted": 1, "ids": ["m"]})
    fake.routes["POST /sessions/c1/end"] = (200, {})

    assert main(["import-transcripts", "--from", "cursor"]) == 0

    assert [route for route, _ in fake.asked if route.endswith("/end")] == ["POST /sessions/c1/end"]


def test_import_transcripts_ends_copied_old_session(fake: FakeDaemon, transcript: Path, repository: Path) -> None:
    known(fake, repository)
    fake.routes["POST /sessions/here/messages"] = (202, {"session": "here", "accepted": 1, "ids": ["m"]})
    fake.routes["POST /sessions/here/end"] = (200, {})

    assert main(["import-transcripts", "--from", "claude-code"]) == 0

    assert [route for route, _ in fake.asked if route.endswith("/end")] == ["POST /sessions/here/end"]
