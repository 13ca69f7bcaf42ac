"""Access to the page: codes, sessions, headers, files."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession
from opened_doors import Daemon

from hunchd.serving.page_access import CODE_SECONDS, OPEN_ROUTES, PageSessions
from hunchd.serving.page_handlers import STATIC_FOLDER


class Browser:
    """A browser with its cookie and its key, at one origin."""

    def __init__(self, daemon: Daemon, client: ClientSession) -> None:
        self.daemon, self.client, self.cookie, self.key = daemon, client, "", ""

    async def open(self, code: str, **headers: str) -> ClientResponse:
        given = {"Origin": self.daemon.url, "X-Hunchd-Page": "new"} | headers
        answer = await self.client.post(f"{self.daemon.url}/page/session", json={"code": code}, headers=given)
        if answer.status == 201:
            self.cookie, self.key = answer.headers["Set-Cookie"].partition(";")[0], (await answer.json())["key"]
        return answer

    async def ask(self, method: str, path: str, body: Any = None, **changed: str | None) -> int:
        given = {"Cookie": self.cookie, "X-Hunchd-Page": self.key, "Origin": self.daemon.url} | changed
        headers = {name: value for name, value in given.items() if value is not None}
        async with self.client.request(method, self.daemon.url + path, json=body, headers=headers) as answer:
            return answer.status


async def get_code(daemon: Daemon, *, read_only: bool = False) -> str:
    answer = await daemon.post("/page/codes", {"read_only": read_only})
    assert answer.status == 201
    return str((await answer.json())["code"])


@pytest.fixture
async def browser(daemon: Daemon) -> Any:
    async with ClientSession() as client:
        yield Browser(daemon, client)


async def test_code_opens_one_session(daemon: Daemon, browser: Browser) -> None:
    code = await get_code(daemon)

    answer = await browser.open(code)

    assert answer.status == 201
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "max-age" not in cookie.lower()
    assert "expires" not in cookie.lower()
    assert await browser.ask("GET", "/status") == 200
    assert (await browser.open(code)).status == 401, "used already"


async def test_wrong_or_foreign_code_is_rejected(daemon: Daemon, browser: Browser) -> None:
    assert (await browser.open("x" * 43)).status == 401
    code = await get_code(daemon)
    assert (await browser.open(code, Origin="http://attacker.example")).status == 403
    assert (await browser.open(code, Origin="http://127.0.0.1:1")).status == 403
    answer = await browser.client.post(f"{daemon.url}/page/session", json={"code": code})
    assert answer.status == 403, "no origin"
    answer = await browser.client.post(
        f"{daemon.url}/page/session", data={"code": code}, headers={"Origin": daemon.url}
    )
    assert answer.status == 415, "a form"
    assert (await browser.open(code)).status == 201, "none of them has used it up"


def test_code_expires_after_a_minute() -> None:
    clock = [0.0]
    sessions = PageSessions(lambda: clock[0])
    late, fresh = sessions.issue_code(is_read_only=False), sessions.issue_code(is_read_only=True)

    clock[0] = CODE_SECONDS - 1
    assert sessions.open_session(fresh, "h") is not None
    clock[0] = CODE_SECONDS
    assert sessions.open_session(late, "h") is None


async def test_session_needs_cookie_and_key(daemon: Daemon, browser: Browser) -> None:
    await browser.open(await get_code(daemon))

    assert await browser.ask("GET", "/status", Cookie=None) == 401
    assert await browser.ask("GET", "/status", **{"X-Hunchd-Page": None}) == 401
    assert await browser.ask("GET", "/status", **{"X-Hunchd-Page": "x" * 43}) == 401
    assert await browser.ask("GET", "/status", Host=f"localhost:{daemon.port}", Origin=None) == 401, "another host"
    assert await browser.ask("GET", "/status", Origin="http://attacker.example") == 403
    assert await browser.ask("GET", "/status", **{"Sec-Fetch-Site": "same-site"}) == 403, "another port"
    assert await browser.ask("GET", "/status", Authorization="Bearer wrong") == 401


async def test_change_needs_origin(daemon: Daemon, browser: Browser) -> None:
    await browser.open(await get_code(daemon))

    assert await browser.ask("POST", "/search", {"query": "x"}, Origin=None) == 403
    assert await browser.ask("POST", "/search", {"query": "x"}) == 200


async def test_session_may_not_use_other_routes(daemon: Daemon, browser: Browser) -> None:
    await browser.open(await get_code(daemon))

    for method, path in [
        ("POST", "/page/codes"), ("POST", "/signals"), ("POST", "/import"), ("POST", "/mcp"), ("GET", "/export"),
        ("POST", "/agents/x/events"), ("POST", "/sessions/s/messages"),
    ]:  # fmt: skip
        assert await browser.ask(method, path, None if method == "GET" else {}) == 403, path


async def test_read_only_session_changes_nothing(daemon: Daemon, browser: Browser) -> None:
    await browser.open(await get_code(daemon, read_only=True))

    assert await browser.ask("GET", "/status") == 200
    assert await browser.ask("POST", "/search", {"query": "x"}) == 200
    changing = [
        (route.method, route.resource.canonical)
        for route in daemon.app.router.routes()
        if route.resource
        and route.method not in ("GET", "HEAD")
        and (route.method, route.resource.canonical) not in OPEN_ROUTES
    ]
    reading = {"/search", "/expand", "/context/predict", "/context/assemble", "/context/review", "/context/compile"}
    for method, path in changing:
        if path in reading or path == "/page/session":
            continue
        assert await browser.ask(method, path.replace("{id}", "m1").replace("{path}", "a"), {}) == 403, path


async def test_closed_session_is_unauthorized(daemon: Daemon, browser: Browser) -> None:
    await browser.open(await get_code(daemon))

    assert await browser.ask("DELETE", "/page/session") == 200
    assert await browser.ask("GET", "/status") == 401


@pytest.mark.parametrize("path", ["/", "/ui", "/ui/", "/ui/now", "/ui/file?path=a"])
async def test_page_forbids_frames_and_inline_code(daemon: Daemon, browser: Browser, path: str) -> None:
    async with browser.client.get(daemon.url + path, allow_redirects=False) as answer:
        assert answer.status in (200, 302)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_page_opens_from_links_but_not_frames(daemon: Daemon, browser: Browser) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    async def get(path: str, **changed: str) -> int:
        async with browser.client.get(daemon.url + path, headers=visit | changed) as answer:
            return answer.status

    assert await get("/ui/now") == 200
    assert await get("/ui/now", **{"Sec-Fetch-Dest": "iframe"}) == 403
    assert await get("/ui/now", **{"Sec-Fetch-Mode": "no-cors"}) == 403
    assert await get("/status") == 403


async def test_document_is_revalidated_assets_are_not(daemon: Daemon, browser: Browser) -> None:
    async with browser.client.get(f"{daemon.url}/ui/now") as answer:
        etag = answer.headers["ETag"]
    async with browser.client.get(f"{daemon.url}/ui/search", headers={"If-None-Match": etag}) as answer:
        assert answer.status == 304
    for file in (STATIC_FOLDER / "assets").iterdir():
        async with browser.client.get(f"{daemon.url}/ui/assets/{file.name}") as answer:
            assert answer.status == 200
            assert await answer.read() == file.read_bytes()
            assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    [
        "assets/../index.html", "assets/..%2f..%2f..%2fengine.py", "assets/%2e%2e/build.json", "assets/none.js",
        "assets//etc/passwd", "assets/..\\index.html", "assets/x%00.js", "assets/.js", "assets/",
    ],
)  # fmt: skip
async def test_files_outside_assets_are_not_served(daemon: Daemon, path: str) -> None:
    head = f"GET /ui/{path} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nConnection: close\r\n\r\n"
    answer = await daemon.raw(head.encode())

    assert answer.split()[1] in (b"404", b"400") or b"<title>hunchd</title>" in answer
