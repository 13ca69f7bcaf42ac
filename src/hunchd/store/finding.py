"""What looking in a table finds, and who says which of it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Collection as Bag
from dataclasses import dataclass

from hunchd.store.tables import Row

# (slot, BM25, cosine similarity) of everything found → the slots that are wanted, best first.
Choice = Callable[[Bag[tuple[int, float | None, float | None]]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Found:
    """A row, its BM25 score if it was found by its words, and its cosine similarity if it has a vector."""

    row: Row
    lexical: float | None
    similarity: float | None
