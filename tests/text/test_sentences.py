"""Tests of splitting texts into sentences."""

from __future__ import annotations

from hunchd.text.sentences import split_at_stops, split_paragraph, split_prose


def test_split_paragraph_keeps_abbreviations_whole() -> None:
    assert list(split_paragraph("Use a tool, e.g. Ruff. It is fast. and small")) == [
        "Use a tool, e.g. Ruff.",
        "It is fast. and small",
    ]
    assert list(split_paragraph("速い。小さい。")) == ["速い。", "小さい。"]


def test_split_prose_at_capitals_and_list_marks() -> None:
    assert split_prose("We use 3.11. Not 3.10. see below\n- one\n- Two") == [
        "We use 3.11.",
        "Not 3.10. see below",
        "one",
        "Two",
    ]


def test_split_prose_keeps_abbreviations_whole() -> None:
    assert split_prose("Name units (e.g. `ms`) in comments. Test it.") == [
        "Name units (e.g. `ms`) in comments.",
        "Test it.",
    ]


def test_split_at_stops_whatever_follows() -> None:
    assert split_at_stops("fix it. again; now") == ["fix it", "again", "now"]
