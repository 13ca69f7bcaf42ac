"""Commands reported by a shell become a habit, a habit becomes a prediction: through the real daemon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git

LEARNT = 30.0  # seconds until habits were looked for
MINUTE = timedelta(minutes=1)


class Shell:
    """User at a prompt: each command is reported, a minute after the one before."""

    def __init__(self, daemon: RunningDaemon, root: Path, at: datetime) -> None:
        self.daemon = daemon
        self.root = root
        self.at = at

    def types(self, *commands: str, exit_code: int = 0) -> None:
        signals = []
        for command in commands:
            self.at += MINUTE
            told = {"command": command, "exit_code": exit_code, "duration_ms": 5, "source": "shell"}
            at = {"project": str(self.root), "at": self.at.isoformat()}
            signals.append({"kind": "command_finished", **told, **at})
        answer = self.daemon.post("/signals", {"signals": signals})
        assert answer["accepted"] == len(commands), answer

    def rests(self) -> None:
        self.at += timedelta(hours=2)

    def workflows(self) -> list[dict[str, Any]]:
        """Return the stored habits, as memories."""
        page = self.daemon.get("/memories", project=str(self.root), kind="workflow", limit=100)
        return [one for one in page["items"] if "habit" in one["tags"]]


@pytest.fixture
def shell(daemon: RunningDaemon, tmp_path: Path) -> Shell:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start the shop", {"shop.py": "PRICE = 3\n", "Makefile": "lint:\n\truff check .\n"})
    daemon.add(root)
    return Shell(daemon, root, datetime.now(UTC) - timedelta(days=2))


def works(shell: Shell, times: int) -> None:
    """Release a new version repeatedly, with other commands in between."""
    around = ("ls", "htop", "git log", "cat README.md", "df -h", "make lint")
    for number in range(times):
        shell.types(around[number % 6], f"{('vim', 'code', 'less')[number % 3]} src/part{number}.py")
        shell.types(f'git commit -m "version {number}"', around[(number + 3) % 6], f"git tag v1.{number}.0")
        shell.types("python -m build", *around[number % 4 : number % 4 + number % 2])
        shell.types(f"twine upload dist/shop-1.{number}.0.tar.gz")
        shell.rests()


def learns(shell: Shell) -> dict[str, Any]:
    works(shell, 6)
    shell.daemon.wait_until(lambda: shell.workflows(), within=LEARNT, what="learn a habit")
    [habit] = shell.workflows()
    return habit


def test_recurring_commands_become_predicted_workflow(daemon: RunningDaemon, shell: Shell) -> None:
    habit = learns(shell)

    assert habit["title"] == "git commit -m <msg> → git tag <version> → python -m build → twine upload <path>"
    assert habit["source"]["runs"] == 6
    assert "4. twine upload <path>   e.g. twine upload dist/shop-1.5.0.tar.gz" in habit["content"]
    found = daemon.post("/search", {"project": str(shell.root), "query": "twine upload", "k": 3})
    assert habit["id"] in [one["id"] for one in found["results"]]
    expanded = daemon.post("/expand", {"id": habit["id"], "level": "full"})
    assert expanded["text"] == habit["content"]

    shell.at = datetime.now(UTC) - timedelta(minutes=5)
    shell.types('git commit -m "new"', "git tag v2.0.0")
    predicted = daemon.post("/context/predict", {"project": str(shell.root), "file_opened": "shop.py"})
    assert predicted["predicted_commands"][0]["command"] == "python -m build"
    assert predicted["predicted_commands"][0]["workflow"] == habit["id"]
    bundle = daemon.get("/context", project=str(shell.root), file="shop.py")
    assert "next command: `python -m build`" in bundle["context"]
    assert any(item["id"] == habit["id"] for item in bundle["items"])


@pytest.mark.slow
def test_forgotten_habit_is_not_relearned(daemon: RunningDaemon, shell: Shell) -> None:
    habit = learns(shell)

    assert daemon.request("DELETE", f"/memories/{habit['id']}")[0] < 300
    works(shell, 6)
    written = daemon.places.cache
    daemon.wait_until(lambda: list(written.rglob("forgotten.json")), within=LEARNT, what="write what is forgotten")

    assert habit["id"] not in [one["id"] for one in shell.workflows()]


@pytest.mark.slow
def test_habits_survive_restart(daemon: RunningDaemon, shell: Shell) -> None:
    habit = learns(shell)

    daemon.restart()
    shell.at = datetime.now(UTC) - timedelta(minutes=5)
    shell.types('git commit -m "new"')

    def next_command() -> str:
        asked = {"project": str(shell.root), "file_opened": "shop.py"}
        commands = daemon.post("/context/predict", asked)["predicted_commands"]
        return str(commands[0]["command"]) if commands else ""

    daemon.wait_until(lambda: next_command() == "git tag <version>", within=LEARNT, what="know what comes next")
    assert daemon.get(f"/memories/{habit['id']}")["source"]["runs"] == 6


@pytest.mark.slow
def test_script_workflow_follows_its_file(daemon: RunningDaemon, shell: Shell) -> None:
    makefile = shell.root / "Makefile"

    def told() -> str:
        page = daemon.get("/memories", project=str(shell.root), kind="workflow", limit=100)
        return "".join(one["content"] for one in page["items"] if one["title"] == "make lint")

    daemon.wait_until(lambda: "1. ruff check ." in told(), within=LEARNT, what="read the makefile")
    [lint] = daemon.get("/memories", project=str(shell.root), kind="workflow", limit=100)["items"]
    makefile.write_text("lint:\n\truff check --fix .\n\tmypy src\n")
    daemon.wait_until(lambda: "2. mypy src" in told(), within=LEARNT, what="read it again")
    before = daemon.get(f"/memories/{lint['id']}/history")["items"][1]
    assert "1. ruff check ." in before["content"]
    makefile.unlink()
    daemon.wait_until(lambda: told() == "", within=LEARNT, what="see that it is gone")


@pytest.mark.process
def test_private_folder_commands_are_not_learned(hunchd_home: Path, tmp_path: Path) -> None:
    from tests.daemon.running import running_daemon

    root = tmp_path / "diary"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start", {"a.py": "A = 1\n"})
    with running_daemon(hunchd_home, settings=f'[shell]\nprivate_folders = ["{root}"]\n') as daemon:
        daemon.add(root)
        shell = Shell(daemon, root, datetime.now(UTC) - timedelta(minutes=50))
        works(shell, 3)
        predicted = daemon.post("/context/predict", {"project": str(root), "file_opened": "a.py"})

    assert predicted["predicted_commands"] == []
