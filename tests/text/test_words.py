"""Tests of splitting and normalising words."""

from __future__ import annotations

from hunchd.text.words import extract_terms, fold_diacritics, tokenize


def test_tokenize_lowers_and_splits_at_underscores() -> None:
    assert tokenize("Read_it, 2 Times") == ["read", "it", "2", "times"]


def test_terms_drop_stop_words_and_add_parts() -> None:
    assert extract_terms("Where is the getUserName of a user?") == ["getusername", "user", "name"]


def test_fold_diacritics_in_latin_only() -> None:
    assert fold_diacritics("größe") == "grosse"
    assert fold_diacritics("が") == "が"
