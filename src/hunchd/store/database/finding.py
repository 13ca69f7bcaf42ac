"""What looking in a table finds, and who says which of it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Collection as Bag
from dataclasses import dataclass

from hunchd.store.database.tables import Row, parsed

# (slot, BM25, cosine similarity) of everything found → the slots that are wanted, best first.
Choice = Callable[[Bag[tuple[int, float | None, float | None]]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Found:
    """A memory as the JSON that was kept and is intact, its BM25 score if it was found by its words, and its cosine
    similarity if it has a vector. Most are handed on as they are: reading one costs more than finding it."""

    body: str
    digest: bytes
    lexical: float | None = None
    similarity: float | None = None

    @property
    def row(self) -> Row:
        """What the body says, read anew each time."""
        return parsed(self.body, self.digest)
