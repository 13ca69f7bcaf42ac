"""Check that the pages of docs/ also work as a site, where nothing outside docs/ exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def links(page: Path) -> list[tuple[str, str]]:
    """Return path and anchor of each internal link, outside code blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]*)\)", text)
    return [(path, anchor) for path, _, anchor in (target.partition("#") for target in found) if "://" not in path]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as Markdown renderers make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_stay_inside_docs_and_resolve(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert DOCS in target.parents, f"{path} is no page of the site"
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_navigation_lists_every_topic_page() -> None:
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"([\w/-]+\.md)$", settings, re.MULTILINE))
    topics = {page.relative_to(DOCS).as_posix() for page in PAGES if page.parent.name != "decisions"}

    assert yaml.safe_load(settings)["docs_dir"] == "docs"
    assert listed == topics | {"decisions/README.md"}


def test_api_page_names_existing_modules() -> None:
    modules = re.findall(r"^::: (hunchd[\w.]*)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)

    assert len(modules) >= 5
    for module in modules:
        file = ROOT / "src" / Path(*module.split("."))
        assert file.with_suffix(".py").exists() or (file / "__init__.py").exists(), module
