"""Tests of the stemmers."""

from __future__ import annotations

import pytest

from hunchd.text.stemming import stem_english, stem_light, stem_prefix, stem_statement, strip_plural


def test_stem_english_is_snowball() -> None:
    assert [stem_english(word) for word in ("caching", "replies", "us")] == ["cach", "repli", "us"]


@pytest.mark.parametrize(
    ("base", "inflected"), [("add", "added"), ("add", "adding"), ("err", "erred"), ("egg", "eggs")]
)
def test_short_stem_keeps_its_double_letter(base: str, inflected: str) -> None:
    assert stem_english(inflected) == stem_english(base)


def test_stem_prefix_begins_every_form() -> None:
    for word in ("caching", "cached", "caches", "cache"):
        assert stem_prefix(word) == "cach"
        assert word.startswith(stem_prefix(word))


def test_stem_light_unites_forms() -> None:
    assert {stem_light(word) for word in ("route", "routes", "routing", "routed", "router")} == {"rout"}
    assert [stem_light(word) for word in ("class", "keys", "is")] == ["class", "key", "is"]


def test_stem_statement_leaves_uninflected_names() -> None:
    assert {stem_statement(word) for word in ("migrations", "migrating", "migrate")} == {"migrat"}
    assert [stem_statement(word) for word in ("redis", "lazy-loaded", "string")] == ["redis", "lazy-load", "string"]


def test_strip_plural_of_longer_words() -> None:
    assert [strip_plural(word, shortest=4) for word in ("owners", "keys", "class")] == ["owner", "keys", "class"]
