"""Contradiction model for pairs of statements, derived from the embedding model.

It consists of the installed embedding model with small changes: a product of two narrow matrices is added to each
matrix of its layers (LoRA), and a classifier of two layers is put on top. Only the changes are shipped
(`entailment.npz`).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from hunchd.embedding.embedder import ModelUnavailable
from hunchd.embedding.model_digests import ENTAILMENT_DIGEST
from hunchd.embedding.protobuf import Array, GraphBuilder, read_tensors
from hunchd.embedding.quantized_model import LAYER, LAYERS, SENTENCES, BertBuilder, list_matrices, name_bias

CHANGES_FILE: Final = Path(__file__).with_name("entailment.npz")
MAX_PIECES: Final = 64  # word pieces; one pair in a thousand has more: its longer side is truncated first
_MAX_BYTE: Final = 127  # largest value of a signed byte


def load_changes(path: Path, digest: str | None = None) -> dict[str, Array]:
    """Load shipped changes as floats, keyed by name.

    In the file, large matrices are signed bytes with a scale for each column or row. Raises ModelUnavailable unless
    `digest`, by default that of the contradiction model, is the SHA-256 of the file.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"changes of the model cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != (digest or ENTAILMENT_DIGEST):
        raise ModelUnavailable(f"the changes of the model in {path} are damaged; reinstall hunchd")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name].astype(np.float32) for name in archive.files}
    return {
        name: array * arrays.get(f"{name}.scale", np.float32(1))
        for name, array in arrays.items()
        if not name.endswith(".scale")
    }


def build_model(model: bytes, changes: Mapping[str, Array], *, is_signed: bool) -> bytes:
    """Build an ONNX model that returns contradiction logits.

    `model` is the shipped embedding model, `changes` the result of `load_changes`; for `is_signed`, see
    `build_integer_model`. Raises ValueError or KeyError if `model` is not the shipped model.
    """
    bert = BertBuilder(apply_changes(read_tensors(model), changes), is_signed=is_signed)
    return bert.build_model(_add_classifier(bert.graph, bert.add_encoder(pairs=True), changes), "logit")


def apply_changes(tensors: Mapping[str, Array], changes: Mapping[str, Array]) -> dict[str, Array]:
    """Return the tensors of the embedding model with the changes applied.

    The changed matrices are quantised to bytes again, with a scale for each column. Other layers stay the same.
    """
    tensors_by_name = dict(tensors)
    for (layer, part), name in list_matrices(tensors).items():
        prefix = f"{layer}.{part}"
        if f"{prefix}.a" not in changes:
            continue
        weights = tensors[f"{name}_q"].astype(np.float32) * tensors[f"{name}_scale"]
        weights += changes[f"{prefix}.a"] @ changes[f"{prefix}.b"]
        scale = np.abs(weights).max(axis=0, keepdims=True) / _MAX_BYTE
        tensors_by_name[f"{name}_q"] = np.rint(weights / scale).astype(np.int8)
        tensors_by_name[f"{name}_scale"] = scale
        tensors_by_name[name_bias(layer, part)] = tensors[name_bias(layer, part)] + changes[f"{prefix}.bias"]
    for change, name in _list_norms():
        if change in changes:
            tensors_by_name[name] = tensors[name] + changes[change]
    tensors_by_name[SENTENCES] = changes.get("types", tensors[SENTENCES])
    return tensors_by_name


def _list_norms() -> Iterator[tuple[str, str]]:
    """Yield the names of each normalisation tensor, in the changes and in the model."""
    places: dict[str, str] = {}
    for layer in range(LAYERS):
        places[f"{layer}.attention.norm"] = f"{LAYER}.{layer}.attention.output.LayerNorm"
        places[f"{layer}.norm"] = f"{LAYER}.{layer}.output.LayerNorm"
    return ((f"{change}.{kind}", f"{name}.{kind}") for change, name in places.items() for kind in ("weight", "bias"))


def _add_classifier(graph: GraphBuilder, states: str, changes: Mapping[str, Array]) -> str:
    """Add the classifier to the graph, and return the name of its output.

    The output is the log odds of a contradiction. The inputs are the state of the first word piece, the mean state
    of each statement, and the absolute difference of the two means.
    """
    first = graph.add_constant("first", np.array(0))
    [first_state] = graph.add_node("Gather", states, first, axis=1)
    [second] = graph.add_node("Mul", "attention_mask", "token_type_ids")
    [other] = graph.add_node("Sub", "attention_mask", second)
    one, two = (add_mean(graph, states, pieces) for pieces in (other, second))
    [difference] = graph.add_node("Sub", one, two)
    [difference] = graph.add_node("Abs", difference)
    [hidden_layer] = graph.add_node("Concat", first_state, one, two, difference, axis=1)
    for layer in ("hidden", "output"):
        weights, biases = (
            graph.add_constant(f"{layer}.{kind}", changes[f"head.{layer}.{kind}"]) for kind in ("weight", "bias")
        )
        [hidden_layer] = graph.add_node("Gemm", hidden_layer, weights, biases)
        if layer == "hidden":
            [hidden_layer] = graph.add_node("Tanh", hidden_layer)
    entailment, neutral, contradicts = graph.add_node("Split", hidden_layer, outputs=3, axis=1)
    [entailment], [neutral] = graph.add_node("Exp", entailment), graph.add_node("Exp", neutral)
    [log_rest] = graph.add_node("Add", entailment, neutral)
    [log_rest] = graph.add_node("Log", log_rest)
    return graph.add_node("Sub", contradicts, log_rest)[0]


def add_mean(graph: GraphBuilder, states: str, pieces: str) -> str:
    """Add the mean state of some word pieces, and return its name.

    The word pieces are those marked with 1 in `pieces`.
    """
    axis = graph.add_constant(f"{pieces}.axis", np.array([1]))
    [marks] = graph.add_node("Cast", pieces, to=1)
    [count] = graph.add_node("ReduceSum", marks, axis, keepdims=1)
    [row] = graph.add_node("Unsqueeze", marks, axis)
    [total] = graph.add_node("MatMul", row, states)
    [total] = graph.add_node("Squeeze", total, axis)
    return graph.add_node("Div", total, count)[0]
