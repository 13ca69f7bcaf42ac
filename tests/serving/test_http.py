from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from opened_doors import TOKEN, Daemon

from hunchd import PROTOCOL, __version__
from hunchd.domain.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Overloaded,
    RepositoryError,
    StorageFull,
    StoreError,
    TooLarge,
    Unavailable,
)


async def test_health_returns_status_protocol_version_only(daemon: Daemon) -> None:
    response = await daemon.client.get(daemon.url + "/health", headers={"Authorization": ""})

    assert await response.json() == {"status": "ok", "protocol": PROTOCOL, "version": __version__}
    assert response.headers["Server"] == "hunchd"


async def test_project_lifecycle_from_post_to_delete(daemon: Daemon) -> None:
    project = await (await daemon.post("/projects", {"path": "/p/flask"})).json()
    listed = await (await daemon.get("/projects")).json()
    again = await (await daemon.post("/projects", {"path": "/p/flask"})).json()
    removed = await daemon.client.delete(f"{daemon.url}/projects/{project['id']}")
    gone = await daemon.client.delete(f"{daemon.url}/projects/{project['id']}")

    assert (project["name"], again, removed.status, gone.status) == ("flask", project, 200, 404)
    assert listed == {"items": [project], "next": None, "total": 1}


async def test_signals_batch_lists_rejected_entries(daemon: Daemon, tmp_path: Path) -> None:
    good = {"kind": "file_opened", "project": str(tmp_path), "path": "a.py"}

    response = await daemon.post(
        "/signals", {"signals": [good, {"kind": "file_open", "project": "/"}, good | {"path": "a\0"}]}
    )

    answer = await response.json()
    assert response.status == 202
    assert answer["accepted"] == len(daemon.engine.signals) == 1
    assert [(each["index"], each["error"]["field"]) for each in answer["rejected"]] == [
        (1, "signals[1].kind"),
        (2, "signals[2].path"),
    ]
    assert answer["rejected"][0]["error"]["hint"] == "did you mean 'file_opened'?"


async def test_context_format_json_or_markdown(daemon: Daemon) -> None:
    as_json = await daemon.get("/context", params={"project": "/p", "file": "a b.py", "budget": 500})
    as_markdown = await daemon.get(
        "/context", params={"project": "/p", "file": "a b.py", "budget": 500, "format": "markdown"}
    )

    bundle = await as_json.json()
    assert (bundle["budget"], bundle["tiers"]) == (500, {"tier1": 0, "tier2": 400, "tier3": 0, "tier4": 0})
    assert as_markdown.content_type == "text/markdown"
    assert await as_markdown.text() == bundle["context"]
    assert bundle["context"].startswith("# a b.py\n")
    assert as_json.headers["ETag"] != as_markdown.headers["ETag"]


@pytest.mark.parametrize("known", ["{}", "W/{}", '"other", {}', "*"])
async def test_context_matching_etag_returns_304(daemon: Daemon, known: str) -> None:
    first = await daemon.get("/context?project=/p&file=a.py")

    again = await daemon.get(
        "/context?project=/p&file=a.py", headers={"If-None-Match": known.format(first.headers["ETag"])}
    )

    assert (again.status, await again.read(), again.headers["ETag"]) == (304, b"", first.headers["ETag"])


@pytest.mark.parametrize(
    "other",
    [
        "/context?project=/p&file=b.py",
        "/context?project=/p&file=a.py&budget=9",
        "/context?project=/p&file=a.py&format=markdown",
    ],
)
async def test_context_other_etag_returns_full_body(daemon: Daemon, other: str) -> None:
    first = await daemon.get("/context?project=/p&file=a.py")

    assert (await daemon.get(other, headers={"If-None-Match": first.headers["ETag"]})).status == 200


async def test_context_prefetched_flag_bypasses_encoding_cache(daemon: Daemon) -> None:
    cold = await (await daemon.get("/context?project=/p&file=a.py")).json()
    daemon.engine.prefetched = True
    warm = await (await daemon.get("/context?project=/p&file=a.py")).json()

    assert (cold["prefetched"], warm["prefetched"]) == (False, True)
    assert cold | {"prefetched": True} == warm


async def test_assemble_body_equals_context_query(daemon: Daemon) -> None:
    body = {"project": "/p", "budget": 500, "signals": {"current_file": "a.py", "recent_errors": ["boom"]}}

    bundle = await (await daemon.post("/context/assemble", body)).json()

    assert bundle["budget"] == 500
    assert daemon.engine.asked[-1].errors == ("boom",)


