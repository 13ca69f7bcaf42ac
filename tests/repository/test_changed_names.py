"""Names in the lines of a change, and the files that have them already."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.domain.context import NAME_ROLES
from hunchd.repository.changed_names import MAX_HOLDERS, classify_names, find_changed_names
from hunchd.repository.git import Git
from tests.repositories import commit, git


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    files = {
        "basket.py": "def total_price():\n    return 1\n\n\nVERSION = '1.4.2'\n",
        "checkout.py": "from basket import total_price\n",
        "docs/basket.md": "Call `total_price`, since 1.4.2.\n",
        "colours.py": "total_price_of_green = 1\n",
    }
    commit(root, "Start", files)
    return root


def find(shop: Path, *paths: str, after: str = "", new: tuple[str, ...] = ()) -> dict[str, tuple[str, tuple[str, ...]]]:
    names = find_changed_names(Git(shop), "HEAD" if not after else "HEAD~1", after, paths, new)
    return {name.name: (NAME_ROLES[name.role], name.files) for name in names}


def test_uncommitted_rename_finds_other_users(shop: Path) -> None:
    (shop / "basket.py").write_text("def sum_of_prices():\n    return 1\n\n\nVERSION = '1.4.3'\n")
    found = find(shop, "basket.py")
    assert found["total_price"] == ("removes", ("basket.py", "checkout.py", "docs/basket.md"))
    assert found["1.4.2"] == ("removes", ("basket.py", "docs/basket.md"))
    assert "sum_of_prices" not in found  # no file has it yet


def test_names_of_commit_are_searched_before_it(shop: Path) -> None:
    commit(shop, "Use it", {"colours.py": "total_price = 2\n"})
    found = find(shop, "colours.py", after="HEAD")
    assert found["total_price"][0] == "adds"
    assert "colours.py" not in found["total_price"][1]


def test_untracked_text_adds_its_names(shop: Path) -> None:
    assert find(shop, "new.py", new=("print(total_price)\n",))["total_price"][0] == "adds"


def test_name_of_many_files_is_left_out(shop: Path) -> None:
    commit(shop, "Many", {f"{number}.py": "common_name = 1\n" for number in range(MAX_HOLDERS + 1)})
    assert find(shop, "new.py", new=("common_name + total_price\n",)).keys() == {"total_price"}


def test_grep_settings_of_repository_change_nothing(shop: Path) -> None:
    for setting in ("grep.lineNumber", "grep.column", "color.grep"):
        git(shop, "config", setting, "always" if setting == "color.grep" else "true")
    assert find(shop, "new.py", new=("total_price\n",))["total_price"][1] == (
        "basket.py",
        "checkout.py",
        "docs/basket.md",
    )


def test_roles_follow_signs_of_lines() -> None:
    lines = ["--- a/gone_path", "@@ -1 +1 @@ def around():", "-old = both", "+fresh = both", " calm"]
    roles = {name: NAME_ROLES[role] for name, role in classify_names(lines)}
    assert roles == {"both": "changes", "fresh": "adds", "around": "is beside", "calm": "is beside"}
