"""Make pictures of every view of the page on a real project.

usage: python benchmarks/page_screenshots.py REPOSITORY FOLDER [--views now,file] [--small]
       python benchmarks/page_screenshots.py REPOSITORY --serve HOME

The second form makes no pictures but keeps the daemon running, with HUNCHD_HOME=HOME, so that one can try the page.

The daemon that it starts has a folder of its own. Facts, a session, an error, commands and a night are made up;
everything else is read from the history of REPOSITORY, which is copied. `tests/page/run --install` brings the browser.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
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
    daemon.request(
        "PUT",
        "/documents/reference/releasing.md",
        {"content": DOCUMENT},
    )
    _run_night(daemon, project["id"], steps=["summarise"])
    _run_night(daemon, project["id"])
    _date_nights(daemon)
    _report_commands(daemon, project["path"])
    _report_fixed_error(daemon, project)
    _open_files(daemon, project)


def _run_night(daemon: RunningDaemon, project: str, **only: list[str]) -> None:
    run = daemon.post("/consolidate", {"project": project, "wait": False, **only})["run"]
    daemon.wait_until(lambda: daemon.get(f"/consolidate/{run}")["status"] != "running", within=300, what="consolidate")


NIGHTS = 9


def _date_nights(daemon: RunningDaemon) -> None:
    """Make last night of the longer run, and earlier nights of the shorter one, each with a little less stored."""
    daemon.stop()
    folder = daemon.places.data / "consolidation"
    short, long = sorted(folder.glob("*.jsonl"))
    for number in range(NIGHTS):
        began = datetime.now(UTC).replace(hour=3, minute=number) - timedelta(days=number)
        lines = [json.loads(line) for line in (short if number else long).read_text().splitlines()]
        shift = began - datetime.fromisoformat(lines[0]["at"])
        run = f"r{began:%Y%m%d%H%M%S}{number:04x}"
        for line in lines:
            if "at" in line:
                line["at"] = (datetime.fromisoformat(line["at"]) + shift).isoformat()
            if "store" in line:
                line["store"] = {name: int(value * (1 - 0.02 * number)) for name, value in line["store"].items()}
        lines[0]["run"] = run
        (folder / f"{run}.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    short.unlink()
    long.unlink()
    daemon.start()


def _tell_facts(daemon: RunningDaemon, project: str) -> None:
    def tell(content: str, category: str, key: str, value: str, *, days_ago: int = 0) -> str:
        draft = {
            "kind": "fact",
            "project": project,
            "content": content,
            "category": category,
            "key": key,
            "value": value,
            "valid_from": (datetime.now(UTC) - timedelta(days=days_ago, hours=2)).isoformat(),
        }
        return str(daemon.post("/memories", draft)["ids"][0])

    tell("Releases are made on Mondays.", "decision", "release_day", "Monday", days_ago=80)
    tell("Releases are made on Wednesdays.", "decision", "release_day", "Wednesday", days_ago=31)
    since = "Releases are made on Thursdays, since support is at work on Fridays."
    tell(since, "decision", "release_day", "Thursday", days_ago=6)
    tell("Tests run with pytest in random order.", "convention", "test_runner", "pytest")
    tell("Public functions have type hints.", "convention", "type_hints", "public functions")
    tell("I prefer small commits with the reason in the body.", "preference", "commit_style", "small")
    tell("Ask Ana before you change how people log in.", "constraint", "login_owner", "Ana")
    tell("Ship version 4 without breaking extensions.", "goal", "next_goal", "version 4")
    first = tell("Cookies are signed with SHA-1.", "decision", "cookie_digest", "SHA-1")
    second = tell("Cookies are signed with SHA-512.", "decision", "cookie_hash", "SHA-512")
    daemon.post("/contradictions", {"a": first, "b": second, "note": "Both name the digest of the cookie."})


SESSIONS = (
    (
        "cookie-flags",
        timedelta(days=33),
        (
            ("user", "Which flags does the session cookie have? Set what is missing."),
            ("assistant", "It has no SameSite flag. Strict is the safest."),
            ("user", "We decided to use SameSite=Strict for the session cookie."),
            ("assistant", "Done, with a test."),
        ),
    ),
    (
        "cookie-lost",
        timedelta(hours=3),
        (
            ("user", "People are logged out when they come from a link in a mail. Find out why."),
            ("assistant", "SameSite=Strict keeps the cookie from the first request. Lax would send it."),
            ("user", "We decided to use SameSite=Lax instead of SameSite=Strict for the session cookie."),
            ("assistant", "I changed the flag and its test; all tests pass."),
        ),
    ),
    (
        "next-release",
        timedelta(minutes=20),
        (("user", "Write the changelog of the next release."), ("assistant", "I collect what was merged since 3.1.")),
    ),
)


def _tell_sessions(daemon: RunningDaemon, project: str) -> None:
    for session, ago, said in SESSIONS:
        begun = datetime.now(UTC) - ago
        messages = [
            {"role": role, "content": content, "at": (begun + timedelta(minutes=4 * number)).isoformat()}
            for number, (role, content) in enumerate(said)
        ]
        daemon.post(f"/sessions/{session}/messages", {"project": project, "messages": messages})
        if session != "next-release":
            daemon.post(f"/sessions/{session}/end", {"outcome": "success"})


def _report_commands(daemon: RunningDaemon, path: str) -> None:
    now = datetime.now(UTC)
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
    daemon.post("/signals", {"signals": signals})


def _report_fixed_error(daemon: RunningDaemon, project: dict[str, Any]) -> None:
    """Report an error, the change that ends it, and the error once more; the change is then known as its fix."""
    path = project["path"]
    file = choose_file(Path(path))
    blame = f'File "{path}/{file}", line 12, in load'
    trace = f"Traceback (most recent call last):\n  {blame}\n    return cookie[\"id\"]\nKeyError: 'id'\n"
    run = {"project": path, "command": "pytest -q tests", "source": "terminal"}
    daemon.post("/signals", {"signals": [{"kind": "error", "text": trace, **run}]})
    error = str(daemon.get("/memories", project=project["id"], kind="error", limit=1)["items"][0]["id"])
    found = daemon.places.cache.rglob
    daemon.wait_until(lambda: any(error in one.read_text() for one in found("runs.json")), within=60, what="snapshot")
    with (Path(path) / file).open("a") as text:
        text.write('\n\ndef load(cookie):\n    return cookie.get("id")\n')
    daemon.post("/signals", {"signals": [{"kind": "command_finished", "exit_code": 0, **run}]})

    def is_known() -> bool:
        errors = daemon.get("/memories", project=project["id"], kind="error", limit=50)["items"]
        return any("fix" in one["tags"] for one in errors)

    daemon.wait_until(is_known, within=60, what="learn the fix")
    daemon.post("/signals", {"signals": [{"kind": "error", "text": trace, **run}]})


OPENED = 14  # files


def _open_files(daemon: RunningDaemon, project: dict[str, Any]) -> None:
    """Open files one after the other, every second time one that is predicted."""
    opened = [choose_file(Path(project["path"]))]
    for number in range(OPENED):
        opening = {"kind": "file_opened", "project": project["path"], "path": opened[-1], "source": "editor"}
        daemon.post("/signals", {"signals": [opening]})
        time.sleep(0.5)  # predictions are made when the editor is quiet
        asked = {"project": project["id"], "file_opened": opened[-1], "open_files": opened, "k": 12}
        likely = [one["path"] for one in daemon.post("/context/predict", asked)["predicted_files"]]
        fresh = [path for path in likely if path not in opened]
        opened.append(fresh[-1 if number % 3 == 2 else 0])


def choose_file(folder: Path) -> str:
    """Return the file that is shown: the source file with the most changes among those named like the demo's topic."""
    listed = subprocess.check_output(["git", "ls-files", "*session*.py", "*s*.py"], cwd=folder, text=True).split()
    named = [path for path in listed if "session" in path and "test" not in path]
    return (named or listed)[0]


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
    return copy, choose_file(copy)


def serve(repository: Path, home: Path) -> None:
    """Keep a filled daemon running until Ctrl+C."""
    home.mkdir(parents=True)
    copy, _ = copy_repository(repository, home.parent)
    daemon = RunningDaemon(home).start()
    try:
        fill(daemon, daemon.add(copy, within=900))
        print(f"ready: HUNCHD_HOME={home} hunch ui", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        daemon.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--serve", type=Path, metavar="HOME", help="make no pictures; keep the daemon running")
    parser.add_argument("--views", default=",".join(VIEWS))
    parser.add_argument("--small", action="store_true", help="only what is seen without scrolling, light and wide")
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.repository, given.serve)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    with run_demo(given.repository) as (daemon, _, file), open_page(daemon) as context:
        views = {name: VIEWS[name].replace("{file}", file) for name in given.views.split(",")}
        sizes = [(SCHEMES[0], WIDTHS[0])] if given.small else [(one, width) for one in SCHEMES for width in WIDTHS]
        assert daemon.told is not None
        take_pictures(context, daemon.told.url, given.folder, views, sizes, full=not given.small)


if __name__ == "__main__":
    main()
