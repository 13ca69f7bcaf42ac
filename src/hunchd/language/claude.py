"""Client of Anthropic's Messages API.

The only module that imports `anthropic`, and only when a request is made. Any server that speaks the same API will
do. Answers are streamed, so that one that stops in the middle is noticed, and returned as the input of a tool, so that
they follow a schema.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from typing import Any, Final

from hunchd.config.places import expanded
from hunchd.language.asking import Access, Answer, Failure, Question, Trouble, Used

logger = logging.getLogger(__name__)

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
_TOOL: Final = "keep"
# HTTP statuses by kind of failure; any other status is worth a retry.
_REFUSED: Final = frozenset({400, 401, 402, 403, 404, 413, 422})
_BUSY: Final = frozenset({408, 409, 429, 529})
_LONGEST_MESSAGE: Final = 300  # characters of a server's error message


class NoKey(Exception):
    """No API key is available, or its file is readable by others."""


async def asked(question: Question, access: Access) -> Answer | Failure:
    """Send a question to the model; return its answer or the failure."""
    try:
        key = key_of(access)
    except NoKey as error:
        return Failure("refused", str(error))
    try:
        import anthropic
    except ImportError:
        return Failure("refused", "the package 'anthropic' is not installed: pip install 'hunchd[claude]'")
    # No retries here: the caller decides, as it knows the remaining budget.
    client = anthropic.AsyncAnthropic(
        api_key=key, base_url=access.base_url, max_retries=0, timeout=access.timeout, open_telemetry=False
    )
    used: dict[str, int] = {}
    said: list[str] = []
    try:
        async with client, asyncio.timeout(access.timeout):
            return _answer(await _message(client, question, access.model, used, said), "".join(said))
    except TimeoutError:
        return Failure("cut short", f"no complete answer within {access.timeout:.0f} s", used=Used(**used))
    except anthropic.APIStatusError as error:
        return _refusal(error, key, Used(**used))
    except anthropic.APITimeoutError:
        return Failure("unreachable", f"{access.base_url} did not answer in time", used=Used(**used))
    except anthropic.APIConnectionError as error:
        where: Trouble = "cut short" if used else "unreachable"
        return Failure(where, _shown(f"{access.base_url}: {error.__cause__ or error}", key), used=Used(**used))
    except Exception as error:  # a broken stream can raise any parser's exception
        logger.exception("the answer of the language model is not readable")
        return Failure("cut short" if used else "nonsense", _shown(str(error), key), used=Used(**used))


def key_of(access: Access) -> str:
    """Return the API key from the configured file, or else from the environment.

    Raises NoKey.
    """
    if not access.key_file:
        if key := os.environ.get(KEY_VARIABLE, "").strip():
            return key
        raise NoKey(f"there is no API key: set {KEY_VARIABLE} for the daemon, or name a file under [language] key_file")
    path = expanded(access.key_file)
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise NoKey(f"{path} can be read by others; run: chmod 600 {path}")
        key = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NoKey(f"the API key cannot be read: {error}") from error
    if not key or len(key.split()) != 1:
        raise NoKey(f"{path} must contain the API key and nothing else")
    return key


async def _message(client: Any, question: Question, model: str, used: dict[str, int], said: list[str]) -> Any:
    """Read the whole message from the stream.

    `token_counts` collects the tokens paid for so far, also when this fails; `json_parts` collects the raw JSON of the
    tool input: the library would complete a partial one.
    """
    tool = {"name": _TOOL, "description": "Keep what was found.", "input_schema": dict(question.schema)}
    async with client.messages.stream(
        model=model,
        max_tokens=question.most,
        system=question.system,
        messages=[{"role": "user", "content": question.text}],
        tools=[tool],
        tool_choice={"type": "tool", "name": _TOOL},
    ) as stream:
        async for event in stream:
            if event.type in ("message_start", "message_delta"):
                usage = (event.message if event.type == "message_start" else event).usage
                for name, told in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                    used[name] = max(used.get(name, 0), told or 0)
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                said.append(event.delta.partial_json)
        return await stream.get_final_message()


def _answer(message: Any, said: str) -> Answer | Failure:
    used = Used(message.usage.input_tokens or 0, message.usage.output_tokens or 0)
    if message.stop_reason in (None, "max_tokens", "pause_turn", "model_context_window_exceeded"):
        return Failure("cut short", "the answer ended before it was complete", used=used)
    if message.stop_reason == "refusal":
        return Failure("nonsense", "the model declined to answer", used=used)
    try:
        given = json.loads(said)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return Failure("nonsense", "the answer does not match the requested schema", used=used)
    return Answer(given, used)


def _refusal(error: Any, key: str, used: Used) -> Failure:
    status = int(error.status_code)
    trouble: Trouble = "refused" if status in _REFUSED else "busy" if status in _BUSY else "unreachable"
    message = _shown(f"answered {status}: {error.message}", key)
    return Failure(trouble, message, _seconds(error.response.headers.get("retry-after")), used)


def _seconds(told: str | None) -> float | None:
    """Parse a Retry-After header in seconds; return None for a date."""
    try:
        return max(0.0, float(told)) if told is not None else None
    except ValueError:
        return None


def _shown(text: str, key: str) -> str:
    """Render a server's text on one line, with our key removed."""
    return " ".join(text.replace(key, "…").split())[:_LONGEST_MESSAGE]
