"""Embedding model with trainable low-rank deltas in torch; the shipped weights stay fixed, as floats."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from hunchd.embedding import fastembed_backend
from hunchd.embedding.protobuf import read_tensors

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536
RANK = 128
HIDDEN = 64
LONGEST = 64  # word pieces of a pair
EPSILON = 1e-12
SIZES = {
    "query": (WIDTH, WIDTH),
    "key": (WIDTH, WIDTH),
    "value": (WIDTH, WIDTH),
    "output": (WIDTH, WIDTH),
    "up": (WIDTH, INNER),
    "down": (INNER, WIDTH),
}
THEIR_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
NORMS = {"attention.norm": "attention.output.LayerNorm", "norm": "output.LayerNorm"}


def list_shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of each trainable tensor by its name in the file."""
    found: dict[str, tuple[int, ...]] = {}
    for layer in range(LAYERS):
        for part, (wide, out) in SIZES.items():
            name = f"{layer}.{part}"
            found |= {f"{name}.a": (wide, RANK), f"{name}.b": (RANK, out), f"{name}.bias": (out,)}
        found |= {f"{layer}.{norm}.{one}": (WIDTH,) for norm in NORMS for one in ("weight", "bias")}
    found |= {f"embeddings.norm.{one}": (WIDTH,) for one in ("weight", "bias")}
    found |= {"types": (2, WIDTH), "head.hidden.weight": (4 * WIDTH, HIDDEN), "head.hidden.bias": (HIDDEN,)}
    return found | {"head.output.weight": (HIDDEN, 3), "head.output.bias": (3,)}


NAMES = tuple(list_shapes())


def make_key(name: str) -> str:
    return name.replace(".", "_")


class Network(nn.Module):
    """Maps word pieces of pairs to three logits each: entailment, neutral, contradiction."""

    def __init__(self, *, drop: float) -> None:
        super().__init__()
        self._drop = drop
        self._base = _load_shipped()
        self.learned = nn.ParameterDict(
            {make_key(name): _initialise(name, shape) for name, shape in list_shapes().items()}
        )
        self.learned["types"].data.copy_(self._base["types"])

    def load(self, changes: Mapping[str, np.ndarray]) -> None:
        """Take over changes of the same or a smaller rank."""
        for name in changes.keys() & set(NAMES):
            values = torch.from_numpy(np.ascontiguousarray(changes[name]))
            self.learned[make_key(name)].data[tuple(slice(size) for size in values.shape)] = values.to(DEVICE)

    def forward(self, words: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        x = self._body(words, types, mask)
        first, second = (_mean(x, mask * (types == side)) for side in (0, 1))
        pooled = self._dropped(torch.cat([x[:, 0], first, second, (first - second).abs()], dim=1))
        hidden = torch.tanh(pooled @ self._learned("head.hidden.weight") + self._learned("head.hidden.bias"))
        return hidden @ self._learned("head.output.weight") + self._learned("head.output.bias")

    def _body(self, words: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        x = self._base["words"][words] + self._base["places"][: words.shape[1]]
        x = self._dropped(self._norm("embeddings.norm", x + F.embedding(types, self._learned("types"))))
        visible = mask[:, None, None, :].bool()
        for layer in range(LAYERS):
            query, key, value = (self._heads(layer, part, x) for part in ("query", "key", "value"))
            drop = self._drop if self.training else 0.0
            y = F.scaled_dot_product_attention(query, key, value, attn_mask=visible, dropout_p=drop)
            y = self._times(layer, "output", y.transpose(1, 2).reshape(x.shape))
            x = self._norm(f"{layer}.attention.norm", x + self._dropped(y))
            y = self._times(layer, "down", F.gelu(self._times(layer, "up", x)))
            x = self._norm(f"{layer}.norm", x + self._dropped(y))
        return x

    def _heads(self, layer: int, part: str, x: Tensor) -> Tensor:
        pairs, length, _ = x.shape
        return self._times(layer, part, x).view(pairs, length, HEADS, WIDTH // HEADS).transpose(1, 2)

    def _times(self, layer: int, part: str, x: Tensor) -> Tensor:
        name = f"{layer}.{part}"
        y = F.linear(x, self._base[name], self._base[f"{name}.bias"] + self._learned(f"{name}.bias"))
        return y + (x @ self._learned(f"{name}.a")) @ self._learned(f"{name}.b")

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = (self._base[f"{name}.{one}"] + self._learned(f"{name}.{one}") for one in ("weight", "bias"))
        return F.layer_norm(x, (WIDTH,), weight, bias, EPSILON)

    def _dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self._drop, self.training)

    def _learned(self, name: str) -> Tensor:
        return self.learned[make_key(name)]


def contradiction_logit(classes: Tensor) -> Tensor:
    """Return the logit of a contradiction against both others."""
    return classes[:, 2] - torch.logsumexp(classes[:, :2], dim=1)


def tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(str(fastembed_backend._TOKENIZER / "tokenizer.json"))
    found.no_padding()
    found.enable_truncation(LONGEST, strategy="longest_first")
    return found


def make_batch(pairs: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Pad encoded pairs to word pieces, types and mask as long as the longest."""
    found = torch.zeros(3, len(pairs), max(len(one.ids) for one in pairs), dtype=torch.long)
    for row, one in enumerate(pairs):
        found[:, row, : len(one.ids)] = torch.tensor([one.ids, one.type_ids, one.attention_mask])
    return tuple(found.to(DEVICE).unbind())  # type: ignore[return-value]


def _mean(x: Tensor, chosen: Tensor) -> Tensor:
    weight = chosen.to(x.dtype)[:, :, None]
    return (x * weight).sum(dim=1) / weight.sum(dim=1)


def _initialise(name: str, shape: tuple[int, ...]) -> nn.Parameter:
    """Initialise so that nothing changes at first: random left factors and head."""
    if name.endswith(".a") or name == "head.hidden.weight":
        return nn.Parameter(torch.randn(shape) / math.sqrt(shape[0]))
    return nn.Parameter(torch.randn(shape) * 0.05 if name == "head.output.weight" else torch.zeros(shape))


def _load_shipped() -> dict[str, Tensor]:
    tensors = read_tensors(fastembed_backend.read_checked_model(fastembed_backend.locate_model_file()))
    numbers = sorted(int(found[1]) for name in tensors if (found := re.fullmatch(r"val_(\d+)_q", name)))

    def floats(name: str) -> Any:
        return tensors[f"{name}_q"].astype(np.float32) * tensors[f"{name}_scale"]

    found: dict[str, Any] = {}
    for layer in range(LAYERS):
        theirs = f"inner.encoder.layer.{layer}"
        for at, (part, name) in enumerate(THEIR_NAMES.items()):
            found[f"{layer}.{part}"] = floats(f"val_{numbers[layer * len(THEIR_NAMES) + at]}").T
            found[f"{layer}.{part}.bias"] = tensors[f"{theirs}.{name}.bias"]
        for norm, name in NORMS.items():
            found |= {f"{layer}.{norm}.{one}": tensors[f"{theirs}.{name}.{one}"] for one in ("weight", "bias")}
    name = "inner.embeddings"
    found |= {f"embeddings.norm.{one}": tensors[f"{name}.LayerNorm.{one}"] for one in ("weight", "bias")}
    found["words"] = floats(f"{name}.word_embeddings.weight")
    found["places"] = floats(f"{name}.position_embeddings.weight")
    found["types"] = tensors[f"{name}.token_type_embeddings.weight"]
    return {name: torch.tensor(np.ascontiguousarray(array), device=DEVICE) for name, array in found.items()}
