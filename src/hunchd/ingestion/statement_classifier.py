"""Classifier that tells what kind of statement a sentence makes.

Two models judge a sentence. The statement model in the store process reads it with the sentence before it, and
recognises wordings that nobody has listed. A linear model over hashed character n-grams reads scripts that the
statement model cannot, and judges alone when the statement model has not answered. `benchmarks/train_statements.py`
trains both; `docs/statement-classifier.md` describes data and figures.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

LABELS: Final = (
    "decision",
    "change",
    "withdrawal",
    "preference",
    "identity",
    "constraint",
    "instruction",
    "action",
    "goal",
    "person",
    "insight",
    "quoted",
    "hypothesis",
    "joke",
    "request",
    "chatter",
)
SHIPPED_WEIGHTS: Final = Path(__file__).with_name("statement_weights.bin")
BUCKETS: Final = 1 << 15
LONGEST: Final = 300  # characters of a sentence that are read
_SHORTEST_GRAM: Final = 2
_LONGEST_GRAM: Final = 5
_HEADER: Final = b"hunchd-statements-3\n"
NGRAM_SHARE: Final = 0.7  # share of the n-gram model in the logits, for a sentence that both models judge

_PATH = re.compile(r"(?<!\w)[\w.-]*/[\w./-]*|\b[\w-]+\.(?:[a-z]{1,4})\b")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTE = re.compile(r"[\"“”„«»「」『』]")
_PIECE = re.compile(r"[^\W_]+|[^\w\s]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f]")
_NAME = re.compile(r"(?<=\w )[A-Z][\w'-]+")


@dataclass(frozen=True, slots=True)
class StatementClassifier:
    """Linear classifier whose weights are stored as signed bytes.

    `weights` has one row for each bucket of hashed features, with one weight per label; `scales` has one factor per
    label.
    """

    weights: memoryview
    scales: tuple[float, ...]
    biases: tuple[float, ...]

    def compute_probabilities(self, sentence: str, rating: bytes | None = None) -> dict[str, float]:
        """Return the probability of each label for a sentence.

        `rating` holds the logits that the statement model computed, as 32-bit floats, or is None if it has not
        rated the sentence.
        """
        logits = self._compute_ngram_logits(sentence)
        if rating is not None:
            pairs = zip(logits, memoryview(rating).cast("f"), strict=True)
            logits = [NGRAM_SHARE * one + (1 - NGRAM_SHARE) * other for one, other in pairs]
        highest = max(logits)
        exponentials = [math.exp(logit - highest) for logit in logits]
        whole = sum(exponentials)
        return {label: one / whole for label, one in zip(LABELS, exponentials, strict=True)}

    def _compute_ngram_logits(self, sentence: str) -> list[float]:
        size = len(LABELS)
        sums = [0.0] * size
        for bucket, value in extract_features(sentence).items():
            row = self.weights[bucket * size : (bucket + 1) * size]
            for label in range(size):
                sums[label] += row[label] * value
        return [total * scale + bias for total, scale, bias in zip(sums, self.scales, self.biases, strict=True)]


@cache
def load_classifier() -> StatementClassifier:
    """Load the classifier with the shipped weights, once per process."""
    raw = SHIPPED_WEIGHTS.read_bytes()
    if not raw.startswith(_HEADER):
        raise ValueError(
            f"{SHIPPED_WEIGHTS} has an unsupported format; recreate it with benchmarks/train_statements.py"
        )
    content = memoryview(zlib.decompress(raw[len(_HEADER) :]))
    size = len(LABELS)
    floats = content[: 8 * size].cast("f").tolist()
    return StatementClassifier(content[8 * size :].cast("b"), tuple(floats[:size]), tuple(floats[size:]))


def pack_weights(scales_and_biases: bytes, weights: bytes) -> bytes:
    """Return the content of a weights file.

    `scales_and_biases` are the scales and then the biases of the labels, as 32-bit floats; `weights` are signed bytes.
    """
    return _HEADER + zlib.compress(scales_and_biases + weights, 9)


def extract_features(sentence: str) -> dict[int, float]:
    """Return the hashed features of a sentence, normalized to length one."""
    return hash_features(extract_ngrams(sentence), BUCKETS)


def hash_features(grams: list[str], buckets: int) -> dict[int, float]:
    """Hash features into buckets, and return the weight of each bucket.

    The weights are normalized to length one.
    """
    counts = Counter(grams)
    norm = math.sqrt(sum(counts.values()))
    feature_counts: dict[int, float] = {}
    for gram, times in counts.items():
        bucket = zlib.crc32(gram.encode()) % buckets
        feature_counts[bucket] = feature_counts.get(bucket, 0.0) + math.sqrt(times) / norm
    return feature_counts


def extract_ngrams(sentence: str) -> list[str]:
    """Return the features of a sentence before hashing.

    These are character n-grams, words, word pairs and triples, and marks that describe the sentence's form.
    """
    text = unicodedata.normalize("NFKC", sentence[:LONGEST])
    marks = _extract_shape_marks(text)
    text = _DIGITS.sub("0", _PATH.sub("§path", text)).casefold()
    pieces = _PIECE.findall(text)
    spaced_text = f" {' '.join(pieces)} "
    grams = [
        spaced_text[at : at + size]
        for size in range(_SHORTEST_GRAM, _LONGEST_GRAM + 1)
        for at in range(len(spaced_text) - size + 1)
    ]
    grams += [f"w:{piece}" for piece in pieces]
    grams += [f"b:{one} {two}" for one, two in zip(["^", *pieces], [*pieces, "$"], strict=True)]
    grams += [f"t:{' '.join(pieces[at : at + 3])}" for at in range(len(pieces) - 2)]
    grams += [f"1:{wide}" for wide in _WIDE.findall(text)]
    start = pieces[:1]
    return grams + [f"s:{word}" for word in start] + marks * 2


def _extract_shape_marks(text: str) -> list[str]:
    tests = {
        "§asks": text.rstrip(" )\"'").endswith("?"),
        "§quotes": _QUOTE.search(text) is not None,
        "§number": _DIGITS.search(text) is not None,
        "§path": _PATH.search(text) is not None,
        "§name": _NAME.search(text) is not None,
        "§short": len(text) < 18,
        "§long": len(text) > 90,
    }
    return [name for name, holds in tests.items() if holds]


def is_mostly_latin(sentence: str) -> bool:
    """Return True if most letters in a sentence are Latin.

    The statement model hardly knows other scripts.
    """
    return 2 * len(_OTHER_SCRIPT.findall(sentence)) <= sum(map(str.isalpha, sentence))
