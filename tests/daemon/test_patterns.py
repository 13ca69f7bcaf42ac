"""Patterns end to end: mined when quiet, shown where relevant, found, explained, exported, forgotten."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hunchd.daemon.mining import mine_project
from hunchd.protocol.indexing_messages import ProjectRequest
from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import commit, git

MINED = 60.0  # seconds until a daemon on a busy machine has looked for patterns
QUIET = "[index]\npatterns_idle_seconds = 0.1\n"
COMMAND = '''"""The command {name}."""

from shop.registry import shop_command
from shop.stock import UnknownItem, Warehouse


@shop_command("{name}")
def {name}_command(warehouse: Warehouse, arguments):
    item = warehouse.item_called(arguments.item)
    if item is None:
        raise UnknownItem(arguments.item)
    warehouse.{name}_item(item, arguments.amount)
    return warehouse.receipt_for(item)
'''
STOCK = """class UnknownItem(Exception):
    pass


class Warehouse:
    def item_called(self, name):
        return name

    def receipt_for(self, item):
        return item
"""
NAMES = ("buy", "sell", "count", "move", "reserve")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Project with several commands, each registered in the commit that adds it."""
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "A shop", {"shop/stock.py": STOCK, "shop/registry.py": "def shop_command(name): ...\n"})
    for number, name in enumerate(NAMES):
        registered = "".join(f"# {known}\n" for known in NAMES[: number + 1])
        files = {f"shop/commands/{name}.py": COMMAND.format(name=name), "shop/registry.py": registered}
        commit(root, f"A command to {name} things", files)
    return root


def test_partial_clone_patterns_without_history(tmp_path: Path, shop: Path) -> None:
    git(shop, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{shop}", "partial")

    [*_, told] = mine_project(
        ProjectRequest(folder=str(tmp_path / "partial"), cache_file=str(tmp_path / "patterns.json"))
    )

    assert any("shop_command" in pattern.title for pattern in told.patterns)


@pytest.fixture
def daemon(tmp_path: Path, shop: Path) -> Iterator[RunningDaemon]:
    with running_daemon(tmp_path / "home", settings=QUIET) as daemon:
        daemon.add(shop)
        daemon.wait_until(lambda: patterns_of(daemon, shop), within=MINED, what="find patterns")
        yield daemon


def patterns_of(daemon: RunningDaemon, root: Path) -> list[dict[str, Any]]:
    found = daemon.get("/memories", project=str(root), kind="pattern")["items"]
    return [one for one in found if one["status"] == "active"]


def hints(daemon: RunningDaemon, root: Path, file: str) -> list[dict[str, Any]]:
    items = daemon.get("/context", project=str(root), file=file)["items"]
    return [item for item in items if item["kind"] == "pattern"]


def test_pattern_is_shown_where_relevant(daemon: RunningDaemon, shop: Path) -> None:
    pattern = patterns_of(daemon, shop)[0]

    # What it is: its instances, where a new one goes and what changes with it.
    assert pattern["title"] == "functions with @shop_command named …_command"
    assert all(f"shop/commands/{name}.py:8" in pattern["content"] for name in NAMES)
    assert pattern["source"]["place"]["folder"] == "shop/commands"
    companions = [(one["target"], one["times"], one["of"]) for one in pattern["source"]["companions"]]
    assert companions == [("shop/registry.py", 5, 5)]

    # In the context of files where it lives, and of no other.
    shown = hints(daemon, shop, "shop/commands/buy.py")
    assert [item["id"] for item in shown] == [pattern["id"]]
    assert f"hunch show {pattern['id']}" in shown[0]["reasons"]
    assert hints(daemon, shop, "shop/registry.py") == []

    # For a question that speaks of such code, and not for one that has words in common with its lines.
    def asked(query: str) -> list[str]:
        bundle = daemon.get("/context", project=str(shop), query=query)
        return [item["id"] for item in bundle["items"] if item["kind"] == "pattern"]

    assert asked("one more command of the shop") == [pattern["id"]]
    assert asked("item amount of arguments in the warehouse") == []

    # Predicted for a new file, with what changed when others like it were new.
    told = daemon.post("/context/predict", {"project": str(shop), "file_opened": "shop/commands/refund.py"})
    assert pattern["id"] in [one["id"] for one in told["predicted_memories"]]
    registry = next(one for one in told["predicted_files"] if one["path"] == "shop/registry.py")
    assert "5 of 5" in registry["reasons"][0]

    # Found by words, expanded by its id.
    found = daemon.post("/search", {"project": str(shop), "query": "shop command", "kinds": ["pattern"]})
    whole = daemon.post("/expand", {"id": pattern["id"], "project": str(shop), "level": "full"})
    assert pattern["id"] in [one["id"] for one in found["results"]]
    assert whole["text"] == pattern["content"]


@pytest.mark.slow
def test_forgotten_pattern_is_not_mined_again(daemon: RunningDaemon, shop: Path) -> None:
    pattern = patterns_of(daemon, shop)[0]
    others = len(patterns_of(daemon, shop)) - 1

    assert daemon.request("DELETE", f"/memories/{pattern['id']}")[0] in (200, 204)
    mined = daemon.log.count(" patterns, ")
    daemon.restart()
    daemon.wait_until(lambda: daemon.log.count(" patterns, ") > mined, within=MINED, what="look again")

    assert pattern["id"] not in [one["id"] for one in patterns_of(daemon, shop)]
    assert len(patterns_of(daemon, shop)) == others
    assert hints(daemon, shop, "shop/commands/buy.py") == []


@pytest.mark.slow
def test_patterns_export_and_project_erasure(daemon: RunningDaemon, shop: Path) -> None:
    pattern = patterns_of(daemon, shop)[0]
    exported = daemon.request("GET", "/export")[1]
    project = daemon.get("/projects")["items"][0]

    assert pattern["id"] in exported
    assert daemon.request("DELETE", f"/projects/{project['id']}")[0] in (200, 204)
    assert daemon.request("GET", f"/memories/{pattern['id']}")[0] == 404
    held = (path for path in daemon.home.rglob("*") if path.is_file() and path.suffix != ".log")
    assert not any(b"shop_command" in path.read_bytes() for path in held)


def test_project_erasure_stops_miner(tmp_path: Path, shop: Path) -> None:
    for number in range(1500):
        (shop / f"shop/commands/more_{number}.py").write_text(COMMAND.format(name=f"more_{number}"))
    with running_daemon(tmp_path / "home", settings=QUIET) as daemon:
        identifier = daemon.add(shop)["id"]
        folder = daemon.places.cache / "projects" / identifier
        daemon.wait_until(lambda: any(folder.glob("patterns.json*")), within=MINED, what="look for patterns")
        assert daemon.request("DELETE", f"/projects/{identifier}")[0] in (200, 204)
        daemon.wait_until(lambda: not any(folder.rglob("*")), within=MINED, what="remove what was computed")
        daemon.wait_until(lambda: miners(daemon) == [], within=MINED, what="let the miner go")
        assert not any(folder.rglob("*"))


def miners(daemon: RunningDaemon) -> list[int]:
    children = subprocess.run(["pgrep", "-P", str(daemon.pid), "-f", "mining_process"], capture_output=True, text=True)
    return [int(line) for line in children.stdout.split()]
