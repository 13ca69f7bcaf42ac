"""Stemmers for English words, from the strictest to the lightest.

They serve different purposes, so none can replace another. The word indexes use Snowball. The ranking searches
texts for stems, so a stem must be a prefix of all forms of its word. The predictor's weights were trained on its
stems, and its snapshots contain their hashes. The stems of statements are compared with tables of synonyms.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

_PREFIX_ENDINGS: Final = ("ingly", "edly", "ing", "ies", "ied", "es", "ed", "ly", "s", "e")
_LIGHT_ENDINGS: Final = ("ings", "ing", "ers", "ed", "es", "er", "s")
_STATEMENT_ENDINGS: Final = (
    ("ations", "at"), ("ation", "at"), ("ically", "ic"), ("ities", "ity"), ("iness", "y"), ("ments", ""), ("ment", ""),
    ("ingly", ""), ("edly", ""), ("ings", ""), ("ing", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("shes", "sh"),
    ("ches", "ch"), ("xes", "x"), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""),
)  # fmt: skip
_UNCHANGED_WORDS: Final = frozenset(
    """
    is was has this his us as yes thus always news less bus gas class process access address pass redis
    kubernetes postgres https css js dns aws ios macos tls os canvas axios gpus alias status cors ses keys rails
    nats express during string thing nothing everything spring sibling ceiling king ring bring sing wing red need
    seed speed feed embed shed bed only early apply reply supply family assembly fly july
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# British endings and their American forms. Words that only look British change alike in questions and texts.
_BRITISH: Final = (
    (re.compile(r"(?<=[a-z]{2})our(?=(?:s|ed|ing|ful|less|able|al|er|ers|ist|ite|ites)?$)"), "or"),
    (re.compile(r"(?<=[a-z]{3}[iy])s(?=(?:e|ed|es|er|ers|ing|ation|ations|able)$)"), "z"),
    (re.compile(r"(?<=[a-z]{2}[bt])re(?=s?$)"), "er"),
    (re.compile(r"(?<=[a-z]{3}og)ue(?=s?$)"), ""),
    (re.compile(r"(?<=lic|def|off)enc(?=(?:e|es|ed|ing)$)"), "ens"),
)


def normalize_spelling(word: str) -> str:
    """Return a lowercase word with the American spelling."""
    for pattern, american in _BRITISH:
        word = pattern.sub(american, word)
    return word


def stem_english(word: str) -> str:
    """Return the Snowball stem of a word.

    "added" has the stem of "add", as in Snowball 3; the version used here would end it at "ad".
    """
    stem: str = _load_snowball().stem_word(word)
    return stem + stem[1] if len(stem) == 2 and word.startswith(stem + stem[1]) else stem


@lru_cache(maxsize=1)
def _load_snowball() -> Any:
    from py_rust_stemmers import (
        SnowballStemmer,
    )  # imported here, because it takes 0.4 MB that planning and mining do not need

    return SnowballStemmer("english")


@lru_cache(maxsize=8_192)
def stem_statement(word: str) -> str:
    """Return the stem of a word in a statement.

    `migrations`, `migrating` and `migrate` have the same stem; names that only look inflected are unchanged.
    """
    if "-" in word and word.replace("-", "").isalpha():
        before, _, last = word.rpartition("-")
        return f"{before}-{stem_statement(last)}"
    if word in _UNCHANGED_WORDS or len(word) < 4 or not word.isalpha():
        return word
    for ending, instead in _STATEMENT_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            if ending == "s" and word.endswith(("ss", "us", "is")):
                break
            word = word.removesuffix(ending) + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@lru_cache(maxsize=1 << 15)
def stem_prefix(word: str) -> str:
    """Return a rough stem that is a prefix of every form of the word."""
    for ending in _PREFIX_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stem_light(word: str) -> str:
    """Strip endings such as -s, -ing, -er and -ed.

    An ending is kept if too little of the word would be left. "routes", "routing" and "routed" have the same stem.
    """
    if len(word) > 4:
        for ending in _LIGHT_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
                word = word[: -len(ending)]
                break
        if word.endswith("e") and len(word) > 3:
            word = word[:-1]
    elif len(word) == 4 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word


def strip_plural(word: str, *, shortest: int) -> str:
    """Strip the plural -s from words longer than `shortest` letters."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > shortest else word
