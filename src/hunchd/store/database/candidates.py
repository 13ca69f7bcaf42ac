"""Candidates of a search, and the type of the selecting function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Collection as Bag
from dataclasses import dataclass

from hunchd.store.database.tables import Row, parse_row

# (slot, BM25, cosine similarity) of all candidates → the selected slots, best first.
SelectCandidates = Callable[[Bag[tuple[int, float | None, float | None]]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """Memory found by a search, as its intact JSON body.

    `lexical` is its BM25 score if it was found by words, `similarity` its cosine similarity if it has a vector.
    Most are passed on unread: parsing one costs more than finding it.
    """

    body: str
    digest: bytes
    lexical: float | None = None
    similarity: float | None = None

    @property
    def row(self) -> Row:
        """The parsed row; parsed anew on each access."""
        return parse_row(self.body, self.digest)
