"""Statement model in jax: trainable low-rank changes in the upper layers of the shipped embedding model."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jax import numpy as jnp
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

from hunchd.embedding import fastembed_backend
from hunchd.embedding.protobuf import read_tensors
from hunchd.embedding.quantized_model import HEADS, LAYER, LAYERS, PARTS, BertBuilder, list_matrices, name_bias
from hunchd.embedding.statements import MAX_PIECES
from hunchd.ingestion.statement_classifier import LABELS

WIDTH, INNER = 384, 1536
SHAPES = dict.fromkeys(PARTS, (WIDTH, WIDTH)) | {"up": (WIDTH, INNER), "down": (INNER, WIDTH)}
FIRST_LAYER = 3  # lower ones stay as they are
RANK = 8
EPOCHS, BATCH, RATE = 5, 32, 2e-3
WARM = 0.08  # share of the steps until the learning rate is reached; then it falls to nothing
DROP, SMOOTH = 0.1, 0.05
LABEL_WEIGHT = 0.6  # of the loss over labels, beside that over "states something"
STATING = 11  # labels that state something come first
PADDED = (15, 22, 32, 44, MAX_PIECES)  # word pieces: each length is compiled once
EPSILON = 1e-12

Arrays = dict[str, jax.Array]


@dataclass(frozen=True)
class Encoded:
    """Word pieces of a context and a sentence, and which of the two each belongs to."""

    ids: list[int]
    types: list[int]


def encode(pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
    tokenizer = Tokenizer.from_file(str(fastembed_backend._TOKENIZER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_PIECES)
    found = (tokenizer.encode(*fastembed_backend.shorten_pair(*pair)) for pair in pairs)
    return [Encoded(one.ids, one.type_ids) for one in found]


def compute_lower_states(sentences: Sequence[Encoded]) -> list[np.ndarray]:
    """Return the states below the first changed layer, which the shipped integer model computes once."""
    is_signed = fastembed_backend._multiplies_signed_bytes()
    session = InferenceSession(build_lower_model(_read_model(), FIRST_LAYER, is_signed=is_signed))
    found = []
    for one in sentences:
        ids, types = np.array([one.ids], np.int64), np.array([one.types], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        found.append(session.run(None, inputs)[0][0].astype(np.float16))
    return found


def build_lower_model(model: bytes, layers: int, *, is_signed: bool) -> bytes:
    bert = BertBuilder(read_tensors(model), is_signed=is_signed)
    return bert.build_model(bert.add_encoder(pairs=True, layers=layers), "states")


def _read_model() -> bytes:
    return fastembed_backend.read_checked_model(fastembed_backend.locate_model_file())


def load_base() -> Arrays:
    """Return the tensors of the upper layers of the shipped model as floats."""
    tensors = read_tensors(_read_model())

    def to_floats(name: str) -> np.ndarray:
        return tensors[f"{name}_q"].astype(np.float32) * tensors[f"{name}_scale"]

    found = {name: array for name, array in tensors.items() if ".LayerNorm." in name}
    for (layer, part), name in list_matrices(tensors).items():
        if layer >= FIRST_LAYER:
            found |= {f"{layer}.{part}": to_floats(name), f"{layer}.{part}.bias": tensors[name_bias(layer, part)]}
    return {name: jnp.asarray(np.ascontiguousarray(array, np.float32)) for name, array in found.items()}


def initialise(seed: int) -> Arrays:
    """Return changes that change nothing at first."""
    source = np.random.default_rng(seed)
    made = {"head.weight": source.normal(0, 0.02, (2 * WIDTH, len(LABELS))), "head.bias": np.zeros(len(LABELS))}
    for layer in range(FIRST_LAYER, LAYERS):
        for part, (wide, out) in SHAPES.items():
            name = f"{layer}.{part}"
            made[f"{name}.a"] = source.normal(0, 1 / math.sqrt(wide), (wide, RANK))
            made |= {f"{name}.b": np.zeros((RANK, out)), f"{name}.bias": np.zeros(out)}
    return {name: jnp.asarray(array, jnp.float32) for name, array in made.items()}


def forward(base: Arrays, changes: Arrays, batch: Arrays, key: jax.Array | None = None) -> jax.Array:
    """Return the logits of the labels; `key` is given in training only."""
    x, types, mask = batch["states"], batch["types"], batch["mask"]
    for layer in range(FIRST_LAYER, LAYERS):
        x = _layer(base, changes, layer, x, mask, key)
    own = mask * types
    mean = (x * own[:, :, None]).sum(1) / own.sum(1, keepdims=True)
    pooled = _drop(jnp.concatenate([x[:, 0], mean], 1), key, 99)
    return pooled @ changes["head.weight"] + changes["head.bias"]


def _layer(
    base: Arrays, changes: Arrays, layer: int, x: jax.Array, mask: jax.Array, key: jax.Array | None
) -> jax.Array:
    rows, length, _ = x.shape

    def times(part: str, value: jax.Array) -> jax.Array:
        name = f"{layer}.{part}"
        y = value @ base[name] + (value @ changes[f"{name}.a"]) @ changes[f"{name}.b"]
        return y + base[f"{name}.bias"] + changes[f"{name}.bias"]

    heads = (
        times(part, x).reshape(rows, length, HEADS, -1).transpose(0, 2, 1, 3) for part in ("query", "key", "value")
    )
    query, keys, value = heads
    scores = query @ keys.transpose(0, 1, 3, 2) / math.sqrt(WIDTH // HEADS) - (1 - mask[:, None, None, :]) * 1e4
    y = (jax.nn.softmax(scores, -1) @ value).transpose(0, 2, 1, 3).reshape(x.shape)
    x = _norm(base, f"{LAYER}.{layer}.attention.output.LayerNorm", x + _drop(times("output", y), key, 2 * layer))
    y = times("down", jax.nn.gelu(times("up", x), approximate=False))
    return _norm(base, f"{LAYER}.{layer}.output.LayerNorm", x + _drop(y, key, 2 * layer + 1))


def _norm(base: Arrays, name: str, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return scaled * base[f"{name}.weight"] + base[f"{name}.bias"]


def _drop(x: jax.Array, key: jax.Array | None, number: int) -> jax.Array:
    if key is None:
        return x
    return x * jax.random.bernoulli(jax.random.fold_in(key, number), 1 - DROP, x.shape) / (1 - DROP)


def _loss(changes: Arrays, base: Arrays, batch: Arrays, key: jax.Array) -> jax.Array:
    """Return the loss over the labels, and over whether a sentence states something at all."""
    logits, labels = forward(base, changes, batch, key), batch["labels"]
    wanted = jax.nn.one_hot(labels, len(LABELS)) * (1 - SMOOTH) + SMOOTH / len(LABELS)
    by_label = -(wanted * jax.nn.log_softmax(logits)).sum(1)
    states = jax.nn.logsumexp(logits[:, :STATING], 1) - jax.nn.logsumexp(logits[:, STATING:], 1)
    target = (labels < STATING) * (1 - 0.8 * SMOOTH) + 0.4 * SMOOTH
    binary = -(target * jax.nn.log_sigmoid(states) + (1 - target) * jax.nn.log_sigmoid(-states))
    return ((LABEL_WEIGHT * by_label + binary) * batch["weights"]).sum() / batch["weights"].sum()


@jax.jit
def _step(state: tuple[Arrays, Arrays, Arrays], base: Arrays, batch: Arrays, key: jax.Array, rate: float, step: float):
    """Take a step of Adam with decay; the norm of the gradient is at most 1."""
    changes, means, squares = state
    loss, gradients = jax.value_and_grad(_loss)(changes, base, batch, key)
    norm = jnp.sqrt(sum((one**2).sum() for one in gradients.values()))
    gradients = {name: one * jnp.minimum(1.0, 1.0 / (norm + 1e-6)) for name, one in gradients.items()}
    means = {name: 0.9 * means[name] + 0.1 * one for name, one in gradients.items()}
    squares = {name: 0.98 * squares[name] + 0.02 * one**2 for name, one in gradients.items()}
    changed = {}
    for name, one in changes.items():
        move = means[name] / (1 - 0.9**step) / (jnp.sqrt(squares[name] / (1 - 0.98**step)) + 1e-8)
        changed[name] = one - rate * (move + 0.01 * one)
    return (changed, means, squares), loss


def train(sentences: Sequence[Encoded], labels: Sequence[int], seed: int = 1) -> Arrays:
    """Return changes that are trained on labelled sentences."""
    base, source, key = load_base(), random.Random(seed), jax.random.PRNGKey(seed)
    states = compute_lower_states(sentences)
    print(f"{len(sentences):,} sentences", flush=True)
    changes = initialise(seed)
    zeros = {name: jnp.zeros_like(one) for name, one in changes.items()}
    state, steps = (changes, zeros, zeros), 0
    total = EPOCHS * (len(sentences) / BATCH + len(PADDED) / 2)
    for epoch in range(EPOCHS):
        losses = []
        for rows, batch in _iterate_batches(sentences, states, source):
            batch["labels"] = jnp.asarray([labels[row] for row in rows] + [0] * (BATCH - len(rows)))
            steps += 1
            rate = RATE * min(1.0, steps / (WARM * total)) * max(0.02, 1 - steps / total)
            state, loss = _step(state, base, batch, jax.random.fold_in(key, steps), rate, float(steps))
            losses.append(float(loss))
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}", flush=True)
    return state[0]


def predict(changes: Mapping[str, np.ndarray], sentences: Sequence[Encoded]) -> np.ndarray:
    base, logits = load_base(), np.zeros((len(sentences), len(LABELS)), np.float32)
    compute = jax.jit(forward)
    arrays = {name: jnp.asarray(one) for name, one in changes.items()}
    for rows, batch in _iterate_batches(sentences, compute_lower_states(sentences), None):
        logits[rows] = np.asarray(compute(base, arrays, batch))[: len(rows)]
    return logits


def _iterate_batches(
    sentences: Sequence[Encoded], states: Sequence[np.ndarray], source: random.Random | None
) -> Iterator[tuple[list[int], Arrays]]:
    """Yield the numbers of some sentences of about one length, and their arrays; shuffled if `source` is given."""
    by_length: dict[int, list[int]] = {}
    for row, one in enumerate(sentences):
        by_length.setdefault(next(size for size in PADDED if len(one.ids) <= size), []).append(row)
    batches = []
    for length, rows in by_length.items():
        if source is not None:
            source.shuffle(rows)
        batches += [(length, rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
    if source is not None:
        source.shuffle(batches)
    for length, rows in batches:
        lower, types, mask = np.zeros((BATCH, length, WIDTH)), np.zeros((BATCH, length)), np.zeros((BATCH, length))
        for at, row in enumerate([*rows, *rows[:1] * (BATCH - len(rows))]):
            size = len(sentences[row].ids)
            lower[at, :size], types[at, :size], mask[at, :size] = states[row], sentences[row].types, 1
        weights = np.arange(BATCH) < len(rows)
        arrays = {"states": lower, "types": types, "mask": mask, "weights": weights}
        yield rows, {name: jnp.asarray(array, jnp.float32) for name, array in arrays.items()}


def pack_changes(changes: Mapping[str, jax.Array]) -> dict[str, np.ndarray]:
    """Return the arrays of the shipped file: matrices as signed bytes with a scale for each column."""
    packed = {}
    for name, one in changes.items():
        array = np.asarray(one, np.float32)
        if array.ndim == 1:
            packed[name] = array.astype(np.float16)
            continue
        scale = np.maximum(np.abs(array).max(axis=0), 1e-9) / 127
        packed |= {name: np.rint(array / scale).astype(np.int8), f"{name}.scale": scale.astype(np.float32)}
    return packed
