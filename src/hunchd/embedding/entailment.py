"""Contradiction model for pairs of statements, derived from the embedding model.

It is the installed model with small changes: a product of two narrow matrices is added to each matrix of its layers
(LoRA), and a head of two layers classifies the result. Only the changes are shipped (`entailment.npz`).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from hunchd.embedding.digests import ENTAILMENT
from hunchd.embedding.embedder import ModelUnavailable
from hunchd.embedding.protobuf import Array, Graph, tensors_of
from hunchd.embedding.whole_numbers import LAYER, LAYERS, SENTENCES, Bert, bias_of, matrices_of

SHIPPED: Final = Path(__file__).with_name("entailment.npz")
LONGEST: Final = 64  # word pieces; one pair in a thousand has more: its longer side is truncated first
_MOST: Final = 127  # of a signed byte


def changes_in(path: Path) -> dict[str, Array]:
    """Load the shipped changes by name.

    Raises ModelUnavailable unless the file is the one this version was built with.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"the contradiction model cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != ENTAILMENT:
        raise ModelUnavailable(f"the contradiction model {path} is damaged; reinstall hunchd")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def reader(model: bytes, changes: Mapping[str, Array], *, signed: bool) -> bytes:
    """Build an ONNX model that returns contradiction logits.

    `model` is the shipped one. Raises ValueError or KeyError for another.
    """
    bert = Bert(changed(tensors_of(model), changes), signed=signed)
    return bert.model(_judged(bert.graph, bert.states(pairs=True), changes), "logit")


def changed(tensors: Mapping[str, Array], changes: Mapping[str, Array]) -> dict[str, Array]:
    """Apply the changes to the tensors of the model.

    Matrices are quantised to bytes again, with a scale for each column.
    """
    found = dict(tensors)
    for (layer, part), name in matrices_of(tensors).items():
        place = f"{layer}.{part}"
        whole = tensors[f"{name}_q"].astype(np.float32) * tensors[f"{name}_scale"]
        whole += changes[f"{place}.a"] @ changes[f"{place}.b"]
        scale = np.abs(whole).max(axis=0, keepdims=True) / _MOST
        found[f"{name}_q"] = np.rint(whole / scale).astype(np.int8)
        found[f"{name}_scale"] = scale
        found[bias_of(layer, part)] = tensors[bias_of(layer, part)] + changes[f"{place}.bias"]
    for change, name in _norms():
        found[name] = tensors[name] + changes[change]
    found[SENTENCES] = changes["types"]
    return found


def _norms() -> Iterator[tuple[str, str]]:
    """Yield the name of each changed normalisation, here and there.

    The first is the name of the change, the second its name in the model.
    """
    places: dict[str, str] = {}
    for layer in range(LAYERS):
        places[f"{layer}.attention.norm"] = f"{LAYER}.{layer}.attention.output.LayerNorm"
        places[f"{layer}.norm"] = f"{LAYER}.{layer}.output.LayerNorm"
    return ((f"{change}.{kind}", f"{name}.{kind}") for change, name in places.items() for kind in ("weight", "bias"))


def _judged(graph: Graph, states: str, changes: Mapping[str, Array]) -> str:
    """Add the classification head: log odds of a contradiction against everything else.

    Its inputs are the first word piece, the mean of each side, and the absolute difference of the means.
    """
    first = graph.constant("first", np.array(0))
    [whole] = graph.add("Gather", states, first, axis=1)
    [second] = graph.add("Mul", "attention_mask", "token_type_ids")
    [other] = graph.add("Sub", "attention_mask", second)
    one, two = (_mean(graph, states, pieces) for pieces in (other, second))
    [apart] = graph.add("Sub", one, two)
    [apart] = graph.add("Abs", apart)
    [hidden] = graph.add("Concat", whole, one, two, apart, axis=1)
    for layer in ("hidden", "output"):
        weights, biases = (
            graph.constant(f"{layer}.{kind}", changes[f"head.{layer}.{kind}"]) for kind in ("weight", "bias")
        )
        [hidden] = graph.add("Gemm", hidden, weights, biases)
        if layer == "hidden":
            [hidden] = graph.add("Tanh", hidden)
    follows, beside, contradicts = graph.add("Split", hidden, outputs=3, axis=1)
    [follows], [beside] = graph.add("Exp", follows), graph.add("Exp", beside)
    [neither] = graph.add("Add", follows, beside)
    [neither] = graph.add("Log", neither)
    return graph.add("Sub", contradicts, neither)[0]


def _mean(graph: Graph, states: str, pieces: str) -> str:
    """Add the mean of the states marked with 1."""
    axis = graph.constant(f"{pieces}.axis", np.array([1]))
    [marks] = graph.add("Cast", pieces, to=1)
    [count] = graph.add("ReduceSum", marks, axis, keepdims=1)
    [row] = graph.add("Unsqueeze", marks, axis)
    [total] = graph.add("MatMul", row, states)
    [total] = graph.add("Squeeze", total, axis)
    return graph.add("Div", total, count)[0]
