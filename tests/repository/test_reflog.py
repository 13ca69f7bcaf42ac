"""Authors in git's log of HEAD."""

from __future__ import annotations

from pathlib import Path

from hunchd.repository.layout import find_repository, make_plain_layout
from hunchd.repository.reflog import find_last_author
from tests.repositories import make_shop


def test_writer_is_author_of_last_move(tmp_path: Path) -> None:
    layout = find_repository(make_shop(tmp_path / "shop"))
    assert layout is not None
    assert "@" in find_last_author(layout)

    with (layout.root / ".git" / "logs" / "HEAD").open("a") as log:
        log.write(f"{'a' * 40} {'b' * 40} Grace Hopper <grace@example.org> 1700000000 +0100\tcommit: sums\n")
        log.write("half a line")
    assert find_last_author(layout) == "grace@example.org"


def test_writer_without_reflog_is_unknown(tmp_path: Path) -> None:
    assert find_last_author(make_plain_layout(tmp_path)) == ""
