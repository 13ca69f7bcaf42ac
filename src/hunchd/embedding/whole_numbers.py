"""The shipped model as it is computed here: with whole numbers, which is what its file holds.

The file keeps its weights as bytes, and its own graph makes 32-bit floats of them before it computes: every question
then reads 42 MB of weights, and the process holds 160 MB more. The graph that is written here multiplies bytes with
bytes; activations become bytes for each multiplication. Its vectors have a cosine of about 0.99 with those of the
file's own graph, and can be compared with them.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from hunchd.embedding.protobuf import INT32, MICROSOFT, Array, Graph, tensors_of

HEADS: Final = 12
LAYERS: Final = 6
_EPSILON: Final = 1e-12
_MIDDLE: Final = 128  # of a byte without a sign
_INT64: Final = 7
_WEIGHT = re.compile(r"val_(\d+)_q")
_MATRICES: Final = ("query", "key", "value", "output", "up", "down")  # of each layer, in the order of the file


def with_whole_numbers(model: bytes, *, signed: bool) -> bytes:
    """An ONNX model that computes what `model`, the shipped one, does. Raises ValueError or KeyError for another.

    `signed` weights are quicker, and wrong where the processor overflows when it multiplies them (see `fast`)."""
    return _Bert(tensors_of(model), signed=signed).model()


class _Bert:
    def __init__(self, tensors: dict[str, Array], *, signed: bool) -> None:
        self._tensors = tensors
        self._signed = signed
        numbers = sorted(int(found[1]) for name in tensors if (found := _WEIGHT.fullmatch(name)))
        if len(numbers) != LAYERS * len(_MATRICES):
            raise ValueError(f"{len(numbers)} matrices are not those of a model with {LAYERS} layers")
        self._matrices = [f"val_{number}" for number in numbers]
        self._graph = Graph()

    def model(self) -> bytes:
        x = self._embedded()
        [mask] = self._graph.add("Cast", "attention_mask", to=INT32)
        for layer in range(LAYERS):
            x = self._layer(layer, x, mask)
        shape = (_INT64, ("batch", "sequence"))
        inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), shape)
        return self._graph.model(inputs, x, "last_hidden_state")

    def _embedded(self) -> str:
        """Each word's vector and its place's. All words are of the first and only sentence."""
        graph, tensors, name = self._graph, self._tensors, "inner.embeddings"
        words = graph.constant("words", tensors[f"{name}.word_embeddings.weight_q"])
        scales = graph.constant("word_scales", tensors[f"{name}.word_embeddings.weight_scale"])
        scaled = tensors[f"{name}.position_embeddings.weight_q"].astype(np.float32)
        scaled = scaled * tensors[f"{name}.position_embeddings.weight_scale"]
        places = graph.constant("places", scaled + tensors[f"{name}.token_type_embeddings.weight"][0])
        [word] = graph.add("Gather", words, "input_ids")
        [word] = graph.add("Cast", word, to=1)
        [scale] = graph.add("Gather", scales, "input_ids")
        [word] = graph.add("Mul", word, scale)
        [shape] = graph.add("Shape", "input_ids")
        [length] = graph.add("Gather", shape, graph.constant("one", np.array([1])))
        [place] = graph.add("Slice", places, graph.constant("zero", np.array([0])), length, "zero")
        [both] = graph.add("Add", word, place)
        return graph.add("LayerNormalization", both, *self._normal(f"{name}.LayerNorm"), axis=-1, epsilon=_EPSILON)[0]

    def _layer(self, layer: int, x: str, mask: str) -> str:
        graph, name = self._graph, f"inner.encoder.layer.{layer}"
        attention = f"{name}.attention"
        asked = self._product(layer, x, {part: f"{attention}.self.{part}.bias" for part in ("query", "key", "value")})
        parts = graph.add("Split", asked, outputs=3, axis=2)
        [seen] = graph.add("MultiHeadAttention", *parts, "", mask, domain=MICROSOFT, num_heads=HEADS)
        seen = self._product(layer, seen, {"output": f"{attention}.output.dense.bias"})
        y = self._added(seen, x, f"{attention}.output.LayerNorm")
        inner = self._product(layer, y, {"up": f"{name}.intermediate.dense.bias"})
        [inner] = graph.add("Gelu", inner, domain=MICROSOFT)
        return self._added(
            self._product(layer, inner, {"down": f"{name}.output.dense.bias"}), y, f"{name}.output.LayerNorm"
        )

    def _product(self, layer: int, x: str, parts: dict[str, str]) -> str:
        """`x` times the matrices of these parts side by side, plus their biases."""
        graph = self._graph
        names = [self._matrices[layer * len(_MATRICES) + _MATRICES.index(part)] for part in parts]
        name = f"{layer}.{'.'.join(parts)}"
        weights = np.concatenate([self._tensors[f"{one}_q"] for one in names], axis=1)
        scales = np.concatenate([self._tensors[f"{one}_scale"].reshape(-1) for one in names])
        biases = np.concatenate([self._tensors[bias] for bias in parts.values()])
        if not self._signed:
            weights = (weights.astype(np.int16) + _MIDDLE).astype(np.uint8)
        zeros = np.full(len(scales), 0 if self._signed else _MIDDLE, weights.dtype)
        return graph.add(
            "DynamicQuantizeMatMul",
            x,
            graph.constant(f"{name}.weights", weights),
            graph.constant(f"{name}.scales", scales),
            graph.constant(f"{name}.zeros", zeros),
            graph.constant(f"{name}.biases", biases),
            domain=MICROSOFT,
        )[0]

    def _added(self, change: str, x: str, norm: str) -> str:
        # "Add" would be fused with what follows, into an operator that takes four times as long.
        [both] = self._graph.add("Sum", change, x)
        return self._graph.add("LayerNormalization", both, *self._normal(norm), axis=-1, epsilon=_EPSILON)[0]

    def _normal(self, name: str) -> list[str]:
        return [self._graph.constant(f"{name}.{part}", self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")]
