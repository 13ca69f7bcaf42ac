"""Classifier of sentences by what they state: a linear model over hashed character n-grams.

It needs no word lists and no tokenizer, so one table serves all its languages. `benchmarks/train_statements.py` trains
it; `docs/statement-classifier.md` describes data and figures.
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
LONGEST: Final = 300  # characters read of a sentence
_SHORTEST_GRAM: Final = 2
_LONGEST_GRAM: Final = 5
_HEADER: Final = b"hunchd-statements-1\n"

_PATH = re.compile(r"(?<!\w)[\w.-]*/[\w./-]*|\b[\w-]+\.(?:[a-z]{1,4})\b")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTE = re.compile(r"[\"“”„«»「」『』]")
_PIECE = re.compile(r"[^\W_]+|[^\w\s]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NAME = re.compile(r"(?<=\w )[A-Z][\w'-]+")


@dataclass(frozen=True, slots=True)
class StatementClassifier:
    """Weights as signed bytes, one row of labels per bucket, and a scale per label."""

    weights: memoryview
    scales: tuple[float, ...]
    biases: tuple[float, ...]

    def compute_probabilities(self, sentence: str) -> dict[str, float]:
        """Return the probability of each label."""
        size = len(LABELS)
        sums = [0.0] * size
        for bucket, value in extract_features(sentence).items():
            row = self.weights[bucket * size : (bucket + 1) * size]
            for label in range(size):
                sums[label] += row[label] * value
        logits = [total * scale + bias for total, scale, bias in zip(sums, self.scales, self.biases, strict=True)]
        highest = max(logits)
        exponentials = [math.exp(logit - highest) for logit in logits]
        whole = sum(exponentials)
        return {label: one / whole for label, one in zip(LABELS, exponentials, strict=True)}


@cache
def load_classifier() -> StatementClassifier:
    """Load the shipped weights, once per process."""
    raw = SHIPPED_WEIGHTS.read_bytes()
    if not raw.startswith(_HEADER):
        raise ValueError(f"{SHIPPED_WEIGHTS} has another format; train it again")
    content = memoryview(zlib.decompress(raw[len(_HEADER) :]))
    floats = content[: 8 * len(LABELS)].cast("f").tolist()
    return StatementClassifier(
        content[8 * len(LABELS) :].cast("b"), tuple(floats[: len(LABELS)]), tuple(floats[len(LABELS) :])
    )


def pack_weights(weights: bytes, scales: bytes, biases: bytes) -> bytes:
    """Return the content of the weights file: 32-bit floats, then signed bytes."""
    return _HEADER + zlib.compress(scales + biases + weights, 9)


def extract_features(sentence: str) -> dict[int, float]:
    """Return hashed features of a sentence, of length one."""
    counts = Counter(_extract_ngrams(sentence))
    norm = math.sqrt(sum(counts.values()))
    feature_counts: dict[int, float] = {}
    for gram, times in counts.items():
        bucket = zlib.crc32(gram.encode()) % BUCKETS
        feature_counts[bucket] = feature_counts.get(bucket, 0.0) + math.sqrt(times) / norm
    return feature_counts


def _extract_ngrams(sentence: str) -> list[str]:
    """Return n-grams of characters, words, pairs of words, and marks of the sentence's shape."""
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
