"""Facts, documents and contradictions in the real daemon: consistent after kills, per branch, erased completely."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git, make_shop
from tests.security.test_canaries import rows_of

pytestmark = pytest.mark.daemon("shared")

KEY = "package manager"
PYPROJECT = '[project]\nname = "shop"\nrequires-python = ">={version}"\n'


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def say(daemon: RunningDaemon, text: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = daemon.post("/memories", {"kind": "fact", "content": text, **more})["understood"][0]
    return answer


def fact(daemon: RunningDaemon, key: str, **asked: Any) -> dict[str, Any]:
    status, answer = daemon.request("GET", "/facts", query={"key": key, **asked})
    return answer if status == 200 else {"fact": None, "changes": [], "rejected": []}


def value(daemon: RunningDaemon, key: str, **asked: Any) -> str | None:
    held = fact(daemon, key, **asked)["fact"]
    return held["value"] if held else None


def holding(daemon: RunningDaemon, words: list[str]) -> list[tuple[str, str]]:
    """Return the files below the daemon's home that contain each word, as bytes or in a row of a table."""
    try:
        found = [
            (str(path), word)
            for path in daemon.home.rglob("*")
            if path.is_file()
            for word in words
            if word.encode() in path.read_bytes()
        ]
    except FileNotFoundError:  # a helper loads its model from a folder that it deletes
        return holding(daemon, words)
    return found + [("a row", word) for row in asyncio.run(rows_of(daemon.home)) for word in words if word in row]


def test_repeated_statement_is_stored_once(daemon: RunningDaemon) -> None:
    first = say(daemon, "the release captain is Grace")
    assert first["verdict"] == "new"
    assert say(daemon, "the release  captain is Grace\n") == {"id": first["id"], "verdict": "same"}
    twice = {"kind": "fact", "content": "the deputy is Ada"}
    one, other = daemon.post("/memories", {"memories": [twice, twice]})["ids"]
    assert one == other
    assert say(daemon, "the release captain is Grace", tags=["team"])["id"] != first["id"]

    daemon.request("DELETE", f"/memories/{first['id']}")

    again = say(daemon, "the release captain is Grace")
    assert again["verdict"] == "new"
    assert again["id"] != first["id"]


def test_second_decision_does_not_replace_first(daemon: RunningDaemon) -> None:
    first = say(daemon, "decision: retries belong to the middleware, because the scheduler must stay dumb")
    second = say(daemon, "decision: seen requests are kept in Redis")

    assert (first["verdict"], second["verdict"]) == ("new", "new")
    assert all(daemon.get(f"/memories/{one['id']}")["status"] == "active" for one in (first, second))


def test_redacted_secret_is_reported(daemon: RunningDaemon) -> None:
    told = say(daemon, "the staging password is hun" + "ter2!Q9z, log in as admin")
    under_a_key = say(daemon, "Hun" + "ter2!Q9z", key="password", value="Hun" + "ter2!Q9z")

    assert told["redacted"] == under_a_key["redacted"] == ["password"]
    assert "redacted" not in say(daemon, "a [redacted:password] stands where one was")


def test_secrets_in_notes_and_paths_are_redacted(daemon: RunningDaemon, shop: Path) -> None:
    secret = "gh" + "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    daemon.add(shop)
    for text in ("sessions are kept in Redis", "sessions are kept in Memcached"):
        say(daemon, text, project=str(shop))
    daemon.wait_until(lambda: daemon.get("/contradictions")["total"] == 1, within=60, what="see the contradiction")
    [found] = daemon.get("/contradictions")["items"]
    ending = {"resolution": "merged", "note": f"as {secret} says", "value": f"both, with {secret}"}
    assert daemon.post(f"/contradictions/{found['id']}/resolve", ending)["note"] == "as [redacted:github-token] says"

    status, refused = daemon.request("POST", "/memories", {"kind": "fact", "content": "new", "supersedes": secret})
    assert (status, refused["error"]["field"]) == (404, "supersedes")
    status, refused = daemon.request("PUT", f"/documents/reference/{secret}", {"content": "a page"})
    assert (status, refused["error"]["field"]) == (422, "path")
    assert holding(daemon, [secret]) == []


def test_duplicate_feedback_counts_twice(daemon: RunningDaemon) -> None:
    identifier = say(daemon, "we use pnpm, not npm")["id"]

    daemon.post("/feedback", {"items": [{"id": identifier, "outcome": "cited"}] * 2})

    assert daemon.get(f"/memories/{identifier}")["usage"]["cited"] == 2


