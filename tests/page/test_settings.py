"""Settings, projects, health and figures: each can be changed or read in the page, and undone."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, daemon_of_many
from tests.page.conftest import Visit
from tests.page.histories import make_history
from tests.page.test_actions import store_fact, undo
from tests.page.test_undo import run_night
from tests.repositories import make_shop


def find_setting(daemon: RunningDaemon, section: str, name: str) -> dict[str, str]:
    return next(one for one in daemon.get("/settings")["items"] if (one["section"], one["name"]) == (section, name))


@pytest.mark.parametrize(
    ("name", "typed", "written"),
    [
        ("context.budget", "5000", "5000"),
        ("signals.watch_opens", "true", "true"),
        ("daemon.log_level", "debug", '"debug"'),
        ("index.ignore", "build/\n*.tmp", '["build/", "*.tmp"]'),
    ],
)
def test_setting_is_changed_and_undone(
    visit: Visit, page_daemon: RunningDaemon, name: str, typed: str, written: str
) -> None:
    section, short = name.split(".")
    before = find_setting(page_daemon, section, short)["written"]
    visit.go(f"settings?only={section}")
    visit.page.get_by_role("button", name=f"Change {name}", exact=True).click()
    field = visit.page.get_by_label(f"New value of {name}")
    if field.evaluate("field => field.tagName") == "SELECT":
        field.select_option(typed)
    else:
        field.fill(typed)
    visit.page.get_by_role("button", name="Save").click()
    visit.page.get_by_text("after a restart").first.wait_for()
    assert find_setting(page_daemon, section, short)["written"] == written

    undo(visit)
    visit.page.get_by_text("Undone.").wait_for()
    assert find_setting(page_daemon, section, short)["written"] == before


def test_refused_setting_names_field_and_allowed_values(visit: Visit, page_daemon: RunningDaemon) -> None:
    visit.go("settings?only=context")
    visit.page.get_by_role("button", name="Change context.budget", exact=True).click()
    visit.page.get_by_text("Allowed: a whole number between 1 and 200000").wait_for()
    visit.page.get_by_label("New value of context.budget").fill("0")
    visit.page.get_by_role("button", name="Save").click()

    visit.page.get_by_role("alert").get_by_text("[context] budget must be between 1 and 200000, not 0").wait_for()
    assert find_setting(page_daemon, "context", "budget")["written"] == "8000"
    visit.troubles[:] = [one for one in visit.troubles if "422" not in one]  # the browser reports the refusal


def test_language_model_setting_has_no_button(visit: Visit) -> None:
    visit.go("settings?only=language")

    assert visit.page.locator("tr", has_text="language.enabled").get_by_text("in the file only").count() == 1
    assert visit.page.get_by_role("button", name="Change language").count() == 0


def test_project_is_paused_and_resumed_by_undo(visit: Visit, page_daemon: RunningDaemon) -> None:
    visit.go("settings")
    visit.page.get_by_role("button", name="Pause page-shop").click()
    visit.page.locator("tr", has_text="page-shop").get_by_text("paused").wait_for()
    assert page_daemon.get("/projects")["items"][0]["paused"]

    undo(visit)
    visit.page.get_by_role("button", name="Pause page-shop").wait_for()
    assert not page_daemon.get("/projects")["items"][0].get("paused")


def test_checks_name_problems_and_mend_them(visit: Visit, page_daemon: RunningDaemon) -> None:
    page_daemon.places.state.chmod(0o755)
    visit.go("settings")
    visit.page.get_by_text("Check everything").click()
    visit.page.get_by_text("can be accessed by other users").wait_for()
    visit.page.get_by_role("button", name="Mend what is safe to mend").click()
    visit.page.get_by_text("Mended what could be mended").wait_for()

    assert page_daemon.places.state.stat().st_mode & 0o077 == 0


def test_fact_is_found_by_words(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    store_fact(page_daemon, shop, "Walruses are counted in winter.")
    visit.go("knowledge")
    visit.page.get_by_label("Find by words").fill("walruses winter")
    visit.page.keyboard.press("Enter")

    visit.page.locator(".result.current", has_text="Walruses").wait_for()
    visit.page.get_by_text("Show everything").click()
    visit.page.get_by_text("Write something down").wait_for()


def test_night_change_is_undone_alone(browser: Any, homes: Path) -> None:
    repository = make_history(
        homes / "page-night", [(f"Count lynxes {one}", {f"{one}.py": "x = 1\n"}) for one in range(8)]
    )
    with daemon_of_many(homes) as daemon:
        project = daemon.add(repository)
        run = run_night(daemon, project)
        daemon.wait_until(lambda: daemon.get(f"/consolidate/{run}")["status"] != "running", within=60, what="end")
        changed = next(one for one in daemon.get(f"/consolidate/{run}")["changes"] if "lynxes 3" in one["what"])
        identifier = changed["edits"][0]["id"]
        visit = Visit(browser, daemon)
        visit.go(f"nights?show={run}")
        visit.page.get_by_label("Find a memory").fill("LYNXES 3")
        visit.page.get_by_role("status").get_by_text("1 change", exact=True).wait_for()

        visit.go(f"knowledge?show={identifier}")
        visit.page.get_by_text("night change", exact=False).first.click()
        visit.page.get_by_role("link", name="Show or undo it").first.click()
        visit.page.get_by_text("of one memory").wait_for()
        visit.page.get_by_role("button", name="Undo this change").first.click()
        visit.go("figures")
        daemon.wait_until(
            lambda: any(one["undone"] for one in daemon.get(f"/memories/{identifier}/usage")["changes"]),
            within=30, what="undo it",
        )  # fmt: skip
        visit.context.close()
        assert visit.troubles == []


def test_figures_compare_with_plain_rules(browser: Any, homes: Path) -> None:
    hour = int(time.time()) // 3_600
    counts = {
        "opened": 40, "foreseen": 24, "shown": [10, 0, 0, 0, 8, 0, 0, 0, 0, 0],
        "followed": [1, 0, 0, 0, 6, 0, 0, 0, 0, 0], "compared": 20, "compared_foreseen": 12, "recent": 7, "frequent": 5,
    }  # fmt: skip
    shop = make_shop(homes / "page-figures")
    with daemon_of_many(homes) as daemon:
        daemon.add(shop)
        daemon.stop()
        kept = {"version": 1, "hours": {str(hour): counts}, "ranks": [0.0] * 10, "seen": 0.0}
        (daemon.places.state / "scoreboard.json").write_text(json.dumps(kept))
        daemon.start()
        visit = Visit(browser, daemon)
        visit.go("figures")
        rows = visit.page.get_by_role("region", name="Predictions beside plain rules").locator("tbody tr")

        assert [one.split("\t") for one in rows.all_inner_texts()] == [
            ["Predicted by hunchd", "60 % 12"], ["The ten files opened last", "35 % 7"],
            ["The ten files opened most often", "25 % 5"],
        ]  # fmt: skip
        curve = visit.page.get_by_role("img", name="Said and observed chances")
        curve.wait_for()
        assert "45 % said, 75 % of 8 opened" in (curve.get_attribute("aria-label") or "")
        visit.context.close()
        assert visit.troubles == []


def test_graph_shows_earlier_neighbours(browser: Any, homes: Path) -> None:
    early = [(f"early {one}", {"a.py": f"x = {one}\n", "old.py": f"y = {one}\n"}) for one in range(12)]
    late = [(f"late {one}", {"a.py": f"z = {one}\n", "new.py": f"y = {one}\n"}) for one in range(60)]
    repository = make_history(homes / "page-years", [*early, *late])
    with daemon_of_many(homes) as daemon:
        daemon.add(repository)
        visit = Visit(browser, daemon)
        visit.go("file?path=a.py")
        slider = visit.page.get_by_role("slider")
        slider.wait_for()
        slider.focus()
        visit.page.keyboard.press("Home")
        for _ in range(10):
            visit.page.keyboard.press("ArrowRight")

        visit.page.locator(".graph a[aria-label='old.py']").wait_for()
        assert visit.page.locator(".graph a[aria-label='new.py']").count() == 0
        visit.page.keyboard.press("End")
        visit.page.locator(".graph a[aria-label='new.py']").wait_for()
        visit.context.close()
        assert visit.troubles == []