async def test_memory_lifecycle_from_post_to_delete(daemon: Daemon) -> None:
    created = await daemon.post("/memories", {"kind": "fact", "key": "db", "value": "postgres", "ref": "r1"})
    again = await daemon.post("/memories", {"kind": "fact", "key": "db", "value": "postgres", "ref": "r1"})
    (identifier,) = (await created.json())["ids"]
    address = f"{daemon.url}/memories/{identifier}"

    assert created.status == 201
    assert (await again.json())["ids"] == [identifier]
    assert (await (await daemon.get("/memories?kind=fact&limit=1")).json())["total"] == 1
    assert (await (await daemon.post("/search", {"query": "postgres"})).json())["results"][0]["id"] == identifier
    assert (await (await daemon.post("/expand", {"id": identifier})).json())["text"] == "db: postgres"
    edited = await daemon.client.patch(address, json={"value": "sqlite", "tags": ["db"]})
    assert {"value": "sqlite", "tags": ["db"]}.items() <= (await edited.json()).items()
    assert (await (await daemon.client.get(address + "/history")).json())["total"] == 1
    assert (await daemon.client.delete(address)).status == 200
    assert (await daemon.client.get(address)).status == 404


async def test_memories_batch_keeps_valid_entries(daemon: Daemon) -> None:
    body = {
        "memories": [
            {"kind": "fact", "content": "a"},
            {"kind": "fcat", "content": "b"},
            {"kind": "fact", "content": "c"},
        ]
    }

    response = await daemon.post("/memories", body)

    answer = await response.json()
    assert (response.status, len(answer["ids"]), answer["rejected"][0]["index"]) == (201, 2, 1)
    assert [each.content for each in daemon.engine.known.values()] == ["a", "c"]


async def test_feedback_is_accepted(daemon: Daemon) -> None:
    response = await daemon.post("/feedback", {"items": [{"id": "m1", "outcome": "cited"}]})

    assert (response.status, await response.json()) == (202, {"accepted": 1, "unknown": []})


async def test_export_import_round_trip(daemon: Daemon) -> None:
    await daemon.post("/memories", {"memories": [{"kind": "fact", "content": f"fact {n} é"} for n in range(300)]})
    exported = await (await daemon.get("/export")).read()
    before = dict(daemon.engine.known)
    daemon.engine.known.clear()

    response = await daemon.client.post(
        daemon.url + "/import", data=exported, headers={"Content-Type": "application/x-ndjson"}
    )

    assert len(exported.splitlines()) == 300
    answer = await response.json()
    assert (answer["memories"], answer["refused"], answer["rejected"]) == (300, 0, [])
    assert daemon.engine.known == before


async def test_import_lists_bad_lines_keeps_rest(daemon: Daemon) -> None:
    await daemon.post("/memories", {"kind": "fact", "content": "good"})
    good = (await (await daemon.get("/export")).read()).strip()
    daemon.engine.known.clear()
    lines = [
        good,
        b"not json",
        b'{"type":"memory","version":9,"data":{}}',
        b"",
        b'{"type":"memory","version":1,"data":{"id":"m2","kind":"fact"}}',
        b'{"type":"signal","version":1,"data":{"kind":"commit"}}',
        good.replace(b"good", b"\\ud800"),
        b'{"type":"project","version":1,"data":{"id":"p1"}}',
    ]

    response = await daemon.client.post(
        daemon.url + "/import", data=b"\n".join(lines), headers={"Content-Type": "application/x-ndjson"}
    )

    answer = await response.json()
    assert (response.status, answer["memories"], answer["refused"]) == (200, 1, 6)
    assert [each["index"] for each in answer["rejected"]] == [1, 2, 4, 5, 6, 7]


