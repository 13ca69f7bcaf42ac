"""Every route of the real daemon, as its OpenAPI document lists them, under every access check; and its token."""

from __future__ import annotations

import os
import re
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import make_shop

GOOD = "Authorization: Bearer {token}"
HERE = "Host: 127.0.0.1:{port}"
JSON = "Content-Type: application/json"

# How one knocks → what is answered; with the token, where the headers do not say otherwise.
KNOCKS: dict[str, tuple[tuple[str, ...], int]] = {
    "no token": ((HERE, JSON), 401),
    "a wrong token": ((HERE, JSON, "Authorization: Bearer " + "x" * 43), 401),
    "an earlier form of the token": ((HERE, JSON, "Authorization: Basic {token}"), 401),
    "the token in a cookie": ((HERE, JSON, "Cookie: token={token}"), 401),
    "a foreign host": (("Host: attacker.example", JSON, GOOD), 403),
    "a name that leads to loopback": (("Host: 127.0.0.1.nip.io:{port}", JSON, GOOD), 403),
    "no host": ((JSON, GOOD), 400),
    "userinfo in the host": (("Host: me@127.0.0.1:{port}", JSON, GOOD), 403),
    "a foreign origin": ((HERE, JSON, GOOD, "Origin: https://attacker.example"), 403),
    "an origin of null": ((HERE, JSON, GOOD, "Origin: null"), 403),
    "a page of another site": ((HERE, JSON, GOOD, "Sec-Fetch-Site: cross-site"), 403),
    "a page of a sibling site": ((HERE, JSON, GOOD, "Sec-Fetch-Site: same-site"), 403),
}
# The page's files hold no data; a session needs a code instead of the token.
OPEN = {
    ("GET", "/health"),
    ("GET", "/"),
    ("GET", "/ui"),
    ("GET", "/ui/"),
    ("GET", "/ui/profile/m1"),
    ("POST", "/page/session"),
}


def status_of(daemon: RunningDaemon, method: str, target: str, headers: tuple[str, ...], body: bytes = b"") -> int:
    assert daemon.told is not None
    port = int(daemon.told.url.rpartition(":")[2])
    lines = [f"{method} {target} HTTP/1.1", *headers, "Connection: close", f"Content-Length: {len(body)}"]
    raw = "\r\n".join(lines).format(port=port, token=daemon.told.token).encode() + b"\r\n\r\n" + body
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(raw)
        with connection.makefile("rb") as answer:
            head = answer.readline()
            while (line := answer.readline()) not in (b"\r\n", b""):
                assert not line.lower().startswith(b"access-control"), line
    return int(head.split()[1])


@pytest.fixture(scope="module")
def routes(shared_daemon: RunningDaemon) -> list[tuple[str, str]]:
    """Return method and path of each route; a new route is included automatically."""
    paths = shared_daemon.get("/openapi.json")["paths"]
    found = [
        (method.upper(), path.replace("{id}", "m1").replace("{path}", "profile/m1"))
        for path, methods in paths.items()
        for method in methods
    ]
    assert len(found) >= 23
    return found


def all_of(daemon: RunningDaemon, knocks: list[tuple[str, str, tuple[str, ...], bytes]]) -> list[int]:
    with ThreadPoolExecutor(8) as workers:
        return list(workers.map(lambda knock: status_of(daemon, *knock), knocks))


def body_for(method: str) -> bytes:
    return b"" if method in ("GET", "DELETE", "OPTIONS") else b"{}"


@pytest.mark.parametrize("way", KNOCKS)
def test_routes_reject_unauthorized_requests(
    shared_daemon: RunningDaemon, routes: list[tuple[str, str]], way: str
) -> None:
    headers, expected = KNOCKS[way]
    asked = [route for route in routes if route not in OPEN or expected != 401]

    answers = all_of(shared_daemon, [(method, path, headers, body_for(method)) for method, path in asked])

    assert answers == [expected] * len(asked)


def test_token_in_query_grants_no_access(shared_daemon: RunningDaemon, routes: list[tuple[str, str]]) -> None:
    asked = [
        (method, f"{path}?{name}={{token}}", (HERE, JSON), body_for(method))
        for method, path in routes
        if (method, path) not in OPEN
        for name in ("token", "access_token", "authorization")
    ]

    assert set(all_of(shared_daemon, asked)) == {401}


def test_preflight_and_form_posts_are_rejected(shared_daemon: RunningDaemon, routes: list[tuple[str, str]]) -> None:
    foreign = (HERE, GOOD, "Origin: https://attacker.example", "Access-Control-Request-Method: POST")
    assert set(all_of(shared_daemon, [("OPTIONS", path, foreign, b"") for _, path in routes])) == {403}
    assert set(all_of(shared_daemon, [("OPTIONS", path, (HERE, GOOD), b"") for _, path in routes])) == {405}
    changing = [(method, path) for method, path in routes if method in ("POST", "PUT", "PATCH")]
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        sent = [(method, path, (HERE, GOOD, f"Content-Type: {media}"), b"{}") for method, path in changing]
        assert set(all_of(shared_daemon, sent)) == {415}


def test_authorized_requests_are_accepted(shared_daemon: RunningDaemon, routes: list[tuple[str, str]]) -> None:
    plain = [
        path
        for method, path in routes
        if method == "GET"
        and path not in ("/events", "/context", "/facts", "/files", "/focus", "/", "/ui", "/ui/")
        and not path.startswith("/team")
    ]
    answers = dict(zip(plain, all_of(shared_daemon, [("GET", path, (HERE, GOOD), b"") for path in plain]), strict=True))

    assert {answers[path] for path in plain if "m1" not in path} == {200}
    assert {answers[path] for path in plain if "m1" in path and "/ui/" not in path} == {404}
    assert status_of(shared_daemon, "GET", "/health", (HERE,)) == 200
    assert set(shared_daemon.get("/health")) == {"status", "protocol", "version"}


def processes_of(daemon: RunningDaemon) -> list[Path]:
    """Return the /proc folders of the daemon and of its children."""
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    return [Path(f"/proc/{pid}") for pid in (daemon.pid, *children)]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks through /proc")
def test_token_is_random_private_and_never_logged(daemon: RunningDaemon, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    daemon.add(shop)
    daemon.post("/memories", {"kind": "fact", "project": str(shop), "content": "we use pnpm"})
    daemon.get("/memories", project=str(shop))
    assert daemon.told is not None
    token, file = daemon.told.token, daemon.places.rendezvous_file

    assert re.fullmatch(r"[\w-]{43,}", token), "32 random bytes"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert file.stat().st_uid == os.getuid()
    processes = processes_of(daemon)
    assert len(processes) >= 2
    for process in processes:
        for name in ("cmdline", "environ"):
            assert token.encode() not in (process / name).read_bytes(), (process, name)
    wrong = {"Authorization": f"Bearer {token[:-1]}"}
    answers = [
        daemon.request("GET", "/status", headers=wrong),
        daemon.request("GET", f"/nothing/{token}"),
        daemon.request("GET", "/status"),
        daemon.request("GET", "/metrics"),
        daemon.request("GET", "/openapi.json"),
        daemon.request("POST", "/signals", {"signals": [{"kind": token}]}, headers={"X-Token": token}),
    ]
    assert answers[0][0] == 401
    assert token not in str(answers[0]) + str(answers[2:5])
    assert token not in daemon.told.url
    daemon.restart()
    assert daemon.told.token != token
    assert daemon.request("GET", "/status", headers={"Authorization": f"Bearer {token}"})[0] == 401
    daemon.stop()
    holding = [path for path in daemon.home.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert holding == []
