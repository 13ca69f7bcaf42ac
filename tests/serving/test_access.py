"""Every route rejects every kind of unauthorized request."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest
from aiohttp import ClientSession, UnixConnector
from fake_engine import FakeEngine
from opened_doors import TOKEN, Daemon

from hunchd.domain.errors import ConfigError
from hunchd.serving.access import UNAUTHENTICATED_PATH, get_peer_uid
from hunchd.serving.http import ACCESS, make_app
from hunchd.serving.listeners import serve_app
from hunchd.serving.openapi import OPERATIONS
from hunchd.serving.page_access import OPEN_ROUTES

# From the router of a real application: a new route is probed without a word here.
ROUTES = sorted(
    {
        (route.method, route.resource.canonical)
        for route in make_app(FakeEngine(), TOKEN).router.routes()
        if route.resource
    }
)
GUARDED = [route for route in ROUTES if route[1] != UNAUTHENTICATED_PATH and route not in OPEN_ROUTES]
CHANGING = [route for route in ROUTES if route[0] not in ("GET", "DELETE")]

GOOD_TOKEN = f"Authorization: Bearer {TOKEN}"

# How one knocks → what is answered. {port} is the right one.
FOREIGN = {
    "a foreign host": ("Host: attacker.example", 403),
    "a foreign host with our port": ("Host: attacker.example:{port}", 403),
    "a name that leads to loopback": ("Host: 127.0.0.1.nip.io:{port}", 403),
    "no host": ("", 400),  # aiohttp itself calls that no request
    "an empty host": ("Host:", 403),
    "userinfo in the host": ("Host: user@127.0.0.1:{port}", 403),
    "loopback as userinfo": ("Host: 127.0.0.1:{port}@attacker.example", 403),
    "the wrong port": ("Host: 127.0.0.1:1", 403),
    "every address": ("Host: 0.0.0.0:{port}", 403),
    "another loopback address": ("Host: 127.0.0.2:{port}", 403),
    "loopback as a number": ("Host: 2130706433:{port}", 403),
    "a trailing dot": ("Host: localhost.:{port}", 403),
    "IPv6 without brackets": ("Host: ::1", 403),
    "a foreign origin": ("Host: 127.0.0.1:{port}\r\nOrigin: http://attacker.example", 403),
    "an origin of null": ("Host: 127.0.0.1:{port}\r\nOrigin: null", 403),
    "an origin of another port": ("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:1", 403),
    "an origin of another scheme": ("Host: 127.0.0.1:{port}\r\nOrigin: https://127.0.0.1:{port}", 403),
    "an origin that only begins like ours": (
        "Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}.evil.example",
        403,
    ),
    "a browser extension": ("Host: 127.0.0.1:{port}\r\nOrigin: chrome-extension://abcdef", 403),
    "a page of another site": ("Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site", 403),
    "a page of a sibling site": ("Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: same-site", 403),
}
UNKNOWN = {
    "no token": ("", 401),
    "a wrong token": ("Authorization: Bearer wrong", 401),
    "a part of the token": (f"Authorization: Bearer {TOKEN[:-1]}", 401),
    "more than the token": (f"Authorization: Bearer {TOKEN}x", 401),
    "no scheme": (f"Authorization: {TOKEN}", 401),
    "another scheme": (f"Authorization: Basic {TOKEN}", 401),
    "an empty token": ("Authorization: Bearer ", 401),
    "bytes that are no text": ("Authorization: Bearer \udcff\udcfe", 401),
    "the token in a cookie": (f"Cookie: token={TOKEN}; Authorization=Bearer {TOKEN}", 401),
    "the token under another name": (f"X-Token: {TOKEN}", 401),
}


def address(path: str) -> str:
    return path.replace("{id}", "m1")


def send_request(method: str, path: str, *headers: str) -> bytes:
    body = b"{}" if method not in ("GET", "HEAD", "OPTIONS", "DELETE") else b""
    lines = [f"{method} {address(path)} HTTP/1.1", *filter(None, headers), "Connection: close"]
    if body:
        lines += [f"Content-Length: {len(body)}"]
        if not any("content-type" in header.lower() for header in headers):
            lines += ["Content-Type: application/json"]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def status_of(answer: bytes) -> int:
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert b"access-control" not in head
    return int(head.split()[1])


@pytest.mark.parametrize("way", FOREIGN)
async def test_foreign_host_or_origin_is_rejected_everywhere(daemon: Daemon, way: str) -> None:
    header, expected = FOREIGN[way]
    header = header.format(port=daemon.port)

    for token in ("", GOOD_TOKEN):
        answers = await asyncio.gather(*(daemon.raw(send_request(*route, header, token)) for route in ROUTES))
        assert [status_of(answer) for answer in answers] == [expected] * len(ROUTES), way


@pytest.mark.parametrize("way", UNKNOWN)
async def test_missing_token_is_rejected_except_health(daemon: Daemon, way: str) -> None:
    header, expected = UNKNOWN[way]

    answers = await asyncio.gather(
        *(daemon.raw(send_request(*route, f"Host: 127.0.0.1:{daemon.port}", header)) for route in GUARDED)
    )

    assert [status_of(answer) for answer in answers] == [expected] * len(GUARDED), way


async def test_token_in_query_is_ignored(daemon: Daemon) -> None:
    for method, path in GUARDED:
        for name in ("token", "access_token", "Authorization"):
            raw = send_request(method, f"{path}?{name}={TOKEN}", f"Host: 127.0.0.1:{daemon.port}")
            assert status_of(await daemon.raw(raw)) == 401


@pytest.mark.parametrize(
    "sent", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonp", "json"]
)
async def test_content_type_without_preflight_is_rejected(daemon: Daemon, sent: str) -> None:
    for method, path in [*CHANGING, ("DELETE", "/memories/{id}"), ("DELETE", "/projects/{id}")]:
        raw = send_request(method, path, f"Host: 127.0.0.1:{daemon.port}", GOOD_TOKEN, f"Content-Type: {sent}")
        assert status_of(await daemon.raw(raw)) == 415, (method, path)


async def test_bodiless_post_needs_no_content_type(daemon: Daemon) -> None:
    """A client may send such a POST with a length of 0, or with none."""
    bodiless = [path for (method, path), door in OPERATIONS.items() if method == "POST" and not door.needs_body]
    bodiless += [path for (method, path), door in OPERATIONS.items() if method == "POST" and door.body is None]
    assert {"/sessions/{id}/end", "/consolidate/{id}/undo", "/memories/{id}/undo"} <= set(bodiless)

    for length in ("Content-Length: 0\r\n", ""):
        head = f"Host: 127.0.0.1:{daemon.port}\r\n{GOOD_TOKEN}\r\n{length}Connection: close\r\n\r\n"
        sent = [f"POST {address(path)} HTTP/1.1\r\n{head}".encode() for path in bodiless]
        answers = await asyncio.gather(*map(daemon.raw, sent))
        assert {status_of(answer) for answer in answers} <= {200, 202, 404}


async def test_compressed_body_is_rejected(daemon: Daemon) -> None:
    for method, path in CHANGING:
        raw = send_request(method, path, f"Host: 127.0.0.1:{daemon.port}", GOOD_TOKEN, "Content-Encoding: gzip")
        assert status_of(await daemon.raw(raw)) == 415


@pytest.mark.parametrize("token", ["", GOOD_TOKEN])
async def test_cors_preflight_is_rejected(daemon: Daemon, token: str) -> None:
    for _, path in ROUTES:
        for origin, expected in (("Origin: http://attacker.example", {403}), ("", {401, 405})):
            raw = send_request(
                "OPTIONS",
                path,
                f"Host: 127.0.0.1:{daemon.port}",
                origin,
                token,
                "Access-Control-Request-Method: POST",
                "Access-Control-Request-Headers: authorization",
            )
            assert status_of(await daemon.raw(raw)) in expected


@pytest.mark.parametrize(
    "target", ["http://attacker.example/status", "http://127.0.0.1/status", "*", "attacker.example:80"]
)
@pytest.mark.parametrize("method", ["GET", "OPTIONS", "CONNECT"])
async def test_absolute_request_target_is_rejected(daemon: Daemon, method: str, target: str) -> None:
    raw = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n{GOOD_TOKEN}\r\nConnection: close\r\n\r\n"

    assert status_of(await daemon.raw(raw.encode())) in (400, 403)


async def test_duplicate_host_header_is_rejected(daemon: Daemon) -> None:
    raw = send_request("GET", "/status", f"Host: 127.0.0.1:{daemon.port}", "Host: attacker.example", GOOD_TOKEN)

    assert status_of(await daemon.raw(raw)) in (400, 403)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:{port}", "localhost", "localhost:{port}", "[::1]", "[::1]:{port}"]
)
async def test_every_loopback_host_name_is_accepted(daemon: Daemon, host: str) -> None:
    own = f"Host: {host.format(port=daemon.port)}"

    assert status_of(await daemon.raw(send_request("GET", "/status", own, GOOD_TOKEN))) == 200
    assert (
        status_of(await daemon.raw(send_request("GET", "/status", own, GOOD_TOKEN.replace("Bearer", "bearer")))) == 200
    )
    same = f"Origin: http://{host.format(port=daemon.port)}"
    assert (
        status_of(
            await daemon.raw(send_request("GET", "/status", own, GOOD_TOKEN, same, "Sec-Fetch-Site: same-origin"))
        )
        == 200
    )


async def test_unknown_path_without_token_is_unauthorized(daemon: Daemon) -> None:
    assert status_of(await daemon.raw(send_request("GET", "/nothing", f"Host: 127.0.0.1:{daemon.port}"))) == 401
    assert status_of(await daemon.raw(send_request("GET", "/nothing", "Host: attacker.example", GOOD_TOKEN))) == 403


def test_routes_are_complete_and_few_open() -> None:
    assert sorted(OPERATIONS) == ROUTES
    assert [route for route in ROUTES if route not in GUARDED] == [
        ("GET", "/"),
        ("GET", "/health"),
        ("GET", "/ui"),
        ("GET", "/ui/"),
        ("GET", "/ui/{path}"),
        ("POST", "/page/session"),
    ]


# The Unix socket


async def over_socket(path: Path, **headers: str) -> int:
    async with ClientSession(connector=UnixConnector(str(path))) as client:
        response = await client.get("http://localhost/status", headers={"Authorization": f"Bearer {TOKEN}"} | headers)
        return response.status


async def test_unix_socket_applies_same_access_checks(daemon: Daemon) -> None:
    assert daemon.socket is not None

    assert await over_socket(daemon.socket) == 200
    assert await over_socket(daemon.socket, Host="127.0.0.1:1234") == 200
    assert await over_socket(daemon.socket, Authorization="Bearer no") == 401
    assert await over_socket(daemon.socket, Host="attacker.example") == 403
    assert await over_socket(daemon.socket, Origin="http://attacker.example") == 403


async def test_unix_socket_rejects_other_users(daemon: Daemon) -> None:
    assert daemon.socket is not None
    assert daemon.app[ACCESS].uid == os.getuid()  # without being told
    daemon.app[ACCESS].uid = os.getuid() + 1

    assert await over_socket(daemon.socket) == 403


def test_peer_uid_returns_connecting_user() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert get_peer_uid(here) == os.getuid()
    assert get_peer_uid(None) is None


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
async def test_unix_socket_is_private_under_any_umask(hunchd_home: Path, umask: int) -> None:
    hunchd_home.mkdir()
    before = os.umask(umask)
    try:
        async with serve_app(make_app(FakeEngine(), TOKEN), socket_path=hunchd_home / "run" / "s") as (_, path):
            assert path is not None
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        assert os.umask(before) == umask
    assert not (hunchd_home / "run" / "s").exists()


async def test_stale_unix_socket_is_replaced(hunchd_home: Path) -> None:
    folder = hunchd_home / "run"
    folder.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "s"))

    async with serve_app(make_app(FakeEngine(), TOKEN), socket_path=folder / "s") as (_, path):
        assert path is not None
        assert await over_socket(path) == 200


@pytest.mark.parametrize("trap", ["open folder", "linked folder", "a file in the way", "too long"])
async def test_non_loopback_address_is_rejected(hunchd_home: Path, trap: str) -> None:
    hunchd_home.mkdir()
    folder = hunchd_home / "run"
    path = folder / "s"
    match trap:
        case "open folder":
            folder.mkdir()
            folder.chmod(0o770)
        case "linked folder":
            (hunchd_home / "real").mkdir(mode=0o700)
            folder.symlink_to(hunchd_home / "real")
        case "a file in the way":
            folder.mkdir(mode=0o700)
            path.write_text("mine")
        case _:
            path = folder / ("s" * 100)

    with pytest.raises(ConfigError):
        async with serve_app(make_app(FakeEngine(), TOKEN), socket_path=path):
            pass
    assert trap != "a file in the way" or path.read_text() == "mine"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.1", "example.org", "127.0.0.1.nip.io"])
async def test_listener_binds_loopback_only(host: str) -> None:
    with pytest.raises(ConfigError, match="loopback only"):
        async with serve_app(make_app(FakeEngine(), TOKEN), host=host):
            pass


async def test_occupied_port_error_names_the_port() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1"):
            async with serve_app(make_app(FakeEngine(), TOKEN), port=taken.getsockname()[1]):
                pass
