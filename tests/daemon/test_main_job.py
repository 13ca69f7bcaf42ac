"""The main use case from outside: add a repository, request context, and follow what happens."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import commit, git, make_shop

pytestmark = pytest.mark.daemon("shared")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def context(daemon: RunningDaemon, shop: Path, file: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = daemon.get("/context", project=str(shop), file=file, **more)
    return answer


def predicted(daemon: RunningDaemon, shop: Path, **asked: Any) -> list[str]:
    answer = daemon.post("/context/predict", {"project": str(shop), **asked})
    return [file["path"] for file in answer["predicted_files"]]


def found_titles(daemon: RunningDaemon, shop: Path, query: str) -> str:
    results = daemon.post("/search", {"project": str(shop), "query": query, "kinds": ["code"]})["results"]
    return "\n".join(result["title"] for result in results)


def end_helper(daemon: RunningDaemon, module: str) -> None:
    for process in psutil.Process(daemon.pid).children():
        if any(module in word for word in process.cmdline()):
            process.kill()


def stored(daemon: RunningDaemon) -> bool:
    queues = daemon.get("/status")["queues"]
    return queues["journal"] == queues["writer"] == 0


def test_context_contains_cochanged_files_with_reasons(daemon: RunningDaemon, shop: Path) -> None:
    added = daemon.add(shop)
    assert added["progress"]["commits"] == {"done": 9, "total": 9}
    bundle = context(daemon, shop, "shop/basket.py")
    assert bundle["status"] == "ok"
    files = [item["source"]["path"] for item in bundle["items"] if item["kind"] == "file"]
    assert set(files[:2]) == {"shop/checkout.py", "tests/test_basket.py"}
    assert "changed together 8 of 8 times" in bundle["context"]
    assert "uses `Basket` of this file" in bundle["context"]
    assert 0 < bundle["token_count"] <= bundle["budget"]


def test_context_query_returns_related_episodes(daemon: RunningDaemon, shop: Path) -> None:
    commit(shop, "Round prices half to even", {"shop/prices.py": "def rounded(price): ...\n"})
    daemon.add(shop)

    bundle = daemon.get("/context", project=str(shop), query="how are prices rounded, half up or half to even?")
    [episode] = [item for item in bundle["items"] if item["kind"] == "episode"]
    assert episode["reasons"] == ["about the same words"]
    assert "Round prices half to even" in bundle["context"]


def test_context_unchanged_bundle_returns_304(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    first = context(daemon, shop, "shop/basket.py")
    assert context(daemon, shop, "shop/basket.py")["context"] == first["context"]
    status, _ = daemon.request(
        "GET",
        "/context",
        query={"project": str(shop), "file": "shop/basket.py"},
        headers={"If-None-Match": f'"{first["etag"]}"'},
    )
    assert status == 304


def test_context_without_matches_is_empty_bundle(daemon: RunningDaemon, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "note.txt").write_text("hello")
    daemon.add(plain)
    bundle = context(daemon, plain, "note.txt")
    assert (bundle["status"], bundle["context"], bundle["token_count"]) == ("empty", "", 0)


@pytest.mark.daemon("own")
def test_file_open_prefetches_bundle(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    signals = [{"kind": "file_opened", "project": str(shop), "path": "shop/basket.py"}]
    assert daemon.post("/signals", {"signals": signals}) == {"accepted": 1, "rejected": []}
    daemon.wait_until(
        lambda: daemon.get("/status")["prefetch"]["built_ahead"] >= 2, within=60, what="build bundles ahead"
    )
    assert context(daemon, shop, "shop/basket.py")["prefetched"]


def test_file_opened_yesterday_is_not_current(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    yesterday = {"at": (datetime.now(UTC) - timedelta(days=1)).isoformat()}
    about = {"project": str(shop), "path": "shop/basket.py"}
    trace = f"Traceback (most recent call last):\n  File \"{shop}/shop/basket.py\", line 3, in add\nKeyError: 'apple'\n"
    error = {"kind": "error", "project": str(shop), "text": trace}

    def in_an_open_file(*signals: dict[str, str]) -> bool:
        daemon.post("/signals", {"signals": signals})
        items = context(daemon, shop, "shop/checkout.py")["items"]
        [item] = [item for item in items if item["kind"] == "error"]
        return "in a file that is open" in item["reasons"]

    today = {"kind": "file_opened", "project": str(shop), "path": "shop/checkout.py"}
    assert in_an_open_file(error, {"kind": "file_opened", **about, **yesterday}), "nothing newer is known"
    assert not in_an_open_file(today)
    assert in_an_open_file({"kind": "file_saved", **about})
    assert not in_an_open_file({"kind": "file_closed", **about})
    assert in_an_open_file({"kind": "file_opened", **about})


def test_expand_topic_lists_its_files(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    assert "basket" in daemon.get("/context", project=str(shop))["context"].partition("## Ask for more")[2]
    assert "## Ask for more" not in context(daemon, shop, "shop/checkout.py")["context"]

    told = daemon.post("/expand", {"topic": "basket", "project": str(shop)})["text"]

    assert "## Files\n- shop/basket.py\n    " in told


def test_open_error_ranks_first_until_cleared(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    trace = f"Traceback (most recent call last):\n  File \"{shop}/shop/basket.py\", line 3, in add\nKeyError: 'apple'\n"
    error = {"kind": "error", "project": str(shop), "text": trace, "command": "pytest"}
    daemon.post("/signals", {"signals": [error, error]})
    bundle = context(daemon, shop, "shop/basket.py")
    [item] = [item for item in bundle["items"] if item["kind"] == "error"]
    assert item["tier"] == 1
    assert "KeyError" in bundle["context"]
    assert "2 times" in bundle["context"]
    assert "(shop/basket.py:3)" in bundle["context"]
    daemon.post("/signals", {"signals": [{"kind": "error_cleared", "project": str(shop), "command": "pytest"}]})
    assert "KeyError" not in context(daemon, shop, "shop/basket.py")["context"]


def test_error_file_without_folder_resolves_by_name(daemon: RunningDaemon, shop: Path) -> None:
    commit(shop, "test checkouts", {"shop/checkout_test.go": "package shop\n"})
    daemon.add(shop)
    text = "--- FAIL: TestPay (0.00s)\n    checkout_test.go:31: expected 1, got 2\nFAIL\nFAIL\tshop/shop\t0.412s\n"
    daemon.post("/signals", {"signals": [{"kind": "error", "project": str(shop), "text": text}]})
    bundle = context(daemon, shop, "shop/checkout_test.go")
    assert "TestPay: expected 1, got 2 (shop/checkout_test.go:31)" in bundle["context"]
    assert any("in this file" in item["reasons"] for item in bundle["items"])


@pytest.mark.parametrize(
    "trace",
    [
        "panic: no price\n\nshop.add(0x1)\n\t{0}/shop/basket.go:3 +0x2a\nmain.main()\n\t{0}/main.go:9 +0x1c\n",
        "TypeError: no price\n    at add (file://{0}/shop/basket.js:3:5)\n    at main (file://{0}/main.js:9:1)\n",
    ],
    ids=["go", "node"],
)
def test_error_location_from_either_trace_end(daemon: RunningDaemon, shop: Path, trace: str) -> None:
    daemon.add(shop)

    daemon.post("/signals", {"signals": [{"kind": "error", "project": str(shop), "text": trace.format(shop)}]})

    [item] = [item for item in context(daemon, shop, "shop/basket.py")["items"] if item["kind"] == "error"]
    assert (item["source"]["path"].rpartition(".")[0], item["source"]["line"]) == ("shop/basket", 3)


def test_watcher_detects_save_commit_checkout(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    saved = "from shop.basket import Basket\n\n\ndef refund(basket: Basket) -> None:\n    pass\n"
    (shop / "shop/checkout.py").write_text(saved)
    daemon.wait_until(lambda: "def refund" in found_titles(daemon, shop, "refund"), within=60, what="see the save")
    commit(shop, "Vouchers", {"shop/voucher.py": "def redeem() -> None:\n    pass\n", "docs/colours.md": "Red.\n"})
    daemon.wait_until(
        lambda: "shop/voucher.py" in predicted(daemon, shop, file_opened="docs/colours.md"),
        within=60,
        what="learn the commit",
    )
    git(shop, "checkout", "-q", "-b", "vouchers")
    daemon.wait_until(
        lambda: daemon.get("/projects")["items"][0]["branch"] == "vouchers", within=60, what="see the checkout"
    )
    assert "branch vouchers" in context(daemon, shop, "shop/basket.py")["context"]


def test_memory_lifecycle_search_edit_forget(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    fact = {"kind": "fact", "project": str(shop), "content": "we use pnpm, not npm", "key": "package manager"}
    [identifier] = daemon.post("/memories", fact)["ids"]
    found = daemon.post("/search", {"project": str(shop), "query": "pnpm"})
    assert [result["id"] for result in found["results"]][:1] == [identifier]
    assert "pnpm" in context(daemon, shop, "shop/basket.py")["context"]
    status, changed = daemon.request("PATCH", f"/memories/{identifier}", {"content": "we use yarn"})
    assert (status, changed["content"]) == (200, "we use yarn")
    history = daemon.get(f"/memories/{identifier}/history")["items"]
    assert [version["content"] for version in history] == ["we use yarn", "we use pnpm, not npm"]
    assert daemon.request("DELETE", f"/memories/{identifier}")[0] in (200, 204)
    assert daemon.request("GET", f"/memories/{identifier}")[0] == 404
    assert "yarn" not in context(daemon, shop, "shop/basket.py")["context"]


@pytest.mark.daemon("own")
def test_accepted_data_survives_kill_and_restart(daemon: RunningDaemon, shop: Path) -> None:
    progress = daemon.add(shop)["progress"]
    facts = [
        {"kind": "fact", "project": str(shop), "content": f"rule number {n}", "key": f"rule {n}", "ref": f"r{n}"}
        for n in range(20)
    ]
    ids = daemon.post("/memories", {"memories": facts})["ids"]
    daemon.kill()
    daemon.start()
    daemon.wait_until(lambda: stored(daemon), within=30, what="take up the journal")
    assert daemon.post("/memories", {"memories": facts})["ids"] == ids
    listed = daemon.get("/memories", project=str(shop), kind="fact", limit=100)
    assert sorted(ids) == sorted(item["id"] for item in listed["items"] if item["ref"].startswith("r"))
    again = daemon.get("/projects")["items"][0]["progress"]
    assert [again[what] for what in ("commits", "files")] == [progress[what] for what in ("commits", "files")]
    # What changed meanwhile is read in the background, and the answer says so until then.
    daemon.wait_until(lambda: context(daemon, shop, "shop/basket.py")["status"] == "ok", within=30, what="read it")


@pytest.mark.daemon("own")
def test_metrics_follow_events(daemon: RunningDaemon, shop: Path) -> None:
    before = daemon.add(shop)["progress"]

    def counts(commits: int) -> bool:
        status = daemon.get("/status")
        now = status["projects"][0]["progress"]
        more = [now[what]["done"] - before[what]["done"] for what in ("commits", "files")]
        rows = status["store"]["rows"]
        return more == [commits, 1] and now["embeddings"] == {"done": rows, "total": rows}

    git(shop, "checkout", "-q", "-b", "side", "HEAD~2")
    commit(shop, "A till on the side", {"shop/till.py": "def ring() -> None: ...\n"})
    daemon.wait_until(lambda: counts(1), within=30, what="count a commit and its file")
    git(shop, "checkout", "-q", "main")
    commit(shop, "A till", {"shop/till.py": "def ring() -> int: ...\n"})
    daemon.wait_until(lambda: counts(2), within=30, what="count what main had before once")


def test_removed_project_leaves_no_bytes(daemon: RunningDaemon, shop: Path) -> None:
    added = daemon.add(shop)
    canary = "the-zebra-rule-4711"
    rule = {"kind": "fact", "project": str(shop), "content": canary, "key": "zebra"}
    kept = daemon.post("/memories", rule)["ids"]
    rule = {"kind": "decision", "content": "baskets are counted in basket.py", "source": {"path": f"{canary}.py"}}
    daemon.post("/memories", {**rule, "project": str(shop)})
    daemon.wait_until(lambda: stored(daemon), within=30, what="store the memory")
    joined = {"kind": "collaborator_joined", "project": str(shop), "name": canary}
    daemon.post("/signals", {"signals": [joined]})
    assert {"decision", "collaborator"} <= {item["kind"] for item in context(daemon, shop, "shop/basket.py")["items"]}
    daemon.post("/feedback", {"items": [{"id": item, "outcome": "wrong", "note": f"not {canary}"} for item in kept]})
    opened = {"kind": "file_opened", "project": str(shop), "path": f"{canary}.py"}
    daemon.post("/signals", {"signals": [opened]})
    daemon.post("/consolidate", {"steps": ["use"]})
    status, _ = daemon.request("DELETE", f"/projects/{added['id']}")
    assert status in (200, 204)
    holding = [path for path in daemon.home.rglob("*") if path.is_file() and canary.encode() in path.read_bytes()]
    assert holding == []
    assert daemon.get("/projects")["items"] == []


def test_removed_project_folder_is_reported(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    shop.rename(shop.with_name("elsewhere"))
    daemon.wait_until(lambda: daemon.get("/projects")["items"][0]["state"] == "missing", within=60, what="notice")
    assert context(daemon, shop, "shop/basket.py")["status"] == "degraded"
    asked = {"project": str(shop), "file_opened": "shop/basket.py"}
    assert "is not there" in daemon.post("/context/predict", asked)["degraded"][0]
    found = daemon.post("/search", {"project": str(shop), "query": "quaternions"})
    assert (found["results"], found["status"]) == ([], "degraded")
    assert any("is not there" in told for told in found["degraded"])
    shop.with_name("elsewhere").rename(shop)
    daemon.wait_until(lambda: daemon.get("/projects")["items"][0]["state"] == "ready", within=60, what="find it again")
    assert context(daemon, shop, "shop/basket.py")["status"] == "ok"


# What root may read in spite of a folder's permissions, this root may not.
_UNPRIVILEGED = ("setpriv", *(f"--{which}=-dac_override,-dac_read_search" for which in ("inh-caps", "bounding-set")))


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
def test_unreadable_project_folder_is_reported(hunchd_home: Path, shop: Path) -> None:
    wrapper = _UNPRIVILEGED if os.geteuid() == 0 else ()
    with running_daemon(hunchd_home, wrapper=wrapper) as daemon:
        daemon.add(shop)
        for shut in (shop, shop.parent):  # not listed, and not even looked at
            shut.chmod(0)
            try:
                assert daemon.get("/projects")["items"][0]["state"] == "missing"
                assert daemon.get("/status")["degraded"][0].startswith(f"{shop} ")
                assert context(daemon, shop, "shop/basket.py")["status"] == "degraded"
                added = daemon.request("POST", "/projects", {"path": str(shop / "shop")})
                assert (added[0], added[1]["error"]["field"]) == (422, "path")
            finally:
                shut.chmod(0o700)
            daemon.wait_until(
                lambda: daemon.get("/projects")["items"][0]["state"] == "ready", within=60, what="find it again"
            )
        other = shop.with_name("other")
        other.mkdir(0)
        told = daemon.request("POST", "/projects", {"path": str(other)})[1]["error"]
        assert (told["field"], told["message"]) == ("path", f"{other} cannot be read")
        assert context(daemon, shop, "shop/basket.py")["status"] == "ok"


@pytest.mark.daemon("own")
def test_late_project_folder_is_indexed_on_arrival(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    daemon.stop()
    shutil.rmtree(daemon.places.cache)  # or there is nothing to read
    shop.rename(shop.with_name("elsewhere"))
    daemon.start()
    assert daemon.get("/projects")["items"][0]["state"] == "missing"
    shop.with_name("elsewhere").rename(shop)
    daemon.wait_until(lambda: daemon.get("/projects")["items"][0]["state"] == "ready", within=60, what="read it")
    assert context(daemon, shop, "shop/basket.py")["status"] == "ok"


def test_stalled_index_reports_step_and_is_incomplete(hunchd_home: Path, tmp_path: Path, shop: Path) -> None:
    gate, slow = tmp_path / "gate", tmp_path / "bin" / "git"
    slow.parent.mkdir()
    waits = f'case "$*" in *rev-list*) while [ ! -e "{gate}" ]; do sleep 0.05; done;; esac'
    slow.write_text(f'#!/bin/sh\n{waits}\nexec "{shutil.which("git")}" "$@"\n')
    slow.chmod(0o700)
    path = f"{slow.parent}{os.pathsep}{os.environ['PATH']}"
    with running_daemon(hunchd_home, environment={"PATH": path}) as daemon:
        daemon.post("/projects", {"path": str(shop)})

        def silent() -> int:
            [project] = daemon.get("/status")["projects"]
            assert project["state"] == "indexing"
            assert project["reading"]["step"] in ("asked for", "model")  # the first model needs no counting
            return int(project["reading"]["silent_seconds"]) if project["reading"]["step"] == "model" else 0

        daemon.wait_until(silent, within=30, what="count the seconds")
        end_helper(daemon, "indexer_process")

        def failed() -> bool:
            status = daemon.get("/status")
            assert status["projects"][0]["state"] == "indexing"  # another one is asked: nothing is read yet
            return any(task["failures"] for task in status["tasks"])

        daemon.wait_until(failed, within=30, what="notice that its helper ended")
        gate.touch()
        assert "reading" not in daemon.add(shop)


@pytest.mark.daemon("own")
def test_stop_leaves_no_process_or_rendezvous(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    assert daemon.stop() == 0
    assert not daemon.places.rendezvous_file.exists()
    assert not daemon.places.socket_file.exists()


@pytest.mark.daemon("own")
def test_root_and_home_are_rejected_as_project(daemon: RunningDaemon, shop: Path) -> None:
    home = Path.home()
    home.mkdir(parents=True, exist_ok=True)
    for everything, what in ((Path("/"), "the root of the file system"), (home, "your home folder")):
        status, answer = daemon.request("POST", "/projects", {"path": str(everything)})
        assert (status, answer["error"]["field"]) == (422, "path")
        assert answer["error"]["message"].startswith(f"{everything} is {what}")
        assert answer["error"]["hint"] == "specify a git working tree or a folder inside one"
    status, answer = daemon.request("POST", "/projects", {"path": "~nobody-is-called-so/notes"})
    assert (status, answer["error"]["message"]) == (422, "'path' must be absolute")
    assert daemon.get("/projects")["total"] == 0

    notes = home / "notes"
    notes.mkdir()
    assert daemon.post("/projects", {"path": str(notes)})["path"] == str(notes)
    git(home, "init", "-q")  # a repository of settings: what counts is what it does not ignore
    assert daemon.post("/projects", {"path": str(home)})["path"] == str(home)


@pytest.mark.parametrize("route", ["put away", "forget"])
def test_hidden_past_work_stays_hidden(daemon: RunningDaemon, shop: Path, route: str) -> None:
    daemon.add(shop)

    def list_episodes() -> list[str]:
        items = context(daemon, shop, "shop/basket.py", query="items of the basket")["items"]
        return [item["id"] for item in items if item["kind"] == "episode"]

    daemon.wait_until(lambda: stored(daemon), within=30, what="store the past work")
    [hidden, *_] = list_episodes()
    if route == "forget":
        status, _ = daemon.request("DELETE", f"/memories/{hidden}")
    else:
        status, _ = daemon.request("PATCH", f"/memories/{hidden}", {"status": "archived"})
    assert status < 300

    assert hidden not in list_episodes()
    daemon.restart()
    assert hidden not in list_episodes()
    if route == "put away":
        daemon.request("PATCH", f"/memories/{hidden}", {"status": "active"})
        assert hidden in list_episodes()


@pytest.mark.daemon("own")
def test_forgotten_past_work_is_not_indexed_again(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)
    [forgotten, *_] = [one["id"] for one in daemon.get("/memories", kind="episode")["items"]]
    assert daemon.request("DELETE", f"/memories/{forgotten}")[0] < 300

    daemon.stop()
    shutil.rmtree(daemon.places.cache)
    daemon.start()
    daemon.add(shop)

    assert daemon.request("GET", f"/memories/{forgotten}")[0] == 404
    assert forgotten not in [one["id"] for one in daemon.get("/memories", kind="episode")["items"]]
