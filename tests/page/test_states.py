"""States that are not the usual one: nothing there, being read, broken, very much; two tabs on one memory."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.memory import Artifact, Kind, Memory
from hunchd.store.database.collection import Collection
from hunchd.store.database.lance import create_session
from tests.daemon.running import RunningDaemon, daemon_of_many, running_daemon
from tests.page.conftest import Visit
from tests.page.histories import make_history
from tests.page.test_actions import store_fact
from tests.repositories import make_shop
from tests.store.examples import memory, row_of

MANY = 100_000  # memories
FACTS, ERRORS = 2_000, 2_000  # of them
BATCH = 20_000  # memories written at once
MAX_ELEMENTS = 6_000  # of a view: more takes long to lay out


def test_page_without_projects_says_what_to_do(browser: Any, homes: Path) -> None:
    with daemon_of_many(homes) as daemon:
        visit = Visit(browser, daemon)
        visit.page.get_by_text("No project is watched yet").wait_for()
        repository = make_shop(homes / "page-first")
        daemon.add(repository)

        visit.page.get_by_role("heading", name="You are working on").wait_for()  # it fills by itself
        visit.context.close()
        assert visit.troubles == []


def test_project_being_read_shows_progress_until_ready(browser: Any, homes: Path) -> None:
    changes = [
        (f"change {one}", {f"m{one % 300}.py": f"def f{one}(x):\n    return x + {one}\n"}) for one in range(6_000)
    ]
    repository = make_history(homes / "page-reading", changes, seconds=3_600)
    with daemon_of_many(homes) as daemon:
        daemon.add(make_shop(homes / "page-waiting"))
        visit = Visit(browser, daemon)
        added = daemon.post("/projects", {"path": str(repository)})
        visit.go(f"now?project={added['id']}")
        visit.page.locator("progress[aria-label=Progress]").wait_for()
        assert visit.list_violations() == []

        visit.page.locator("progress[aria-label=Progress]").wait_for(state="detached", timeout=120_000)
        visit.page.get_by_role("heading", name="You are working on").wait_for()
        visit.context.close()
        assert visit.troubles == []


def test_missing_folder_is_named(browser: Any, homes: Path) -> None:
    repository = make_shop(homes / "page-gone")
    with daemon_of_many(homes) as daemon:
        daemon.add(repository)
        repository.rename(homes / "page-moved")
        daemon.stop()
        daemon.start()
        visit = Visit(browser, daemon)

        visit.page.get_by_text("page-gone is gone").wait_for()
        visit.context.close()


@pytest.mark.parametrize(
    ("view", "broken"),
    [
        ("now", "**/context/assemble"), ("knowledge", "**/memories?*"), ("search?q=basket", "**/search"),
        ("nights", "**/consolidate?*"), ("figures", "**/status"), ("settings", re.compile("^[^?]*:[0-9]+/settings$")),
        ("sessions", "**/sessions?*"), ("contradictions", "**/contradictions?*"), ("errors", "**/memories?*"),
        ("workflows", "**/memories?*"), ("patterns", "**/memories?*"), ("file?path=shop/basket.py", "**/context?*"),
    ],
)  # fmt: skip
def test_failed_answer_is_told_and_tried_again(visit: Visit, view: str, broken: str | re.Pattern[str]) -> None:
    told = '{"error": {"code": "internal", "message": "The store does not answer.", "hint": "See the log."}}'
    visit.page.route(broken, lambda route: route.fulfill(status=503, content_type="application/json", body=told))
    visit.go(view)
    failed = visit.page.locator("main .error-box")
    failed.first.wait_for()
    assert "The store does not answer." in failed.first.inner_text()
    assert visit.list_violations() == []

    visit.page.unroute(broken)
    failed.first.get_by_role("button", name="Try again").click()
    failed.first.get_by_role("button", name="Try again").or_(
        visit.page.locator("main .panel, main .result, main .empty").first
    ).first.wait_for()
    visit.page.reload()
    visit.page.locator("main .panel, main .result, main .empty").first.wait_for()
    assert failed.count() == 0
    visit.troubles[:] = [one for one in visit.troubles if "503" not in one]  # the browser reports the answer


def test_two_tabs_see_one_change(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Storks arrive in March.")
    visit.go(f"knowledge?show={identifier}")
    second = visit.context.new_page()
    second.goto(f"{visit.base}/ui/knowledge")
    second.locator(".result", has_text="Storks arrive").wait_for()
    visit.page.get_by_role("button", name="Never again").click()

    second.locator(".result", has_text="Storks arrive").wait_for(state="detached")
    second.get_by_role("link", name="Put away").click()
    second.locator(".result", has_text="Storks arrive").wait_for()


def fill_store(folder: Path, project: str) -> None:
    """Write what years leave behind, mostly past changes, into the store of a daemon that does not run."""

    async def write() -> None:
        collection = await Collection.open(folder, create_session())
        for start in range(0, MANY, BATCH):
            await collection.put([row_of(make_memory(one, project)) for one in range(start, start + BATCH)])
        await collection.close()

    with ThreadPoolExecutor(1) as pool:  # Playwright keeps the event loop of this thread
        pool.submit(asyncio.run, write()).result()


def make_memory(number: int, project: str) -> Memory:
    kind = Kind.FACT if number < FACTS else Kind.ERROR if number < FACTS + ERRORS else Kind.EPISODE
    file = f"shop/{'basket' if number % 50 == 0 else number}.py"
    return memory(
        number,
        f"Shelf {number} holds item {number * 7919 % MANY}.",
        id=f"m{number:020x}",
        kind=kind,
        title=f"Shelf {number}",
        project=project,
        artifacts=(Artifact("file", file),),
    )


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_hundred_thousand_memories_stay_usable(browser: Any, homes: Path) -> None:
    repository = make_shop(homes / "page-many")
    with running_daemon(homes / "many", settings="[embedding]\nenabled = false\n") as daemon:
        project = daemon.add(repository)
        daemon.stop()
        fill_store(daemon.places.data / "projects" / project["id"], project["id"])
        daemon.start()
        assert daemon.get("/memories", limit=1)["total"] >= MANY
        visit = Visit(browser, daemon)
        views = ("now", "search?q=shelf+4711", "nights", "figures", "settings", "sessions", "workflows", "patterns")
        for view in (*views, "contradictions", "knowledge?part=archived", "file?path=shop/basket.py"):
            visit.go(view)
            assert visit.page.locator("main *").count() < MAX_ELEMENTS, view
        for view, button, step in (("knowledge", "Show more facts", 100), ("errors", "Show more errors", 200)):
            visit.go(view)
            for shown in (step, 2 * step, 3 * step):
                visit.page.locator(".result").nth(shown - 1).wait_for()
                assert visit.page.locator(".result").count() == shown
                visit.page.get_by_role("button", name=button).click()
        visit.go("knowledge")
        visit.page.get_by_label("Find by words").fill("shelf 1337")
        visit.page.keyboard.press("Enter")
        visit.page.locator(".result", has_text="Shelf 1337").first.wait_for()
        visit.context.close()
        assert visit.troubles == []
