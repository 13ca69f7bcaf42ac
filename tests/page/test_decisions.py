"""What was decided and what was said before: found by search, decided where it is found, and shared with a team."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.daemon.running import RunningDaemon, running_daemon
from tests.daemon.test_team import Colleague, wait_for
from tests.page.conftest import Visit
from tests.page.test_actions import store_fact, undo
from tests.repositories import commit, make_shop

TEAM = "[team]\npoll_seconds = 0.2\n[embedding]\nenabled = false\n[consolidation]\nnightly = false\n"


def open_pair(daemon: RunningDaemon, shop: dict[str, Any], one: str, other: str) -> tuple[str, list[str]]:
    """Store two facts that contradict each other; return the ids of the contradiction and of the facts."""
    facts = [store_fact(daemon, shop, text) for text in (one, other)]
    return str(daemon.post("/contradictions", {"a": facts[0], "b": facts[1], "note": "Only one."})["id"]), facts


def forget(daemon: RunningDaemon, facts: list[str]) -> None:
    for one in facts:
        daemon.request("DELETE", f"/memories/{one}")


def test_old_words_find_current_decision(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    pair, facts = open_pair(page_daemon, shop, "We ship parcels by balloon.", "Trains carry everything now.")
    page_daemon.post(f"/contradictions/{pair}/resolve", {"resolution": "b_wins"})
    visit.go("search?q=parcels+balloon")
    first = visit.page.locator(".result").first
    first.get_by_text("was “We ship parcels by balloon.” until").wait_for()
    assert "Trains carry everything now." in first.inner_text()

    first.locator("a").click()
    visit.page.locator(".timeline .entry", has_text="balloon").get_by_role("link").click()
    visit.page.locator(".panel .warning").get_by_role("link").get_by_text("Trains carry").wait_for()
    forget(page_daemon, facts)


def test_history_dates_what_was_replaced(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    said = {"at": "2026-03-02T10:00:00Z"}
    old = store_fact(page_daemon, shop, "Ferries leave at dawn.", **said)
    new = store_fact(page_daemon, shop, "Ferries leave at dusk.")
    pair = page_daemon.post("/contradictions", {"a": old, "b": new, "note": "One time."})["id"]
    page_daemon.post(f"/contradictions/{pair}/resolve", {"resolution": "b_wins"})
    visit.go(f"knowledge?show={new}")
    entry = visit.page.locator(".timeline .entry", has_text="at dawn")
    entry.wait_for()
    assert "2 Mar" in entry.locator(".when").inner_text()
    forget(page_daemon, [old, new])


def test_contradiction_is_decided_in_search(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    pair, facts = open_pair(page_daemon, shop, "Ponies eat oats daily.", "Ponies eat hay daily.")
    visit.go("search?q=ponies+eat+daily")
    visit.page.locator(".result", has_text="to decide").first.wait_for()
    visit.page.locator(".result", has=visit.page.get_by_text("contradiction", exact=True)).locator("a").first.click()
    visit.page.get_by_role("button", name="This one holds: Ponies eat hay").click()
    visit.page.locator(".toast").get_by_role("button", name="Undo").wait_for()
    resolved = page_daemon.get("/contradictions", project=shop["id"], status="resolved")["items"]
    assert pair in [one["id"] for one in resolved]

    undo(visit)
    visit.page.get_by_role("button", name="This one holds: Ponies eat hay").wait_for()
    forget(page_daemon, facts)


def test_fact_leads_to_open_contradiction(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    pair, facts = open_pair(page_daemon, shop, "Geese guard the gate.", "Dogs guard the gate.")
    visit.go(f"knowledge?show={facts[0]}")
    warning = visit.page.locator(".panel .warning", has_text="Dogs guard the gate.")
    warning.get_by_role("link").click()
    visit.page.get_by_role("button", name="This one holds: Geese guard").wait_for()
    assert f"show={pair}" in visit.page.url
    forget(page_daemon, facts)


def test_line_shown_less_stays(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Ask Una before changing the basket.", category="constraint")
    visit.go("file?path=shop/basket.py")
    line = visit.page.locator(".line", has_text="Ask Una before").first
    line.locator("summary").first.click()
    line.get_by_role("button", name="Show less").click()
    line.locator(".noted-tag").wait_for()
    assert "noted" not in (line.get_attribute("class") or "").split()
    visit.go("file?path=shop/basket.py")  # leaving the page sends the rating
    wait_for(lambda: page_daemon.get(f"/memories/{identifier}")["usage"].get("wrong") == 1)
    line.wait_for()

    own = visit.page.locator(".own-changes")
    own.locator("summary").click()
    own.get_by_role("button", name="Undo").first.click()
    wait_for(lambda: page_daemon.get(f"/memories/{identifier}")["usage"].get("cited") == 1)
    forget(page_daemon, [identifier])


def test_rule_of_joint_line_goes_alone(browser: Any, page_daemon: RunningDaemon, homes: Path) -> None:
    repository = make_shop(homes / "page-rules")
    tools = "[tool.ruff]\nline-length = 90\n[tool.mypy]\nstrict = true\n[tool.pytest.ini_options]\naddopts = '-q'\n"
    steps = "".join(f"    - run: {command}\n" for command in ("ruff check .", "mypy .", "pytest"))
    workflow = f"on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}"
    files = {"pyproject.toml": tools, ".github/workflows/ci.yml": workflow}
    commit(repository, "Add tools", files)
    project = page_daemon.add(repository)
    visit = Visit(browser, page_daemon)
    visit.go(f"file?path=shop/basket.py&project={project['id']}")
    items = page_daemon.get("/context", project=project["id"], file="shop/basket.py")["items"]
    joint = [one["source"]["facts"] for one in items if len(one["source"].get("facts", ())) > 1]
    assert joint
    chosen = page_daemon.get(f"/memories/{joint[0][-1]}")
    line = visit.page.locator(".line", has=visit.page.get_by_text(" · ")).filter(has_text=chosen["title"]).first
    line.locator("summary").first.click()
    part = visit.page.locator(".part", has_text=chosen["title"])
    part.get_by_role("button", name="never again").click()
    gone = visit.page.locator(".line.noted", has_text=chosen["title"])
    gone.get_by_role("button", name="Undo").wait_for()
    states = [page_daemon.get(f"/memories/{one}")["status"] for one in joint[0]]
    assert states == ["active"] * (len(joint[0]) - 1) + ["archived"]

    gone.get_by_role("button", name="Undo").click()
    wait_for(lambda: page_daemon.get(f"/memories/{chosen['id']}")["status"] == "active")
    visit.context.close()
    page_daemon.request("DELETE", f"/projects/{project['id']}")
    assert visit.troubles == []


def test_view_is_found_as_left(visit: Visit) -> None:
    visit.go("file?path=shop/basket.py")
    visit.page.get_by_role("navigation").get_by_role("link", name="Errors").click()
    visit.page.get_by_role("heading", name="Errors", level=1).wait_for()
    visit.page.get_by_role("navigation").get_by_role("link", name="File").click()

    visit.page.get_by_role("heading", name="Context of this file").wait_for()


def test_words_find_while_typing(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any]) -> None:
    identifier = store_fact(page_daemon, shop, "Ibexes climb at noon.")
    visit.go("knowledge")
    visit.page.get_by_label("Find by words").press_sequentially("ibexes")

    visit.page.locator(".result.current", has_text="Ibexes").wait_for()
    assert visit.page.get_by_label("Find by words").input_value() == "ibexes"
    forget(page_daemon, [identifier])


def test_team_view_shows_members_and_dispute(browser: Any, homes: Path) -> None:
    with (
        running_daemon(homes / "team-ada", settings=TEAM) as first,
        running_daemon(homes / "team-bob", settings=TEAM) as second,
    ):
        team = []
        for name, daemon in (("Ada", first), ("Bob", second)):
            folder = homes / f"page-team-{name}"
            folder.mkdir()
            daemon.add(folder)
            team.append(Colleague(name, daemon, folder))
        ada, bob = team
        bob.join(ada.join(str(homes / "team-dataset"), create=True)["address"])
        ada.state("queue", "Redis")
        bob.state("queue", "RabbitMQ")
        wait_for(ada.disputed)
        visit = Visit(browser, first)
        for width in (360, 1280):
            visit.page.set_viewport_size({"width": width, "height": 900})
            visit.go("knowledge?part=team")
            assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        members = visit.page.get_by_role("region", name="Members").locator("tbody tr")
        assert [one.partition("\t")[0] for one in members.all_inner_texts()] == ["Ada (you)", "Bob"]
        assert visit.list_violations() == []
        visit.page.locator(".statement", has_text="RabbitMQ").wait_for()

        visit.page.locator(".subjects .warning").get_by_role("link").click()
        visit.page.get_by_role("button", name="This one holds").first.wait_for()
        visit.context.close()
        assert visit.troubles == []
