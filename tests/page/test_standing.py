"""Which of several statements holds, decided for all in one click; what happened to a memory; its files."""

from __future__ import annotations

from typing import Any

from tests.daemon.running import RunningDaemon
from tests.daemon.test_team import wait_for
from tests.page.conftest import Visit
from tests.page.test_actions import store_fact, undo
from tests.page.test_decisions import forget


def open_group(daemon: RunningDaemon, shop: dict[str, Any]) -> list[str]:
    """Store three statements, said on three days, of which the first contradicts both others; return their ids."""
    texts = ("Toads live in the pond.", "Toads live in the ditch.", "Toads live in the barn.")
    ids = [store_fact(daemon, shop, text, at=f"2026-03-0{day}T10:00:00Z") for day, text in enumerate(texts, 1)]
    for other in ids[1:]:
        daemon.post("/contradictions", {"a": ids[0], "b": other, "note": "One home."})
    return ids


def list_statuses(daemon: RunningDaemon, ids: list[str]) -> list[str]:
    return [daemon.get(f"/memories/{one}")["status"] for one in ids]


def test_group_is_decided_and_undone_at_once(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    ids = open_group(page_daemon, shop)
    visit.go("search?q=where+do+toads+live")
    answer = visit.page.locator(".answer")
    assert "Probably holds: “Toads live in the barn.”, because you said it last, 3 Mar 2026" in answer.inner_text()
    answer.get_by_role("button", name="This one holds: Toads live in the pond.").click()
    visit.page.locator(".toast", has_text="2 pairs settled").wait_for()
    assert list_statuses(page_daemon, ids) == ["active", "superseded", "superseded"]
    wait_for(lambda: "It replaced:\n" in visit.page.locator("main").inner_text())
    text = visit.page.locator("main").inner_text()
    assert "“Toads live in the barn.” (you said it, 3 Mar 2026" in text
    assert "holds now" in text

    undo(visit)
    wait_for(lambda: "What holds is not decided yet" in visit.page.locator("main").inner_text())
    assert list_statuses(page_daemon, ids) == ["active"] * 3

    visit.go("contradictions")
    visit.page.locator(".panel", has_text="Toads").get_by_role("button", name="All of them hold").click()
    visit.page.locator(".toast", has_text="all of them hold").wait_for()
    found = page_daemon.get("/contradictions", project=shop["id"], status="open")["items"]
    assert not [one for one in found if one["a"]["id"] in ids]
    forget(page_daemon, ids)


def test_later_word_is_proposed_in_pair(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    ids = open_group(page_daemon, shop)
    page_daemon.request("DELETE", f"/memories/{ids[2]}")
    visit.go("contradictions")
    panel = visit.page.locator(".panel", has_text="Toads")
    assert "Toads live in the ditch." in panel.locator(".proposed").inner_text()
    assert panel.get_by_role("button", name="This one holds").first.get_attribute("class") == "primary"
    forget(page_daemon, ids[:2])


def test_history_tells_put_away_and_return(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Newts sleep under stones.")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="never again").click()
    visit.page.get_by_text("Put away: it is not shown to agents").wait_for()
    assert "replaced" not in visit.page.locator(".timeline").inner_text()
    visit.page.locator(".panel").get_by_role("button", name="show it again").first.click()
    visit.page.locator(".timeline", has_text="Undone: shown again").wait_for()
    titles = visit.page.locator(".timeline .entry").all_inner_texts()
    assert ["Undone" in titles[0], "Put away" in titles[1], "holds now" in titles[2]] == [True] * 3
    forget(page_daemon, [identifier])


def test_statement_is_kept_to_its_file(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Never fork in shop/basket.py.", category="constraint")
    since = page_daemon.get(f"/memories/{identifier}")["valid_from"]
    visit.go("file?path=shop/basket.py")
    visit.page.locator(".panel", has_text="Said about it").get_by_text("Never fork").wait_for()
    line = visit.page.locator(".line", has_text="Never fork")
    line.locator("summary").first.click()
    line.get_by_text("It names this file.").wait_for()
    line.get_by_role("button", name="Only for shop/basket.py").click()
    visit.page.locator(".toast", has_text="only beside").wait_for()

    def is_shown(file: str) -> bool:
        items = page_daemon.get("/context", project=shop["id"], file=file)["items"]
        return identifier in [one["id"] for one in items]

    wait_for(lambda: not is_shown("shop/prices.py"))
    assert is_shown("shop/basket.py")
    assert page_daemon.get(f"/memories/{identifier}")["valid_from"] == since

    undo(visit)
    wait_for(lambda: is_shown("shop/prices.py"))
    forget(page_daemon, [identifier])


def test_own_changes_close_by_key_and_click(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Voles dig at dusk.")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="never again").click()
    own = visit.page.locator(".own-changes")
    for close in (lambda: visit.page.keyboard.press("Escape"), lambda: visit.page.locator("h1").click()):
        own.locator("summary").click()
        own.get_by_role("list").wait_for()
        close()
        own.get_by_role("list").wait_for(state="detached")
    forget(page_daemon, [identifier])


def test_filter_keeps_header_and_is_not_recalled(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 500})
    visit.go("knowledge")
    visit.page.get_by_role("link", name="Put away", exact=True).click()
    visit.page.locator(".chip[aria-current]", has_text="Put away").wait_for()
    assert visit.page.evaluate("scrollY") == 0
    navigation = visit.page.get_by_role("navigation")
    navigation.get_by_role("link", name="Errors").click()
    visit.page.get_by_role("heading", name="Errors", level=1).wait_for()
    navigation.get_by_role("link", name="Knowledge").click()
    visit.page.locator(".chip[aria-current]", has_text="All facts").wait_for()


def test_narrow_head_has_one_row_with_all_views(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 360, "height": 740})
    visit.go("now")
    assert visit.page.locator("header.top").bounding_box()["height"] < 60
    visit.page.get_by_label("View", exact=True).select_option("nights")
    visit.page.get_by_role("heading", name="Nights", level=1).wait_for()
