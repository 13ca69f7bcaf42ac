"""Any input gets a response below 500, never silence."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opened_doors import TOKEN, Daemon

from hunchd.protocol.memories import MemoryRecord
from hunchd.protocol.requests import (
    AssembleRequest,
    AssembleSignals,
    ContextQuery,
    ExpandRequest,
    MemoriesQuery,
    PredictRequest,
    SearchBody,
)
from hunchd.protocol.signals import BODY_OF_KIND, SIGNAL_KINDS
from hunchd.protocol.struct_decoding import list_wire_names
from hunchd.serving.openapi import OPERATIONS

# Each example is one request over a real connection; the fixture is one daemon for all of them, as in life.
hostile = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

STRUCTS = (
    AssembleRequest,
    AssembleSignals,
    ContextQuery,
    ExpandRequest,
    MemoriesQuery,
    PredictRequest,
    SearchBody,
)
NAMES = sorted(
    {
        *list_wire_names(MemoryRecord),
        *(name for body in BODY_OF_KIND.values() for name in list_wire_names(body)),
        *(name for each in STRUCTS for name in list_wire_names(each)),
        "items",
        "memories",
        "signals",
        "outcome",
        "data",
        "type",
        "version",
        "summary",
    }
)
TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        *SIGNAL_KINDS,
        "fact",
        "/",
        "/tmp",
        "..",
        "a/../../b",
        "2025-01-01",
        "99999-01-01",
        "0001-01-01T00:00:00+23:59",
        "\0",
        "\ud800",
        "\u202e",
        "full",
        "cited",
        "json",
        "' OR 1=1 --",
        "x" * 70_000,
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8),
    max_leaves=25,
)
ROUTES = st.sampled_from(sorted(set(OPERATIONS) - {("GET", "/events")}))
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


async def status_and_error(daemon: Daemon, method: str, path: str, body: bytes) -> tuple[int, Any]:
    response = await daemon.client.request(method, daemon.url + path, data=body, headers=HEADERS)
    content = await response.read()
    return response.status, json.loads(content)["error"] if response.status >= 400 else None


@hostile
@given(route=ROUTES, body=VALUES, identifier=st.sampled_from(["m1", "%00", "%ed%a0%80", "..%2f..", "x" * 300, "%"]))
async def test_any_json_gets_response_below_500(
    daemon: Daemon, route: tuple[str, str], body: Any, identifier: str
) -> None:
    method, path = route
    raw = json.dumps(body).encode() if method != "GET" else b""

    status, error = await status_and_error(daemon, method, path.replace("{id}", identifier), raw)

    assert status < 500
    assert error is None or error["message"]


@hostile
@given(route=ROUTES, body=st.binary(max_size=200))
async def test_any_bytes_get_response_below_500(daemon: Daemon, route: tuple[str, str], body: bytes) -> None:
    status, _ = await status_and_error(daemon, route[0], route[1].replace("{id}", "m1"), body)

    assert status < 500


@hostile
@given(
    path=st.sampled_from(["/context", "/memories", "/export"]),
    query=st.lists(st.tuples(st.sampled_from(NAMES), st.text("abc/.%&=+;,0123456789-\u00e9", max_size=12)), max_size=5),
)
async def test_any_query_gets_response_below_500(daemon: Daemon, path: str, query: list[tuple[str, str]]) -> None:
    raw = "&".join(f"{name}={value}" for name, value in query).encode()

    answer = await daemon.raw(
        b"GET %s?%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
        % (path.encode(), raw, TOKEN.encode())
    )

    assert 200 <= int(answer.split()[1]) < 500


@hostile
@given(rubbish=st.binary(min_size=1, max_size=300), cut=st.integers(0, 200))
async def test_garbage_bytes_leave_next_request_intact(daemon: Daemon, rubbish: bytes, cut: int) -> None:
    good = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

    answer = await daemon.raw(good[:cut] + rubbish + b"\r\n\r\n" + good)

    assert b" 500 " not in answer.split(b"\r\n")[0]
    assert (await daemon.raw(good)).startswith(b"HTTP/1.1 200 ")
