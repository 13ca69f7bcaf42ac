"""Linear models over hashed n-grams of a sentence, with quantized weights.

The classifiers for statements and for rules share these models. Features are hashed into buckets, so no vocabulary
is stored.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

LONGEST: Final = 300  # characters of a sentence that are read
_SHORTEST_GRAM: Final = 2
_LONGEST_GRAM: Final = 5

_PATH = re.compile(r"(?<!\w)[\w.-]*/[\w./-]*|\b[\w-]+\.(?:[a-z]{1,4})\b")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTE = re.compile(r"[\"“”„«»「」『』]")
_PIECE = re.compile(r"[^\W_]+|[^\w\s]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NAME = re.compile(r"(?<=\w )[A-Z][\w'-]+")


class LinearModel(NamedTuple):
    """Linear model whose weights are signed bytes, with a scale and a bias for each label."""

    weights: npt.NDArray[np.int8]  # by bucket of hashed features, and label
    scales: Floats
    biases: Floats

    def compute_logits(self, features: Mapping[int, float]) -> Floats:
        """Return the logit of each label.

        `features` maps buckets to the values of the features in them.
        """
        values = np.fromiter(features.values(), np.float32, len(features))
        return values @ self.weights[list(features)] * self.scales + self.biases


def compute_softmax(logits: Floats) -> list[float]:
    """Return the probabilities of the labels, in the order of their logits."""
    exponentials = np.exp(logits - logits.max())
    shares: list[float] = (exponentials / exponentials.sum()).tolist()
    return shares


@cache
def load_model(file: Path, header: bytes, label_count: int) -> LinearModel:
    """Load a model from a weights file, once per process.

    Raises ValueError if the file does not begin with `header`.
    """
    raw = file.read_bytes()
    if not raw.startswith(header):
        raise ValueError(f"{file} has an unsupported format; train the model again")
    content = zlib.decompress(raw[len(header) :])
    scales, biases = np.frombuffer(content, np.float32, 2 * label_count).reshape(2, label_count)
    return LinearModel(np.frombuffer(content[8 * label_count :], np.int8).reshape(-1, label_count), scales, biases)


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
