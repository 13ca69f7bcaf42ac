"""Integer version of the shipped model, which multiplies its byte weights directly.

The file holds its weights as bytes, and its own graph converts them to 32-bit floats before it computes: every
query then reads 42 MB of weights, and the process holds 160 MB more. The graph that is written here multiplies
bytes with bytes; activations are quantised for each multiplication. Its vectors have a cosine of about 0.99 with
those of the file's own graph, and are comparable with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from hunchd.embedding.protobuf import INT32, INT64, MICROSOFT, Array, Graph, tensors_of

HEADS: Final = 12
LAYERS: Final = 6
_EPSILON: Final = 1e-12
_MIDDLE: Final = 128  # zero point of an unsigned byte
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


def with_whole_numbers(model: bytes, *, signed: bool) -> bytes:
    """Build an integer version of the shipped ONNX model.

    `signed` weights are faster, and wrong if the processor overflows when it multiplies them (see `fast`). Raises
    ValueError or KeyError for another model.
    """
    bert = Bert(tensors_of(model), signed=signed)
    return bert.model(bert.states(), "last_hidden_state")


def matrices_of(tensors: Mapping[str, Array]) -> dict[tuple[int, str], str]:
    """Return the base name of each matrix by layer and part.

    Raises ValueError for another model.
    """
    numbers = sorted(int(found[1]) for name in tensors if (found := _WEIGHT.fullmatch(name)))
    places = [(layer, part) for layer in range(LAYERS) for part in PARTS]
    if len(numbers) != len(places):
        raise ValueError(f"{len(numbers)} matrices are not those of a model with {LAYERS} layers")
    return {place: f"val_{number}" for place, number in zip(places, numbers, strict=True)}


def bias_of(layer: int, part: str) -> str:
    """Return the name of the bias of a matrix."""
    return f"{LAYER}.{layer}.{_BIASES[part]}.bias"


class Bert:
    """Builder of the model.

    Call `states`, then `model` with the output computed from them in `graph`.
    """

    def __init__(self, tensors: Mapping[str, Array], *, signed: bool) -> None:
        self._tensors = tensors
        self._signed = signed
        self._matrices = matrices_of(tensors)
        self.graph = Graph()

    def states(self, *, pairs: bool = False) -> str:
        """Add the encoder and return the name of its states.

        There is a vector for each word piece. `pairs` is for two sentences that are read together.
        """
        x = self._embedded(pairs)
        [mask] = self.graph.add("Cast", "attention_mask", to=INT32)
        for layer in range(LAYERS):
            x = self._layer(layer, x, mask)
        return x

    def model(self, output: str, given: str) -> bytes:
        """Return the whole model, which exports `output` as `given`."""
        shape = (INT64, ("batch", "sequence"))
        inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), shape)
        return self.graph.model(inputs, output, given)

    def _embedded(self, pairs: bool) -> str:
        """Add the sum of word, position and sentence embeddings.

        Without `pairs` all words belong to the first sentence.
        """
        graph, tensors, name = self.graph, self._tensors, EMBEDDINGS
        words = graph.constant("words", tensors[f"{name}.word_embeddings.weight_q"])
        scales = graph.constant("word_scales", tensors[f"{name}.word_embeddings.weight_scale"])
        scaled = tensors[f"{name}.position_embeddings.weight_q"].astype(np.float32)
        scaled = scaled * tensors[f"{name}.position_embeddings.weight_scale"]
        types = tensors[SENTENCES]
        places = graph.constant("places", scaled if pairs else scaled + types[0])
        [word] = graph.add("Gather", words, "input_ids")
        [word] = graph.add("Cast", word, to=1)
        [scale] = graph.add("Gather", scales, "input_ids")
        [word] = graph.add("Mul", word, scale)
        [shape] = graph.add("Shape", "input_ids")
        [length] = graph.add("Gather", shape, graph.constant("one", np.array([1])))
        [place] = graph.add("Slice", places, graph.constant("zero", np.array([0])), length, "zero")
        [both] = graph.add("Add", word, place)
        if pairs:
            [sentence] = graph.add("Gather", graph.constant("sentences", types), "token_type_ids")
            [both] = graph.add("Add", both, sentence)
        return graph.add("LayerNormalization", both, *self._normal(f"{name}.LayerNorm"), axis=-1, epsilon=_EPSILON)[0]

    def _layer(self, layer: int, x: str, mask: str) -> str:
        graph, name = self.graph, f"{LAYER}.{layer}"
        asked = self._product(layer, x, "query", "key", "value")
        parts = graph.add("Split", asked, outputs=3, axis=2)
        [seen] = graph.add("MultiHeadAttention", *parts, "", mask, domain=MICROSOFT, num_heads=HEADS)
        seen = self._product(layer, seen, "output")
        y = self._added(seen, x, f"{name}.attention.output.LayerNorm")
        [inner] = graph.add("Gelu", self._product(layer, y, "up"), domain=MICROSOFT)
        return self._added(self._product(layer, inner, "down"), y, f"{name}.output.LayerNorm")

    def _product(self, layer: int, x: str, *parts: str) -> str:
        """Add the product of `x` and some matrices, plus biases.

        The matrices of the parts are side by side.
        """
        graph = self.graph
        names = [self._matrices[layer, part] for part in parts]
        name = f"{layer}.{'.'.join(parts)}"
        weights = np.concatenate([self._tensors[f"{one}_q"] for one in names], axis=1)
        scales = np.concatenate([self._tensors[f"{one}_scale"].reshape(-1) for one in names])
        biases = np.concatenate([self._tensors[bias_of(layer, part)] for part in parts])
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
        # "Add" would be fused with the next operator, into one that takes four times as long.
        [both] = self.graph.add("Sum", change, x)
        return self.graph.add("LayerNormalization", both, *self._normal(norm), axis=-1, epsilon=_EPSILON)[0]

    def _normal(self, name: str) -> list[str]:
        return [self.graph.constant(f"{name}.{part}", self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")]
