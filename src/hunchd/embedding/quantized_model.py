"""Integer version of the shipped model, which multiplies byte weights directly.

The shipped file stores its weights as bytes, but its graph converts them to 32-bit floats before computing: every
query then reads 42 MB of weights, and the process takes 160 MB more. The graph built here multiplies bytes with bytes;
activations are quantised for each multiplication. Its vectors have a cosine of about 0.99 with those that the original
graph computes, so vectors from both can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from hunchd.embedding.protobuf import INT32, INT64, MICROSOFT, Array, GraphBuilder, read_tensors

HEADS: Final = 12
LAYERS: Final = 6
_EPSILON: Final = 1e-12
_ZERO_POINT: Final = 128  # zero point of an unsigned byte
_WEIGHT = re.compile(r"val_(\d+)_q")
PARTS: Final = ("query", "key", "value", "output", "up", "down")  # matrices of each layer, in the order of the file
EMBEDDINGS: Final = "inner.embeddings"
SENTENCES: Final = f"{EMBEDDINGS}.token_type_embeddings.weight"
LAYER: Final = "inner.encoder.layer"
_BIASES: Final = {
    **{part: f"attention.self.{part}" for part in ("query", "key", "value")},
    "output": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}


def build_integer_model(model: bytes, *, is_signed: bool) -> bytes:
    """Build an integer version of the shipped ONNX model.

    Signed weights (`is_signed`) are faster, but give wrong results on processors whose multiplication of signed bytes
    overflows (see `_multiplies_signed_bytes`). Raises ValueError or KeyError for any other model.
    """
    bert = BertBuilder(read_tensors(model), is_signed=is_signed)
    return bert.build_model(bert.add_encoder(), "last_hidden_state")


def list_matrices(tensors: Mapping[str, Array]) -> dict[tuple[int, str], str]:
    """Return the base name of each weight matrix, keyed by (layer, part).

    The parts are those in PARTS. Raises ValueError for a model other than the shipped one.
    """
    numbers = sorted(int(match[1]) for name in tensors if (match := _WEIGHT.fullmatch(name)))
    places = [(layer, part) for layer in range(LAYERS) for part in PARTS]
    if len(numbers) != len(places):
        raise ValueError(f"the model has {len(numbers)} matrices, which does not match {LAYERS} layers")
    return {place: f"val_{number}" for place, number in zip(places, numbers, strict=True)}


def name_bias(layer: int, part: str) -> str:
    """Return the name of the bias that belongs to a matrix."""
    return f"{LAYER}.{layer}.{_BIASES[part]}.bias"


class BertBuilder:
    """Builder for the integer version of a BERT model.

    Call `add_encoder`, add nodes to `graph` that compute an output from the states of the encoder, then call
    `build_model` with that output.
    """

    def __init__(self, tensors: Mapping[str, Array], *, is_signed: bool) -> None:
        self._tensors = tensors
        self._is_signed = is_signed
        self._matrices = list_matrices(tensors)
        self.graph = GraphBuilder()

    def add_encoder(self, *, pairs: bool = False, layers: int = LAYERS) -> str:
        """Add the lowest `layers` of the encoder and return the name of their states.

        There is one state vector for each word piece. With `pairs`, the encoder reads two sentences together.
        """
        x = self._add_embeddings(pairs)
        [mask] = self.graph.add_node("Cast", "attention_mask", to=INT32)
        for layer in range(layers):
            x = self._add_layer(layer, x, mask)
        return x

    def build_model(self, output: str, exported_name: str) -> bytes:
        """Return the whole model, which exports `output` as `exported_name`."""
        shape = (INT64, ("batch", "sequence"))
        inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), shape)
        return self.graph.build_model(inputs, output, exported_name)

    def _add_embeddings(self, pairs: bool) -> str:
        """Add the sum of the embeddings to the graph, and return its name.

        The word, position and sentence embeddings are added up, and the sum is normalised. Without `pairs`, all
        words belong to the first sentence.
        """
        graph, tensors, name = self.graph, self._tensors, EMBEDDINGS
        words = graph.add_constant("words", tensors[f"{name}.word_embeddings.weight_q"])
        scales = graph.add_constant("word_scales", tensors[f"{name}.word_embeddings.weight_scale"])
        scaled_positions = tensors[f"{name}.position_embeddings.weight_q"].astype(np.float32)
        scaled_positions = scaled_positions * tensors[f"{name}.position_embeddings.weight_scale"]
        types = tensors[SENTENCES]
        places = graph.add_constant("places", scaled_positions if pairs else scaled_positions + types[0])
        [word] = graph.add_node("Gather", words, "input_ids")
        [word] = graph.add_node("Cast", word, to=1)
        [scale] = graph.add_node("Gather", scales, "input_ids")
        [word] = graph.add_node("Mul", word, scale)
        [shape] = graph.add_node("Shape", "input_ids")
        [length] = graph.add_node("Gather", shape, graph.add_constant("one", np.array([1])))
        [place] = graph.add_node("Slice", places, graph.add_constant("zero", np.array([0])), length, "zero")
        [both] = graph.add_node("Add", word, place)
        if pairs:
            [sentence] = graph.add_node("Gather", graph.add_constant("sentences", types), "token_type_ids")
            [both] = graph.add_node("Add", both, sentence)
        return graph.add_node(
            "LayerNormalization", both, *self._add_norm_constants(f"{name}.LayerNorm"), axis=-1, epsilon=_EPSILON
        )[0]

    def _add_layer(self, layer: int, x: str, mask: str) -> str:
        graph, name = self.graph, f"{LAYER}.{layer}"
        projections = self._add_product(layer, x, "query", "key", "value")
        parts = graph.add_node("Split", projections, outputs=3, axis=2)
        [attention] = graph.add_node("MultiHeadAttention", *parts, "", mask, domain=MICROSOFT, num_heads=HEADS)
        attention = self._add_product(layer, attention, "output")
        y = self._add_residual(attention, x, f"{name}.attention.output.LayerNorm")
        [inner] = graph.add_node("Gelu", self._add_product(layer, y, "up"), domain=MICROSOFT)
        return self._add_residual(self._add_product(layer, inner, "down"), y, f"{name}.output.LayerNorm")

    def _add_product(self, layer: int, x: str, *parts: str) -> str:
        """Add a node that multiplies `x` by weight matrices, and return its output's name.

        The weight matrices of `parts` are concatenated, so that one multiplication computes all products. The node
        also adds the biases that belong to the matrices.
        """
        graph = self.graph
        names = [self._matrices[layer, part] for part in parts]
        name = f"{layer}.{'.'.join(parts)}"
        weights = np.concatenate([self._tensors[f"{one}_q"] for one in names], axis=1)
        scales = np.concatenate([self._tensors[f"{one}_scale"].reshape(-1) for one in names])
        biases = np.concatenate([self._tensors[name_bias(layer, part)] for part in parts])
        if not self._is_signed:
            weights = (weights.astype(np.int16) + _ZERO_POINT).astype(np.uint8)
        zeros = np.full(len(scales), 0 if self._is_signed else _ZERO_POINT, weights.dtype)
        return graph.add_node(
            "DynamicQuantizeMatMul",
            x,
            graph.add_constant(f"{name}.weights", weights),
            graph.add_constant(f"{name}.scales", scales),
            graph.add_constant(f"{name}.zeros", zeros),
            graph.add_constant(f"{name}.biases", biases),
            domain=MICROSOFT,
        )[0]

    def _add_residual(self, change: str, x: str, norm: str) -> str:
        # "Add" would be fused with the next operator, into one that takes four times as long.
        [both] = self.graph.add_node("Sum", change, x)
        return self.graph.add_node(
            "LayerNormalization", both, *self._add_norm_constants(norm), axis=-1, epsilon=_EPSILON
        )[0]

    def _add_norm_constants(self, name: str) -> list[str]:
        return [
            self.graph.add_constant(f"{name}.{part}", self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")
        ]
