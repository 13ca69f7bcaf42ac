"""Preparation of rows for the mirror, in another thread before the write.

Five rows take the mirror 2 ms, for which a query would wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from hunchd.store.database.tables import Row
from hunchd.store.indexes.bodies import packed
from hunchd.store.indexes.terms import counts_of

# Like all keys that are no columns of the table they begin with an underscore.
_PACKED = "_packed"
_TERMS = "_terms"


async def ready(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with precomputed results for `packed_body` and `terms`."""
    return await asyncio.to_thread(lambda: [{**row, _PACKED: packed_body(row), _TERMS: terms(row)} for row in rows])


def packed_body(row: Row) -> bytes:
    """Return the packed body of a row, precomputed if available."""
    found: bytes = row[_PACKED] if _PACKED in row else packed([row["body"]])[0]
    return found


def terms(row: Row) -> Mapping[int, int]:
    """Return the terms of the row's text with their counts."""
    found: Mapping[int, int] = row[_TERMS] if _TERMS in row else counts_of(row["text"])
    return found
