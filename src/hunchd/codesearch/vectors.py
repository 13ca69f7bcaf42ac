"""Storage of quantised chunk vectors next to the code index.

A card is the short text about a chunk that a model embeds; a vector is found by the hash of its card.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

NAME: Final = "code-chunks.vectors"
DIMENSIONS: Final = 192  # half of those of the model; all of them find no more
_MAGIC: Final = b"hunchcv3"
_HEAD: Final = struct.Struct("<8sII16sQ")  # magic, vectors, dimensions, and the two fields of SeenState
_SCALE: Final = 127.0  # a vector of length 1 has no larger component
_AT_ONCE: Final = 4_096  # vectors that are compared at once
Array = npt.NDArray[Any]


class SeenState(NamedTuple):
    """Progress of embedding: in the code cache `cache`, files with serials up to `serial` have all their vectors."""

    cache: str
    serial: int


NOTHING_SEEN: Final = SeenState("", 0)


def read(path: Path) -> tuple[Array, Array]:
    """Return keys and vectors, empty if unreadable."""
    nothing = np.zeros(0, "<u8"), np.zeros((0, 0), "<i1")
    try:
        content = path.read_bytes()
        magic, count, dimensions, _, _ = _HEAD.unpack_from(content)
    except (OSError, struct.error):
        return nothing
    if magic != _MAGIC or len(content) != _HEAD.size + count * (8 + dimensions):
        return nothing
    keys = np.frombuffer(content, "<u8", count, _HEAD.size)
    vectors = np.frombuffer(content, "<i1", count * dimensions, _HEAD.size + 8 * count)
    return keys, vectors.reshape(count, dimensions)


def write(path: Path, vectors_by_key: Mapping[int, bytes], seen_state: SeenState = NOTHING_SEEN) -> None:
    """Write the vectors by key, or raise OSError."""
    dimensions = len(next(iter(vectors_by_key.values()))) if vectors_by_key else 0
    keys = np.array(list(vectors_by_key), "<u8")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        cache = seen_state.cache.encode("ascii", "replace")
        file.write(_HEAD.pack(_MAGIC, len(vectors_by_key), dimensions, cache, seen_state.serial))
        file.write(keys.tobytes())
        file.writelines(vectors_by_key.values())
    draft.replace(path)


def read_seen_state(path: Path) -> SeenState:
    """Return how much of the code cache has been embedded; NOTHING_SEEN without a file of this version."""
    try:
        with path.open("rb") as file:
            magic, _, _, cache, serial = _HEAD.unpack(file.read(_HEAD.size))
    except (OSError, struct.error):
        return NOTHING_SEEN
    return SeenState(cache.rstrip(b"\0").decode("ascii", "replace"), serial) if magic == _MAGIC else NOTHING_SEEN


def read_vectors(path: Path) -> dict[int, bytes]:
    """Return the vectors in the form that `write` accepts."""
    keys, vectors = read(path)
    return {int(key): vector.tobytes() for key, vector in zip(keys, vectors, strict=True)}


def quantize_vector(vector: bytes) -> bytes:
    """Shorten a vector of float32 numbers and quantise it to eight bits each."""
    return np.rint(_shorten(vector) * _SCALE).astype("<i1").tobytes()


def align_vectors(path: Path, wanted_keys: Array) -> Array:
    """Return the vectors for `wanted_keys`, zeros for missing ones."""
    keys, vectors = read(path)
    if not len(keys):
        return np.zeros((len(wanted_keys), 0), "<i1")
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys[order], wanted_keys), len(keys) - 1)
    places = order[at]
    aligned_vectors: Array = np.where((keys[places] == wanted_keys)[:, None], vectors[places], np.int8(0))
    return aligned_vectors


def compute_cosines(vectors: Array, query: bytes) -> Array:
    """Return the cosine of each vector with a query vector, given as float32 bytes; zeros if there are none."""
    query_vector = _shorten(query) / np.float32(_SCALE)
    if vectors.shape[1] != len(query_vector):
        return np.zeros(len(vectors), "<f4")
    near = np.empty(len(vectors), "<f4")
    for begin in range(0, len(vectors), _AT_ONCE):
        near[begin : begin + _AT_ONCE] = vectors[begin : begin + _AT_ONCE].astype("<f4") @ query_vector
    return near


def _shorten(vector: bytes) -> Array:
    numbers = np.frombuffer(vector, "<f4")[:DIMENSIONS]
    unit: Array = numbers / np.float32(float(np.linalg.norm(numbers)) or 1.0)
    return unit
