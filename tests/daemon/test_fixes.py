"""An error, a change, a pass: when the error recurs, the change is shown with it; through the real commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git

PRICE = """def total(items):
    return sum(item["{key}"] for item in items)


def taxed(items):
    return sum(item["{tax}"] for item in items)
"""
CHECK = "from shop.price import taxed, total\n\nprint(total([{'cost': 3}]), taxed([{'cost': 3}]))\n"
SEEN = 60.0  # seconds until a daemon on a busy machine has looked into what happened


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    files = {"shop/price.py": PRICE.format(key="price", tax="cost"), "check.py": CHECK, ".gitignore": "__pycache__\n"}
    commit(root, "Start the shop", {**files, "shop/__init__.py": "", "README.md": "A shop.\n"})
    return root


class Work:
    """Developer in a repository: runs commands, changes files, reads the context."""

    def __init__(self, daemon: RunningDaemon, root: Path, *command: str) -> None:
        self._daemon = daemon
        self._root = root
        self._command = command or (sys.executable, "-B", "check.py")

    def run(self) -> int:
        words = [sys.executable, "-m", "hunchd.cli", "run", "--", *self._command]
        return subprocess.run(words, cwd=self._root, capture_output=True, check=False).returncode

    def error(self) -> dict[str, Any] | None:
        """Return the error that is shown first beside the current file."""
        asked = {"project": str(self._root), "file": "shop/price.py"}
        items = [item for item in self._daemon.get("/context", **asked)["items"] if item["tier"] == 1]
        return items[0] if items and items[0]["kind"] == "error" else None

    def fails(self) -> dict[str, Any]:
        """Run a failing command; return the error once it is shown and the tree was inspected."""
        heard = self._heard()
        assert self.run() != 0
        self._daemon.wait_until(lambda: self._heard() != heard, within=SEEN, what="look at the tree")
        error = self.error()
        assert error is not None
        return error

    def passes(self, fixes: int) -> list[dict[str, Any]]:
        """Run a passing command; return the known fixes once there are that many."""
        heard = self._heard()
        assert self.run() == 0
        self._daemon.wait_until(lambda: self._heard() != heard, within=SEEN, what="look at the tree")
        assert self.error() is None
        assert len(self.fixes()) == fixes
        return self.fixes()

    def fixes(self) -> list[dict[str, Any]]:
        items = self._daemon.get("/memories", project=str(self._root), kind="error", limit=100)["items"]
        return [item for item in items if "fix" in item["tags"]]

    def save(self, path: str, text: str) -> None:
        (self._root / path).write_text(text)

    def _heard(self) -> Any:
        """Return the error that was processed last, once that is done."""
        files = list(self._daemon.places.cache.rglob("runs.json"))
        return json.loads(files[0].read_text())["until"] if files else None


@pytest.fixture
def work(daemon: RunningDaemon, shop: Path) -> Work:
    daemon.add(shop)
    return Work(daemon, shop)


@pytest.mark.slow
def test_recurring_error_shows_its_fix(work: Work, shop: Path, daemon: RunningDaemon) -> None:
    assert "fixed" not in str(work.fails()["reasons"])
    work.save("shop/price.py", PRICE.format(key="cost", tax="cost"))
    work.save("README.md", "A shop.\n")
    [fix] = work.passes(fixes=1)
    assert '-    return sum(item["price"] for item in items)' in fix["content"]
    assert '+    return sum(item["cost"] for item in items)' in fix["content"]
    assert fix["links"] == [{"type": "fixes", "ref": fix["links"][0]["ref"]}]
    kept = daemon.get(f"/memories/{fix['links'][0]['ref']}")
    assert {"type": "fixed_by", "ref": fix["id"]} in kept["links"]

    sha = commit(shop, "Items have a cost, not a price", {})
    daemon.wait_until(
        lambda: {"type": "commit", "ref": sha} in work.fixes()[0]["artifacts"], within=SEEN, what="name the commit"
    )
    git(shop, "commit", "-q", "--amend", "-m", "Items have a cost")
    sha = git(shop, "rev-parse", "HEAD").strip()
    daemon.wait_until(
        lambda: {"type": "commit", "ref": sha} in work.fixes()[0]["artifacts"], within=SEEN, what="name the new commit"
    )
    assert work.fixes()[0]["source"]["subject"] == "Items have a cost"
    daemon.restart()
    daemon.wait_until(lambda: daemon.get("/projects")["items"][0]["state"] == "ready", within=60, what="be ready")

    work.save("shop/price.py", "# One\n# line\n# more\n\n" + PRICE.format(key="price", tax="cost"))
    work.fails()
    told = f"fixed before by {sha[:7]} in shop/price.py: helped 1 of 1"
    # After a start the store is read in the background.
    daemon.wait_until(lambda: told in str(work.error()), within=SEEN, what="show the fix")
    assert told in daemon.get("/context", project=str(shop), file="shop/price.py")["context"]

    work.save("shop/price.py", PRICE.format(key="cost", tax="cost"))
    [fix] = work.passes(fixes=1)
    assert fix["value"] == "2/2"


def test_other_error_of_type_shows_no_fix(work: Work) -> None:
    work.fails()
    work.save("shop/price.py", PRICE.format(key="cost", tax="cost"))
    work.passes(fixes=1)

    work.save("shop/price.py", PRICE.format(key="cost", tax="price"))
    other = work.fails()

    assert "KeyError" in str(other)
    assert not any(reason.startswith("fixed") for reason in other["reasons"])


def test_failed_fix_loses_confidence(work: Work) -> None:
    work.fails()
    work.save("shop/price.py", PRICE.format(key="cost", tax="cost"))
    [sure] = work.passes(fixes=1)

    work.save("shop/price.py", PRICE.format(key="price", tax="cost"))
    work.fails()
    work.save("shop/price.py", "# Nothing of use\n" + PRICE.format(key="price", tax="cost"))
    assert work.fails()["reasons"][0] == "fixed before in shop/price.py: helped 1 of 2"
    assert work.fixes()[0]["confidence"] < sure["confidence"]


def test_similar_fix_commit_is_shown_until_forgotten(work: Work, shop: Path, daemon: RunningDaemon) -> None:
    good = PRICE.format(key="cost", tax="cost")
    sha = commit(shop, "Fix KeyError: 'price' in total(), items have a cost", {"shop/price.py": good})
    work.save("shop/price.py", PRICE.format(key="price", tax="cost"))
    work.fails()
    line = f"commit {sha[:7]} fixed a similar error in shop/price.py"
    daemon.wait_until(lambda: line in str(work.error()), within=SEEN, what="find the commit")

    error = work.error()
    assert error is not None
    assert error["source"]["likely_fixed_by"] == sha
    [fix] = work.fixes()
    assert fix["confidence"] < 0.3
    asked = {"project": str(shop), "file_opened": "shop/price.py"}
    told = daemon.post("/context/predict", asked)["predicted_memories"]
    assert {error["id"], fix["id"]} <= {one["id"] for one in told}

    daemon.request("DELETE", f"/memories/{fix['id']}")
    assert work.fixes() == []
    [file] = (daemon.places.data / "forgotten-fixes").iterdir()
    assert json.loads(file.read_text()) == [fix["id"]]


@pytest.mark.slow
def test_pytest_fix_is_recalled_for_new_failure(daemon: RunningDaemon, shop: Path) -> None:
    test = "from shop.price import total\n\n\ndef test_total():\n    assert total([{'cost': 3}]) == 3\n"
    files = {"shop/price.py": PRICE.format(key="cost", tax="cost"), "tests/test_price.py": test}
    commit(shop, "Test the price", {**files, "conftest.py": ""})
    daemon.add(shop)
    work = Work(daemon, shop, sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q")
    work.save("shop/price.py", PRICE.format(key="price", tax="cost"))
    work.fails()
    work.save("shop/price.py", PRICE.format(key="cost", tax="cost"))
    work.passes(fixes=1)

    work.save("shop/price.py", "import os\n\nprint(os.sep)\n\n" + PRICE.format(key="price", tax="cost"))
    assert work.fails()["reasons"][0] == "fixed before in shop/price.py: helped 1 of 1"


def test_last_line_recalls_fix_after_restart(work: Work, shop: Path, daemon: RunningDaemon) -> None:
    work.fails()
    work.save("shop/price.py", PRICE.format(key="cost", tax="cost"))
    work.passes(fixes=1)
    told = ["hunch", "error", "--json", "--project", str(shop)]

    def pasted(line: str) -> dict[str, Any]:
        run = subprocess.run(
            [sys.executable, "-m", "hunchd.cli", *told[1:]], input=line.encode(), capture_output=True, check=True
        )
        return dict(json.loads(run.stdout))

    line = "KeyError: 'price'"
    assert pasted(line)["fixed"] == "fixed before in shop/price.py: helped 1 of 1"
    assert "Traceback" in pasted(line)["error"]["content"]
    assert pasted("KeyError: 'cost'")["fix"] is None
    daemon.restart()
    daemon.wait_until(lambda: len(work.fixes()) == 1, within=SEEN, what="know the fix")
    assert pasted(line)["fixed"] == "fixed before in shop/price.py: helped 1 of 1"
