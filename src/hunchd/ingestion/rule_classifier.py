"""Classifier for the rules in guides.

A guide is a page of instructions for contributors or coding agents. The classifier is a linear model over hashed
n-grams of the sentence and the words of its heading, trained on labelled sentences from public guides.
`benchmarks/train_rules.py` trains it; `docs/decisions/0053-rules-are-classified.md` has data and figures.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from hunchd.text.linear_model import compute_softmax, extract_ngrams, hash_features, load_model

OTHER: Final = "other"  # descriptions, onboarding, etiquette, policies about people, fragments
VAGUE: Final = "vague"  # about work, but too general to be quoted in a review
LABELS: Final = (OTHER, VAGUE, "code", "tests", "documentation", "changelog", "commits", "command", "release")
SHIPPED_WEIGHTS: Final = Path(__file__).with_name("rule_weights.bin")
LEAST_CODE_SHARE: Final = 0.5  # of the probability of all topics; the most frequent one is also the model's guess
BUCKETS: Final = 1 << 14
HEADER: Final = b"hunchd-rules-1\n"
# A term with its description, a label before a sentence, and the first word.
_TERM: Final = re.compile(r"`[^`]+`(?:[/,] ?`[^`]+`)*(?: \([^)]*\))?\s*(?:[-–—:→=]|is\b|are\b|holds|contains)")
_LABEL: Final = re.compile(r"[A-Z][\w -]{2,30}: ")
_FIRST_WORD: Final = re.compile(r"[A-Za-z']*")
_HEADING_WORD: Final = re.compile(r"[a-z]+")


class Passage(NamedTuple):
    """Sentence in a guide, with the features of the layout that help classify it."""

    sentence: str
    section: str = ""  # heading
    page: str = "people"  # audience of the page: "people", "agents", or "form" for a template
    is_item: bool = False
    is_nested: bool = False
    follows_lead: bool = False  # an item below a line that announces rules


class Rating(NamedTuple):
    """Most probable topic of a sentence, and the probability that it is a rule."""

    topic: str  # the most probable label among those of rules; "" if that is "code", but unlikely
    rule: float  # probability that it is a rule, vague or not
    quotable: float  # probability that a reviewer would quote it


def rate_passage(passage: Passage) -> Rating:
    """Rate the probability that a sentence is a rule, and find its topic."""
    model = load_model(SHIPPED_WEIGHTS, HEADER, len(LABELS))
    other, vague, *rules = compute_softmax(model.compute_logits(extract_features(passage)))
    topic = LABELS[2 + rules.index(max(rules))]
    if topic == "code" and max(rules) < LEAST_CODE_SHARE * sum(rules):
        topic = ""
    return Rating(topic, 1 - other, 1 - other - vague)


def extract_features(passage: Passage) -> dict[int, float]:
    """Return the hashed features of a sentence, normalized to length one.

    The features describe the sentence's words, heading and form.
    """
    heading = _HEADING_WORD.findall(passage.section.lower()) or ["-"]
    sentence = passage.sentence
    first_word = _FIRST_WORD.match(sentence)
    marks = {
        "§item": 2 * passage.is_item,
        "§nested": passage.is_nested,
        "§follows": passage.follows_lead,
        "§open": 3 * sentence.rstrip().endswith((":", ",")),
        "§lower": 3 * sentence[:1].islower(),
        f"§k:{passage.page}": 3,
        "§term": 4 * bool(_TERM.match(sentence)),
        "§label": 2 * bool(_LABEL.match(sentence)),
        f"§f:{first_word[0].lower() if first_word and first_word[0] else '-'}": 3,
        f"§code{min(sentence.count('`') // 2, 3)}": 2,
    }
    grams = extract_ngrams(sentence) + [f"h:{word}" for word in heading for _ in range(3)]
    return hash_features(grams + [mark for mark, times in marks.items() for _ in range(times)], BUCKETS)
