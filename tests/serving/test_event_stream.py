from __future__ import annotations

import asyncio
import json
from pathlib import Path

from opened_doors import TOKEN, Daemon, daemon_at

from hunchd.serving.event_stream import encode_event
from hunchd.serving.limits import ServerLimits


async def test_events_reach_all_listeners(daemon: Daemon, tmp_path: Path) -> None:
    listeners = [await daemon.get("/events") for _ in range(3)]
    for each in listeners:
        assert each.content_type == "text/event-stream"
        assert await each.content.readuntil(b"\n\n") == b": hello\n\n"

    await daemon.post("/signals", {"signals": [{"kind": "commit", "project": str(tmp_path), "sha": "a41c9e2"}]})

    for each in listeners:
        name, content = (await each.content.readuntil(b"\n\n")).strip().split(b"\n")
        assert name == b"event: signal"
        assert json.loads(content.removeprefix(b"data: "))["signal"]["sha"] == "a41c9e2"
        each.close()


async def test_quiet_stream_sends_heartbeats(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(heartbeat_seconds=0.02)) as daemon:
        events = await daemon.get("/events")

        assert [await events.content.readuntil(b"\n\n") for _ in range(3)] == [
            b": hello\n\n",
            b": still here\n\n",
            b": still here\n\n",
        ]
        events.close()


async def test_stalled_listener_is_dropped_others_stay(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(write_seconds=0.2)) as daemon:
        good = await daemon.get("/events")
        await good.content.readuntil(b"\n\n")
        reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port, limit=1024)
        writer.write(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        await reader.readuntil(b"hello")
        writer.transport.pause_reading()
        assert len(daemon.engine.listening) == 2

        received = 0
        for number in range(200):
            for queue in daemon.engine.listening:
                queue.put_nowait({"type": "big", "number": number, "text": "x" * 100_000})
            received += len(await good.content.readuntil(b"\n\n"))
        for _ in range(100):
            if len(daemon.engine.listening) == 1:
                break
            await asyncio.sleep(0.05)

        assert len(daemon.engine.listening) == 1
        assert received > 200 * 100_000
        assert "hunchd_http_listeners_dropped_total 1" in await (await daemon.get("/metrics")).text()
        good.close()
        writer.close()


async def test_listener_limit_frees_place_on_disconnect(hunchd_home: Path) -> None:
    async with daemon_at(hunchd_home, ServerLimits(listeners=2, heartbeat_seconds=0.05)) as daemon:
        first, second, third = [await daemon.get("/events") for _ in range(3)]
        assert (third.status, third.headers["Retry-After"]) == (429, "1")

        first.close()
        for _ in range(40):
            await asyncio.sleep(0.05)
            if (again := await daemon.get("/events")).status == 200:
                break

        assert again.status == 200
        for each in (second, again):
            each.close()


def test_event_with_line_breaks_stays_one_line() -> None:
    assert encode_event({"type": "a\nb", "text": "x\ny"}) == b'event: a b\ndata: {"type":"a\\nb","text":"x\\ny"}\n\n'
