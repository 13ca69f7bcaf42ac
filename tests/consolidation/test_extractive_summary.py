"""Tests of summaries: exact names, nothing invented."""

from __future__ import annotations

import re
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.consolidation.extractive_summary import Vocabulary, build_levels, shorten

NAME = re.compile(r"`[^`]+`|[\w./-]+/[\w./-]+|\b\w+[_.]\w[\w.]*\b|\b[a-z]+[A-Z]\w+|\bv?\d+(?:\.\d+)+\b")


@settings(deadline=None)
@given(st.text(string.printable, max_size=300), st.text(string.printable, max_size=2_000))
def test_levels_contain_only_names_from_text(title: str, text: str) -> None:
    levels = build_levels(title, text, Vocabulary())
    whole = " ".join(f"{title} {text}".split())
    for level in (levels.summary, levels.compressed, levels.index):
        for name in {found.strip("`.,;:()") for found in NAME.findall(level.replace("…", " "))}:
            assert name in whole or any(part in whole for part in name.split("."))
    assert len(levels.index) <= 60


def test_vocabulary_weight_by_document_frequency() -> None:
    vocabulary = Vocabulary()
    for number in range(40):
        vocabulary.learn(f"fix the build again {'zeppelin' if number == 7 else number}")

    assert vocabulary.weigh("build") == 0.0
    assert vocabulary.weigh("zeppelin") > 0.8
    assert vocabulary.pick_distinctive("fix the build of the zeppelin", 1) == ["zeppelin"]


def test_cut_ends_at_word_outside_code() -> None:
    assert shorten("one two three", 9) == "one two…"
    assert "`" not in shorten("see `a very long piece of code here` now", 20)


def test_summary_keeps_whole_sentences_in_order() -> None:
    text = """\
Instances with static folders were creating a reference cycle
via their view function, which prevented an instance of
CPython from freeing the memory.

Now use a weakref to avoid this.

Co-authored-by: Ada <ada@example.org>
"""
    levels = build_levels("Break the cycle.", text, Vocabulary(), when="2020-10", paths=("docs/a.rst", "src/app.py"))

    assert levels.summary == (
        "Break the cycle. Instances with static folders were creating a reference cycle via their view function, "
        "which prevented an instance of CPython from freeing the memory. Now use a weakref to avoid this. "
        "In docs/a.rst, src/app.py"
    )
    assert levels.compressed == "2020-10 Break the cycle: Now use a weakref to avoid this (app.py, a.rst)"


def test_compressed_omits_unrelated_reason() -> None:
    text = (
        "Per the notes, this release of the runtime was the last one to support the old threads, so we use that one "
        "for the tests of the first generation. For the second we pin one anyway."
    )
    assert build_levels("ci: pin the version", text, Vocabulary()).compressed == "ci: pin the version"