async def test_export_client_disconnect_is_not_logged(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(10):
        await daemon.post("/memories", {"memories": [{"kind": "fact", "content": "word " * 10_000}] * 10})
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write(
        f"GET /export HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    )
    assert await reader.readexactly(1_000)  # far more is waiting: it fills every buffer on the way
    writer.transport.abort()

    counted = 'hunchd_http_requests_total{method="GET",route="/export"'
    async with asyncio.timeout(5):
        while counted not in await (await daemon.get("/metrics")).text():
            await asyncio.sleep(0.01)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("path", ["/import", "/memories"])
async def test_body_client_disconnect_is_not_logged(
    path: str, daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{".encode())
    await writer.drain()
    await (await daemon.get("/health")).read()  # by now it waits for the rest
    writer.transport.abort()

    counted = f'hunchd_http_requests_total{{method="POST",route="{path}"'
    async with asyncio.timeout(5):
        while counted not in await (await daemon.get("/metrics")).text():
            await asyncio.sleep(0.01)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_export_failure_leaves_response_incomplete(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    await daemon.post("/memories", {"memories": [{"kind": "fact", "content": "a"}, {"kind": "fact", "content": "b"}]})
    known = daemon.engine.known

    class Breaking(dict[str, Any]):
        def values(self) -> Any:
            yield from list(known.values())
            raise RuntimeError("disk on fire")

    daemon.engine.known = Breaking(known)
    raw = await daemon.raw(
        f"GET /export HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    )

    assert b"200 OK" in raw
    assert raw.count(b'"type":"memory"') == 2
    assert not raw.endswith(b"0\r\n\r\n")
    assert "disk on fire" in caplog.text


@pytest.mark.parametrize(
    ("trouble", "status", "code"),
    [
        (InvalidInput("x", field="f"), 422, "invalid"),
        (NotFound("x"), 404, "not_found"),
        (Conflict("x"), 409, "conflict"),
        (TooLarge("x"), 413, "too_large"),
        (Overloaded("x", retry_after=2.6), 429, "overloaded"),
        (Unavailable("x"), 503, "unavailable"),
        (StoreError("x"), 503, "store"),
        (RepositoryError("x"), 422, "repository"),
        (StorageFull("x"), 507, "storage_full"),
    ],
)
async def test_domain_error_maps_to_status(daemon: Daemon, trouble: Exception, status: int, code: str) -> None:
    daemon.engine.trouble = trouble

    response = await daemon.post("/signals", {"signals": []})

    assert response.status == status
    assert (await response.json())["error"]["code"] == code
    assert response.headers.get("Retry-After") == ("3" if status == 429 else None)


async def test_internal_error_is_logged_not_exposed(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    daemon.engine.trouble = RuntimeError("secret detail")

    response = await daemon.get("/status")

    text = await response.text()
    assert (response.status, json.loads(text)["error"]["code"]) == (500, "internal")
    assert "secret" not in text
    assert "Traceback" not in text
    assert any(record.exc_info and "GET /status" in record.message for record in caplog.records)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("DELETE", "/context", 405, "method_not_allowed"),
        ("PUT", "/status", 405, "method_not_allowed"),
        ("OPTIONS", "/context", 405, "method_not_allowed"),
        ("HEAD", "/status", 405, None),
    ],
)
async def test_router_errors_use_error_shape(
    daemon: Daemon, method: str, path: str, status: int, code: str | None
) -> None:
    response = await daemon.client.request(method, daemon.url + path)

    assert response.status == status
    if code is not None:
        assert (await response.json())["error"]["code"] == code
    assert ("Allow" in response.headers) == (status == 405)
    assert not any(name.lower().startswith("access-control") for name in response.headers)


async def test_metrics_label_route_not_path(daemon: Daemon) -> None:
    for path in ("/health", "/health", "/memories/unknown-1", "/memories/unknown-2", "/nothing/at/all"):
        await daemon.get(path)

    text = await (await daemon.get("/metrics")).text()

    assert 'hunchd_http_requests_total{method="GET",route="/health",status="200"} 2' in text
    assert 'hunchd_http_requests_total{method="GET",route="/memories/{id}",status="404"} 2' in text
    assert 'route="other",status="404"} 1' in text
    assert "hunchd_memories 0" in text
    assert "unknown-1" not in text


async def test_token_never_logged_or_returned(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    requests = [
        f"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\x01\r\n\r\n",
        f"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization : Bearer {TOKEN}\r\n\r\n",
        f"GET /status?{TOKEN} HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        f"NONSENSE {TOKEN}\r\n\r\n",
        f"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}{'y' * 20_000}\r\n\r\n",
    ]

    answers = [await daemon.raw(request.encode()) for request in requests]

    assert all(b" 400 " in answer.split(b"\r\n")[0] for answer in answers)
    assert TOKEN.encode() not in b"".join(answers)
    assert TOKEN not in caplog.text
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 0


async def test_concurrent_clients_do_not_block(daemon: Daemon) -> None:
    answers = await asyncio.gather(*(daemon.get(f"/context?project=/p&file={n}.py") for n in range(50)))

    assert {answer.status for answer in answers} == {200}


@pytest.mark.parametrize(
    "head",
    [
        "GET /memories/" + "x" * 40_000 + " HTTP/1.1\r\nHost: 127.0.0.1",
        "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + "x" * 10_000,
        "POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nContent-Length: 3",
        "POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked",
        "\x16\x03\x01\x02",
    ],
)
async def test_malformed_http_uses_error_shape(daemon: Daemon, head: str) -> None:
    answer = await daemon.raw(f"{head}\r\n\r\n{{}}".encode())

    status, _, rest = answer.partition(b"\r\n")
    headers, _, body = rest.partition(b"\r\n\r\n")
    assert b" 400 " in status
    assert b"application/json" in headers
    told = json.loads(body)["error"]
    assert (told["code"], "x" * 40 in told["message"]) == ("malformed", False)


async def test_if_none_match_may_span_header_lines(daemon: Daemon) -> None:
    first = await daemon.get("/context?project=/p&file=a.py")
    several = [("If-None-Match", '"other"'), ("If-None-Match", first.headers["ETag"])]

    assert (await daemon.get("/context?project=/p&file=a.py", headers=several)).status == 304


async def test_empty_body_error_says_empty(daemon: Daemon) -> None:
    headers = {"Content-Type": "application/json"}
    response = await daemon.client.post(daemon.url + "/memories", data=b"", headers=headers)

    assert (response.status, (await response.json())["error"]["message"]) == (400, "the body is empty; send JSON")
