"""A log file named in the settings: its errors show in the next bundle."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.running import running_daemon
from tests.repositories import commit, git

SETTINGS = '[signals]\nerror_logs = ["*.log"]\n'


def test_log_error_appears_in_bundle(hunchd_home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start the shop", {"cart.py": "TOTAL = 0\n", ".gitignore": "*.log\n"})
    log = root / "shop.log"
    log.write_text("2026-11-22 10:00:00 ERROR long ago\n")
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(root)

        def shown() -> str:
            return str(daemon.get("/context", project=str(root), file="cart.py")["context"])

        def goes_wrong() -> bool:
            """It fails again and again: what was written before the first look is no news."""
            with log.open("a") as file:
                file.write("2026-11-22 10:00:01 ERROR cart: no price for pears\n2026-11-22 10:00:02 INFO on\n")
            return "no price for pears" in shown()

        daemon.wait_until(goes_wrong, within=60, what="read the log")
        assert "long ago" not in shown()
