"""Tests of the Messages API client with the real library and a local server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hunchd.language.claude import send_request
from hunchd.language.model_requests import (
    ModelAnswer,
    ModelEndpoint,
    ModelFailure,
    ModelRequest,
    TokenUsage,
)
from tests.language.messages_api import (
    MessagesApi,
    breaks_off,
    ends_early,
    messages_api,
    prints,
    refuses,
    says,
    says_nothing_for,
)

pytest.importorskip("anthropic")

KEY = "not-a-real-key"
QUESTION = ModelRequest("Keep what was settled.", "[1] user: we use pnpm", {"type": "object"}, most=500)


@pytest.fixture(autouse=True)
def _set_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def access(url: str, *, key_file: str = "", timeout: float = 20.0) -> ModelEndpoint:
    return ModelEndpoint(model="claude-test", base_url=url, key_file=key_file, timeout=timeout)


def list_sent_keys(api: MessagesApi) -> list[str]:
    """Return the keys in the requests, whichever header the library uses."""
    return [headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ") for headers in api.headers]


async def test_answer_holds_tool_input_and_usage() -> None:
    async with messages_api(says({"facts": [{"key": "a"}]}, tokens=(1_234, 56))) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert outcome == ModelAnswer({"facts": [{"key": "a"}]}, TokenUsage(1_234, 56))
    [sent] = api.asked
    assert sent["model"] == "claude-test"
    assert sent["max_tokens"] == 500
    assert sent["stream"] is True
    assert sent["tool_choice"]["name"] == sent["tools"][0]["name"]
    assert sent["messages"] == [{"role": "user", "content": QUESTION.text}]
    assert list_sent_keys(api) == [KEY]


@pytest.mark.parametrize(
    ("status", "kind", "trouble"),
    [
        (400, "invalid_request_error", "refused"),
        (401, "authentication_error", "refused"),
        (403, "permission_error", "refused"),
        (404, "not_found_error", "refused"),
        (429, "rate_limit_error", "busy"),
        (500, "api_error", "unreachable"),
        (503, "api_error", "unreachable"),
        (529, "overloaded_error", "busy"),
    ],
)
async def test_refusal_status_sets_failure_kind(status: int, kind: str, trouble: str) -> None:
    async with messages_api(refuses(status, kind)) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == trouble
    assert str(status) in outcome.message
    assert len(api.asked) == 1, "trying again is the caller's decision"


@pytest.mark.parametrize(("told", "seconds"), [("7", 7.0), ("0.5", 0.5), ("Sun, 22 Nov 2026 05:00:00 GMT", None)])
async def test_retry_after_header_is_passed_on(told: str, seconds: float | None) -> None:
    async with messages_api(refuses(429, "rate_limit_error", retry_after=told)) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)
    assert outcome.retry_after == seconds


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
async def test_lost_connection_is_cut_short_with_usage(after: int) -> None:
    async with messages_api(breaks_off(after)) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == "cut short"
    assert outcome.used.input == 1_000


@pytest.mark.parametrize("after", [1, 3, 5])
async def test_early_stream_end_is_cut_short(after: int) -> None:
    async with messages_api(ends_early(after)) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == "cut short"


async def test_max_tokens_stop_is_cut_short() -> None:
    async with messages_api(says({"facts": []}, stop="max_tokens")) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert outcome == ModelFailure("cut short", "the answer ended before it was complete", used=TokenUsage(1_000, 50))


@pytest.mark.parametrize(
    "scene",
    [
        says("[1, 2]"),
        says('"a text"'),
        says({}, stop="refusal"),
        prints("<html>welcome to the captive portal</html>", type_="text/html"),
        prints("data: {broken\n\n"),
        prints("event: message_start\ndata: {\n\n"),
        prints(""),
        prints('event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no"}}\n\n'),
    ],
    ids=["a list", "a text", "declined", "a page", "half a line", "half an event", "nothing", "an error event"],
)
async def test_invalid_answer_is_failure(scene: object) -> None:
    async with messages_api(scene) as api:  # type: ignore[arg-type]
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)


async def test_partial_json_is_failure() -> None:
    async with messages_api(says('{"facts": [{"key": "a"')) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)


async def test_silent_server_times_out() -> None:
    async with messages_api(says_nothing_for(30.0)) as api:
        outcome = await send_request(QUESTION, access(api.url, timeout=0.3))

    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble in ("cut short", "unreachable")


async def test_missing_server_is_unreachable() -> None:
    outcome = await send_request(QUESTION, access("http://127.0.0.1:9"))

    assert isinstance(outcome, ModelFailure)
    assert outcome.trouble == "unreachable"


async def test_key_file_must_be_private(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("another-key\n")
    file.chmod(0o644)
    async with messages_api(says({})) as api:
        open_to_all = await send_request(QUESTION, access(api.url, key_file=str(file)))
        file.chmod(0o600)
        private = await send_request(QUESTION, access(api.url, key_file=str(file)))

    assert isinstance(open_to_all, ModelFailure)
    assert "chmod 600" in open_to_all.message
    assert isinstance(private, ModelAnswer)
    assert list_sent_keys(api) == ["another-key"]


async def test_missing_key_sends_no_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    empty = tmp_path / "empty"
    empty.touch(mode=0o600)
    async with messages_api(says({})) as api:
        outcomes = [
            await send_request(QUESTION, access(api.url, key_file=file)) for file in ("", str(empty), "/no/such/file")
        ]

    assert all(isinstance(one, ModelFailure) and one.trouble == "refused" for one in outcomes)
    assert api.asked == []


async def test_echoed_key_is_removed() -> None:
    async with messages_api(refuses(401, f"invalid key {KEY}")) as api:
        outcome = await send_request(QUESTION, access(api.url))

    assert isinstance(outcome, ModelFailure)
    assert KEY not in outcome.message


def test_anthropic_is_imported_lazily() -> None:
    parts = "hunchd.daemon.wiring, hunchd.daemon.language_process, hunchd.engine"
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, {parts}; print('anthropic' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "False"
