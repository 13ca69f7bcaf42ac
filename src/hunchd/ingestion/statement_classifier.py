"""Classifier for the kind of statement that a sentence makes.

Two models judge a sentence. The statement model in the store process reads it with the sentence before it, and
recognises wordings that nobody has listed. A linear model over hashed character n-grams reads scripts that the
statement model cannot read, and judges alone when the statement model has not answered.
`benchmarks/train_statements.py` trains both; `docs/statement-classifier.md` describes data and figures.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from hunchd.text.linear_model import compute_softmax, extract_ngrams, hash_features, load_model

STATED: Final = ("decision", "change", "withdrawal", "preference", "identity", "constraint", "instruction", "action")
NOTHING: Final = ("quoted", "hypothesis", "joke", "request", "chatter", "done")
LABELS: Final = (*STATED, "goal", "person", "insight", *NOTHING)
SHIPPED_WEIGHTS: Final = Path(__file__).with_name("statement_weights.bin")
BUCKETS: Final = 1 << 15
HEADER: Final = b"hunchd-statements-4\n"
NGRAM_SHARE: Final = 0.6  # share of the n-gram model in the logits, for a sentence that both models judge

_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f]")


def compute_probabilities(sentence: str, rating: bytes | None = None, *, is_answer: bool = False) -> dict[str, float]:
    """Return the probability of each label for a sentence.

    `rating` contains the logits that the statement model computed, as 32-bit floats, or is None if the model has not
    rated the sentence. If the sentence is a short answer (`is_answer`), the rating alone counts, because the linear
    model does not see the question.
    """
    logits = load_model(SHIPPED_WEIGHTS, HEADER, len(LABELS)).compute_logits(extract_features(sentence))
    if rating is not None:
        share = 0.0 if is_answer else NGRAM_SHARE
        logits = share * logits + (1 - share) * np.frombuffer(rating, np.float32)
    return dict(zip(LABELS, compute_softmax(logits), strict=True))


def extract_features(sentence: str) -> dict[int, float]:
    """Return the hashed features of a sentence, normalized to length one."""
    return hash_features(extract_ngrams(sentence), BUCKETS)


def is_mostly_latin(sentence: str) -> bool:
    """Return True if most letters in a sentence are Latin.

    The statement model hardly knows other scripts.
    """
    return 2 * len(_OTHER_SCRIPT.findall(sentence)) <= sum(map(str.isalpha, sentence))
