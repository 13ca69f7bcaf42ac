"""Each action of the views about what is known, with its undo; the daemon restarted; two tabs; hostile text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, daemon_of_many
from tests.page.conftest import Visit, get_address
from tests.page.hostile import HOSTILE, MARKUP, make_hostile_repository, store_hostile_texts
from tests.repositories import make_shop

VIEWS = (
    "now", "file?path=shop/basket.py", "search?q=script", "knowledge", "knowledge?part=documents",
    "knowledge?part=documents&show=/reference/hostile.md", "knowledge?part=archived", "contradictions",
    "sessions?show=hostile", "errors", "errors?part=fixes", "workflows", "patterns", "nights", "figures", "settings",
)  # fmt: skip


def store_fact(daemon: RunningDaemon, shop: dict[str, Any], content: str, **fields: str) -> str:
    draft = {"kind": "fact", "project": shop["id"], "content": content, "category": "decision", **fields}
    return str(daemon.post("/memories", draft)["ids"][0])


def undo(visit: Visit) -> None:
    visit.page.locator(".toast").get_by_role("button", name="Undo").last.click()


def test_written_fact_is_stored_and_undone(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    visit.go("knowledge")
    visit.page.get_by_text("Write something down").click()
    visit.page.get_by_label("In one sentence").fill("Giraffes are delivered on Tuesdays.")
    visit.page.get_by_role("button", name="Store").click()
    visit.page.locator(".result", has_text="Giraffes").wait_for()

    undo(visit)
    visit.page.locator(".result", has_text="Giraffes").wait_for(state="detached")
    contents = [
        one["content"] for one in page_daemon.get("/memories", project=shop["id"], kind="fact", limit=200)["items"]
    ]
    assert not [one for one in contents if "Giraffes" in one]


def test_corrected_fact_is_undone(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Otters are fed at noon.")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="Correct…").click()
    visit.page.locator("textarea[name=content]").fill("Otters are fed at one.")
    visit.page.get_by_role("button", name="Save").click()
    visit.page.get_by_text("Corrected.").wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["content"] == "Otters are fed at one."

    undo(visit)
    visit.page.get_by_text("Undone.").wait_for()
    assert page_daemon.get(f"/memories/{identifier}")["content"] == "Otters are fed at noon."


def test_forgotten_fact_stays_when_undone(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Badgers sleep by day.")
    visit.go(f"knowledge?show={identifier}")
    visit.page.get_by_role("button", name="Forget for good").click()
    undo(visit)
    visit.page.wait_for_timeout(300)
    assert page_daemon.get(f"/memories/{identifier}")["status"] == "active"

    visit.page.get_by_role("button", name="Forget for good").click()
    visit.go("figures")  # leaving the page does what was held back
    page_daemon.wait_until(
        lambda: page_daemon.request("GET", f"/memories/{identifier}")[0] == 404, within=20, what="forget"
    )


def test_archived_fact_is_shown_again(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Herons stand on one leg.")
    page_daemon.request("PATCH", f"/memories/{identifier}", {"status": "archived"})
    visit.go(f"knowledge?part=archived&show={identifier}")
    visit.page.get_by_role("button", name="Show it again").first.click()
    visit.page.get_by_text("It is shown again.").wait_for()

    assert page_daemon.get(f"/memories/{identifier}")["status"] == "active"


def test_fact_history_and_past_are_shown(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    for value in ("red", "green"):
        identifier = store_fact(page_daemon, shop, f"The door is {value}.", key="door_colour", value=value)
    visit.go(f"knowledge?show={identifier}")

    visit.page.get_by_role("heading", name="How it changed").wait_for()
    assert visit.page.locator(".timeline", has_text="red").count() == 1
    visit.go("knowledge?as_of=2001-01-01T00:00:00Z")
    visit.page.get_by_text("0 facts that held then").wait_for()


def test_document_is_written_changed_and_undone(visit: Visit, page_daemon: RunningDaemon) -> None:
    visit.go("knowledge?part=documents&show=/reference/ponds.md")
    visit.page.get_by_label("Text, in Markdown").fill("# Ponds\n\nTwo of them.")
    visit.page.get_by_role("button", name="Save").click()
    visit.page.get_by_role("button", name="Edit").click()
    visit.page.get_by_label("Text, in Markdown").fill("# Ponds\n\nThree of them.")
    visit.page.get_by_role("button", name="Save").click()
    visit.page.get_by_role("button", name="Edit").wait_for()
    assert "Three" in page_daemon.get("/documents/reference/ponds.md")["content"]

    undo(visit)
    visit.page.locator(".panel .markdown", has_text="Two").wait_for()
    assert "Two" in page_daemon.get("/documents/reference/ponds.md")["content"]


@pytest.mark.parametrize("choice", ["This one holds: Doors are left open", "Both hold", "merged"])
def test_contradiction_is_resolved_and_reopened(
    visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any], choice: str
) -> None:
    keys = {"category": "convention"}
    sides = [
        store_fact(page_daemon, shop, text, key=f"{choice[:4].strip()}_{number}", value=text.split()[-1], **keys)
        for number, text in enumerate(("Doors are left open", "Doors are kept shut"))
    ]
    pair = page_daemon.post("/contradictions", {"a": sides[0], "b": sides[1], "note": choice})["id"]
    visit.go("contradictions")
    panel = visit.page.locator(".panel", has_text=choice.partition(":")[0]).filter(has_text="Doors are kept shut").first
    if choice == "merged":
        panel.get_by_role("button", name="Neither").click()
        panel.get_by_label("What holds instead").fill("ajar")
        panel.get_by_role("button", name="Save").click()
    else:
        panel.get_by_role("button", name=choice).click()
    visit.page.get_by_text("Decided:").wait_for()
    undo(visit)
    visit.page.get_by_text("Undone.").wait_for()

    open_pairs = page_daemon.get("/contradictions", project=shop["id"], status="open")["items"]
    assert pair in [one["id"] for one in open_pairs]
    for side in sides:  # the next ones would join the group
        page_daemon.request("DELETE", f"/memories/{side}")


def test_session_shows_sentence_and_is_erased(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    said = {"role": "user", "content": "We decided to paint the shop blue, please remember that."}
    page_daemon.post("/sessions/paint/messages", {"project": shop["id"], "messages": [said]})
    page_daemon.post("/sessions/paint/end", {"outcome": "success"})
    visit.go("sessions?show=paint")
    visit.page.locator(".said", has_text="paint the shop blue").wait_for()
    visit.page.get_by_text("Show the prompt").click()
    visit.page.get_by_text("stays the same for the next message").wait_for()

    visit.page.get_by_role("button", name="Forget this session for good").click()
    undo(visit)
    visit.page.wait_for_timeout(300)
    assert page_daemon.get("/sessions/paint")["messages"] == 1


def test_night_is_shown_and_taken_back(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    for number in range(2):
        draft = {
            "kind": "fact",
            "project": shop["id"],
            "content": "Swans are counted in May.",
            "title": f"Swans {number}",
        }
        page_daemon.post("/memories", draft)
    run = page_daemon.post("/consolidate", {"project": shop["id"]})["run"]
    page_daemon.wait_until(lambda: page_daemon.get(f"/consolidate/{run}")["status"] != "running", within=60, what="end")
    visit.go(f"nights?show={run}")
    visit.page.get_by_role("heading", name="Calendar").wait_for()
    back = visit.page.get_by_role("button", name="Undo the whole night")
    if page_daemon.get(f"/consolidate/{run}")["changes"]:
        back.click()
        undo(visit)
        assert page_daemon.get(f"/consolidate/{run}")["status"] == "done"
        back.click()
        visit.go("figures")
        page_daemon.wait_until(
            lambda: page_daemon.get(f"/consolidate/{run}")["status"] == "undone", within=60, what="undo"
        )


def test_project_is_added_and_undone(visit: Visit, page_daemon: RunningDaemon, homes: Any) -> None:
    other = make_shop(homes / "page-other")
    visit.go("settings")
    visit.page.get_by_label("Add a folder of this machine").fill(str(other))
    visit.page.get_by_role("button", name="Add", exact=True).click()
    visit.page.locator("tr", has_text="page-other").wait_for()
    undo(visit)

    visit.page.locator("tr", has_text="page-other").wait_for(state="detached")
    assert [one["name"] for one in page_daemon.get("/projects")["items"]] == ["page-shop"]


def test_settings_tell_their_origin(visit: Visit) -> None:
    visit.go("settings?only=context")

    assert visit.page.locator("tr", has_text="context.budget").get_by_text("default", exact=True).count() == 1
    visit.go("settings?only=changed")
    visit.page.get_by_text("every setting has its default").wait_for()


@pytest.mark.parametrize("view", ["knowledge", "contradictions", "sessions", "nights", "settings"])
def test_read_only_view_offers_no_change(browser: Any, page_daemon: RunningDaemon, view: str) -> None:
    visit = Visit(browser, page_daemon, "--read-only")
    visit.go(view)

    names = "Store|Forget|This one holds|Both hold|Tidy up|Undo|Remove|Add|never again|Keep it|Let colleagues"
    buttons = [
        one
        for one in visit.page.get_by_role("button").all_inner_texts()
        if any(name in one for name in names.split("|"))
    ]
    assert buttons == []
    visit.context.close()


def test_hostile_texts_stay_text_everywhere(browser: Any, homes: Any) -> None:
    assert len(HOSTILE) >= 300
    repository = make_hostile_repository(homes / "page-hostile <img src=x onerror=document.title='owned'>")
    with daemon_of_many(homes) as daemon:
        project = daemon.add(repository)
        store_hostile_texts(daemon, project)
        visit = Visit(browser, daemon)
        visit.page.on("dialog", lambda dialog: visit.troubles.append(dialog.message))
        for address in VIEWS:
            visit.go(address)
            visit.page.wait_for_timeout(200)
            visit.page.evaluate(UNFOLD)
            visit.page.wait_for_timeout(300)
            while visit.page.evaluate(SHOW_MORE):
                visit.page.wait_for_timeout(150)
            assert visit.page.locator(MARKUP).count() == 0, address
            assert "owned" not in visit.page.title().replace(repository.name, ""), address
        facts = daemon.get("/memories", project=project["id"], kind="fact", limit=1000)["items"]
        for one in facts[:: max(1, len(facts) // 40)]:
            visit.go(f"knowledge?show={one['id']}")
            assert visit.page.locator(MARKUP).count() == 0, one["title"]
        visit.context.close()
        # Unfolding every line of every view at once is faster than the limit of requests allows.
        assert [one for one in visit.troubles if not re.search("404|429", one)] == []
        assert [url for url in visit.requests if not url.startswith(visit.base)] == []


# Found and clicked at once: between two calls, the last part may come and the button go.
SHOW_MORE = """() => {
  const more = [...document.querySelectorAll("button")].find((one) => one.textContent.includes("Show more"));
  more?.click();
  return Boolean(more);
}"""
UNFOLD = "document.querySelectorAll('main details').forEach(each => each.open = true)"


def test_two_tabs_survive_a_restart(browser: Any, homes: Any) -> None:
    repository = make_shop(homes / "page-restart")
    with daemon_of_many(homes) as daemon:
        project = daemon.add(repository)
        visit = Visit(browser, daemon)
        visit.go("knowledge")
        second = visit.context.new_page()
        second.goto(f"{visit.base}/ui/now")
        second.get_by_role("heading", name="Now", level=1).wait_for()
        daemon.post(
            "/signals", {"signals": [{"kind": "file_opened", "project": project["path"], "path": "shop/basket.py"}]}
        )
        second.locator(".focus", has_text="basket.py").wait_for()

        daemon.stop()
        second.get_by_text("hunchd is not answering").first.wait_for()
        daemon.start()
        second.get_by_text("The session has ended").wait_for(timeout=60_000)
        visit.page.get_by_text("The session has ended").wait_for(timeout=60_000)
        third = visit.context.new_page()
        third.goto(get_address(daemon))

        for page in (third, second):
            page.get_by_role("heading", name="Now", level=1).wait_for(timeout=60_000)
        visit.page.get_by_role("heading", name="Knowledge", level=1).wait_for(timeout=60_000)
        visit.context.close()