def test_feedback_counts_wrong_and_missed(daemon: RunningDaemon) -> None:
    identifier = say(daemon, "we use pnpm, not npm")["id"]

    told = [{"id": identifier, "outcome": outcome, "note": f"so {outcome}"} for outcome in ("wrong", "missed")]
    assert daemon.post("/feedback", {"items": told}) == {"accepted": 2, "unknown": []}

    used = {"retrieved": 0, "cited": 0, "ignored": 1, "wrong": 1, "missed": 1}
    assert used.items() <= daemon.get(f"/memories/{identifier}")["usage"].items()
    assert used.items() <= daemon.restart().get(f"/memories/{identifier}")["usage"].items()
    events = daemon.get(f"/memories/{identifier}/usage")["events"]
    assert [event["what"] for event in events] == ["you said: missed (so missed)", "you said: wrong (so wrong)"]


def test_statement_lifecycle_parse_replace_undo(daemon: RunningDaemon) -> None:
    first = say(daemon, "we use pnpm, not npm")
    before = datetime.now(UTC)
    second = say(daemon, "we use yarn instead of pnpm because of workspaces")
    lesser = say(daemon, "we use bun", confidence=0.5)

    assert (first["category"], first["key"], first["value"], first["instead_of"]) == ("convention", KEY, "pnpm", "npm")
    assert (second["verdict"], second["replaced"]["value"], second["reason"]) == ("replaced", "pnpm", "of workspaces")
    assert (lesser["verdict"], lesser["rejected_for"]["value"]) == ("rejected", "yarn")
    told = fact(daemon, KEY)
    assert [(one["from"], one["to"]) for one in told["changes"]] == [(None, "pnpm"), ("pnpm", "yarn")]
    assert [one["value"] for one in told["rejected"]] == ["bun"]
    assert value(daemon, KEY, as_of=before.isoformat()) == "pnpm"
    assert daemon.get(f"/memories/{second['id']}", as_of=before.isoformat())["value"] == "pnpm"
    [found, *_] = daemon.post("/search", {"query": "when did the package manager change from pnpm to yarn"})["results"]
    assert (found["id"], "pnpm → yarn" in found["snippet"]) == (second["id"], True)

    undone = daemon.post(f"/memories/{second['id']}/undo", {})
    assert (undone["value"], value(daemon, KEY)) == ("pnpm", "pnpm")
    assert [one["to"] for one in fact(daemon, KEY)["changes"]] == ["pnpm"]


def test_reversed_choice_supersedes_and_is_undoable(daemon: RunningDaemon) -> None:
    first = say(daemon, "We use quickrunner instead of slowrunner")
    say(daemon, "We use quickrunner instead of oldrunner")
    back = say(daemon, "Correction: we use slowrunner, not quickrunner, as it runs the examples")

    assert (back["verdict"], back["replaced"]["value"]) == ("replaced", "quickrunner")
    held = [value(daemon, f"in place of {name}") for name in ("slowrunner", "oldrunner", "quickrunner")]
    assert held == [None, "quickrunner", "slowrunner"]
    daemon.request("DELETE", f"/memories/{back['id']}")
    daemon.request("POST", f"/memories/{first['id']}/undo", {})
    assert value(daemon, "in place of slowrunner") == "quickrunner"


def test_edit_key_of_misparsed_fact_moves_it(daemon: RunningDaemon) -> None:
    said = say(daemon, "we use pnpm, not npm")
    status, moved = daemon.request("PATCH", f"/memories/{said['id']}", {"key": "installer", "category": "decision"})

    assert (status, moved["key"], moved["value"]) == (200, "installer", "pnpm")
    assert value(daemon, "installer", category="decision") == "pnpm"
    assert value(daemon, KEY) is None


