"""Make pictures of every view of the page on a real project.

usage: python benchmarks/page_screenshots.py REPOSITORY FOLDER [--views now,file] [--small]

The daemon that it starts has a folder of its own. Facts, a session, an error, commands and a night are made up;
everything else is read from the history of REPOSITORY, which is copied. `tests/page/run --install` brings the browser.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.daemon.running import RunningDaemon
from tests.page.conftest import CHROMIUM, FLAGS, get_address

WIDTHS = (1400, 390)
SCHEMES = ("light", "dark")
DOCUMENT = """# Releasing

Write the changelog, then tag the commit.

- `python -m build` makes the files
- **never** upload by hand
"""


def fill(daemon: RunningDaemon, project: dict[str, Any]) -> None:
    """Store what a few weeks of work leave behind."""
    _tell_facts(daemon, project["id"])
    _tell_sessions(daemon, project["id"])
    _report_signals(daemon, project["path"])
    daemon.request(
        "PUT",
        "/documents/reference/releasing.md",
        {"content": DOCUMENT},
    )
    run = daemon.post("/consolidate", {"project": project["id"]})["run"]
    daemon.wait_until(lambda: daemon.get(f"/consolidate/{run}")["status"] != "running", within=300, what="consolidate")


def _tell_facts(daemon: RunningDaemon, project: str) -> None:
    def tell(content: str, category: str, key: str, value: str) -> str:
        draft = {
            "kind": "fact",
            "project": project,
            "content": content,
            "category": category,
            "key": key,
            "value": value,
        }
        return str(daemon.post("/memories", draft)["ids"][0])

    tell("Releases are made on Mondays.", "decision", "release_day", "Monday")
    tell("Releases are made on Thursdays, since support is at work on Fridays.", "decision", "release_day", "Thursday")
    tell("Tests run with pytest in random order.", "convention", "test_runner", "pytest")
    tell("Public functions have type hints.", "convention", "type_hints", "public functions")
    tell("I prefer small commits with the reason in the body.", "preference", "commit_style", "small")
    tell("Ask Ana before changing the session cookie.", "constraint", "session_cookie_owner", "Ana")
    tell("Ship version 4 without breaking extensions.", "goal", "next_goal", "version 4")
    first = tell("Cookies are signed with SHA-1.", "decision", "cookie_digest", "SHA-1")
    second = tell("Cookies are signed with SHA-512.", "decision", "cookie_hash", "SHA-512")
    daemon.post("/contradictions", {"a": first, "b": second, "note": "Both name the digest of the cookie."})


def _tell_sessions(daemon: RunningDaemon, project: str) -> None:
    begun = datetime.now(UTC) - timedelta(hours=3)
    said = (
        ("user", "The session cookie is lost after a redirect. Find out why."),
        (
            "assistant",
            "The error handler makes a new response, so the cookie is never set. I will save the session first.",
        ),
        ("user", "Good. We decided to use SameSite=Lax for the session cookie, please remember that."),
        ("assistant", "Noted. I changed the handler and added a test; all tests pass."),
    )
    messages = [
        {"role": role, "content": content, "at": (begun + timedelta(minutes=4 * number)).isoformat()}
        for number, (role, content) in enumerate(said)
    ]
    daemon.post("/sessions/cookie-lost/messages", {"project": project, "messages": messages})
    daemon.post("/sessions/cookie-lost/end", {"outcome": "success"})
    daemon.post("/sessions/next-release/messages", {"project": project, "messages": messages[:1]})


def _report_signals(daemon: RunningDaemon, path: str) -> None:
    now = datetime.now(UTC)
    folder = Path(path)
    files = subprocess.check_output(["git", "ls-files", "src", "*.py"], cwd=folder, text=True).split()[:12]
    signals: list[dict[str, Any]] = []
    for day in range(8, 0, -1):
        begun = now - timedelta(days=day)
        for number, command in enumerate(("git pull --rebase", "pytest -q tests", "git push")):
            at = (begun + timedelta(minutes=2 * number)).isoformat()
            signals.append(
                {
                    "kind": "command_finished",
                    "project": path,
                    "command": command,
                    "exit_code": 0,
                    "at": at,
                    "source": "shell",
                }
            )
    blame = f'File "{path}/{files[-1]}", line 12, in load'
    trace = f"Traceback (most recent call last):\n  {blame}\n    return cookie[\"id\"]\nKeyError: 'id'\n"
    signals.append(
        {"kind": "error", "project": path, "text": trace, "command": "pytest -q tests", "source": "terminal"}
    )
    signals += [{"kind": "file_opened", "project": path, "path": file, "source": "editor"} for file in files[:8]]
    for start in range(0, len(signals), 100):
        daemon.post("/signals", {"signals": signals[start : start + 100]})


VIEWS = {
    "now": "now",
    "file": "file?path={file}",
    "search": "search?q=session+cookie",
    "knowledge": "knowledge",
    "document": "knowledge?part=documents&show=/reference/releasing.md",
    "contradictions": "contradictions",
    "sessions": "sessions?show=cookie-lost",
    "errors": "errors",
    "workflows": "workflows",
    "patterns": "patterns",
    "nights": "nights",
    "figures": "figures",
    "settings": "settings",
}


@contextmanager
def run_demo(repository: Path) -> Iterator[tuple[RunningDaemon, dict[str, Any], str]]:
    """Run a daemon on a copy of a repository, with a few weeks of made-up work; yield it, the project and a file."""
    with tempfile.TemporaryDirectory(prefix="hd-page-") as around:
        copy, file = copy_repository(repository, Path(around))
        daemon = RunningDaemon(Path(around) / "home").start()
        try:
            project = daemon.add(copy, within=900)
            fill(daemon, project)
            yield daemon, project, file
        finally:
            daemon.stop()


@contextmanager
def open_page(daemon: RunningDaemon) -> Iterator[Any]:
    """Yield a browser context that has access."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context()
        page = context.new_page()
        page.goto(get_address(daemon))
        page.get_by_role("heading", name="Now", level=1).wait_for()
        yield context
        browser.close()


def take_pictures(
    context: Any, base: str, folder: Path, views: dict[str, str], sizes: list[tuple[str, int]], *, full: bool
) -> None:
    page = context.pages[0]
    for name, address in views.items():
        for scheme, width in sizes:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 800})
            _open(page, f"{base}/ui/{address}")
            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=full)


def _open(page: Any, address: str) -> None:
    page.goto(address)
    page.locator("h1").wait_for()
    page.locator(".loading").first.wait_for(state="detached", timeout=60_000)
    page.wait_for_timeout(200)


def copy_repository(repository: Path, folder: Path) -> tuple[Path, str]:
    """Clone the repository below `folder`; return the clone and a file in it to show."""
    copy = folder / repository.name.removesuffix(".git")
    subprocess.run(["git", "clone", "--quiet", str(repository), str(copy)], check=True)
    return copy, str(next(iter(sorted(copy.glob("**/s*.py"))), copy).relative_to(copy))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--views", default=",".join(VIEWS))
    parser.add_argument("--small", action="store_true", help="only what is seen without scrolling, light and wide")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with run_demo(given.repository) as (daemon, _, file), open_page(daemon) as context:
        views = {name: VIEWS[name].replace("{file}", file) for name in given.views.split(",")}
        sizes = [(SCHEMES[0], WIDTHS[0])] if given.small else [(one, width) for one in SCHEMES for width in WIDTHS]
        assert daemon.told is not None
        take_pictures(context, daemon.told.url, given.folder, views, sizes, full=not given.small)


if __name__ == "__main__":
    main()
