"""Client for servers with OpenAI's chat completions API.

Examples of such servers are Ollama, llama.cpp, LM Studio and vLLM. The client requests the answer as JSON that
follows a schema (`response_format`), which all of these support. A server on this machine needs no key. The
standard library is sufficient, because the language process does nothing else while it waits.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from hunchd.language.claude import (
    MissingApiKey,
    classify_status,
    load_api_key,
    parse_retry_after,
    sanitize_message,
)
from hunchd.language.model_requests import ModelAnswer, ModelEndpoint, ModelFailure, ModelRequest, TokenUsage

KEY_VARIABLE: Final = "OPENAI_API_KEY"
_PATH: Final = "/chat/completions"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_MAX_ANSWER_BYTES: Final = 4_000_000
_FENCE: Final = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$")


async def send_request(question: ModelRequest, access: ModelEndpoint) -> ModelAnswer | ModelFailure:
    """Send a question to the model; return its answer or the failure."""
    try:
        key = load_api_key(access, KEY_VARIABLE)
    except MissingApiKey as error:
        if access.key_file or urlsplit(access.base_url).hostname not in _LOOPBACK:
            return ModelFailure("refused", str(error))
        key = ""
    try:
        async with asyncio.timeout(access.timeout):
            status, headers, body = await asyncio.to_thread(_post, question, access, key)
    except TimeoutError:
        return ModelFailure("cut short", f"the answer was not complete within {access.timeout:.0f} s")
    except (OSError, http.client.HTTPException) as error:
        return ModelFailure("unreachable", sanitize_message(f"{access.base_url}: {error}", key))
    if status != http.client.OK:
        message = sanitize_message(f"the server answered {status}: {body[:1_000].decode('utf-8', 'replace')}", key)
        return ModelFailure(classify_status(status), message, parse_retry_after(headers.get("retry-after")))
    return _parse_answer(body)


def _post(question: ModelRequest, access: ModelEndpoint, key: str) -> tuple[int, Mapping[str, str], bytes]:
    url = urlsplit(access.base_url)
    connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = connect(url.hostname or "", url.port, timeout=access.timeout)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        connection.request("POST", url.path.rstrip("/") + _PATH, json.dumps(_build_body(question, access)), headers)
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return response.status, received, response.read(_MAX_ANSWER_BYTES)
    finally:
        connection.close()


def _build_body(question: ModelRequest, access: ModelEndpoint) -> Mapping[str, object]:
    return {
        "model": access.model,
        "max_tokens": question.most,
        "temperature": 0,
        "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": question.text}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "keep", "schema": dict(question.schema)},
        },
    }


def _parse_answer(body: bytes) -> ModelAnswer | ModelFailure:
    try:
        raw = json.loads(body)
        [choice, *_] = raw["choices"]
        usage = raw.get("usage") or {}
        used = TokenUsage(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))
        text, reason = str(choice["message"]["content"] or ""), choice.get("finish_reason")
    except (ValueError, KeyError, TypeError, AttributeError):
        return ModelFailure("nonsense", "the answer is not a chat completion")
    if reason == "length":
        return ModelFailure("cut short", "the answer ended before it was complete", used=used)
    try:
        content = json.loads(_FENCE.sub("", text))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return ModelFailure("nonsense", "the answer does not match the requested schema", used=used)
    return ModelAnswer(content, used)
