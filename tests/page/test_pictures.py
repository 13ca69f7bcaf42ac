"""The pictures of the documentation can be made anew, and show views that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.daemon.running import RunningDaemon
from tests.page.conftest import Visit
from tests.page.stamp import ROOT, SOURCES

PICTURE = re.compile(r"page-(\w+)\.png")


def list_pictured() -> list[str]:
    """Return the views of which README and documentation show a picture."""
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return sorted({name for text in texts for name in PICTURE.findall(text.read_text())})


def test_pictured_views_exist() -> None:
    views = re.findall(r'name: "(\w+)"', (SOURCES / "views.ts").read_text())

    assert list_pictured()
    assert [name for name in list_pictured() if name not in views] == []
    assert [name for name in list_pictured() if not (ROOT / "docs" / f"page-{name}.png").exists()] == []


def test_pictures_are_made_anew(visit: Visit, page_daemon: RunningDaemon, shop: dict[str, Any], tmp_path: Path) -> None:
    from benchmarks.page_screenshots import VIEWS, take_pictures

    views = {name: VIEWS[name].replace("{file}", "shop/basket.py") for name in list_pictured()}
    take_pictures(visit.context, visit.base, tmp_path, views, [("light", 1400)], full=False)

    for name in views:
        made = (tmp_path / f"{name}-light-1400.png").read_bytes()
        assert made.startswith(b"\x89PNG")
        assert len(made) > 10_000
