"""Model that classifies the statements in a session.

It is derived from the embedding model: a product of two narrow matrices is added to each matrix in the upper layers
(LoRA), and a linear layer is put on top. Only these changes are shipped (`statements.npz`);
`benchmarks/train_statements.py` trains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from hunchd.embedding.entailment import add_mean, apply_changes
from hunchd.embedding.protobuf import Array, read_tensors
from hunchd.embedding.quantized_model import BertBuilder

CHANGES_FILE: Final = Path(__file__).with_name("statements.npz")
MAX_PIECES: Final = 60  # word pieces of a sentence and its context


def build_model(model: bytes, changes: Mapping[str, Array], *, is_signed: bool) -> bytes:
    """Build an ONNX model that classifies a sentence in its context.

    The model returns a logit for each label. `model` is the shipped embedding model; any other model raises
    ValueError or KeyError. `is_signed` selects signed weights; see `build_integer_model`.
    """
    bert = BertBuilder(apply_changes(read_tensors(model), changes), is_signed=is_signed)
    graph, states = bert.graph, bert.add_encoder(pairs=True)
    [first] = graph.add_node("Gather", states, graph.add_constant("first", np.array(0)), axis=1)
    [pieces] = graph.add_node("Concat", first, add_mean(graph, states, "token_type_ids"), axis=1)
    weights, biases = (graph.add_constant(name, changes[name]) for name in ("head.weight", "head.bias"))
    return bert.build_model(graph.add_node("Gemm", pieces, weights, biases)[0], "logits")
