"""Git's own log of HEAD says who works in a tree."""

from __future__ import annotations

from pathlib import Path

from hunchd.repository.layout import find, plain
from hunchd.repository.reflog import writer
from tests.repositories import make_shop


def test_the_user_of_a_tree_is_whoever_moved_head_last(tmp_path: Path) -> None:
    layout = find(make_shop(tmp_path / "shop"))
    assert layout is not None
    assert "@" in writer(layout)

    with (layout.root / ".git" / "logs" / "HEAD").open("a") as log:
        log.write(f"{'a' * 40} {'b' * 40} Grace Hopper <grace@example.org> 1700000000 +0100\tcommit: sums\n")
        log.write("half a line")
    assert writer(layout) == "grace@example.org"


def test_without_a_log_nobody_is_known(tmp_path: Path) -> None:
    assert writer(plain(tmp_path)) == ""
