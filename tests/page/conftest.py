"""A real browser on a real daemon; skipped where Playwright or Chromium is missing (see tests/page/run)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, daemon_of_many
from tests.page.stamp import ROOT, SOURCES
from tests.repositories import make_shop

sys.path += map(str, (ROOT / ".venv" / "browser").glob("lib/python*/site-packages"))
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
CHROMIUM = os.environ.get("HUNCHD_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
# Firefox tells violations of the policy to the document only, not to the console.
REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation", (told) =>
  console.error(`policy: ${told.violatedDirective} ${told.blockedURI} ${told.sourceFile}:${told.lineNumber}`))"""
AXE = SOURCES / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, or the system's Firefox where HUNCHD_TEST_PAGE asks for it."""
    wanted = os.environ.get("HUNCHD_TEST_PAGE")
    if wanted is None:
        pytest.skip("run by tests/page/run, in a process of its own: Playwright's event loop would stop other tests")
    playwright = pytest.importorskip("playwright.sync_api", reason="tests/page/run --install brings Playwright")
    executable = FIREFOX if wanted == "firefox" else CHROMIUM
    if executable is None:
        pytest.skip(f"{wanted} is missing")
    with playwright.sync_playwright() as running:
        browser = (
            running.firefox.launch(executable_path=executable, channel="moz-firefox")
            if wanted == "firefox"
            else running.chromium.launch(executable_path=executable, args=FLAGS)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def page_daemon(homes: Path) -> Iterator[RunningDaemon]:
    """Run a daemon on a small repository with an error and hostile text."""
    shop = make_shop(homes / "page-shop")
    with daemon_of_many(homes) as daemon:
        daemon.add(shop)
        yield daemon


@pytest.fixture(scope="session")
def shop(page_daemon: RunningDaemon) -> dict[str, Any]:
    project: dict[str, Any] = page_daemon.get("/projects")["items"][0]
    return project


def get_address(daemon: RunningDaemon, *options: str) -> str:
    """Return the address that `hunch ui` opens."""
    command = [sys.executable, "-m", "hunchd.cli", "ui", "--json", *options]
    told = subprocess.run(
        command, env={**os.environ, "HUNCHD_HOME": str(daemon.home)}, capture_output=True, check=True, cwd=ROOT
    )
    return str(json.loads(told.stdout)["url"])


class Visit:
    """One browser context on the page, which remembers errors and foreign requests."""

    def __init__(self, browser: Any, daemon: RunningDaemon, *options: str) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.add_init_script(REPORT_VIOLATIONS)
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console", lambda told: told.type == "error" and self.troubles.append(f"{told.text} {told.location}")
        )
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        assert daemon.told is not None
        self.base = daemon.told.url
        self.page.goto(get_address(daemon, *options))
        self.page.get_by_role("heading", name="Now", level=1).wait_for()

    def go(self, path: str) -> None:
        self.page.goto(f"{self.base}/ui/{path}")
        self.page.locator("h1").wait_for()
        self.page.locator(".loading").first.wait_for(state="detached")

    def list_violations(self) -> list[str]:
        """Return what axe finds serious or critical; nothing where axe is not installed."""
        if not AXE.exists():
            return []
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run().then(told => told.violations)")
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
        ]


@pytest.fixture
def visit(browser: Any, page_daemon: RunningDaemon) -> Iterator[Visit]:
    visit = Visit(browser, page_daemon)
    yield visit
    visit.context.close()
    assert visit.troubles == []
    assert [url for url in visit.requests if not url.startswith(visit.base)] == []
