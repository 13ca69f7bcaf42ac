"""Session routes: accepted and rejected input, and fields described in OpenAPI."""

from __future__ import annotations

from typing import Any

import pytest
from opened_doors import Daemon

from hunchd.domain.session import MessageType
from hunchd.protocol.responses import to_json
from hunchd.protocol.session_answers import message_answer
from hunchd.serving.openapi import build_document


async def test_append_keeps_valid_lists_rejected(daemon: Daemon) -> None:
    sent = [{"role": "user", "content": "hello"}, {"role": "wizard", "content": "abracadabra"}]
    response = await daemon.post("/sessions/s1/messages", {"messages": sent})
    answer = await response.json()

    assert response.status == 202
    assert (answer["accepted"], [one["index"] for one in answer["rejected"]]) == (1, [1])
    assert "user, assistant, tool, system" in answer["rejected"][0]["error"]["message"]


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ({"role": "user", "content": "x"}, MessageType.USER),
        ({"role": "assistant", "content": "x"}, MessageType.ASSISTANT),
        ({"role": "tool", "content": "x"}, MessageType.RESULT),
        ({"role": "assistant", "event_type": "tool_call", "event_data": {"input": {"path": "a.py"}}}, MessageType.CALL),
    ],
)
async def test_append_event_type_defaults_by_role(daemon: Daemon, message: dict[str, Any], event: MessageType) -> None:
    assert (await daemon.post("/sessions/s1/messages", {"messages": [message]})).status == 202
    [kept] = daemon.engine.conversations.logs["s1"]

    assert kept.event is event
    assert kept.text


async def test_end_outcome_is_optional(daemon: Daemon) -> None:
    await daemon.post("/sessions/s1/messages", {"messages": [{"role": "user", "content": "x"}]})
    json_type = {"Content-Type": "application/json"}

    assert (await daemon.client.post(f"{daemon.url}/sessions/s1/end", headers=json_type)).status == 200
    assert daemon.engine.conversations.outcomes == {"s1": None}
    assert (await daemon.post("/sessions/s1/end", {"outcome": "partial"})).status == 200
    assert daemon.engine.conversations.outcomes == {"s1": "partial"}
    assert (await daemon.post("/sessions/s1/end", {"outcome": "glorious"})).status == 422


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": "x"}, "session"),
        ({"session": "s", "message": "x", "budget": 10}, "budget"),
        ({"session": "s", "message": "x", "tools": [{"description": "nameless"}]}, "tools"),
        ({"session": "two\nlines", "message": "x"}, "session"),
    ],
)
async def test_compile_error_names_field(daemon: Daemon, body: dict[str, Any], field: str) -> None:
    response = await daemon.post("/context/compile", body)

    assert response.status == 422
    assert (await response.json())["error"]["field"] == field


async def test_listed_message_matches_schema(daemon: Daemon) -> None:
    await daemon.post("/sessions/s1/messages", {"messages": [{"role": "user", "content": "x"}]})
    [kept] = daemon.engine.conversations.logs["s1"]

    assert set(build_document()["components"]["schemas"]["LoggedMessage"]["required"]) == set(
        to_json(message_answer(kept, "s1"))
    )


async def test_unknown_session_returns_404(daemon: Daemon) -> None:
    for path in ("/sessions/none", "/sessions/none/messages"):
        assert (await daemon.get(path)).status == 404
