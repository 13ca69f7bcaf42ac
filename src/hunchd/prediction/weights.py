"""Trained weights shipped with the package: rankers, calibrations and their provenance."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.prediction import calibration, ranking
from hunchd.prediction.calibration import Isotonic
from hunchd.prediction.features import FEATURES
from hunchd.prediction.online_correction import HEADS
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.ranking import Linear, Model, Network

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
VERSION = 3  # 3: networks instead of trees


@dataclass(frozen=True, slots=True)
class RankerWeights:
    """Rankers and calibrations, keyed by head.

    A head is the name of the ranker for one kind of query: "seed", "text" or "both". `provenance` describes the
    training data.
    """

    heads: dict[str, Model]
    calibrations: dict[str, Isotonic]
    provenance: dict[str, Any] = field(default_factory=dict)


@cache
def load_shipped() -> RankerWeights:
    """Return the shipped weights, or hand-set ones if no weights are shipped."""
    return load_weights(WEIGHTS_FILE) if WEIGHTS_FILE.exists() else create_default()


def create_default() -> RankerWeights:
    """Return hand-set weights for all rankers."""
    return RankerWeights(
        {head: ranking.create_linear() for head in HEADS},
        {head: calibration.create_default() for head in HEADS},
        {"trained": "by hand"},
    )


def load_weights(path: Path) -> RankerWeights:
    """Load rankers from a file of weights.

    Raises ValueError if the weights are for different features or a different format version, or if a ranker is
    missing.
    """
    table = json.loads(path.read_text("utf-8"))
    if table["version"] != VERSION or tuple(table["features"]) != FEATURES:
        raise ValueError(f"the weights in {path} are for different features or a different format version")
    heads = {name: _decode_model(head) for name, head in table["heads"].items()}
    if missing := set(HEADS) - set(heads):
        raise ValueError(f"{path} has no weights for {', '.join(sorted(missing))}")
    curves = {
        name: Isotonic(np.array(curve["scores"]), np.array(curve["probabilities"]))
        for name, curve in table["calibrations"].items()
    }
    return RankerWeights(heads, curves, table["provenance"])


_KINDS: dict[str, type[Model]] = {"linear": Linear, "network": Network}


def _decode_model(table: dict[str, Any]) -> Model:
    kind = _KINDS[table["kind"]]
    return kind(*(_decode_array(table[part.name]).astype("<f4") for part in fields(kind)))


def _decode_array(data: list[Any]) -> Array:
    dtype, shape, base64_text = data
    return np.frombuffer(base64.b64decode(base64_text), np.dtype(dtype)).reshape(shape)
