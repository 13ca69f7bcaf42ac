"""Check that CONTRIBUTING.md names files and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = TEXT.partition("## Recipes")[2].partition("## Commits")[0]
DEV_COMMANDS = set(re.findall(r"^    ([a-z]+)\)$", (ROOT / "dev").read_text(), re.MULTILINE))


def named_paths(text: str) -> set[str]:
    """Return what looks like a file or folder: lower-case words with a slash or an ending."""
    spans = re.findall(r"`([\w./*-]+)`", text)
    return {span for span in spans if re.fullmatch(r"[.\w-]+(/[\w.*-]*)+|\w+\.(py|md|toml|yml)", span)}


def test_named_paths_exist() -> None:
    bases = (ROOT, ROOT / "src" / "hunchd", ROOT / "src" / "hunchd" / "serving", ROOT / "src" / "hunchd" / "cli")
    named = named_paths(TEXT) - {"./dev", "features/NAME/"}

    assert len(named) > 50
    assert {path for path in named if not any(list(base.glob(path)) for base in bases)} == set()


def test_named_dev_commands_exist() -> None:
    named = set(re.findall(r"\./dev ([a-z]+)", TEXT))

    assert named >= {"lint", "unit", "check", "fix", "lock", "docs"}
    assert named <= DEV_COMMANDS


def test_each_recipe_counts_its_files() -> None:
    headings = re.findall(r"^### (.+)$", RECIPES, re.MULTILINE)

    assert len(headings) == 8
    for part in RECIPES.split("\n### ")[1:]:
        assert re.search(r"\*\*\d+ files", part), part.partition("\n")[0]
