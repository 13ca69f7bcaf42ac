"""Contradiction model: checksums, merged changes and clear pairs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from hunchd.embedding import entailment, fastembed_backend
from hunchd.embedding.embedder import ModelUnavailable
from hunchd.embedding.protobuf import read_tensors
from hunchd.embedding.quantized_model import LAYERS, PARTS, SENTENCES, list_matrices, name_bias


def embed(texts: Sequence[str]) -> list[bytes]:
    """Return one vector for all texts but "far"."""
    return [np.array([1.0, 0.0] if text != "far" else [0.0, 1.0], "<f4").tobytes() for text in texts]


def test_damaged_or_missing_changes_raise_model_unavailable(tmp_path: Path) -> None:
    content = bytearray(entailment.CHANGES_FILE.read_bytes())
    content[len(content) // 2] ^= 1
    copy = tmp_path / "entailment.npz"
    copy.write_bytes(content)
    with pytest.raises(ModelUnavailable, match="damaged"):
        fastembed_backend.load_contradiction_model(embed, copy)
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        fastembed_backend.load_contradiction_model(embed, tmp_path / "absent")


def test_shipped_changes_modify_every_matrix() -> None:
    assert entailment.CHANGES_FILE.stat().st_size < 5_600_000
    changes = entailment.load_changes(entailment.CHANGES_FILE)
    tensors = read_tensors(fastembed_backend.locate_model_file().read_bytes())
    made = entailment.apply_changes(tensors, changes)
    assert made.keys() == tensors.keys()
    matrices = list_matrices(tensors)
    assert {layer for layer, _ in matrices} == set(range(LAYERS))
    for (layer, part), name in matrices.items():
        whole = (
            tensors[f"{name}_q"] * tensors[f"{name}_scale"]
            + changes[f"{layer}.{part}.a"] @ changes[f"{layer}.{part}.b"]
        )
        again = made[f"{name}_q"] * made[f"{name}_scale"]
        assert made[f"{name}_q"].dtype == np.int8
        assert np.abs(again - whole).max() <= made[f"{name}_scale"].max() * 0.51, (layer, part)
        assert not np.array_equal(made[f"{name}_q"], tensors[f"{name}_q"])
    assert {part for _, part in matrices} == set(PARTS)
    assert np.array_equal(made[SENTENCES], changes["types"])
    assert np.allclose(made[name_bias(3, "up")] - tensors[name_bias(3, "up")], changes["3.up.bias"], atol=1e-5)


class Logits:
    """Model that returns a fixed logit for each order of a pair."""

    def __init__(self, **by_first: float) -> None:
        self._logits = by_first
        self.asked: list[tuple[str, str]] = []

    def rerank_pairs(self, pairs: Sequence[tuple[str, str]], batch_size: int) -> Iterator[float]:
        self.asked += pairs
        return (self._logits[a] for a, _ in pairs)


def test_contradict_averages_both_orders_unless_hopeless() -> None:
    model = Logits(a=2.0, b=4.0, x=-3.0, y=1.0)
    reader = fastembed_backend._ContradictionModel(model, embed)
    sure, other_order, hopeless = reader.rate_pairs([("a", "b"), ("b", "a"), ("x", "y")])
    assert sure == other_order > 0.9
    assert hopeless < 0.1
    assert model.asked == [("a", "b"), ("b", "a"), ("b", "a"), ("a", "b"), ("x", "y")]


def test_contradict_of_unlike_statements_is_improbable() -> None:
    reader = fastembed_backend._ContradictionModel(Logits(near=4.0, other=4.0, far=4.0, nearly=-0.4), embed)
    near, far, doubted = reader.rate_pairs([("near", "other"), ("near", "far"), ("nearly", "nearly")])
    assert far < 0.2 < doubted < 0.5 < 0.9 < near


def test_contradict_separates_contradictions_from_compatible_pairs() -> None:
    """Run in a separate process: the model takes 100 MB, which this run would keep."""
    opposed = [
        ("Audio is mixed in stereo", "The audio mixer output is mono"),
        ("Migrations run automatically at start", "Migrations are run by hand before a deployment"),
        ("Emails are sent synchronously in the request", "Emails are sent later by a background job"),
        ("Comments in code are encouraged", "Do not write comments in the code"),
    ]
    beside = [
        ("Invoices are PDF files", "Invoices are kept for ten years"),
        ("The cache lives in memory", "The cache is cleared at midnight"),
        ("The API is public", "The API is documented with OpenAPI"),
        ("Tests run in CI", "Tests use a fake clock"),
    ]
    program = "import json, sys\nfrom hunchd.embedding import fastembed_backend as fast\n"
    program += "model = fast.load_contradiction_model(fast.load_embedder().embed)\n"
    program += "print(json.dumps(model.rate_pairs(json.loads(sys.argv[1]))))"
    line = [sys.executable, "-c", program, json.dumps(opposed + beside)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=100)
    said = json.loads(done.stdout)
    assert min(said[: len(opposed)]) > max(said[len(opposed) :]), said
