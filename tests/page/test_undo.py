"""Undo that stays: on the line, among one's own changes, in the list of what was put away, in a history, in a night."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.daemon.running import RunningDaemon
from tests.page.conftest import Visit
from tests.page.test_actions import store_fact


def dismiss_toasts(visit: Visit) -> None:
    closing = visit.page.locator(".toast").get_by_role("button", name="Dismiss")
    while closing.count():
        closing.first.click()


def get_status(daemon: RunningDaemon, identifier: str) -> str:
    return str(daemon.get(f"/memories/{identifier}")["status"])


def test_line_put_away_keeps_undo(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Ask Ida before changing the basket.", category="constraint")
    visit.go("file?path=shop/basket.py")
    line = visit.page.locator(".line", has_text="Ask Ida before")
    line.locator("summary").first.click()
    line.get_by_role("button", name="never again").click()
    line.get_by_text("put away", exact=True).wait_for()
    dismiss_toasts(visit)
    page_daemon.post(
        "/signals", {"signals": [{"kind": "file_saved", "project": shop["path"], "path": "shop/basket.py"}]}
    )
    assert get_status(page_daemon, identifier) == "archived"

    line.get_by_role("button", name="Undo", exact=True).click()
    visit.page.get_by_text("Undone.").wait_for()
    assert get_status(page_daemon, identifier) == "active"
    page_daemon.request("DELETE", f"/memories/{identifier}")


def test_own_changes_are_undone_later(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Lizards like warm stones.")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="Correct…").click()
    visit.page.locator("textarea[name=content]").fill("Lizards like cold stones.")
    visit.page.get_by_role("button", name="Save").click()
    visit.page.get_by_text("Corrected.").wait_for()
    visit.page.get_by_role("button", name="never again").click()
    visit.page.get_by_text("Put away: it is not shown again.").first.wait_for()
    dismiss_toasts(visit)
    visit.page.get_by_role("link", name="Workflows").click()
    visit.page.get_by_role("heading", name="Workflows", level=1).wait_for()

    own = visit.page.locator(".own-changes")
    own.locator("summary").click()
    undo = own.get_by_role("button", name="Undo")
    undo.first.wait_for()
    assert undo.count() == 1  # the earlier change of the same memory waits until the later one is undone
    undo.click()
    own.get_by_text("undone", exact=True).wait_for()
    assert get_status(page_daemon, identifier) == "active"
    undo.click()
    visit.page.get_by_text("Undone.").last.wait_for()
    own.locator(".tag", has_text="undone").nth(1).wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["content"] == "Lizards like warm stones."


def test_own_changes_survive_reload(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Ask Tom before changing the basket.", category="constraint")
    visit.go("file?path=shop/basket.py")
    line = visit.page.locator(".line", has_text="Ask Tom before")
    line.locator("summary").first.click()
    line.get_by_role("button", name="never again").click()
    visit.page.get_by_role("link", name=re.compile("of this project (is|are) put away")).wait_for()
    visit.page.reload()
    visit.page.get_by_role("link", name=re.compile("of this project (is|are) put away")).wait_for()
    assert line.count() == 0

    own = visit.page.locator(".own-changes")
    own.locator("summary").click()
    own.get_by_role("button", name="Undo").click()
    own.get_by_text("undone", exact=True).wait_for()
    line.first.wait_for()
    assert get_status(page_daemon, identifier) == "active"
    page_daemon.request("DELETE", f"/memories/{identifier}")


def test_fact_shown_again_keeps_its_date(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    said = {"category": "constraint", "at": "2026-03-02T10:00:00Z"}
    identifier = store_fact(page_daemon, shop, "Ask Rita before changing the basket.", **said)
    fact = visit.page.locator(".result", has_text="Ask Rita")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="never again").click()
    visit.page.get_by_text("Put away: it is not shown again.").first.wait_for()
    visit.go("knowledge?part=archived")
    assert "put away since" in fact.inner_text()
    fact.get_by_role("button", name="Undo: show").click()
    visit.page.get_by_text("It is shown again.").wait_for()

    visit.go(f"knowledge?show={identifier}")
    assert "since 2 Mar 2026" in fact.inner_text()
    visit.page.locator(".panel dd", has_text="Since 2 Mar 2026").wait_for()
    visit.go("file?path=shop/basket.py")
    line = visit.page.locator(".line", has_text="Ask Rita")
    line.locator("summary").first.click()
    line.get_by_text("Since 2 Mar 2026").wait_for()
    page_daemon.request("DELETE", f"/memories/{identifier}")


def test_history_takes_last_change_back(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    for value in ("oak", "ash"):
        identifier = store_fact(page_daemon, shop, f"The bench is made of {value}.", key="bench_wood", value=value)
    visit.go(f"knowledge?show={identifier}")
    newest = visit.page.locator(".timeline .entry").first
    assert ":" in newest.locator(".when").inner_text()  # the time of day
    assert "ash" in newest.inner_text()

    visit.page.get_by_role("button", name="Undo the last change").click()
    visit.page.get_by_text("The last change is undone.").wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["value"] == "oak"


def test_shared_fact_is_kept_private_and_undone(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "The key is under the mat.")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="Keep it to yourself").click()
    visit.page.get_by_text("only you", exact=False).first.wait_for()
    visit.page.get_by_role("button", name="Let colleagues see it").wait_for()

    visit.page.locator(".toast").get_by_role("button", name="Undo").click()
    visit.page.get_by_role("button", name="Keep it to yourself").wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["scope"] == "project-shared"
    assert get_status(page_daemon, identifier) == "active"


def test_shortened_memory_is_undone_alone(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    old = (datetime.now(UTC) - timedelta(days=90)).isoformat()
    for number in range(12):
        draft = {"kind": "episode", "title": f"Paint shelf {number}", "content": f"Paint shelf {number} green.\n" * 20}
        page_daemon.post("/memories", {**draft, "project": shop["id"], "at": old})
    run = run_night(page_daemon, shop)
    visit.go(f"nights?show={run}&step=compress")
    line = visit.page.locator(".line", has_text="Shortened to one line: “Paint shelf 7”")
    line.locator("summary").click()
    line.get_by_text("Shown to you and agents as one line").wait_for()
    assert line.get_by_text("built on this").count() == 0
    line.get_by_role("button", name="Undo this change").click()
    line.get_by_text("about to be undone", exact=True).wait_for()

    visit.go("figures")  # leaving the view does what was held back
    page_daemon.wait_until(lambda: len(list_undone(page_daemon, run)) == 1, within=60, what="undo")
    assert [one["what"] for one in list_undone(page_daemon, run)] == ["compress 'Paint shelf 7'"]


def test_undo_of_night_survives_reload(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    old = datetime.now(UTC) - timedelta(days=400)
    for number in range(40):
        at = (old + timedelta(days=number)).isoformat()
        files = [{"type": "file", "ref": "fence/gate.py"}]
        draft = {"kind": "episode", "title": f"Paint gate {number}", "content": f"Paint gate {number}.\n" * 20}
        page_daemon.post("/memories", {**draft, "project": shop["id"], "at": at, "artifacts": files})
    run = run_night(page_daemon, shop)
    assert {one["change"] for one in list_undone(page_daemon, run)} == set()
    visit.go(f"nights?show={run}&step=history")
    line = visit.page.locator(".line").first
    line.locator("summary").click()
    assert line.get_by_text("built on this").count() == 0  # the joins of one history are one row
    line.get_by_role("button", name="Undo this change").click()
    visit.page.get_by_text("about to be undone", exact=True).first.wait_for()
    assert visit.page.get_by_text("undone", exact=True).count() == 0
    number = visit.page.get_by_text("about to be undone", exact=True).count()
    assert list_undone(page_daemon, run) == []

    visit.page.reload()
    visit.page.locator(".line").first.get_by_text("undone", exact=True).wait_for()
    assert visit.page.get_by_text("undone", exact=True).count() >= number
    assert len(list_undone(page_daemon, run)) > 1
    visit.page.reload()
    visit.page.locator(".line").first.get_by_text("undone", exact=True).wait_for()
    assert visit.page.get_by_text("about to be undone", exact=True).count() == 0


def run_night(daemon: RunningDaemon, project: dict[str, Any]) -> str:
    """Tidy up, and wait for it without a request that would time out on a busy machine."""
    run = str(daemon.post("/consolidate", {"project": project["id"], "wait": False})["run"])
    daemon.wait_until(lambda: daemon.get(f"/consolidate/{run}")["status"] == "done", within=300, what="consolidate")
    return run


def list_undone(daemon: RunningDaemon, run: str) -> list[dict[str, Any]]:
    return [one for one in daemon.get(f"/consolidate/{run}").get("changes", []) if one["undone"]]