@pytest.mark.slow
@pytest.mark.daemon("own")
def test_concurrent_claims_leave_one_value(daemon: RunningDaemon) -> None:
    accepted: list[str] = []
    stop = threading.Event()

    def claim(name: str) -> None:
        for number in range(400):
            if stop.is_set():
                return
            try:
                daemon.post("/memories", {"kind": "fact", "key": "owner", "value": f"{name}{number}"})
            except OSError:
                return
            accepted.append(f"{name}{number}")

    claimants = [threading.Thread(target=claim, args=(name,)) for name in "abcd"]
    for claimant in claimants:
        claimant.start()
    daemon.wait_until(lambda: len(accepted) >= 40, within=60, what="accept forty claims")
    daemon.kill()
    stop.set()
    for claimant in claimants:
        claimant.join(30)
    daemon.start()

    told = fact(daemon, "owner")
    said = [one["to"] for one in told["changes"]]
    assert set(accepted) <= set(said)
    assert len(said) == len(set(said))
    assert said[-1] == told["fact"]["value"]
    daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=60, what="store it all")
    assert [one["value"] for one in daemon.get("/memories", key="owner")["items"]] == [said[-1]]
    assert daemon.get("/memories", key="owner", status="superseded", limit=1000)["total"] == len(said) - 1


def test_equally_trusted_sources_open_contradiction(daemon: RunningDaemon) -> None:
    told = {"kind": "fact", "key": "python", "category": "constraint"}
    by_a_file = {"trust": "project", "source": {"type": "convention", "path": "pyproject.toml"}}
    daemon.post("/memories", {**told, "value": ">=3.9", **by_a_file})
    assert "contradiction" in daemon.post("/memories", {**told, "value": ">=3.8"})["understood"][0]

    [found] = daemon.get("/contradictions")["items"]
    assert (found["a"]["value"], found["b"]["value"], found["status"]) == (">=3.9", ">=3.8", "open")
    address = f"/contradictions/{found['id']}"
    settled = daemon.post(f"{address}/resolve", {"resolution": "a_wins", "note": "CI says so"})
    assert (settled["resolution"], settled["note"], value(daemon, "python")) == ("a_wins", "CI says so", ">=3.9")
    assert daemon.get("/contradictions")["items"] == []
    assert daemon.request("POST", f"{address}/resolve", {"resolution": "b_wins"})[0] == 409
    assert daemon.post(f"{address}/undo", {})["status"] == "open"
    assert value(daemon, "python") == ">=3.8"
    daemon.post(f"{address}/resolve", {"resolution": "merged", "value": ">=3.8, tested on 3.9"})
    assert value(daemon, "python") == ">=3.8, tested on 3.9"


def test_contradiction_follows_edits_and_closes_on_agreement(daemon: RunningDaemon) -> None:
    told = {"kind": "fact", "key": "python", "category": "constraint"}
    by_a_file = {"trust": "project", "source": {"type": "convention", "path": "pyproject.toml"}}

    def asked() -> list[tuple[str, str]]:
        return [(one["a"]["value"], one["b"]["value"]) for one in daemon.get("/contradictions")["items"]]

    daemon.post("/memories", {**told, "value": ">=3.10", **by_a_file})
    daemon.post("/memories", {**told, "value": ">=3.11"})
    again = daemon.post("/memories", {**told, "value": ">=3.12"})["understood"][0]
    assert asked() == [(">=3.10", ">=3.12")]
    assert again["contradiction"] == daemon.get("/contradictions")["items"][0]["id"]

    daemon.request("PATCH", f"/memories/{again['id']}", {"value": ">=3.13"})
    assert asked() == [(">=3.10", ">=3.13")]
    daemon.post("/memories", {**told, "value": ">=3.14", **by_a_file})
    assert asked() == [(">=3.13", ">=3.14")]
    daemon.post("/memories", {**told, "value": ">=3.14"})
    assert asked() == []
    daemon.post("/memories", {**told, "value": ">=3.13"})
    assert asked() == [(">=3.14", ">=3.13")]
    daemon.post(f"/memories/{again['id']}/undo", {})
    assert (asked(), value(daemon, "python")) == ([], ">=3.14")


