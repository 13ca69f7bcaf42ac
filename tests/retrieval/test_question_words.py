"""Questions without pasted material, and word counts in all forms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.retrieval.question_words import count_stems, strip_pasted
from hunchd.text.stemming import stem_prefix
from hunchd.text.words import extract_terms

PASTED = """Why does the session cookie expire early?

> On Monday somebody wrote about unrelated lemons
```
Traceback of bananas
```
- [x] I read the contribution guide
<!-- describe
the oranges -->
https://example.org/apples
"""


def test_pasted_material_is_stripped() -> None:
    assert strip_pasted(PASTED) == "Why does the session cookie expire early?"


def test_fully_pasted_question_is_kept() -> None:
    only = "```\nTypeError: no attribute json\n```"
    assert strip_pasted(only) == only


@settings(deadline=None)
@given(st.text(max_size=300))
def test_stripping_never_empties_question(text: str) -> None:
    assert bool(extract_terms(strip_pasted(text))) == bool(extract_terms(text)) or len(extract_terms(text)) <= 1


def test_stems_are_counted_in_all_forms() -> None:
    stems = frozenset(stem_prefix(word) for word in extract_terms("caching user"))
    [(said, length)] = count_stems(stems, ["The cached userName was not in the caches"])
    assert said == {stem_prefix("caching"): 2, stem_prefix("user"): 1}
    assert length == 3  # cached, userName, caches


@settings(deadline=None)
@given(st.text(st.characters(codec="ascii"), max_size=80), st.text(st.characters(codec="ascii"), max_size=30))
def test_counts_equal_reference_implementation(text: str, question: str) -> None:
    stems = frozenset(stem_prefix(word) for word in [*extract_terms(question), *extract_terms(text)[::2]])
    [(said, _)] = count_stems(stems, [text])
    assert said.keys() >= stems & {stem_prefix(word) for word in extract_terms(text)}


@settings(deadline=None)
@given(st.text(st.sampled_from("aeisngtyA_T1 é-ß"), max_size=60), st.text(st.sampled_from("aeisngtyT1 é"), max_size=30))
def test_word_counts_at_part_starts(text: str, question: str) -> None:
    stems = frozenset(stem_prefix(word) for word in [*extract_terms(question), *extract_terms(text)[::2]])
    expected = {root: times for root in stems if (times := len(list(places(root, text))))}
    [(said, _)] = count_stems(stems, [text])
    assert len(text.lower()) != len(text) or said == expected


def places(root: str, text: str) -> Iterator[int]:
    begin = 0
    while (at := text.lower().find(root, begin)) >= 0:
        begin = at + len(root)
        inside = at > 0 and text[at - 1].isalnum()
        if not inside or re.match(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z][0-9]|[0-9][a-z]", text[at - 1 :]):
            whole = re.match(r"[^\W_]+", text[at:])
            part = re.match(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", text[at:])
            if root in {stem_prefix(found[0].lower()) for found in (whole, part) if found}:
                yield at


def test_unspaced_script_is_counted_by_pairs() -> None:
    [(said, _)] = count_stems(frozenset(stem_prefix(word) for word in extract_terms("東京駅")), ["昨日は東京駅にいた"])
    assert said


@settings(deadline=None)
@given(
    st.lists(st.text(st.sampled_from("aeisngT1 é東ßΣİ\n"), max_size=20), max_size=6),
    st.text("aeisng T1東", max_size=20),
)
def test_joint_counts_equal_single_counts(texts: list[str], question: str) -> None:
    stems = [stem_prefix(word) for word in extract_terms(question)]
    assert count_stems(stems, texts) == [count_stems(stems, [text])[0] for text in texts]
