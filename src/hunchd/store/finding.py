"""Looking in one table by word and by nearness at once, and fetching only what is wanted of what both found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from collections.abc import Collection as Bag
from dataclasses import dataclass
from typing import Final

import numpy as np

from hunchd.domain.session import refs_beside
from hunchd.store import expressions
from hunchd.store.lance import Table
from hunchd.store.tables import SERVED, Row

# Each way of looking gives this many times what is asked for, so that the two have something to agree on.
WIDER: Final = 4
NARROWEST: Final = 20  # rows
WIDEST: Final = 200
TRIES: Final = 3
# A message is judged together with those around it; which of two neighbours answers is not told by words alone.
BESIDE: Final = 2  # messages on either side
_FETCHED: Final = (*SERVED, "ref", "vector", "model")

# (address, BM25, cosine similarity) of everything found → the addresses that are wanted, best first.
Choice = Callable[[Bag[tuple[int, float | None, float | None]]], Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for: `words`, a `vector` that `model` made, or both; among the rows that pass `condition`."""

    words: str
    vector: bytes | None
    model: str
    condition: str
    k: int
    choose: Choice


@dataclass(frozen=True, slots=True)
class Found:
    """A row, its BM25 score and its cosine similarity, where it was found that way."""

    row: Row
    lexical: float | None
    similarity: float | None


async def find(table: Table, wanted: Wanted) -> list[Found]:
    """What `wanted.choose` chose, in its order; behind it the messages beside those that were chosen."""
    for _ in range(TRIES):
        version = await table.version()
        found = await _find_once(table, wanted)
        if await table.version() == version:
            return found
        # The table was merged in between and the rows have moved: other rows may lie at their addresses now.
    return await _find_once(table, wanted)


async def _find_once(table: Table, wanted: Wanted) -> list[Found]:
    wide = min(max(wanted.k * WIDER, NARROWEST), WIDEST)
    comparable = expressions.both(wanted.condition, expressions.embedded_by(wanted.model))
    by_words, by_vector = await asyncio.gather(
        table.by_words(wanted.words, wanted.condition, wide) if wanted.words else _nothing(),
        table.by_vector(wanted.vector, comparable, wide) if wanted.vector else _nothing(),
    )
    lexical = {row["_rowid"]: row["_score"] for row in by_words}
    similarity = {row["_rowid"]: 1.0 - row["_distance"] for row in by_vector}
    chosen = wanted.choose([(at, lexical.get(at), similarity.get(at)) for at in {**lexical, **similarity}])
    rows = {row["_rowid"]: row for row in await table.at_addresses(chosen, _FETCHED)} if chosen else {}
    found = [Found(rows[at], lexical.get(at), _nearness(rows[at], wanted)) for at in chosen if at in rows]
    there = {one.row["ref"] for one in found}
    beside = [
        ref
        for ref in dict.fromkeys(ref for one in found for ref in refs_beside(one.row["ref"], BESIDE))
        if ref not in there
    ]
    if beside:
        condition = expressions.both(wanted.condition, expressions.refs_among(beside))
        found += [Found(row, None, _nearness(row, wanted)) for row in await table.select(condition, columns=_FETCHED)]
    return found


def _nearness(row: Row, wanted: Wanted) -> float | None:
    """Cosine similarity to the question, whichever way the row was found; vectors have length 1."""
    if wanted.vector is None or row["vector"] is None or row["model"] != wanted.model:
        return None
    return float(np.frombuffer(row["vector"], "<f4") @ np.frombuffer(wanted.vector, "<f4"))


async def _nothing() -> list[Row]:
    return []
