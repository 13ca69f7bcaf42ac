"""Amended or rebased work keeps its memory, under its new commits, and counts once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hunchd.ingestion.episodes import make_episode_id
from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git, make_shop

pytestmark = pytest.mark.daemon("shared")

PATIENCE = 60.0  # seconds


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The shop repository, with five commits on a branch beside one more on main."""
    root = make_shop(tmp_path / "shop")
    git(root, "checkout", "-q", "-b", "refunds")
    for number in range(5):
        commit(root, f"Refunds, part {number}", {"shop/refund.py": f"PART = {number}\n", f"docs/{number}.md": "x\n"})
    git(root, "checkout", "-q", "main")
    commit(root, "Colours: red", {"docs/colours.md": "# Colours\n\nRed.\n"})
    git(root, "checkout", "-q", "refunds")
    return root


def branch_commits(root: Path) -> list[str]:
    return git(root, "rev-list", "--reverse", "main..HEAD").split()


def episodes(daemon: RunningDaemon, project: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the episodes about refunds, by title."""
    found = daemon.get("/memories", project=project["path"], kind="episode", limit=100)["items"]
    titles = [one["title"] for one in found]
    assert len(titles) == len(set(titles)), titles
    return {one["title"]: one for one in found if "Refunds" in one["title"]}


def has_moved(daemon: RunningDaemon, project: dict[str, Any], new: list[str]) -> bool:
    wanted = {make_episode_id(project["id"], sha) for sha in new}
    found = daemon.get("/memories", project=project["path"], kind="episode", limit=100)["items"]
    return {one["id"] for one in found if "Refunds" in one["title"]} == wanted


def times_together(daemon: RunningDaemon, project: dict[str, Any]) -> list[str]:
    answer = daemon.post("/context/predict", {"project": project["path"], "file_opened": "shop/refund.py"})
    return sorted(reason for file in answer["predicted_files"] for reason in file["reasons"] if "together" in reason)


def test_rebase_moves_episodes_with_usage(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="keep the episodes")
    before, counted = episodes(daemon, project), times_together(daemon, project)
    cited = before["Refunds, part 2"]["id"]
    daemon.post("/feedback", {"items": [{"id": cited, "outcome": "cited"}]})
    git(shop, "rebase", "-q", "main")
    new = branch_commits(shop)

    daemon.wait_until(lambda: has_moved(daemon, project, new), within=PATIENCE, what="move the episodes")

    after = episodes(daemon, project)
    assert after["Refunds, part 2"]["usage"]["cited"] == 1
    assert after["Refunds, part 2"]["ref"] == f"commit:{new[2]}"
    assert after["Refunds, part 2"]["at"] == before["Refunds, part 2"]["at"]
    assert times_together(daemon, project) == counted
    for title in ("Refunds, part 1", "Refunds, part 2"):  # one that lay in the store, one that was at hand
        assert daemon.request("GET", f"/memories/{before[title]['id']}")[0] == 404


def test_paused_rebase_is_learned_when_finished(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="keep the episodes")
    known = project["progress"]["commits"]["done"]
    todo = "sed -i -e '5d' -e '3s/$/\\nbreak/'"  # the last commit is dropped; git stops between the others
    run(["git", "rebase", "-q", "-i", "main"], shop, GIT_SEQUENCE_EDITOR=todo)
    assert git(shop, "branch", "--show-current") == ""
    for number in range(300):  # so many at once that the daemon looks at everything anew
        (shop / f"note{number}.md").write_text("x\n")
    daemon.wait_until(
        lambda: daemon.get("/projects")["items"][0]["progress"]["files"]["done"] > 300,
        within=PATIENCE,
        what="read them",
    )
    assert set(episodes(daemon, project)) == {f"Refunds, part {number}" for number in range(5)}
    git(shop, "rebase", "--continue")

    new = branch_commits(shop)
    daemon.wait_until(lambda: has_moved(daemon, project, new), within=PATIENCE, what="move the episodes")

    assert set(episodes(daemon, project)) == {f"Refunds, part {number}" for number in range(4)}
    # Main had one that the branch had not; the dropped one counts where it was learnt before the rebase.
    assert daemon.get("/projects")["items"][0]["progress"]["commits"]["done"] in (known, known + 1)


def test_reset_removes_and_restores_episodes(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="keep the episodes")
    git(shop, "reset", "-q", "--hard", "HEAD~2")
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 3, within=PATIENCE, what="drop two episodes")

    git(shop, "reset", "-q", "--hard", "ORIG_HEAD")

    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="have them back")


@pytest.mark.parametrize("meanwhile", ["running", "stopped"])
def test_deepened_shallow_clone_is_learned_completely(
    daemon: RunningDaemon, shop: Path, tmp_path: Path, meanwhile: str
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{shop}", str(clone))
    assert daemon.add(clone)["progress"]["commits"]["done"] == 2
    if meanwhile == "stopped":
        daemon.stop()
    git(clone, "fetch", "-q", "--unshallow")
    if meanwhile == "stopped":
        daemon.start()

    every = len(git(clone, "rev-list", "HEAD").split())
    daemon.wait_until(
        lambda: daemon.get("/projects")["items"][0]["progress"]["commits"]["done"] == every,
        within=PATIENCE,
        what="learn what is older",
    )


def test_rewritten_and_pruned_history_drops_old_episodes(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="keep the episodes")
    daemon.stop()
    script = "git fast-export --all | sed 's/^author Ada/author Eve/' | git fast-import --force --quiet"
    run(["sh", "-c", script], shop)
    git(shop, "reset", "-q", "--hard")
    git(shop, "reflog", "expire", "--expire=now", "--all")
    git(shop, "gc", "-q", "--prune=now")

    daemon.start()

    daemon.wait_until(lambda: has_moved(daemon, project, branch_commits(shop)), within=PATIENCE, what="read it anew")
    found = daemon.get("/memories", project=project["path"], kind="episode", limit=100)["items"]
    assert {one["ref"] for one in found} == {f"commit:{sha}" for sha in git(shop, "rev-list", "HEAD").split()}


@pytest.mark.slow
def test_amended_commit_keeps_episode_with_new_title(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="keep the episodes")
    git(shop, "commit", "-q", "--amend", "-m", "Refunds, the last part")

    new = branch_commits(shop)
    daemon.wait_until(lambda: has_moved(daemon, project, new), within=PATIENCE, what="move the episode")

    assert {*episodes(daemon, project)} == {
        *(f"Refunds, part {number}" for number in range(4)),
        "Refunds, the last part",
    }


@pytest.mark.slow
@pytest.mark.daemon("own")
def test_hooks_report_squash_without_daemon(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    daemon.wait_until(lambda: len(episodes(daemon, project)) == 5, within=PATIENCE, what="keep the episodes")
    run([sys.executable, "-m", "hunchd.cli", "hooks", "install"], shop)
    git(shop, "branch", "published")  # so that the old commits are not simply gone
    daemon.stop()
    run(["git", "rebase", "-q", "-i", "main"], shop, GIT_SEQUENCE_EDITOR="sed -i '2,$s/^pick/fixup/'")
    (new,) = branch_commits(shop)

    daemon.start()

    daemon.wait_until(lambda: has_moved(daemon, project, [new]), within=PATIENCE, what="move the episodes")


def run(command: list[str], folder: Path, **environment: str) -> None:
    subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.daemon("own")
def test_hook_and_watcher_events_are_deduplicated(daemon: RunningDaemon, shop: Path) -> None:
    project = daemon.add(shop)
    run([sys.executable, "-m", "hunchd.cli", "hooks", "install"], shop)
    old = git(shop, "rev-parse", "HEAD")
    git(shop, "commit", "-q", "--amend", "-m", "Refunds, the last part")
    new = git(shop, "rev-parse", "HEAD")

    def told() -> list[dict[str, Any]]:
        _, text = daemon.request("GET", "/export", query={"project": project["id"]})
        lines = [json.loads(line) for line in str(text).splitlines()]
        signals = [line["data"].get("data", line["data"]) for line in lines if line["type"] == "signal"]
        return [one for one in signals if one["kind"] in ("rewrite", "commit")]

    # The hooks' letters are taken in the order they were written: the rewrite's is the last.
    daemon.wait_until(lambda: not (daemon.places.spool / "lines").exists(), within=PATIENCE, what="empty its letterbox")
    daemon.wait_until(lambda: {"rewrite"} <= {one["kind"] for one in told()}, within=PATIENCE, what="keep the signals")
    git(shop, "commit", "-q", "--allow-empty", "-m", "One more")
    last = git(shop, "rev-parse", "HEAD")
    daemon.wait_until(
        lambda: any(one.get("sha") == last for one in told()), within=PATIENCE, what="see the last commit"
    )

    rewrites = [(one["old"], one["new"]) for one in told() if one["kind"] == "rewrite"]
    assert rewrites == [(old, new)]
    shas = [one["sha"] for one in told() if one["kind"] == "commit"]
    assert len(shas) == len(set(shas))
