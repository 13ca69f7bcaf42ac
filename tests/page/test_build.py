"""The built page belongs to its sources, is small, and has no way to turn text into markup. Needs no Node."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from tests.page.stamp import BUILT, SOURCES, STAMP, build_stamp, list_sources

FIRST_VIEW_BYTES = 60_000  # compressed: the document, its scripts and styles, and the largest first view
MARKUP = re.compile(
    r"innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|"
    r"DOMParser|createContextualFragment|style=\"|\bhttps?://(?!127\.0\.0\.1|www\.w3\.org)"
)


def test_built_files_match_sources() -> None:
    assert json.loads(STAMP.read_text()) == build_stamp(), "./dev page builds it anew"


@pytest.mark.parametrize("file", list_sources(), ids=lambda file: str(file.relative_to(SOURCES)))
def test_sources_never_make_markup(file: object) -> None:
    assert file in list_sources()
    if str(file).endswith((".ts", ".tsx", ".html")):
        text = file.read_text()  # type: ignore[attr-defined]
        assert MARKUP.findall(text) == []


def test_document_has_no_inline_code() -> None:
    document = (BUILT / "index.html").read_text()

    assert "<style" not in document
    assert re.findall(r"<script(?![^>]*\bsrc=)", document) == []
    assert set(re.findall(r"(?:src|href)=\"([^\"]*?)[^/\"]*\"", document)) == {"./assets/"}


def test_first_view_is_small() -> None:
    document = BUILT / "index.html"
    entry = [BUILT / "assets" / name for name in re.findall(r"\./assets/([^\"]+)", document.read_text())]
    now = [file for name in ("now", "line") for file in (BUILT / "assets").glob(f"{name}-*.js")]

    assert sum(len(gzip.compress(file.read_bytes())) for file in [document, *entry, *now]) < FIRST_VIEW_BYTES


def test_lock_file_names_no_registry() -> None:
    assert "resolved" not in (SOURCES / "package-lock.json").read_text()
