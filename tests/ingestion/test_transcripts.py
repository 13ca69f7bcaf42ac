"""Transcripts of five agents: messages in order, without client boilerplate."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hunchd.ingestion.transcripts import aider, claude_code, codex, cursor, gemini
from hunchd.protocol.session_requests import parse_append_body

SAID = [
    ("user_message", "Fix the parser"),
    ("assistant_response", "I look at it."),
    ("tool_call", None),
    ("tool_result", "def parse(): ..."),
    ("assistant_response", "Fixed."),
]


def lines(file: Path, *objects: dict[str, Any], rest: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in objects) + rest)
    return file


def parse_messages(messages: tuple[Any, ...]) -> list[tuple[str, str | None]]:
    """Parse the messages with the daemon's own parser."""
    request = parse_append_body({"messages": list(messages)})
    assert request.rejections == ()
    assert len({draft.ref for draft in request.messages}) == len(messages), "every message has a ref of its own"
    return [(draft.event.value, None if draft.event.value == "tool_call" else draft.text) for draft in request.messages]


def claude(role: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    at = "2026-01-02T03:04:05.000Z"
    told = {"role": role, "content": content}
    return {"type": role, "uuid": uuid, "timestamp": at, "cwd": "/src/app", "message": told} | more


def test_claude_code_transcript_has_tools_without_subagents(tmp_path: Path) -> None:
    file = lines(
        tmp_path / ".claude" / "projects" / "-src-app" / "3f2b.jsonl",
        {"type": "summary", "summary": "Parser", "leafUuid": "x"},
        claude("user", "<command-name>/clear</command-name>", "u0"),
        claude("user", "Caveat: never mind", "u1", isMeta=True),
        claude("user", "Fix the parser", "u2"),
        claude(
            "assistant",
            [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I look at it."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "parser.py"}},
            ],
            "a1",
        ),
        claude("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "def parse(): ..."}], "u3"),
        claude("assistant", [{"type": "text", "text": "a helper speaks"}], "s1", isSidechain=True),
        claude("assistant", [{"type": "text", "text": "Fixed."}], "a2"),
        rest='{"type": "assistant", "message": {"rol',
    )

    assert list(claude_code.files(tmp_path, {})) == [file]
    [transcript] = claude_code.read(file)
    assert (transcript.session, transcript.project) == ("3f2b", "/src/app")
    assert parse_messages(transcript.messages) == SAID
    assert transcript.messages[3]["name"] == "Read"


@pytest.mark.parametrize("wrapped", [True, False])
def test_codex_transcript_old_and_new_format(tmp_path: Path, wrapped: bool) -> None:
    def item(**told: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-02T03:04:05Z", "type": "response_item", "payload": told} if wrapped else told

    meta = {"id": "c0de", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/src/app"}
    context = {"type": "input_text", "text": "<environment_context>…</environment_context>"}
    file = lines(
        tmp_path / ".codex" / "sessions" / "2026" / "01" / "02" / "rollout-2026-01-02-c0de.jsonl",
        {"type": "session_meta", "payload": meta} if wrapped else meta,
        item(type="message", role="user", content=[context]),
        item(type="message", role="user", content=[{"type": "input_text", "text": "Fix the parser"}]),
        item(type="reasoning", encrypted_content="xxxx"),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "I look at it."}]),
        item(type="function_call", name="shell", arguments='{"command": ["cat", "parser.py"]}', call_id="f1"),
        item(type="function_call_output", call_id="f1", output='{"output": "def parse(): ...", "metadata": {}}'),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "Fixed."}]),
    )

    assert list(codex.files(tmp_path, {})) == [file]
    [transcript] = codex.read(file)
    assert (transcript.session, transcript.project) == ("c0de", "/src/app")
    assert parse_messages(transcript.messages) == SAID


def test_gemini_transcript_has_folder_hash(tmp_path: Path) -> None:
    call = {
        "id": "read-1",
        "name": "read_file",
        "args": {"absolute_path": "/src/app/parser.py"},
        "result": [{"functionResponse": {"id": "read-1", "response": {"output": "def parse(): ..."}}}],
    }
    told = {
        "sessionId": "9e31",
        "projectHash": gemini.hash_folder("/src/app").removeprefix("sha256:"),
        "startTime": "2026-01-02T03:04:05Z",
        "messages": [
            {"id": "1", "type": "user", "content": "Fix the parser"},
            {
                "id": "2",
                "type": "gemini",
                "content": "I look at it.",
                "toolCalls": [call],
                "thoughts": [{"subject": "x"}],
            },
            {"id": "3", "type": "info", "content": "Request cancelled."},
            {"id": "4", "type": "gemini", "content": [{"text": "Fixed."}]},
        ],
    }
    file = tmp_path / ".gemini" / "tmp" / "abc" / "chats" / "session-2026-01-02.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(told))

    assert list(gemini.files(tmp_path, {})) == [file]
    [transcript] = gemini.read(file)
    assert (transcript.session, transcript.project) == ("9e31", gemini.hash_folder("/src/app"))
    assert parse_messages(transcript.messages) == SAID


