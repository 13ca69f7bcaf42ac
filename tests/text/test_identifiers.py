"""Tests of splitting identifiers into words."""

from __future__ import annotations

import pytest

from hunchd.text.identifiers import (
    find_subwords,
    split_ascii_letters,
    split_letters,
    split_name_words,
    split_subwords,
    split_title_words,
)


def test_camel_case_splits_before_last_capital() -> None:
    assert split_ascii_letters("parseHTTPHeader2") == ["parse", "HTTP", "Header"]
    assert split_letters("ABc_größe") == ["A", "Bc", "gr", "öße"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("get_user_2", ["get", "user"]),
        ("Hello", []),
        ("HTTP", []),
        ("x", []),
        ("漢字変換", ["漢字", "字変", "変換"]),
    ],
)
def test_subwords_of_compounds(word: str, expected: list[str]) -> None:
    assert split_subwords(word) == expected


def test_subwords_in_text_are_distinct_and_ordered() -> None:
    assert find_subwords("plain getUserName setUserName") == ["get", "user", "name", "set"]


def test_name_words_keep_digits_with_letters() -> None:
    assert split_name_words("makePyFile2") == split_name_words("make_py_file2") == ["make", "py", "file2"]


def test_title_words_keep_single_capital() -> None:
    assert split_title_words("ChromePHPHandler") == ["chrome", "php", "handler"]
    assert split_title_words("GObject-utils") == ["gobject", "utils"]


def test_vowel_signs_are_no_letters_of_ngrams() -> None:
    sea, are_printed = "సముద్రం", "ముద్రించబడతాయి"
    assert not set(split_subwords(sea)) & set(split_subwords(are_printed))
