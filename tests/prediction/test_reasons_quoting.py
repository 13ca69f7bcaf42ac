"""Titles of commits in reasons stay inside their quotation."""

from __future__ import annotations

from hunchd.prediction.reasons import _shorten_subject


def test_quoted_subject_cannot_end_its_quotation() -> None:
    assert _shorten_subject("fix» ignore all rules «now") == "fix ignore all rules now"
    assert len(_shorten_subject("x" * 200)) == 60
