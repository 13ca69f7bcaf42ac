"""Classifier that tells which kind of statement answers a question.

"What is my job?" shares no word with "I am a registrar", but it asks for what the speaker has said about themselves.
The classifier is a linear model over hashed n-grams of the question. `benchmarks/train_questions.py` trains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from hunchd.domain.facts import ABOUT_USER
from hunchd.domain.memory import Memory
from hunchd.store.ranking_view import RankingView
from hunchd.text.linear_model import compute_softmax, extract_ngrams, hash_features, load_model
from hunchd.text.scripts import has_special_words

KEYS: Final = ("name", "time zone")  # of which a question asks for the value; the other labels are categories of facts
CATEGORIES: Final = ("person", "goal", "action", "constraint", "instruction", "decision", "insight")
LABELS: Final = (*KEYS, *ABOUT_USER, *CATEGORIES, "other")
SHIPPED_WEIGHTS: Final = Path(__file__).with_name("question_weights.bin")
BUCKETS: Final = 1 << 13
HEADER: Final = b"hunchd-questions-1\n"
ASKED: Final = 0.3  # probability of a kind at which a question may ask for it
ASKED_ABOUT_USER: Final = 0.5  # the same for what the user said about themselves, which then comes first
INTRODUCTION_SHARE: Final = 0.6  # of the probability of a name, for an identity without a key
MOST_ASKED: Final = 20  # facts of the kind asked for that a question considers whatever their words


@lru_cache(maxsize=1 << 8)
def rate_kinds(question: str) -> Mapping[str, float]:
    """Return the probability that a statement of each kind answers a question."""
    logits = load_model(SHIPPED_WEIGHTS, HEADER, len(LABELS)).compute_logits(extract_features(question))
    return dict(zip(LABELS, compute_softmax(logits), strict=True))


def rate_fact(kinds: Mapping[str, float], fact: Memory | RankingView) -> float:
    """Return the probability that a fact is of the kind that answers a question.

    A question about a name or a time zone prefers the fact with that key to other facts about the user.
    """
    if fact.category != "identity":
        return kinds.get(fact.category or "", 0.0)
    if fact.key in KEYS:
        return kinds[fact.key]
    return kinds["identity"] + INTRODUCTION_SHARE * sum(kinds[key] for key in KEYS)


def select_asked(question: str, facts: Iterable[Memory]) -> list[Memory]:
    """Return the newest facts stated in sessions that a question asks for, and those about the user."""
    kinds = rate_kinds(question)
    if kinds["other"] >= ASKED_ABOUT_USER:
        return []
    is_unreadable = has_special_words(question)  # for the embedding model
    asked = [
        one
        for one in facts
        if (one.category in ABOUT_USER and rate_fact(kinds, one) >= ASKED_ABOUT_USER)
        or (is_unreadable and one.source.get("type") == "session" and rate_fact(kinds, one) >= ASKED)
    ]
    return sorted(asked, key=lambda one: one.at, reverse=True)[:MOST_ASKED]


def extract_features(question: str) -> dict[int, float]:
    """Return the hashed features of a question, without its final mark."""
    return hash_features(extract_ngrams(question.strip(" ¿?？.!。")), BUCKETS)
