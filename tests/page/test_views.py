"""Every view in a real browser: on data, empty, read-only, live, put right and undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.page.conftest import Visit, get_address
from tests.page.test_actions import store_fact

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


ADDRESSES = (
    "now", "file", "file?path=shop/basket.py", "search", "search?q=basket", "knowledge", "knowledge?part=documents",
    "knowledge?part=archived", "contradictions", "contradictions?state=resolved", "sessions", "errors",
    "errors?part=fixes", "workflows", "patterns", "nights", "figures", "settings", "nothing",
)  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_view_is_accessible_and_fits(visit: Visit, address: str, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)
    for width in (360, 1280, 2000):
        visit.page.set_viewport_size({"width": width, "height": 900})
        visit.go(address)
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert visit.list_violations() == []


def test_hostile_text_stays_text(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    page_daemon.post(
        "/memories",
        {"kind": "fact", "project": shop["id"], "title": HOSTILE, "content": HOSTILE, "category": "decision"},
    )
    page_daemon.post("/signals", {"signals": [{"kind": "error", "project": shop["path"], "text": HOSTILE}]})

    for address in ("now", f"search?q={HOSTILE[:20]}", f"file?path={HOSTILE[:20]}"):
        visit.go(address)
        visit.page.wait_for_timeout(300)
        assert "owned" not in visit.page.title()
        assert visit.page.locator("main img, main script").count() == 0


def test_violated_policy_is_noticed_by_tests(browser: Any, page_daemon: RunningDaemon) -> None:
    visit = Visit(browser, page_daemon)
    image = "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:1/x.png'}))"
    with visit.page.expect_console_message(lambda told: "policy: img-src" in told.text):
        visit.page.evaluate(image)
    visit.context.close()


def test_opened_file_appears_live(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    visit.go("now")
    opened = {"kind": "file_opened", "project": shop["path"], "path": "shop/basket.py"}
    page_daemon.post("/signals", {"signals": [opened]})

    visit.page.locator(".focus", has_text="basket.py").wait_for()
    visit.page.locator(".signals", has_text="opened shop/basket.py").wait_for()


def test_archived_memory_is_restored_by_undo(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    told = page_daemon.post(
        "/memories",
        {"kind": "fact", "project": shop["id"], "content": "Zebras are weighed in grams.", "category": "decision"},
    )
    identifier = told["ids"][0]
    visit.go("search?q=zebras+grams")
    visit.page.get_by_role("button", name="Never again").first.click()
    visit.page.get_by_text("Put away: it is not shown").first.wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["status"] == "archived"

    visit.page.locator(".toast").get_by_role("button", name="Undo").click()
    visit.page.get_by_text("Undone.").wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["status"] == "active"


def test_read_only_page_offers_no_change(browser: Any, page_daemon: RunningDaemon) -> None:
    visit = Visit(browser, page_daemon, "--read-only")
    visit.go("search?q=basket")

    assert visit.page.get_by_role("button", name="Never again").count() == 0
    assert visit.page.get_by_text("read-only").count() > 0
    visit.context.close()


def test_address_without_session_is_locked(browser: Any, page_daemon: RunningDaemon) -> None:
    address = get_address(page_daemon)
    first = browser.new_context().new_page()
    first.goto(address)
    first.get_by_role("heading", name="Now", level=1).wait_for()
    assert "code" not in first.url
    assert first.evaluate("document.cookie") == ""

    second = browser.new_context().new_page()
    second.goto(address)
    second.get_by_text("already been used").wait_for()
    for page in (first, second):
        page.context.close()


def test_knowledge_as_of_shows_replaced_values(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    for at, day in (("2026-03-02", "Monday"), ("2026-05-04", "Wednesday"), ("2026-07-06", "Thursday")):
        said = f"Harvest is on {day}."
        store_fact(page_daemon, shop, said, key="harvest_day", value=day, at=f"{at}T10:00:00Z")
    for then, day in (("2026-04-01", "Monday"), ("2026-06-01", "Wednesday"), ("2026-08-01", "Thursday")):
        visit.go(f"knowledge?as_of={then}T23:59:59Z")
        its = visit.page.locator(".result", has_text="arvest")
        its.first.wait_for()
        assert [day in one for one in its.all_inner_texts()] == [True]
        its.locator("a").click()
        visit.page.locator(".panel", has_text="Who sees it").get_by_text(f"Harvest is on {day}.").first.wait_for()
    visit.go("knowledge?as_of=2026-02-01T23:59:59Z")
    assert visit.page.locator(".result", has_text="arvest").count() == 0


def test_file_that_does_not_exist_is_named(visit: Visit, page_daemon: RunningDaemon) -> None:
    visit.go("file?path=baskt.py")
    visit.page.get_by_role("heading", name="There is no such file").wait_for()
    assert visit.page.get_by_text("Context of this file").count() == 0
    visit.page.locator(".panel", has_text="Did you mean").locator("a[title='shop/basket.py']").click()
    visit.page.get_by_role("heading", name="Context of this file").wait_for()


def test_search_leads_to_decision_with_history(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    for value, at in (("clay", "2026-03-02T10:00:00Z"), ("slate", "2026-05-04T10:00:00Z")):
        content = f"The roof is made of {value}."
        told = {"category": "decision", "key": "roof_material", "value": value, "at": at}
        identifier = store_fact(page_daemon, shop, content, **told)
    visit.go("search?q=roof+material")
    visit.page.locator(".result", has_text="made of slate").locator("a").click()
    panel = visit.page.locator(".panel", has_text="Who sees it")
    entries = panel.locator(".timeline .entry")
    entries.nth(1).wait_for()
    assert [("slate" in one, "clay" in one) for one in entries.all_inner_texts()] == [(True, False), (False, True)]
    assert "4 May" in entries.first.inner_text()
    assert "2 Mar" in entries.nth(1).inner_text()
    page_daemon.request("DELETE", f"/memories/{identifier}")


def test_history_shows_other_fact_that_was_replaced(
    visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]
) -> None:
    old, new = (
        store_fact(
            page_daemon, shop, f"Gates are painted {value}.", category="decision", key=f"gate_{value}", value=value
        )
        for value in ("red", "blue")
    )
    conflict = page_daemon.post("/contradictions", {"a": old, "b": new, "note": "One colour."})["id"]
    page_daemon.post(f"/contradictions/{conflict}/resolve", {"resolution": "b_wins"})
    visit.go(f"knowledge?show={new}")
    earlier = visit.page.locator(".timeline .entry", has_text="painted red")
    earlier.get_by_role("link", name="Gates are painted red.").click()
    replaced = visit.page.get_by_text("Replaced. It was said").first
    replaced.wait_for()
    assert "Now holds: “Gates are painted blue.”" in replaced.inner_text()
    for identifier in (old, new):
        page_daemon.request("DELETE", f"/memories/{identifier}")


def test_context_names_fact_as_knowledge_does(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    said = {"category": "constraint", "key": "basket_owner", "value": "Zoe"}
    identifier = store_fact(page_daemon, shop, "Ask Zoe before changing the basket.", **said)
    visit.go("file?path=shop/basket.py")
    line = visit.page.locator(".line", has_text="Ask Zoe before changing the basket.")
    assert "limit" in line.inner_text()
    line.locator("summary").first.click()
    line.get_by_text("It has words of this file’s name, or of what you are working on.").wait_for()
    page_daemon.request("DELETE", f"/memories/{identifier}")


def test_everyday_settings_are_in_words(visit: Visit) -> None:
    visit.go("settings")
    night = visit.page.locator("tr", has_text="Tidy up at night")
    assert "on" in night.inner_text()
    assert visit.page.get_by_text("consolidation.nightly").count() == 0
    visit.page.get_by_role("link", name="All, as in the file").click()
    visit.page.get_by_text("consolidation.nightly").wait_for()
