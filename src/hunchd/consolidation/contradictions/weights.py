"""Trained table that turns the features of two statements into a probability.

Shipped with the package.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from hunchd.consolidation.contradictions.features import FEATURES

SHIPPED_PATH: Final = Path(__file__).with_name("weights.json")
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ContradictionWeights:
    """Logistic regression; `provenance` records its training data and script."""

    bias: float
    weights: tuple[float, ...]
    provenance: Mapping[str, Any]

    def estimate_probability(self, features: Sequence[float]) -> float:
        """Return the probability that both statements cannot hold."""
        score = self.bias + sum(weight * value for weight, value in zip(self.weights, features, strict=True) if value)
        return 1.0 / (1.0 + math.exp(-max(min(score, 30.0), -30.0)))


@cache
def load_shipped_weights() -> ContradictionWeights:
    """Return the table that is shipped with this version."""
    return load_weights(SHIPPED_PATH)


def load_weights(path: Path) -> ContradictionWeights:
    """Load a table from a file.

    Raises ValueError if it was trained for other features.
    """
    table = json.loads(path.read_text("utf-8"))
    if table["version"] != VERSION or tuple(table["weights"]) != FEATURES:
        raise ValueError(f"{path} was trained for other features")
    return ContradictionWeights(table["bias"], tuple(table["weights"].values()), table["provenance"])


def save_weights(weights: ContradictionWeights, path: Path) -> None:
    """Write the table as JSON, rounded to four digits."""
    table = {
        "version": VERSION,
        "provenance": dict(weights.provenance),
        "bias": round(weights.bias, 4),
        "weights": {name: round(value, 4) for name, value in zip(FEATURES, weights.weights, strict=True)},
    }
    path.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
