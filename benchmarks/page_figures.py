"""Measure what the page costs, and write the figures into docs/page.md.

usage: python benchmarks/page_figures.py REPOSITORY [--document docs/page.md] [--visits 20] [--many]

The daemon that it starts has a folder of its own, filled as for the pictures (`page_screenshots.py`).
`--many` adds 100,000 memories.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.page_screenshots import VIEWS, open_page, run_demo
from tests.daemon.running import RunningDaemon
from tests.page.test_states import fill_store

REST_SECONDS = 120  # the slowest timer of the page has 90
PAGES = ("now", "figures", "knowledge")  # the three that stay open
ROUNDS, REQUESTS = 6, 150  # of `/context`, each with the pages open and with none
BEGIN, END = "<!-- figures: written by benchmarks/page_figures.py -->", "<!-- end of figures -->"

# Interactive: the view is there, nothing is loading, and the main thread is free again.
WATCH = """
window.readyAt = 0;
const look = () => {
  const isReady = document.querySelector('main h1') && !document.querySelector('.loading');
  if (isReady && !window.readyAt) setTimeout(() => { window.readyAt = performance.now(); });
  if (!window.readyAt) requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def measure_views(context: Any, base: str, views: dict[str, str], visits: int) -> list[str]:
    """Return a row of the table for each view: bytes, first paint, interactive."""
    page = context.new_page()
    page.add_init_script(WATCH)
    received: list[int] = []
    page.on("response", lambda answer: "/ui/" in answer.url and received.append(_compressed(answer)))
    rows = []
    for name, address in views.items():
        paints, ready, size = [], [], 0
        for visit in range(visits + 1):
            received.clear()
            page.goto(f"{base}/ui/{address}")
            while not page.evaluate("window.readyAt"):  # the policy of the page forbids to wait by a function
                page.wait_for_timeout(20)
            if visit == 0:  # the scripts are in the browser's cache afterwards, as on a second day
                page.wait_for_timeout(1_000)
                size = sum(received)
                continue
            paints.append(page.evaluate(PAINT))
            ready.append(page.evaluate("window.readyAt"))
        cells = (statistics.median(paints), max(paints), statistics.median(ready), max(ready))
        rows.append(f"| {name} | {size / 1000:.0f} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")
        print(rows[-1], flush=True)
    page.close()
    return rows


def _compressed(answer: Any) -> int:
    return len(gzip.compress(answer.body())) if answer.status == 200 else 0


@contextmanager
def three_pages(context: Any, base: str) -> Iterator[list[str]]:
    """Keep three pages open; yields the addresses that they ask for."""
    asked: list[str] = []
    pages = [context.new_page() for _ in PAGES]
    for page, name in zip(pages, PAGES, strict=True):
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{base}/ui/{name}")
        page.locator(".loading").first.wait_for(state="detached", timeout=60_000)
    yield asked
    for page in pages:
        page.close()


def measure_rest(daemon: RunningDaemon, context: Any, base: str) -> list[str]:
    """Return sentences on memory, processor and requests, without pages and with three at rest."""
    context.pages[0].goto("about:blank")
    time.sleep(5)
    alone = _rest(daemon)
    with three_pages(context, base) as asked:
        context.pages[0].wait_for_timeout(5_000)
        asked.clear()
        opened = _rest(daemon, context.pages[0])
        each_minute = len(asked) * 60 / REST_SECONDS / len(PAGES)
    return [
        f"- Requests of a page at rest: {each_minute:.1f} a minute, with three open (Now, Figures, Knowledge).",
        f"- Memory of the front: {opened[0] / 1e6:.1f} MB with three pages open, {alone[0] / 1e6:.1f} MB with none.",
        f"- Processor at rest: {opened[1]:.2f} % of a core with three pages open, {alone[1]:.2f} % with none.",
    ]


def _rest(daemon: RunningDaemon, page: Any = None) -> tuple[int, float]:
    """Return the memory of the front, and its processor time in percent while nothing happens."""
    before = _read_ticks(daemon.pid)
    page.wait_for_timeout(REST_SECONDS * 1_000) if page else time.sleep(REST_SECONDS)
    spent = (_read_ticks(daemon.pid) - before) / os.sysconf("SC_CLK_TCK")
    return int(daemon.get("/status")["resources"]["front_memory_bytes"]), 100 * spent / REST_SECONDS


def _read_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def measure_context(daemon: RunningDaemon, context: Any, base: str, project: str, file: str) -> str:
    """Return a sentence that compares `/context` with three pages open and with none, in turns."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(ROUNDS):
        taken[False] += _ask(daemon, project, file)
        with three_pages(context, base):
            taken[True] += _ask(daemon, project, file)
    ratios = []
    for share in (0.5, 0.95):
        without, opened = (sorted(taken[each])[int(share * len(taken[each]))] for each in (False, True))
        ratios.append(f"{opened / without:.2f} ({opened:.2f} ms, without {without:.2f} ms)")
    return (
        "- Time of `/context` with three pages open, as a ratio to none, in one run of "
        f"{2 * ROUNDS * REQUESTS:,} requests in turns: median {ratios[0]}, slowest of twenty {ratios[1]}."
    )


def _ask(daemon: RunningDaemon, project: str, file: str) -> list[float]:
    times = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        daemon.get("/context", project=project, file=file)
        times.append((time.perf_counter() - began) * 1_000)
    return times


@contextmanager
def filled(daemon: RunningDaemon, project: dict[str, Any], is_many: bool) -> Iterator[Any]:
    """Yield a browser context with access, after 100,000 memories were added where they are wanted."""
    if is_many:
        daemon.stop()
        fill_store(daemon.places.data / "projects" / project["id"], project["id"])
        daemon.start()
        print(f"{daemon.get('/memories', limit=1)['total']:,} memories", flush=True)
    with open_page(daemon) as context:
        yield context


def write_document(document: Path, lines: list[str]) -> None:
    """Replace what is between the marks."""
    text = document.read_text()
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"{document} has no marks: {BEGIN} … {END}")
    document.write_text(pattern.sub(lambda _: "\n".join((BEGIN, *lines, END)), text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--document", type=Path)
    parser.add_argument("--visits", type=int, default=20)
    parser.add_argument("--many", action="store_true")
    given = parser.parse_args()
    with run_demo(given.repository) as (daemon, project, file), filled(daemon, project, given.many) as context:
        assert daemon.told is not None
        base = daemon.told.url
        views = {name: address.replace("{file}", file) for name, address in VIEWS.items()}
        rows = measure_views(context, base, views, given.visits)
        rest = measure_rest(daemon, context, base)
        told = measure_context(daemon, context, base, project["id"], file)
    head = [
        "| view | kB | first paint, ms: median | worst | interactive, ms: median | worst |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    name = Path(project["path"]).name
    many = ", with 100,000 memories" if given.many else ""
    where = f"{name}{many}, {given.visits} visits of each view, {platform.machine()} with {os.cpu_count()} cores"
    lines = [f"Measured on {where}.", "", *head, *rows, "", *rest, told]
    print("\n".join(lines))
    if given.document:
        write_document(given.document, lines)


if __name__ == "__main__":
    main()