def test_resolved_contradiction_is_never_reopened(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    told = {"kind": "fact", "project": str(shop), "trust": "project"}
    for path, text in (("docs/ops.md", "Logs are kept for 14 days"), ("CONTRIBUTING.md", "Log retention is 90 days")):
        daemon.post("/memories", {**told, "content": text, "source": {"type": "guide", "path": path}})

    daemon.wait_until(lambda: daemon.get("/contradictions")["items"], within=60, what="notice the contradiction")
    [found] = daemon.get("/contradictions")["items"]
    assert (found["a"]["content"], found["b"]["content"]) == ("Logs are kept for 14 days", "Log retention is 90 days")
    assert found["reason"].startswith("they disagree: ")
    bundle = daemon.get("/context", project=str(shop), file="shop/cart.py")
    assert any(item["id"] == found["id"] and item["tier"] == 1 for item in bundle["items"])

    address = f"/contradictions/{found['id']}"
    daemon.post(f"{address}/resolve", {"resolution": "a_wins", "note": "ops says so"})
    assert daemon.get(f"/memories/{found['b']['id']}")["status"] == "superseded"
    daemon.post(f"{address}/undo", {})
    assert daemon.get(f"/memories/{found['b']['id']}")["status"] == "active"
    daemon.post(f"{address}/resolve", {"resolution": "both_valid"})
    assert daemon.get("/contradictions")["items"] == []
    run = daemon.post("/consolidate", {"steps": ["contradictions"]})
    assert run["contradictions_found"] == 0
    assert daemon.get("/contradictions", status="resolved")["total"] == 1


def test_documents_have_history_and_size_limit(daemon: RunningDaemon) -> None:
    path = "/documents/profile/preferences"
    long = "\n\n".join(f"## Part {number}\n\n{'of the story ' * 60} zebra{number}." for number in range(6))
    assert daemon.request("PUT", path, {"content": "- short answers"})[0] == 200
    before = datetime.now(UTC)
    assert daemon.request("PUT", path, {"content": "- long answers", "tags": ["style"]})[0] == 200
    assert daemon.request("PUT", "/documents/reference/story", {"content": long})[0] == 200

    assert daemon.get(path, as_of=before.isoformat())["content"] == "- short answers"
    assert [one["path"] for one in daemon.get("/documents", prefix="/")["items"]] == [
        "/profile/preferences",
        "/reference/story",
    ]
    found = daemon.post("/search", {"query": "zebra4", "kinds": ["document"]})["results"]
    story = daemon.get("/documents/reference/story")
    assert [one["id"] for one in found] == [story["id"]]
    assert "zebra4" in found[0]["snippet"]
    daemon.post(f"/memories/{daemon.get(path)['id']}/undo", {})
    assert daemon.get(path)["content"] == "- short answers"
    assert daemon.request("PUT", path, {"content": "word " * 6_000})[0] == 413
    for wrong in (
        "/documents/profile",
        "/documents/other/x",
        "/documents/profile/..%2f..%2fx",
        "/documents/profile/.x",
    ):
        assert daemon.request("PUT", wrong, {"content": "x"})[0] in (404, 422), wrong


@pytest.mark.slow
@pytest.mark.daemon("own")
def test_forget_erases_history_parts_and_quotes(daemon: RunningDaemon) -> None:
    daemon.post("/memories", {"kind": "fact", "key": "guard", "value": "marmot-guard", "trust": "project"})
    daemon.post("/memories", {"kind": "fact", "key": "guard", "value": "ocelot-guard"})
    page = "/documents/insights/animals"
    for animal in ("quokka", "numbat"):
        text = "\n\n".join(f"# {number}\n\n{'padding ' * 200}{animal}-page" for number in range(4))
        assert daemon.request("PUT", page, {"content": text})[0] == 200
    daemon.post("/memories", {"kind": "fact", "content": "an unrelated okapi-note"})
    daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=60, what="store it all")
    kept = fact(daemon, "guard")["fact"]["id"]
    assert daemon.get("/contradictions")["total"] == 1

    assert daemon.request("DELETE", f"/memories/{kept}", timeout=120)[0] == 200
    assert daemon.request("DELETE", page, timeout=120)[0] == 200

    assert holding(daemon, ["marmot-guard", "ocelot-guard", "quokka-page", "numbat-page"]) == []
    assert holding(daemon, ["okapi-note"]) != []
    assert daemon.get("/contradictions")["total"] == 0
    exported = daemon.request("GET", "/export")[1]
    assert "okapi-note" in str(exported)
    assert not any(word in str(exported) for word in ("marmot", "ocelot", "quokka", "numbat"))


def test_forget_error_erases_its_signals(daemon: RunningDaemon, shop: Path) -> None:
    added = daemon.add(shop)
    errors = ["QuaggaError: the stable is empty", "PandaError: no bamboo was delivered"]
    told = [
        {"kind": kind, "project": str(shop), "text": text} for text in errors for kind in ("error", "error_cleared")
    ]
    daemon.post("/signals", {"signals": told})
    listed = daemon.get("/memories", project=str(shop), kind="error")["items"]
    [forgotten] = [one["id"] for one in listed if "QuaggaError" in one["content"]]

    daemon.request("DELETE", f"/memories/{forgotten}")

    assert holding(daemon, ["QuaggaError"]) == []
    exported = daemon.request("GET", "/export", query={"project": added["id"]})[1]
    kept = [line["data"]["data"]["text"] for line in map(json.loads, exported.splitlines()) if line["type"] == "signal"]
    assert kept == errors[1:] * 2


