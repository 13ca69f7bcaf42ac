"""Local server that speaks Anthropic's Messages API, with all kinds of failures."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Scene = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class MessagesApi:
    """Server that plays `scenes` in order, one a request, then repeats the last one.

    `asked` records the requests.
    """

    scenes: list[Scene]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        scene = self.scenes.pop(0) if len(self.scenes) > 1 else self.scenes[0]
        return await scene(request)


@asynccontextmanager
async def messages_api(*scenes: Scene) -> AsyncIterator[MessagesApi]:
    api = MessagesApi(list(scenes))
    app = web.Application()
    app.router.add_post("/v1/messages", api.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await runner.cleanup()


def says(content: Any, *, stop: str | None = "tool_use", tokens: tuple[int, int] = (1_000, 50)) -> Scene:
    """Answer completely: the tool is called with `content`; a string is sent as raw input."""

    async def scene(request: web.Request) -> web.StreamResponse:
        return await _streamed(request, _events(content, stop, tokens))

    return scene


def breaks_off(after: int, *, tokens: tuple[int, int] = (1_000, 50)) -> Scene:
    """Close the connection after this many events."""

    async def scene(request: web.Request) -> web.StreamResponse:
        response = await _streamed(request, _events({"facts": []}, "tool_use", tokens)[:after], whole=False)
        assert request.transport is not None
        request.transport.abort()
        return response

    return scene


def ends_early(after: int) -> Scene:
    """End the stream properly, but before the answer is complete."""

    async def scene(request: web.Request) -> web.StreamResponse:
        return await _streamed(request, _events({"facts": []}, "tool_use", (1_000, 50))[:after])

    return scene


def refuses(status: int, kind: str, **headers: str) -> Scene:
    async def scene(_: web.Request) -> web.StreamResponse:
        told = {"type": "error", "error": {"type": kind, "message": f"that is {kind}"}}
        return web.json_response(
            told, status=status, headers={name.replace("_", "-"): headers[name] for name in headers}
        )

    return scene


def prints(text: str, *, type_: str = "text/event-stream") -> Scene:
    """Send an arbitrary body with status 200."""

    async def scene(_: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type=type_)

    return scene


def says_nothing_for(seconds: float) -> Scene:
    async def scene(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await says({"facts": []})(request)

    return scene


def _events(content: Any, stop: str | None, tokens: tuple[int, int]) -> list[dict[str, Any]]:
    text = content if isinstance(content, str) else json.dumps(content)
    half = len(text) // 2
    started = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": 1},
    }
    block = {"type": "tool_use", "id": "toolu_1", "name": "keep", "input": {}}
    return [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
            for part in (text[:half], text[half:])
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": tokens[1]},
        },
        {"type": "message_stop"},
    ]


async def _streamed(request: web.Request, events: list[dict[str, Any]], *, whole: bool = True) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    if whole:
        await response.write_eof()
    return response


@contextmanager
def messages_api_beside(*scenes: Scene) -> Iterator[MessagesApi]:
    """Run the server in a thread, for synchronous tests."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def done(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(10)

    serving = messages_api(*scenes)
    try:
        yield done(serving.__aenter__())
        done(serving.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