def test_cursor_database_is_read_without_changes(tmp_path: Path) -> None:
    user = tmp_path / ".config" / "Cursor" / "User"
    tool = {"name": "read_file", "rawArgs": '{"path": "parser.py"}', "result": '{"content": "def parse(): ..."}'}
    bubbles = {
        "b1": {"type": 1, "text": "Fix the parser"},
        "b2": {"type": 2, "text": "I look at it.", "toolFormerData": tool},
        "b3": {"type": 2, "text": "Fixed."},
    }
    headers = [{"bubbleId": name, "type": bubble["type"]} for name, bubble in bubbles.items()]
    composer = {"composerId": "c1", "createdAt": 1_767_322_800_000, "fullConversationHeadersOnly": headers}
    rows = {"composerData:c1": composer} | {f"bubbleId:c1:{name}": bubble for name, bubble in bubbles.items()}
    database(user / "globalStorage" / "state.vscdb", "cursorDiskKV", rows)
    workspace = user / "workspaceStorage" / "w1"
    database(
        workspace / "state.vscdb", "ItemTable", {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}}
    )
    (workspace / "workspace.json").write_text('{"folder": "file:///src/my%20app"}')

    [file] = cursor.files(tmp_path, {})
    before = file.read_bytes()
    [transcript] = cursor.read(file)

    assert (transcript.session, transcript.project) == ("c1", "/src/my app")
    assert parse_messages(transcript.messages) == SAID
    assert file.read_bytes() == before


def test_aider_history_yields_session_per_start(tmp_path: Path) -> None:
    file = tmp_path / ".aider.chat.history.md"
    file.write_text(
        "\n# aider chat started at 2026-01-02 03:04:05\n\n> Aider v0.80\n\n#### Fix the parser\n#### and its test\n\n"
        "I changed `parse`.\n\nIt works now.\n\n> Applied edit to parser.py\n\n"
        "# aider chat started at 2026-01-03 08:00:00\n\n#### Thanks\n\nYou are welcome.\n"
    )

    first, second = aider.read(file)

    assert parse_messages(first.messages) == [
        ("tool_result", "Aider v0.80"),
        ("user_message", "Fix the parser\nand its test"),
        ("assistant_response", "I changed `parse`.\n\nIt works now."),
        ("tool_result", "Applied edit to parser.py"),
    ]
    assert parse_messages(second.messages) == [("user_message", "Thanks"), ("assistant_response", "You are welcome.")]
    assert first.session != second.session
    assert first.session == next(aider.read(file)).session


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"[1, 2]", b'{"messages": 3}', b"null\n{}\n" * 3])
def test_other_files_yield_no_transcript(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rollout-x.jsonl"
    file.write_bytes(content)

    for reader in (claude_code, codex, gemini):
        assert list(reader.read(file)) == []


def database(file: Path, table: str, rows: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True)
    connection = sqlite3.connect(file)
    connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(k, json.dumps(v)) for k, v in rows.items()])
    connection.commit()
    connection.close()


def test_claude_code_summary_and_hook_feedback_are_left_out(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "s.jsonl",
        claude("user", "Fix the parser", "u1"),
        claude("user", "This session goes on.\nUse Blinko.", "u2", isCompactSummary=True),
        claude("user", "Stop hook feedback:\n- [lint] use Blinko", "u3"),
    )
    [transcript] = claude_code.read(file)

    assert [message["content"] for message in transcript.messages] == ["Fix the parser"]


