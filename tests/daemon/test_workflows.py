"""Commands reported by a shell are predicted, workflows follow their files: through the real daemon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git

LEARNT = 30.0  # seconds until files or commands were read
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


def predict(shell: Shell) -> list[dict[str, Any]]:
    asked = {"project": str(shell.root), "file_opened": "shop.py"}
    return list(shell.daemon.post("/context/predict", asked)["predicted_commands"])


def test_recurring_command_is_predicted(daemon: RunningDaemon, shell: Shell) -> None:
    works(shell, 6)
    shell.at = datetime.now(UTC) - timedelta(minutes=5)
    shell.types('git commit -m "new"', "git tag v2.0.0")

    assert predict(shell)[0]["command"] == "python -m build"
    bundle = daemon.get("/context", project=str(shell.root), file="shop.py")
    assert "next command: `python -m build`" in bundle["context"]


def test_predicted_script_names_its_workflow(daemon: RunningDaemon, shell: Shell) -> None:
    for number in range(6):
        shell.types(f'git commit -m "version {number}"', "make lint")
    shell.at = datetime.now(UTC) - timedelta(minutes=5)
    shell.types('git commit -m "new"')
    page: dict[str, Any] = {}

    def is_read() -> bool:
        page.update(daemon.get("/memories", project=str(shell.root), kind="workflow", limit=100))
        return bool(page["items"])

    daemon.wait_until(is_read, within=LEARNT, what="read the makefile")
    expected = predict(shell)[0]
    assert (expected["command"], expected["workflow"]) == ("make lint", page["items"][0]["id"])


@pytest.mark.slow
def test_commands_survive_restart(daemon: RunningDaemon, shell: Shell) -> None:
    works(shell, 6)
    written = daemon.places.cache
    daemon.wait_until(lambda: list(written.rglob("commands.jsonl")), within=LEARNT, what="write the log")

    daemon.restart()
    shell.at = datetime.now(UTC) - timedelta(minutes=5)
    shell.types('git commit -m "new"')

    def is_known() -> bool:
        return "git tag <arg>" in [one["command"] for one in predict(shell)[:3]]

    daemon.wait_until(is_known, within=LEARNT, what="read the log")


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
