"""What a client may cost, over real connections."""

from __future__ import annotations

import asyncio
import io
import json
import time
from pathlib import Path

import pytest
from opened_doors import TOKEN, Daemon, daemon_at

from hunchd.serving.http import CONNECTIONS
from hunchd.serving.limits import Limits

HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"


async def test_a_body_over_the_limit_is_refused_by_its_length_alone(daemon: Daemon) -> None:
    raw = f"POST /signals HTTP/1.1\r\n{HEAD}Content-Length: 100000000\r\n\r\n".encode()

    answer = await daemon.raw(raw)  # not one byte of the body is sent

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"


async def test_a_body_over_the_limit_is_refused_when_its_length_is_not_told(hunchd_home: Path) -> None:
    async def endless() -> object:
        for _ in range(1000):
            yield b" " * 1000

    async with daemon_at(hunchd_home, Limits(body=100_000)) as daemon:
        response = await daemon.client.post(
            daemon.url + "/signals", data=endless(), headers={"Content-Type": "application/json"}
        )
        assert response.status == 413


async def test_an_imported_line_has_a_limit_and_is_refused_by_itself_and_an_import_has_none(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, Limits(body=10_000, line=20_000)) as daemon:
        kind = {"Content-Type": "application/x-ndjson"}
        long = await daemon.client.post(daemon.url + "/import", data=b"\n" * 50_000, headers=kind)
        wide = await daemon.client.post(daemon.url + "/import", data=b"x" * 50_000 + b"\n{}\n", headers=kind)
        answers = [await answer.json() for answer in (long, wide)]

    assert [(answer["refused"], [each["index"] for each in answer["rejected"]]) for answer in answers] == [
        (0, []),
        (2, [0, 1]),
    ]
    assert answers[1]["rejected"][0]["error"]["code"] == "too_large"


async def test_a_body_that_does_not_arrive_is_not_waited_for(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, Limits(read=0.1)) as daemon:
        began = time.monotonic()
        answers = [
            await daemon.raw(f"POST {path} HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\n{{".encode())
            for path in ("/signals", "/import")
        ]

    assert [answer.split()[1] for answer in answers] == [b"408", b"408"]
    assert time.monotonic() - began < 4


async def test_a_head_that_does_not_arrive_is_not_waited_for(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, Limits(wait=0.2)) as daemon:
        began = time.monotonic()
        for beginning in (b"", b"GET /status HT", f"GET /status HTTP/1.1\r\n{HEAD}\r\nGET /sta".encode()):
            await daemon.raw(beginning)

    assert time.monotonic() - began < 4


async def test_five_hundred_slow_connections_neither_stop_the_others_nor_stay(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, Limits(connections=64)) as daemon:
        slow = []
        for _ in range(500):
            _, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
            writer.write(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            slow.append(writer)
        began = time.monotonic()
        answers = [await daemon.get("/status") for _ in range(20)]
        took = time.monotonic() - began

        assert {answer.status for answer in answers} == {200}
        assert took < 1
        assert len(daemon.app[CONNECTIONS]) <= 64
        assert daemon.app[CONNECTIONS].closed >= 500 - 64
        for writer in slow:
            writer.close()


async def test_a_connection_that_is_being_answered_is_never_closed_for_another(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, Limits(connections=8)) as daemon:
        events = await daemon.get("/events")
        assert await events.content.readline() == b": hello\n"
        slow = [await asyncio.open_connection("127.0.0.1", daemon.port) for _ in range(30)]
        await asyncio.sleep(0.05)

        daemon.engine.listening.copy().pop().put_nowait({"type": "warning"})

        await events.content.readline()
        assert await events.content.readline() == b"event: warning\n"
        events.close()
        for _, writer in slow:
            writer.close()


async def test_a_deep_or_wide_bomb_is_refused_and_the_next_request_is_not(daemon: Daemon) -> None:
    bombs = [b"[" * 4_000_000, b'{"a":' * 1_000_000, b'{"signals":' + b"[" * 100 + b"]" * 100 + b"}", b'"' * 4_000_001]
    for bomb in bombs:
        response = await daemon.client.post(
            daemon.url + "/signals", data=io.BytesIO(bomb), headers={"Content-Type": "application/json"}
        )
        assert (response.status, (await response.json())["error"]["code"]) == (400, "malformed")
    assert (await daemon.post("/signals", {"signals": []})).status == 202


@pytest.mark.parametrize(
    "head",
    [
        "GET /" + "x" * 100_000 + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + "x" * 100_000 + "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "X: y\r\n" * 5_000 + "\r\n",
        f"POST /signals HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"POST /signals HTTP/1.1\r\n{HEAD}Content-Length: -5\r\n\r\n",
        f"POST /signals HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["long line", "long header", "many headers", "two lengths", "negative length", "broken chunk"],
)
async def test_a_head_that_is_too_large_or_ambiguous_is_refused(daemon: Daemon, head: str) -> None:
    assert (await daemon.raw(head.encode())).split()[1] in (b"400", b"413", b"431")


async def test_doors_close_at_once_even_with_listeners_and_idle_connections(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home) as daemon:
        events = await daemon.get("/events")
        await daemon.get("/status")
        _, idle = await asyncio.open_connection("127.0.0.1", daemon.port)
        began = time.monotonic()
    idle.close()
    events.close()
    assert time.monotonic() - began < 2
