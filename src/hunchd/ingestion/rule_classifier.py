"""Classifier that tells what a sentence in a guide asks for.

A guide is a page of instructions for contributors or coding agents. The classifier is a linear model over hashed
n-grams of the sentence and the words of its heading, trained on labelled sentences from public guides.
`benchmarks/train_rules.py` trains it; `docs/decisions/0053-rules-are-classified.md` has data and figures.
"""

from __future__ import annotations

import math
import re
import zlib
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final, NamedTuple

from hunchd.ingestion.statement_classifier import extract_ngrams, hash_features

OTHER: Final = "other"  # descriptions, onboarding, etiquette, policies about people, fragments
VAGUE: Final = "vague"  # about work, but too general to be quoted in a review
LABELS: Final = (OTHER, VAGUE, "code", "tests", "documentation", "changelog", "commits", "command", "release")
SHIPPED_WEIGHTS: Final = Path(__file__).with_name("rule_weights.bin")
BUCKETS: Final = 1 << 14
_HEADER: Final = b"hunchd-rules-1\n"
_FLOATS: Final = 2 * len(LABELS)
_HEADING_WORD: Final = re.compile(r"[a-z]+")


class Passage(NamedTuple):
    """Sentence in a guide, with what its layout tells the classifier."""

    sentence: str
    section: str = ""  # heading
    page: str = "people"  # audience of the page: "people", "agents", or "form" for a template
    is_item: bool = False
    is_nested: bool = False
    follows_lead: bool = False  # an item below a line that announces rules


class Rating(NamedTuple):
    """Most probable topic of a sentence, and the probability that it is a rule."""

    topic: str  # the most probable label among those of rules
    rule: float  # probability that it is a rule, vague or not
    quotable: float  # probability that a reviewer would quote it


@dataclass(frozen=True, slots=True)
class RuleClassifier:
    """Linear classifier with quantized weights.

    `weights` holds one row of signed bytes for each feature bucket; each label has a scale and a bias.
    """

    weights: memoryview
    scales: tuple[float, ...]
    biases: tuple[float, ...]

    def rate(self, passage: Passage) -> Rating:
        """Rate the probability that a sentence is a rule, and find its topic."""
        size = len(LABELS)
        sums = [0.0] * size
        for bucket, value in extract_features(passage).items():
            for label, weight in enumerate(self.weights[bucket * size : (bucket + 1) * size]):
                sums[label] += weight * value
        logits = [total * scale + bias for total, scale, bias in zip(sums, self.scales, self.biases, strict=True)]
        exponentials = [math.exp(logit - max(logits)) for logit in logits]
        other, vague, *rules = (one / sum(exponentials) for one in exponentials)
        return Rating(LABELS[2 + rules.index(max(rules))], 1 - other, 1 - other - vague)


@cache
def load_rule_classifier() -> RuleClassifier:
    """Load the classifier with the shipped weights, once per process."""
    raw = SHIPPED_WEIGHTS.read_bytes()
    if not raw.startswith(_HEADER):
        raise ValueError(f"{SHIPPED_WEIGHTS} has an unsupported format; recreate it with benchmarks/train_rules.py")
    content = memoryview(zlib.decompress(raw[len(_HEADER) :]))
    floats = content[: 4 * _FLOATS].cast("f").tolist()
    scales, biases = (tuple(floats[start:end]) for start, end in pairwise(accumulate((0, len(LABELS), len(LABELS)))))
    return RuleClassifier(content[4 * _FLOATS :].cast("b"), scales, biases)


def pack_weights(floats: bytes, weights: bytes) -> bytes:
    """Return the content of a weights file.

    `floats` are the scales and then the biases of the labels; `weights` are the quantized weights.
    """
    return _HEADER + zlib.compress(floats + weights, 9)


def extract_features(passage: Passage) -> dict[int, float]:
    """Return the hashed features of a sentence, normalized to length one.

    They describe its words, its heading and its form.
    """
    heading = _HEADING_WORD.findall(passage.section.lower()) or ["-"]
    marks = {
        "§item": 2 * passage.is_item,
        "§nested": passage.is_nested,
        "§follows": passage.follows_lead,
        "§open": 3 * passage.sentence.rstrip().endswith((":", ",")),
        "§lower": 3 * passage.sentence[:1].islower(),
        f"§k:{passage.page}": 3,
    }
    grams = extract_ngrams(passage.sentence) + [f"h:{word}" for word in heading for _ in range(3)]
    return hash_features(grams + [mark for mark, times in marks.items() for _ in range(times)], BUCKETS)
