"""Limits of the HTTP server, over real connections."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from opened_doors import TOKEN, Daemon, daemon_at

from hunchd.serving.http import CONNECTIONS
from hunchd.serving.limits import ServerLimits

HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"


async def test_oversized_content_length_is_rejected_unread(daemon: Daemon) -> None:
    raw = f"POST /signals HTTP/1.1\r\n{HEAD}Content-Length: 100000000\r\n\r\n".encode()

    answer = await daemon.raw(raw)  # not one byte of the body is sent

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"


async def test_oversized_chunked_body_is_rejected(hunchd_home: Path) -> None:
    async def endless() -> object:
        for _ in range(1000):
            yield b" " * 1000

    async with daemon_at(hunchd_home, ServerLimits(body_bytes=100_000)) as daemon:
        response = await daemon.client.post(
            daemon.url + "/signals", data=endless(), headers={"Content-Type": "application/json"}
        )
        assert response.status == 413


async def test_import_limits_line_length_not_total(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(body_bytes=10_000, line_bytes=20_000)) as daemon:
        kind = {"Content-Type": "application/x-ndjson"}
        long = await daemon.client.post(daemon.url + "/import", data=b"\n" * 50_000, headers=kind)
        wide = await daemon.client.post(daemon.url + "/import", data=b"x" * 50_000 + b"\n{}\n", headers=kind)
        answers = [await answer.json() for answer in (long, wide)]

    assert [(answer["refused"], [each["index"] for each in answer["rejected"]]) for answer in answers] == [
        (0, []),
        (2, [0, 1]),
    ]
    assert answers[1]["rejected"][0]["error"]["code"] == "too_large"


async def test_stalled_body_times_out(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(read_seconds=0.1)) as daemon:
        answers = [
            await daemon.raw(f"POST {path} HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\n{{".encode())
            for path in ("/signals", "/import")
        ]

    assert [answer.split()[1] for answer in answers] == [b"408", b"408"]


async def test_stalled_head_times_out(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(idle_seconds=0.2)) as daemon:
        beginnings = (b"", b"GET /status HT", f"GET /status HTTP/1.1\r\n{HEAD}\r\nGET /sta".encode())
        answers = [await daemon.raw(beginning) for beginning in beginnings]

    assert [answer[:12] for answer in answers] == [b"", b"", b"HTTP/1.1 200"]


async def test_slow_connections_500_are_closed_others_served(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(connections=64)) as daemon:
        slow = []
        for _ in range(500):
            _, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
            writer.write(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            slow.append(writer)
        answers = [await daemon.get("/status") for _ in range(20)]

        assert {answer.status for answer in answers} == {200}
        assert len(daemon.app[CONNECTIONS]) <= 64
        assert daemon.app[CONNECTIONS].closed_count >= 500 - 64
        for writer in slow:
            writer.close()


async def test_busy_connection_is_never_evicted(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(connections=8)) as daemon:
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


async def test_json_bomb_rejected_next_request_accepted(daemon: Daemon) -> None:
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
async def test_oversized_or_ambiguous_head_is_rejected(daemon: Daemon, head: str) -> None:
    assert (await daemon.raw(head.encode())).split()[1] in (b"400", b"413", b"431")


async def test_shutdown_closes_open_connections(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home) as daemon:
        events = await daemon.get("/events")
        await daemon.get("/status")
        reader, idle = await asyncio.open_connection("127.0.0.1", daemon.port)
    assert await reader.read() == b""  # closed by the daemon, which did not wait for it
    idle.close()
    events.close()
