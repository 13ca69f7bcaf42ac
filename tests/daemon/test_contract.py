"""Details of the HTTP contract, as a client without other knowledge would try them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import make_shop

pytestmark = pytest.mark.daemon("shared")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def refused(daemon: RunningDaemon, path: str, body: dict[str, Any]) -> tuple[int, str | None]:
    """Return the status and the field of the error."""
    status, answer = daemon.request("POST", path, body)
    return status, answer["error"].get("field")


def test_rejected_path_error_uses_clients_field_name(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    outside = "../secret.py"
    asked = {"project": str(shop)}

    _, answer = daemon.request("GET", "/context", query={**asked, "file": outside})
    assert answer["error"]["field"] == "file"
    told = {**asked, "signals": {"current_file": outside}}
    assert refused(daemon, "/context/assemble", told) == (422, "signals.current_file")
    told = {**asked, "signals": {"open_files": ["shop/basket.py", outside]}}
    assert refused(daemon, "/context/assemble", told) == (422, "signals.open_files")
    assert refused(daemon, "/context/predict", {**asked, "file_opened": outside}) == (422, "file_opened")
    assert refused(daemon, "/context/predict", {**asked, "open_files": [outside]}) == (422, "open_files")


def test_expand_without_project_uses_last_asked(daemon: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    """A topic or a file of a bundle is expanded where it is known; among several, in the project asked last."""
    status, answer = daemon.request("POST", "/expand", {"topic": "basket"})
    assert (status, "hunch add" in answer["error"]["hint"]) == (404, True)

    here, other = daemon.add(shop), daemon.add(make_shop(tmp_path / "other"))
    daemon.get("/context", project=str(shop), file="shop/basket.py")
    [file] = [
        item
        for item in daemon.get("/context", project=other["path"], file="shop/basket.py")["items"]
        if item["source"].get("path") == "shop/checkout.py"
    ]

    told = daemon.post("/expand", {"topic": "basket", "level": "full"})
    assert (told["project"], "shop/basket.py" in told["text"]) == (other["id"], True)
    assert daemon.post("/expand", {"id": file["id"]})["title"] == "shop/checkout.py"
    daemon.get("/context", project=str(shop), file="shop/basket.py")
    assert daemon.post("/expand", {"topic": "basket"})["project"] == here["id"]
    assert refused(daemon, "/expand", {"topic": "zeppelins"}) == (404, "topic")


def test_batch_unknown_project_rejects_entry_only(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    drafts = [
        {"kind": "fact", "content": f"rule {n}", "project": str(project)} for n, project in enumerate((shop, "/no"))
    ]
    kept = daemon.post("/memories", {"memories": [*drafts, {"kind": "fact", "content": "rule 3"}]})
    [named] = kept["rejected"]
    assert (len(kept["ids"]), named["index"], named["error"]["field"]) == (2, 1, "memories[1].project")
    assert named["error"]["code"] == "not_found"
    assert refused(daemon, "/memories", {"memories": drafts[1:]}) == (404, "memories[0].project")
    assert refused(daemon, "/memories", drafts[1]) == (404, "project")

    cited = {"outcome": "cited", "id": kept["ids"][0]}
    told = daemon.post("/feedback", {"items": [cited, {**cited, "project": "/no"}, cited]})
    assert (told["accepted"], told["rejected"][0]["error"]["field"]) == (2, "items[1].project")
    assert daemon.get(f"/memories/{cited['id']}")["usage"]["cited"] == 2


@pytest.mark.daemon("own")
def test_every_list_supports_pagination(daemon: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    daemon.add(shop)
    daemon.add(make_shop(tmp_path / "other"))
    [fact] = daemon.post("/memories", {"kind": "fact", "key": "installer", "value": "pnpm"})["ids"]
    daemon.request("PATCH", f"/memories/{fact}", {"value": "yarn"})
    for _ in range(2):
        daemon.post("/consolidate", {"steps": ["links"]})

    for path in ("/projects", f"/memories/{fact}/history", "/consolidate"):
        whole = daemon.get(path)
        assert (len(whole["items"]), whole["next"], whole["total"]) == (2, None, 2), path
        first = daemon.get(path, limit=1)
        second = daemon.get(path, limit=1, cursor=first["next"])
        pages = first["items"] + second["items"]  # of a project, the progress goes on between two requests
        assert [one.get("id", one.get("run")) for one in pages] == [
            one.get("id", one.get("run")) for one in whole["items"]
        ], path
        assert (second["next"], second["total"]) == (None, 2), path
        for wrong in ({"limit": 0}, {"limit": "x"}, {"cursor": "x"}):
            status, answer = daemon.request("GET", path, query=wrong)
            assert (status, answer["error"]["field"]) == (422, *wrong), path


def test_extreme_responses_match_openapi(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    document = daemon.get("/openapi.json")

    def is_described(schema: str, answer: Any) -> None:
        jsonschema.validate(answer, {"$ref": f"#/components/schemas/{schema}", "components": document["components"]})

    daemon.post("/sessions/s/messages", {"messages": [{"role": "user", "content": "word " * 20_000}]})
    [message] = daemon.get("/memories", kind="message")["items"]
    assert len(message["content"]) == 100_000
    is_described("Memory", message)
    work = [{"kind": "episode", "content": f"Counted in bag {n}", "at": "2025-01-01"} for n in range(6)]
    files = {"project": str(shop), "artifacts": [{"type": "file", "ref": "shop/basket.py"}]}
    daemon.post("/memories", {"memories": [{**one, **files, "trust": "derived"} for one in work]})
    run = daemon.post("/consolidate", {"dry_run": True, "steps": ["summarise", "compress", "history"]})
    assert any(edit["was"] is None for change in run["changes"] for edit in change["edits"])
    is_described("Run", run)


def test_resending_same_ref_is_idempotent(daemon: RunningDaemon) -> None:
    draft = {"kind": "episode", "content": "the export moved to polars", "ref": "note-1"}
    for _ in ("while it waits", "from the store"):
        sent = [daemon.post("/memories", one)["understood"][0] for one in (draft, draft, {**draft, "tags": ["export"]})]
        assert len({one["id"] for one in sent}) == 1
        assert sent[1]["verdict"] == "same"
        daemon.restart()
    [kept] = daemon.get("/memories", kind="episode")["items"]
    assert (kept["tags"], daemon.get(f"/memories/{kept['id']}/history")["total"]) == (["export"], 1)


def test_folder_belongs_to_innermost_project(daemon: RunningDaemon, tmp_path: Path) -> None:
    inner = tmp_path / "notes" / "work"
    (inner / "plans").mkdir(parents=True)
    (inner / "plans" / "plan.md").write_text("# Plan\n")
    outer_one, inner_one = daemon.add(tmp_path / "notes"), daemon.add(inner)
    assert outer_one["id"] != inner_one["id"]

    saved = {"kind": "file_saved", "project": str(inner / "plans"), "path": str(inner / "plans" / "plan.md")}
    daemon.post("/signals", {"signals": [saved]})
    lines = [json.loads(line) for line in daemon.request("GET", "/export")[1].splitlines()]
    [kept] = [line["data"] for line in lines if line["type"] == "signal"]
    assert (kept["project"], kept["data"]["path"]) == (inner_one["id"], "plans/plan.md")


def test_not_found_error_uses_clients_name(daemon: RunningDaemon) -> None:
    for path in ("memories/m0/undo", "contradictions/x0/resolve", "consolidate/r0/undo", "sessions/s0/compact"):
        assert refused(daemon, f"/{path}", {"resolution": "a_wins"} if "resolve" in path else {}) == (404, "id"), path
    for path in ("/memories/m0", "/memories/m0/history", "/memories/m0/usage", "/sessions/s0", "/consolidate/r0"):
        status, answer = daemon.request("GET", path)
        assert (status, answer["error"]["field"]) == (404, "id"), path
    for method, path in (("DELETE", "/projects/p0"), ("GET", f"/memories/{'m' * 300}")):
        status, answer = daemon.request(method, path)
        assert (status, answer["error"]["field"]) == (404, "id"), path
    assert refused(daemon, "/expand", {"id": "m0"}) == (404, "id")
    [fact] = daemon.post("/memories", {"kind": "fact", "content": "we use uv"})["ids"]
    status, answer = daemon.request("GET", f"/memories/{fact}", query={"as_of": "2020-01-01"})
    assert (status, answer["error"]["field"]) == (404, "as_of")


def test_all_times_use_one_format(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    tell = {"project": str(shop), "at": "2026-05-01T12:00:00+02:00"}
    joined = {"kind": "collaborator_joined", "name": "Ada"}
    daemon.post("/signals", {"signals": [{**tell, "kind": "error", "text": "KeyError: 'x'"}, {**tell, **joined}]})
    [fact] = daemon.post("/memories", {"kind": "fact", "content": "we use uv", "project": str(shop)})["ids"]
    daemon.post("/feedback", {"items": [{"id": fact, "outcome": "cited"}]})

    asked = {"project": str(shop), "file": "shop/basket.py", "query": "basket"}
    answers = (daemon.get("/context", **asked), daemon.get(f"/memories/{fact}/usage"), daemon.get(f"/memories/{fact}"))
    moments = re.findall(r"\d{4}-\d\d-\d\dT[^\"]*", json.dumps(answers))
    assert len(moments) > 3
    assert [moment for moment in moments if not moment.endswith("Z")] == []


def test_feedback_on_predicted_file_needs_no_project(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    items = daemon.get("/context", project=str(shop), file="shop/basket.py")["items"]
    [file] = [item["id"] for item in items if item["source"].get("path") == "shop/checkout.py"]
    told = [{"id": one, "outcome": "cited"} for one in (file, "file:shop/zeppelin.py")]
    assert daemon.post("/feedback", {"items": told}) == {"accepted": 1, "unknown": ["file:shop/zeppelin.py"]}


def test_path_prefix_may_be_absolute(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    asked = {"project": str(shop), "query": "basket"}
    for prefix in ("shop/basket.py", f"{shop}/shop/basket.py", "./shop/basket.py"):
        found = daemon.post("/search", {**asked, "path_prefix": prefix})
        listed = daemon.get("/memories", project=str(shop), path_prefix=prefix)
        assert found["results"], prefix
        assert listed["items"], prefix
    assert daemon.post("/search", {**asked, "path_prefix": str(shop)})["results"]
    assert not daemon.post("/search", {**asked, "path_prefix": f"{shop}-elsewhere/"})["results"]


def test_impossible_document_path_returns_404(daemon: RunningDaemon) -> None:
    for method in ("GET", "DELETE"):
        for path in ("/documents/profile/nothing", "/documents/nowhere/at-all", "/documents/profile"):
            assert daemon.request(method, path)[0] == 404, (method, path)
    assert daemon.request("PUT", "/documents/nowhere/at-all", {"content": "x"})[0] == 422


def test_fact_kind_accepts_category_name(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    draft = {"kind": "decision", "content": "sessions stay signed cookies", "project": str(shop), "tags": ["auth"]}
    [identifier] = daemon.post("/memories", draft)["ids"]

    memory = daemon.get(f"/memories/{identifier}")
    assert (memory["kind"], memory["category"]) == ("fact", "decision")
    other = {"kind": "fact", "content": "cookies of sessions were signed by Ada", "project": str(shop)}
    daemon.post("/memories", other)
    found = daemon.post("/search", {"project": str(shop), "query": "signed cookies", "kinds": ["decision"]})["results"]
    assert [one["id"] for one in found] == [identifier]
    mixed = {"project": str(shop), "query": "signed", "kinds": ["decision", "episode"]}
    assert refused(daemon, "/search", mixed) == (422, "kinds")
    for names in ({"kind": "fact", "tag": "auth"}, {"kinds": "fact", "tags": "auth"}, {"kind": "decision"}):
        assert [one["id"] for one in daemon.get("/memories", project=str(shop), **names)["items"]] == [identifier]


def test_export_types_cover_messages_documents_contradictions(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    daemon.request("PUT", "/documents/reference/plan", {"content": "# Plan"})
    daemon.post("/sessions/s/messages", {"messages": [{"role": "user", "content": "hello"}]})
    for value in ("sessions are kept in Redis", "sessions are kept in Memcached"):
        daemon.post("/memories", {"kind": "fact", "content": value, "project": str(shop)})
    daemon.wait_until(lambda: daemon.get("/contradictions")["total"] == 1, within=60, what="see the contradiction")

    _, told = daemon.request("GET", "/export")
    lines = [json.loads(line) for line in told.splitlines()]
    kinds = {(line["type"], line["data"]["kind"]) for line in lines if "content" in line["data"]}
    assert {("message", "message"), ("document", "document"), ("contradiction", "contradiction")} <= kinds
    assert not kinds & {("memory", kind) for kind in ("message", "document", "contradiction")}


def test_loser_of_contradiction_is_superseded_everywhere(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    for value in ("sessions are kept in Redis", "sessions are kept in Memcached"):
        daemon.post("/memories", {"kind": "fact", "content": value, "project": str(shop)})
    daemon.wait_until(lambda: daemon.get("/contradictions")["total"] == 1, within=60, what="see the contradiction")
    [open_] = daemon.get("/contradictions")["items"]
    assert (open_["a"]["status"], open_["b"]["status"]) == ("active", "active")

    told = daemon.post(f"/contradictions/{open_['id']}/resolve", {"resolution": "a_wins", "note": "measured"})
    [listed] = daemon.get("/contradictions", status="resolved")["items"]
    assert told == listed
    assert (told["a"]["status"], told["b"]["status"]) == ("active", "superseded")
    assert daemon.get(f"/memories/{told['b']['id']}")["status"] == "superseded"

    again = daemon.post(f"/contradictions/{open_['id']}/undo", {})
    assert (again["a"]["status"], again["b"]["status"]) == ("active", "active")


def test_error_cleared_by_last_line(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    trace = "Traceback (most recent call last):\n  File \"shop/basket.py\", line 3, in add\nKeyError: 'apple'\n"

    def shown() -> bool:
        return "apple" in daemon.get("/context", project=str(shop), file="shop/basket.py")["context"]

    for text, is_gone in (("KeyError: 'pear'", False), ("ValueError: 3", False), ("KeyError: 'apple'", True)):
        daemon.post("/signals", {"signals": [{"kind": "error", "project": str(shop), "text": trace}]})
        assert shown()
        daemon.post("/signals", {"signals": [{"kind": "error_cleared", "project": str(shop), "text": text}]})
        assert shown() is not is_gone, text


def test_superseded_memory_is_no_longer_valid(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    told = {"kind": "episode", "project": str(shop)}
    [old] = daemon.post("/memories", {**told, "content": "the zeppelin export was tried with pandas"})["ids"]
    draft = {**told, "content": "the zeppelin export was done with polars", "supersedes": old, "ref": "export-2"}
    [new] = daemon.post("/memories", draft)["ids"]
    assert daemon.post("/memories", draft)["ids"] == [new]

    before, after = daemon.get(f"/memories/{old}"), daemon.get(f"/memories/{new}")
    assert (before["status"], before["superseded_by"]) == ("superseded", new)
    assert (after["status"], after["supersedes"]) == ("active", old)
    found = daemon.post("/search", {"project": str(shop), "query": "zeppelin export"})["results"]
    assert [one["id"] for one in found] == [new]


def test_new_text_under_ref_keeps_history(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    told = {"kind": "fact", "project": str(shop), "ref": "note-1"}
    for content in ("the first wording", "the first wording", "the second wording", "the second wording"):
        [identifier] = daemon.post("/memories", {**told, "content": content})["ids"]

    versions = daemon.get(f"/memories/{identifier}/history")["items"]
    assert [(one["content"], one["status"]) for one in versions] == [
        ("the second wording", "active"),
        ("the first wording", "superseded"),
    ]
    assert daemon.get("/memories", project=str(shop), kind="fact")["items"][0]["ref"] == "note-1"
    assert daemon.post(f"/memories/{identifier}/undo", {})["content"] == "the first wording"


def test_session_search_needs_no_project(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    said = {"messages": [{"role": "user", "content": "the codename is Grumblewock"}]}
    daemon.post("/sessions/here/messages", {**said, "project": str(shop)})
    daemon.post("/sessions/mine/messages", said)

    for session in ("here", "mine"):
        found = daemon.post("/search", {"query": "Grumblewock", "session": session})["results"]
        assert any("Grumblewock" in one["snippet"] for one in found), session
    assert not daemon.post("/search", {"query": "Grumblewock", "session": "nowhere"})["results"]


def test_project_progress_is_independent_of_status_requests(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)

    def stored() -> tuple[int, int]:
        [project] = daemon.get("/projects")["items"]
        told = project["progress"]["embeddings"]
        return told["done"], told["total"]

    daemon.wait_until(lambda: 0 < stored()[1] == stored()[0], within=60, what="embed what it has read")
    _, before = stored()
    daemon.post("/memories", {"kind": "episode", "content": "what is new", "project": str(shop)})
    daemon.wait_until(lambda: stored()[1] > before, within=20, what="count what is new")
    [shown] = daemon.get("/status")["projects"]
    assert shown["progress"]["embeddings"]["total"] == stored()[1]


def test_rejected_signal_is_listed_with_index(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    opened = {"kind": "file_opened", "project": str(shop)}
    signals: list[tuple[Any, str]] = [
        (opened, "[0].path"),
        ({**opened, "path": "../secret.py"}, "[1].path"),
        ({**opened, "file": "/etc/passwd"}, "[2].file"),
        ({**opened, "path": "a.py", "project": "/no/where"}, "[3].project"),
        ({**opened, "path": "a.py", "project": "shop"}, "[4].project"),
        ({**opened, "kind": "file_open"}, "[5].kind"),
        ({"project": str(shop)}, "[6].kind"),
        (7, "[7]"),
        ({"kind": "error", "project": str(shop)}, "[8].text"),
        ({**opened, "kind": "commit", "sha": "zz"}, "[9].sha"),
    ]

    told = daemon.post("/signals", {"signals": [*(signal for signal, _ in signals), {**opened, "path": "a.py"}]})

    assert told["accepted"] == 1
    named = [(one["index"], one["error"]["field"]) for one in told["rejected"]]
    assert named == [(index, f"signals{field}") for index, (_, field) in enumerate(signals)]
    assert told["rejected"][0]["error"]["message"].startswith("'signals[0].path' is missing")


def test_supersedes_of_missing_memory_is_rejected(daemon: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    daemon.add(shop)
    other = daemon.add(make_shop(tmp_path / "other"))
    note = {"kind": "episode", "content": "the export was done with polars", "project": str(shop)}
    [known] = daemon.post("/memories", note)["ids"]
    [elsewhere] = daemon.post("/memories", {**note, "project": other["path"]})["ids"]
    [version] = daemon.post("/memories", {"kind": "fact", "key": "db", "value": "mysql", "project": str(shop)})["ids"]
    daemon.request("PATCH", f"/memories/{version}", {"value": "sqlite"})
    past = daemon.get(f"/memories/{version}")["supersedes"]

    assert refused(daemon, "/memories", {**note, "supersedes": "m123"}) == (404, "supersedes")
    assert refused(daemon, "/memories", {**note, "supersedes": elsewhere}) == (409, "supersedes")
    assert refused(daemon, "/memories", {**note, "supersedes": past}) == (409, "supersedes")
    mixed = [{**note, "supersedes": "m123"}, {"kind": "nothing"}, {**note, "content": "by hand", "supersedes": known}]
    told = daemon.post("/memories", {"memories": mixed})
    assert [(one["index"], one["error"]["field"]) for one in told["rejected"]] == [
        (0, "memories[0].supersedes"),
        (1, "memories[1].kind"),
    ]
    assert daemon.get(f"/memories/{known}")["superseded_by"] == told["ids"][0]
    assert daemon.get(f"/memories/{told['ids'][0]}")["content"] == "by hand"


def test_resending_after_superseded_was_forgotten_succeeds(daemon: RunningDaemon) -> None:
    [old] = daemon.post("/memories", {"kind": "episode", "content": "with pandas"})["ids"]
    draft = {"kind": "episode", "content": "with polars", "ref": "export", "supersedes": old}
    [new] = daemon.post("/memories", draft)["ids"]
    daemon.request("DELETE", f"/memories/{old}")
    assert daemon.post("/memories", draft)["ids"] == [new]


def test_ref_identifies_one_memory_regardless_of_key(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    told = {"kind": "fact", "project": str(shop)}
    [database] = daemon.post("/memories", {**told, "key": "db", "value": "mysql", "ref": "note-1"})["ids"]
    daemon.post("/memories", {**told, "content": "a note of mine", "ref": "note-2"})

    other_key = {**told, "key": "cache", "value": "redis"}
    assert refused(daemon, "/memories", {**other_key, "ref": "note-1"}) == (409, "ref")
    assert refused(daemon, "/memories", {**other_key, "ref": "note-2"}) == (409, "ref")
    batch = [{**other_key, "ref": "note-3"}, {**told, "key": "queue", "value": "nats", "ref": "note-3"}]
    answer = daemon.post("/memories", {"memories": batch})
    assert (len(answer["ids"]), answer["rejected"][0]["error"]["field"]) == (1, "memories[1].ref")
    assert daemon.post("/memories", {**told, "key": "DB", "value": "sqlite", "ref": "note-1"})["ids"] == [database]

    for content in ("we use pnpm, not npm", "we use jest for tests", "we use jest for tests", "just a note"):
        daemon.post("/memories", {**told, "content": content, "ref": "note-4"})
        held = daemon.get("/memories", project=str(shop), kind="fact")["items"]
        assert [one["content"] for one in held if one.get("ref") == "note-4"] == [content]


def test_outdated_and_fully_redacted_are_not_shared(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    told = {"kind": "fact", "project": str(shop), "category": "decision"}
    holds = {**told, "content": "sessions stay signed cookies"}
    over = {**told, "content": "the freeze lasts", "valid_from": "2025-01-01", "valid_to": "2025-02-01"}
    masked = {**told, "key": "deploy token", "value": "gh" + "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}
    before = {**told, "content": "sessions were kept on the server"}
    ids = daemon.post("/memories", {"memories": [holds, over, masked, before]})["ids"]
    daemon.post("/memories", {**told, "content": "they are in the browser", "supersedes": ids[3], "branch": "other"})

    assert [one["id"] for one in daemon.post("/share", {"project": str(shop)})["files"]] == ids[:1]
    refused = daemon.post("/share", {"project": str(shop), "names": ids})["refused"]
    assert [one["name"] for one in refused] == ids[1:]
    reasons = [one["reason"] for one in refused]
    assert reasons[:2] == ["it is no longer valid", "its value was a secret, which is not stored"]


def test_invalid_cursor_rejected_stale_cursor_continues(daemon: RunningDaemon) -> None:
    notes = [{"kind": "episode", "content": f"note {n}", "at": f"2026-01-0{n}"} for n in range(1, 6)]
    ids = daemon.post("/memories", {"memories": notes})["ids"]
    daemon.post("/sessions/s/messages", {"messages": [{"role": "user", "content": "hello"}]})
    for path in ("/memories", "/sessions", "/sessions/s/messages", "/documents", "/contradictions"):
        for wrong in ("x", "-1", '[1e400,"m"]', '[true,"m"]', "[1,2]", '[9e99,"m"]', "[" * 10_000, '{"a":1}'):
            status, answer = daemon.request("GET", path, query={"cursor": wrong})
            assert (status, answer["error"]["field"]) == (422, "cursor"), (path, wrong[:20])

    first = daemon.get("/memories", kind="episode", limit=2)
    assert [one["id"] for one in first["items"]] == [ids[4], ids[3]]
    daemon.request("DELETE", f"/memories/{ids[3]}")
    second = daemon.get("/memories", kind="episode", limit=2, cursor=first["next"])
    assert ([one["id"] for one in second["items"]], second["total"]) == ([ids[2], ids[1]], 4)


def test_unicode_normalization_of_keys_and_paths(daemon: RunningDaemon) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    [one] = daemon.post("/memories", {"kind": "fact", "key": composed, "value": "open"})["ids"]
    [other] = daemon.post("/memories", {"kind": "fact", "key": decomposed, "value": "closed"})["ids"]
    assert one == other
    for key in (composed, decomposed):
        assert daemon.get("/facts", key=key)["fact"]["value"] == "closed"

    daemon.request("PUT", "/documents/reference/caf%C3%A9", {"content": "x"})
    for prefix in (composed, decomposed):
        assert daemon.get("/documents", prefix=f"/reference/{prefix}")["total"] == 1


def test_moved_repository_keeps_its_memories(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    [kept] = daemon.post("/memories", {"kind": "fact", "content": "Baskets hold ten", "project": str(shop)})["ids"]
    there = shop.rename(shop.with_name("store"))

    moved = daemon.add(there)

    assert (moved["id"], moved["name"], moved["path"]) == (project["id"], "store", str(there))
    assert daemon.get("/projects")["total"] == 1
    found = daemon.post("/search", {"project": str(there), "query": "baskets hold"})
    assert kept in [one["id"] for one in found["results"]]
    predicted = daemon.post("/context/predict", {"project": str(there), "file_opened": "shop/basket.py"})
    assert "shop/checkout.py" in [one["path"] for one in predicted["predicted_files"]]
    (there / "shop/till.py").write_text("def till() -> None: ...\n")  # it is watched where it is now
    daemon.wait_until(
        lambda: "till.py" in daemon.get("/context", project=str(there), query="till")["context"],
        within=60,
        what="see the new file",
    )
