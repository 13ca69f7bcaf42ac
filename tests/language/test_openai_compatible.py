"""Tests of the client of OpenAI-compatible servers, against a real one on this machine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hunchd.language.model_requests import ModelAnswer, ModelEndpoint, ModelFailure, ModelRequest, TokenUsage
from hunchd.language.openai_compatible import KEY_VARIABLE, send_request

QUESTION = ModelRequest("Keep facts.", "We use uv.", {"type": "object"}, 200)


@dataclass
class ChatApi:
    """Scripted server: each answer is a status, a body and headers."""

    answers: list[tuple[int, Any, dict[str, str]]]
    url: str = ""
    requests: list[tuple[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append((request.headers.get("Authorization", ""), await request.json()))
        status, body, headers = self.answers.pop(0)
        return web.Response(status=status, text=body if isinstance(body, str) else json.dumps(body), headers=headers)


@asynccontextmanager
async def chat_api(*answers: tuple[int, Any, dict[str, str]]) -> AsyncIterator[ChatApi]:
    api = ChatApi(list(answers))
    app = web.Application()
    app.router.add_post("/v1/chat/completions", api.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield api
    finally:
        await runner.cleanup()


def says(content: str, *, reason: str = "stop") -> tuple[int, Any, dict[str, str]]:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": reason}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}, {}


def access(url: str, key_file: str = "") -> ModelEndpoint:
    return ModelEndpoint("small", url, key_file, 10.0, "openai")


@pytest.fixture(autouse=True)
def _remove_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


@pytest.mark.parametrize("content", ['{"facts": []}', '```json\n{"facts": []}\n```'])
async def test_answer_holds_json_and_usage(content: str) -> None:
    async with chat_api(says(content)) as api:
        assert await send_request(QUESTION, access(api.url)) == ModelAnswer({"facts": []}, TokenUsage(12, 3))
    [(authorization, body)] = api.requests
    assert (authorization, body["model"]) == ("", "small")
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        ((401, "no", {}), "refused"),
        ((429, "slow", {"Retry-After": "7"}), "busy"),
        ((503, "loading", {}), "unreachable"),
        (says('{"facts": [', reason="length"), "cut short"),
        (says("Sure! Here they are."), "nonsense"),
        ((200, "<html>", {}), "nonsense"),
    ],
)
async def test_failure_has_kind(answer: tuple[int, Any, dict[str, str]], trouble: str) -> None:
    async with chat_api(answer) as api:
        outcome = await send_request(QUESTION, access(api.url))
    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == trouble
    assert outcome.retry_after == (7.0 if trouble == "busy" else None)


async def test_new_key_is_used_at_once(tmp_path: Path) -> None:
    file = tmp_path / "key"
    async with chat_api((401, "wrong key first-key", {}), says("{}")) as api:
        for key in ("first-key", "second-key"):
            file.write_text(key)
            file.chmod(0o600)
            outcome = await send_request(QUESTION, access(api.url, str(file)))
            if isinstance(outcome, ModelFailure):
                assert key not in outcome.message
    assert isinstance(outcome, ModelAnswer)
    assert [sent for sent, _ in api.requests] == ["Bearer first-key", "Bearer second-key"]


async def test_remote_server_without_key_gets_no_request() -> None:
    outcome = await send_request(QUESTION, access("https://models.invalid/v1"))
    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == "refused"


async def test_missing_server_is_unreachable() -> None:
    outcome = await send_request(QUESTION, access("http://127.0.0.1:1/v1"))
    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == "unreachable"
