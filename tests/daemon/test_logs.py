"""A log file that the settings name: what goes wrong in it shows in the next bundle."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.running import running_daemon
from tests.repositories import commit, git

SETTINGS = '[signals]\nerror_logs = ["*.log"]\n'


def test_an_error_in_a_log_shows_where_one_works(hunchd_home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start the shop", {"cart.py": "TOTAL = 0\n", ".gitignore": "*.log\n"})
    log = root / "shop.log"
    log.write_text("2026-11-22 10:00:00 ERROR long ago\n")
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(root)
        with log.open("a") as file:
            file.write("2026-11-22 10:00:01 ERROR cart: no price for pears\n2026-11-22 10:00:02 INFO on\n")

        def shown() -> str:
            return str(daemon.get("/context", project=str(root), file="cart.py")["context"])

        daemon.wait_until(lambda: "no price for pears" in shown(), within=20, what="read the log")
        assert "long ago" not in shown()