@pytest.mark.slow
def test_file_fact_is_superseded_per_branch(daemon: RunningDaemon, shop: Path) -> None:
    project = {"project": str(shop), "category": "convention"}
    daemon.add(shop)
    daemon.wait_until(lambda: value(daemon, "python", **project) == ">=3.11", within=60, what="read the file")

    commit(shop, "Python 3.12", {"pyproject.toml": PYPROJECT.format(version="3.12")})
    daemon.wait_until(lambda: value(daemon, "python", **project) == ">=3.12", within=60, what="read it again")
    told = fact(daemon, "python", **project)["changes"]
    assert [(one["from"], one["to"]) for one in told] == [(None, ">=3.11"), (">=3.11", ">=3.12")]

    git(shop, "checkout", "-q", "-b", "next")
    commit(shop, "Python 3.13", {"pyproject.toml": PYPROJECT.format(version="3.13")})
    daemon.wait_until(lambda: value(daemon, "python", **project) == ">=3.13", within=60, what="read the branch")
    assert value(daemon, "python", branch="main", **project) == ">=3.12"

    git(shop, "checkout", "-q", "main")
    daemon.wait_until(lambda: value(daemon, "python", **project) == ">=3.12", within=60, what="be back on main")
    git(shop, "merge", "-q", "--no-ff", "--no-edit", "next")
    daemon.wait_until(lambda: value(daemon, "python", **project) == ">=3.13", within=60, what="see the merge")


def test_undo_of_moved_fact_restores_both_keys(daemon: RunningDaemon) -> None:
    mine = say(daemon, "installer: pnpm", key="installer", valid_to="2099-01-01T00:00:00Z")
    say(daemon, "bundler: vite", key="bundler")
    _, held = daemon.request("GET", f"/memories/{mine['id']}")

    for there in ("bundler", "loader"):  # where something is said, and where nothing is
        _, moved = daemon.request("PATCH", f"/memories/{mine['id']}", {"key": there})
        assert (value(daemon, there), value(daemon, "installer")) == ("pnpm", None)

        status, back = daemon.request("POST", f"/memories/{moved['id']}/undo", {})
        assert (status, back["id"], back["valid_to"]) == (200, mine["id"], held["valid_to"])
        assert value(daemon, "installer") == "pnpm"
        assert value(daemon, there) == ("vite" if there == "bundler" else None)


def test_move_is_undoable_from_either_id(daemon: RunningDaemon) -> None:
    mine = say(daemon, "installer: pnpm", key="installer")
    say(daemon, "bundler: pnpm", key="bundler")
    daemon.request("PATCH", f"/memories/{mine['id']}", {"key": "bundler"})

    status, back = daemon.request("POST", f"/memories/{mine['id']}/undo", {})

    assert (status, back["status"]) == (200, "active")
    assert (value(daemon, "installer"), value(daemon, "bundler")) == ("pnpm", "pnpm")


def test_superseded_fact_returns_when_winner_is_forgotten(
    daemon: RunningDaemon,
) -> None:
    loser = say(daemon, "installer: pnpm", key="installer")
    _, winner = daemon.request("PATCH", f"/memories/{loser['id']}", {"key": "bundler"})
    daemon.request("PATCH", f"/memories/{winner['id']}", {"value": "yarn"})

    status, refused = daemon.request("POST", f"/memories/{loser['id']}/undo", {})
    assert (status, winner["id"] in refused["error"]["message"]) == (409, True)
    assert daemon.request("GET", f"/memories/{loser['id']}")[1]["status"] == "superseded"

    daemon.request("DELETE", f"/memories/{winner['id']}")
    status, back = daemon.request("POST", f"/memories/{loser['id']}/undo", {})
    assert (status, back["status"], value(daemon, "installer")) == (200, "active", "pnpm")