def test_claude_code_queued_prompt_is_read_once(tmp_path: Path) -> None:
    waited = {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-02T03:05:00Z"}
    attached = {"type": "queued_command", "commandMode": "prompt", "prompt": "And the lexer"}
    file = lines(
        tmp_path / "s.jsonl",
        claude("user", "Fix the parser", "u1"),
        {**waited, "content": "And the lexer"},
        {"type": "attachment", "uuid": "w1", "timestamp": "2026-01-02T03:06:00Z", "attachment": attached},
        {**waited, "content": "And the tests"},
        claude("user", "And the tests", "u2"),
    )
    [transcript] = claude_code.read(file)

    assert [message["content"] for message in transcript.messages] == [
        "Fix the parser",
        "And the tests",
        "And the lexer",
    ]


def test_claude_code_branch_leaves_copied_messages_out(tmp_path: Path) -> None:
    lines(tmp_path / "first.jsonl", claude("user", "Fix the parser", "u1"))
    origin = {"sessionId": "first", "messageUuid": "u1"}
    branch = lines(
        tmp_path / "second.jsonl",
        claude("user", "Fix the parser", "u1", forkedFrom=origin),
        claude("user", "Try recursion", "u2"),
    )
    [transcript] = claude_code.read(branch)
    assert [message["content"] for message in transcript.messages] == ["Try recursion"]

    (tmp_path / "first.jsonl").unlink()
    [transcript] = claude_code.read(branch)
    assert [message["content"] for message in transcript.messages] == ["Fix the parser", "Try recursion"]


def test_codex_parts_of_the_client_are_left_out(tmp_path: Path) -> None:
    parts = ["<plugins>\nBlinko\n</plugins>", "# CONVENTIONS\n<INSTRUCTIONS>\nUse Blinko.\n</INSTRUCTIONS>", "Fix it"]
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": part} for part in parts]}
    file = lines(tmp_path / "rollout-1.jsonl", {"type": "response_item", "payload": item})
    [transcript] = codex.read(file)

    assert [message["content"] for message in transcript.messages] == ["Fix it"]


def test_codex_compressed_transcript_is_read(tmp_path: Path) -> None:
    item = {"type": "message", "role": "user", "content": "Fix it"}
    plain = json.dumps({"type": "response_item", "payload": item}).encode()
    file = tmp_path / "sessions" / "2026" / "rollout-2026-a.jsonl.zst"
    file.parent.mkdir(parents=True)
    file.write_bytes(pa.compress(plain, codec="zstd", asbytes=True))

    assert list(codex.files(tmp_path, {"CODEX_HOME": str(tmp_path)})) == [file]
    [transcript] = codex.read(file)
    assert (transcript.session, len(transcript.messages)) == ("rollout-2026-a", 1)


def test_gemini_log_of_lines_keeps_the_last_of_an_id(tmp_path: Path) -> None:
    file = lines(
        tmp_path / ".gemini" / "tmp" / "yard" / "chats" / "session-1.jsonl",
        {"sessionId": "g1", "projectHash": "ab12", "startTime": "2026-01-02T03:04:05Z"},
        {"id": "1", "type": "user", "timestamp": "2026-01-02T03:04:06Z", "content": [{"text": "Fix it"}]},
        {"$set": {"lastUpdated": "2026-01-02T03:04:07Z"}},
        {"id": "2", "type": "gemini", "content": [{"text": "I lo"}]},
        {"id": "2", "type": "gemini", "content": [{"text": "I look at it."}]},
    )
    [found] = gemini.files(tmp_path, {})
    [transcript] = gemini.read(found)

    assert found == file
    assert (transcript.session, transcript.project) == ("g1", "sha256:ab12")
    assert [message["content"] for message in transcript.messages] == ["Fix it", "I look at it."]


def test_cursor_log_of_lines_names_folder_and_user(tmp_path: Path) -> None:
    file = lines(
        tmp_path / ".cursor" / "projects" / "srv-yard" / "agent-transcripts" / "c1" / "c1.jsonl",
        {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nFix it\n</user_query>"}]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read", "input": {"path": "a"}}]}},
    )
    [found] = cursor.files(tmp_path, {})
    [transcript] = cursor.read(found)

    assert found == file
    assert (transcript.session, transcript.project) == ("c1", cursor.folder_name("/srv/yard"))
    assert parse_messages(transcript.messages) == [("user_message", "Fix it"), ("tool_call", None)]


def test_half_characters_in_transcripts_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(claude("user", "cut QQ here \U0001f9ef", "u1")).replace("QQ", "\\udd1e"))
    [transcript] = claude_code.read(file)

    assert transcript.messages[0]["content"] == "cut \ufffd here \U0001f9ef"


def test_utf16_transcript_is_read(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(
        (json.dumps(claude("user", "use größe, not size", "u1"), ensure_ascii=False) + "\r\n").encode("utf-16")
    )
    [transcript] = claude_code.read(file)

    assert transcript.messages[0]["content"] == "use größe, not size"
