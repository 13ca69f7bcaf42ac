"""Client for Anthropic's Messages API.

This is the only module that imports `anthropic`, and only when a request is made. Any server with the same API can be
used. Answers are streamed, so that an interrupted answer is noticed, and are returned as the input of a tool, so that
they follow a schema.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from typing import Any, Final

from hunchd.config.app_paths import expand_path
from hunchd.language.model_requests import (
    FailureKind,
    ModelAnswer,
    ModelEndpoint,
    ModelFailure,
    ModelRequest,
    TokenUsage,
)

logger = logging.getLogger(__name__)

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
_TOOL_NAME: Final = "keep"
# HTTP statuses by kind of failure; any other status is worth a retry.
_REFUSED_STATUSES: Final = frozenset({400, 401, 402, 403, 404, 413, 422})
_BUSY_STATUSES: Final = frozenset({408, 409, 429, 529})
_MAX_MESSAGE_LENGTH: Final = 300  # characters of a server's error message


class MissingApiKey(Exception):
    """Error raised if there is no usable API key.

    The key is missing or invalid, or other users can read its file.
    """


async def send_request(question: ModelRequest, access: ModelEndpoint) -> ModelAnswer | ModelFailure:
    """Send a question to the model; return its answer or the failure."""
    try:
        key = load_api_key(access)
    except MissingApiKey as error:
        return ModelFailure("refused", str(error))
    try:
        import anthropic
    except ImportError:
        return ModelFailure("refused", "the package 'anthropic' is not installed: pip install 'hunchd[claude]'")
    # No retries here: the caller decides, as it knows the remaining budget.
    client = anthropic.AsyncAnthropic(
        api_key=key, base_url=access.base_url, max_retries=0, timeout=access.timeout, open_telemetry=False
    )
    token_counts: dict[str, int] = {}
    json_parts: list[str] = []
    try:
        async with client, asyncio.timeout(access.timeout):
            return _parse_answer(
                await _read_message(client, question, access.model, token_counts, json_parts), "".join(json_parts)
            )
    except TimeoutError:
        return ModelFailure(
            "cut short", f"the answer was not complete within {access.timeout:.0f} s", used=TokenUsage(**token_counts)
        )
    except anthropic.APIStatusError as error:
        return _failure_from_status(error, key, TokenUsage(**token_counts))
    except anthropic.APITimeoutError:
        return ModelFailure("unreachable", f"{access.base_url} did not answer in time", used=TokenUsage(**token_counts))
    except anthropic.APIConnectionError as error:
        where: FailureKind = "cut short" if token_counts else "unreachable"
        return ModelFailure(
            where,
            sanitize_message(f"{access.base_url}: {error.__cause__ or error}", key),
            used=TokenUsage(**token_counts),
        )
    except Exception as error:  # a broken stream can raise any parser's exception
        logger.exception("could not read the answer of the language model")
        return ModelFailure(
            "cut short" if token_counts else "nonsense",
            sanitize_message(str(error), key),
            used=TokenUsage(**token_counts),
        )


def load_api_key(access: ModelEndpoint, variable: str = KEY_VARIABLE) -> str:
    """Return the API key from the configured file.

    If no file is configured, the environment variable `variable` is used. Raises MissingApiKey if there is no valid
    key, or if other users can read the file.
    """
    if not access.key_file:
        if key := os.environ.get(variable, "").strip():
            return key
        raise MissingApiKey(
            f"there is no API key: set {variable} in the daemon's environment, or set [language] key_file to the path"
            " of a file that contains the key"
        )
    path = expand_path(access.key_file)
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise MissingApiKey(f"other users can read {path}; run: chmod 600 {path}")
        key = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise MissingApiKey(f"could not read the API key: {error}") from error
    if not key or len(key.split()) != 1:
        raise MissingApiKey(f"{path} must contain the API key and nothing else")
    return key


async def _read_message(
    client: Any, question: ModelRequest, model: str, token_counts: dict[str, int], json_parts: list[str]
) -> Any:
    """Read the whole message from the stream.

    `token_counts` collects the tokens paid for so far, even if reading fails; `json_parts` collects the raw JSON of
    the tool input, because the library would silently complete JSON that was cut off.
    """
    tool = {"name": _TOOL_NAME, "description": "Keep what was found.", "input_schema": dict(question.schema)}
    async with client.messages.stream(
        model=model,
        max_tokens=question.most,
        system=question.system,
        messages=[{"role": "user", "content": question.text}],
        tools=[tool],
        tool_choice={"type": "tool", "name": _TOOL_NAME},
    ) as stream:
        async for event in stream:
            if event.type in ("message_start", "message_delta"):
                usage = (event.message if event.type == "message_start" else event).usage
                for name, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                    token_counts[name] = max(token_counts.get(name, 0), tokens or 0)
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                json_parts.append(event.delta.partial_json)
        return await stream.get_final_message()


def _parse_answer(message: Any, raw_json: str) -> ModelAnswer | ModelFailure:
    token_usage = TokenUsage(message.usage.input_tokens or 0, message.usage.output_tokens or 0)
    if message.stop_reason in (None, "max_tokens", "pause_turn", "model_context_window_exceeded"):
        return ModelFailure("cut short", "the answer ended before it was complete", used=token_usage)
    if message.stop_reason == "refusal":
        return ModelFailure("nonsense", "the model declined to answer", used=token_usage)
    try:
        parsed_answer = json.loads(raw_json)
    except ValueError:
        parsed_answer = None
    if not isinstance(parsed_answer, dict):
        return ModelFailure("nonsense", "the answer does not match the requested schema", used=token_usage)
    return ModelAnswer(parsed_answer, token_usage)


def _failure_from_status(error: Any, key: str, token_usage: TokenUsage) -> ModelFailure:
    status = int(error.status_code)
    message = sanitize_message(f"the server answered {status}: {error.message}", key)
    return ModelFailure(
        classify_status(status), message, parse_retry_after(error.response.headers.get("retry-after")), token_usage
    )


def classify_status(status: int) -> FailureKind:
    """Return the kind of failure that an HTTP status indicates."""
    return "refused" if status in _REFUSED_STATUSES else "busy" if status in _BUSY_STATUSES else "unreachable"


def parse_retry_after(header: str | None) -> float | None:
    """Return the number of seconds in a Retry-After header.

    Returns None if there is no header, or if it contains a date.
    """
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:
        return None


def sanitize_message(text: str, key: str) -> str:
    """Return a server's text on one line, truncated and without the API key."""
    return " ".join(text.replace(key, "…").split())[:_MAX_MESSAGE_LENGTH]
