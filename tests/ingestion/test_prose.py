"""Sentence splitting of commit messages."""

from __future__ import annotations

import pytest

from hunchd.ingestion.prose import join_sentences, split_sentences

WRAPPED = """\
As SVG files are a type of XML file and are similar in nearly
all aspects to XML, .svg should also be autoescaped. See RFC 3076.

This is needed by
https://example.org/issues/1575

- Removed dropzone.js, it hasn't been around long enough, maybe
  we need to update this again
- The link is a proper one
* wip
* Apply suggestions from code review

```
do_not_read(this)
```

    nor = this

Fixes #12, #14
This closes #15.
(cherry picked from commit 06d7d650f870dfe55e02bc091f6f344df2762ef9)
Signed-off-by: Ada Lovelace <ada@example.org>
Co-authored-by: 翠 / green <green@example.org>
"""


def test_sentences_unwrap_lines_and_skip_trailers() -> None:
    assert split_sentences(WRAPPED) == [
        "As SVG files are a type of XML file and are similar in nearly all aspects to XML, .svg should also be "
        "autoescaped.",
        "See RFC 3076.",
        "Removed dropzone.js, it hasn't been around long enough, maybe we need to update this again",
        "The link is a proper one",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read the header first\nKeep the cache", ["Read the header first", "Keep the cache"]),
        ("what: the cache\nwhy: it was slow", ["what: the cache", "why: it was slow"]),
        (
            f"{'A line that nobody wrapped ' * 6}\nand another",
            [("A line that nobody wrapped " * 6).strip(), "and another"],
        ),
        ("Names, e.g. Ada, come first. Then numbers.", ["Names, e.g. Ada, come first.", "Then numbers."]),
        ("<!-- a template\nof many lines -->\nIt works.", ["It works."]),
        ("1. Read it\n\n   Slowly, that is.\n2. Write it", ["Read it", "Slowly, that is.", "Write it"]),
        ("Note: this stays", ["Note: this stays"]),
        (
            "the timer wheel uses it when advancing the timer to the next step.  the struct is only used, e.g. here.",
            [
                "the timer wheel uses it when advancing the timer to the next step.",
                "the struct is only used, e.g. here.",
            ],
        ),
        ("Кэш был медленным. Мы решили убрать его.", ["Кэш был медленным.", "Мы решили убрать его."]),
        ("缓存很慢。我们决定删除它。", ["缓存很慢。", "我们决定删除它。"]),
        ("Thanks to J. R. Hacker. We keep it.", ["Thanks to J. R. Hacker.", "We keep it."]),
        ("Summary\n=======\n\nIt is faster.", ["It is faster."]),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\nThe key was missing.',
            ["The key was missing."],
        ),
        (".. note::\n\nUse {name} in the template {x}.", ["Use {name} in the template {x}."]),
        ("diff --git a/x b/x\n@@ -1 +1 @@\n\nWe changed it.", ["We changed it."]),
    ],
)
def test_intended_line_break_ends_sentence(text: str, found: list[str]) -> None:
    assert split_sentences(text) == found


def test_sentences_on_one_line_are_split() -> None:
    assert join_sentences(["Read it", "Is it slow?", "Yes:", "very"]) == "Read it. Is it slow? Yes: very"


def test_repeated_character_is_split() -> None:
    for character in ("-", "#1 ", "/", "a ", "fixes ", "(", "[", "\n", "`", "."):
        text = character * (20_000 // len(character))
        assert "".join("".join(split_sentences(text)).split()) in "".join(text.split())


def test_many_abbreviations_are_split_quickly() -> None:
    """Sentence ends are checked in the last part only, not in the whole sentence at each full stop."""
    assert split_sentences("A. " * 40_000 + "\n\nThe end is told.")[-1] == "The end is told."
