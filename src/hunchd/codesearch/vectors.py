"""Storage of quantised file vectors next to the code index.

A card is the short text about a file that a model embeds. A path key is a hash of a path; a card key is a hash of a
path and its card.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

NAME: Final = "code-cards.vectors"
_MAGIC: Final = b"hunchcv2"
_HEAD: Final = struct.Struct("<8sII16sQ")  # magic, vectors, dimensions, and the two fields of SeenState
_SCALE: Final = 127.0  # a vector of length 1 has no larger component
_AT_ONCE: Final = 4_096  # vectors that are compared at once
Array = npt.NDArray[Any]


class SeenState(NamedTuple):
    """Progress of embedding.

    In the code cache with the id `cache`, every file with a serial number up to `serial` has a vector.
    """

    cache: str
    serial: int


NOTHING_SEEN: Final = SeenState("", 0)


def compute_key(path: str, card: str) -> int:
    """Return the card key, a hash of path and card."""
    return int.from_bytes(blake2b(f"{path}\0{card}".encode("utf-8", "replace"), digest_size=8).digest(), "little")


def compute_path_key(path: str) -> int:
    """Return the path key, a 64-bit hash of a path."""
    return compute_key(path, "")


def read(path: Path) -> tuple[Array, Array, Array]:
    """Return path keys, card keys and vectors, empty if unreadable."""
    nothing = np.zeros(0, "<u8"), np.zeros(0, "<u8"), np.zeros((0, 0), "<i1")
    try:
        content = path.read_bytes()
        magic, count, dimensions, _, _ = _HEAD.unpack_from(content)
    except (OSError, struct.error):
        return nothing
    if magic != _MAGIC or len(content) != _HEAD.size + count * (16 + dimensions):
        return nothing
    paths = np.frombuffer(content, "<u8", count, _HEAD.size)
    cards = np.frombuffer(content, "<u8", count, _HEAD.size + 8 * count)
    vectors = np.frombuffer(content, "<i1", count * dimensions, _HEAD.size + 16 * count)
    return paths, cards, vectors.reshape(count, dimensions)


def write(path: Path, vectors_by_key: Mapping[int, tuple[int, bytes]], seen_state: SeenState = NOTHING_SEEN) -> None:
    """Write the vectors by path key, or raise OSError."""
    dimensions = len(next(iter(vectors_by_key.values()))[1]) if vectors_by_key else 0
    paths = np.array(list(vectors_by_key), "<u8")
    cards = np.array([card for card, _ in vectors_by_key.values()], "<u8")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(
            _HEAD.pack(
                _MAGIC, len(vectors_by_key), dimensions, seen_state.cache.encode("ascii", "replace"), seen_state.serial
            )
        )
        file.write(paths.tobytes())
        file.write(cards.tobytes())
        file.writelines(vector for _, vector in vectors_by_key.values())
    draft.replace(path)


def read_seen_state(path: Path) -> SeenState:
    """Return how much of the code cache has been embedded.

    Returns NOTHING_SEEN if the file is missing or of a different version.
    """
    try:
        with path.open("rb") as file:
            magic, _, _, cache, serial = _HEAD.unpack(file.read(_HEAD.size))
    except (OSError, struct.error):
        return NOTHING_SEEN
    return SeenState(cache.rstrip(b"\0").decode("ascii", "replace"), serial) if magic == _MAGIC else NOTHING_SEEN


def read_vectors(path: Path) -> dict[int, tuple[int, bytes]]:
    """Return the vectors in the form that `write` accepts."""
    paths, cards, vectors = read(path)
    return {int(own): (int(card), vector.tobytes()) for own, card, vector in zip(paths, cards, vectors, strict=True)}


def quantize_vector(vector: bytes) -> bytes:
    """Quantise a vector of float32 numbers to eight bits each."""
    return np.rint(np.frombuffer(vector, "<f4") * _SCALE).astype("<i1").tobytes()


def align_vectors(path: Path, wanted_paths: Sequence[str] | Iterable[str]) -> Array:
    """Return the vectors for `wanted_paths`, zeros for missing ones."""
    paths, _, vectors = read(path)
    keys = np.array([compute_path_key(one) for one in wanted_paths], "<u8")
    if not len(paths):
        return np.zeros((len(keys), 0), "<i1")
    order = np.argsort(paths)
    at = np.minimum(np.searchsorted(paths[order], keys), len(paths) - 1)
    places = order[at]
    aligned_vectors: Array = np.where((paths[places] == keys)[:, None], vectors[places], np.int8(0))
    return aligned_vectors


def compute_cosines(vectors: Array, query: bytes) -> Array:
    """Return the cosine of each vector with a query vector.

    `query` consists of float32 numbers as bytes. Returns zeros if the vectors have a different number of dimensions.
    """
    query_vector = np.frombuffer(query, "<f4") / np.float32(_SCALE)
    if vectors.shape[1] != len(query_vector):
        return np.zeros(len(vectors), "<f4")
    near = np.empty(len(vectors), "<f4")
    for begin in range(0, len(vectors), _AT_ONCE):
        near[begin : begin + _AT_ONCE] = vectors[begin : begin + _AT_ONCE].astype("<f4") @ query_vector
    return near