def test_edit_of_superseded_memory_requires_undo(daemon: RunningDaemon) -> None:
    said = say(daemon, "installer: pnpm", key="installer")["id"]

    daemon.request("PATCH", f"/memories/{said}", {"status": "archived"})
    assert daemon.request("PATCH", f"/memories/{said}", {"value": "yarn"})[0] == 409
    assert daemon.request("POST", f"/memories/{said}/undo", {})[1]["status"] == "active"
    assert value(daemon, "installer") == "pnpm"

    daemon.request("POST", f"/memories/{said}/undo", {})  # nobody ever said it
    assert daemon.request("PATCH", f"/memories/{said}", {"value": "yarn"})[0] == 409
    assert value(daemon, "installer") is None
    _, again = daemon.request("PATCH", f"/memories/{said}", {"status": "active", "value": "yarn"})
    assert (again.get("valid_to"), value(daemon, "installer")) == (None, "yarn")


def test_valid_to_in_past_applies_to_history(daemon: RunningDaemon) -> None:
    said = say(daemon, "installer: pnpm", key="installer", valid_from="2026-01-01T00:00:00Z")["id"]
    _, whole = daemon.request("GET", f"/memories/{said}")

    status, refused = daemon.request("PATCH", f"/memories/{said}", {"valid_to": "2025-01-01T00:00:00Z"})
    assert (status, refused["error"]["field"]) == (422, "valid_to")
    daemon.request("PATCH", f"/memories/{said}", {"valid_to": "2026-03-01T00:00:00Z"})

    held = [value(daemon, "installer", as_of=f"2026-0{month}-15T00:00:00Z") for month in (2, 4)]
    assert (held, value(daemon, "installer")) == (["pnpm", None], None)
    _, back = daemon.request("POST", f"/memories/{said}/undo", {})
    assert (back["valid_from"], back.get("valid_to")) == (whole["valid_from"], None)
    assert value(daemon, "installer") == "pnpm"


def test_expired_and_future_facts_are_not_current(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    here = {"project": str(shop), "category": "decision"}
    say(daemon, "the basket is kept in cookies", **here, valid_from="2024-01-01", valid_to="2025-01-01")
    say(daemon, "the basket is kept in Postgres", **here, valid_from="2090-01-01")
    say(daemon, "the basket is kept in Redis", **here)
    asked = {"project": str(shop), "query": "where is the basket kept"}

    told = daemon.get("/context", **asked, file="shop/basket.py")["context"]
    assert [name for name in ("cookies", "Postgres", "Redis") if name in told] == ["Redis"]
    prompt = json.dumps(daemon.post("/context/compile", {"session": "s", "project": str(shop), "message": "go on"}))
    assert [name for name in ("cookies", "Postgres", "Redis") if name in prompt] == ["Redis"]

    def found(**more: str) -> list[str]:
        results = daemon.post("/search", {**asked, **more})["results"]
        return [name for name in ("cookies", "Redis") if any(name in one["snippet"] for one in results)]

    for _ in ("from memory", "from the store"):
        assert found() == ["Redis"]
        assert found(as_of="2024-06-01") == ["cookies"]
        daemon.restart()


def test_contradiction_cannot_be_edited(daemon: RunningDaemon) -> None:
    say(daemon, "installer: pnpm", key="installer")
    asked = say(daemon, "installer: yarn", key="installer", trust="project", source={"type": "file", "path": "a.md"})

    status, refused = daemon.request("PATCH", f"/memories/{asked['contradiction']}", {"content": "nonsense"})
    assert (status, "resolve" in refused["error"]["hint"]) == (409, True)


def test_memories_without_project_lists_all(daemon: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    other = make_shop(tmp_path / "other")
    for folder in (shop, other):
        daemon.add(folder)
    said = ["the quince is ripe", "the medlar is ripe", "the sorb is ripe"]
    for text, project in zip(said, (str(shop), str(other), None), strict=True):
        daemon.post("/memories", {"kind": "fact", "content": text, **({"project": project} if project else {})})

    pages, cursor = [], None
    while not pages or cursor is not None:
        page = daemon.get("/memories", kind="fact", limit=2, **({"cursor": cursor} if cursor else {}))
        pages.append(page)
        cursor = page["next"]

    listed = [one for page in pages for one in page["items"]]
    assert {one["content"] for one in listed} >= set(said)
    assert len({one["id"] for one in listed}) == len(listed) == pages[0]["total"]
    assert len({one.get("project") for one in listed if one["content"] in said}) == 3
    assert [one["at"] for one in listed] == sorted((one["at"] for one in listed), reverse=True)
