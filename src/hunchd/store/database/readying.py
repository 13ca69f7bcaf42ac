"""What the mirror will need of rows that are about to be written, made beforehand and in another thread.

Five rows take it two milliseconds, for which a question would wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from hunchd.store.database.tables import Row
from hunchd.store.indexes.bodies import packed
from hunchd.store.indexes.terms import counts_of

# As everything that is no column of the table they begin with an underscore.
_PACKED = "_packed"
_TERMS = "_terms"


async def ready(rows: Sequence[Row]) -> list[Row]:
    """The same rows, for which `packed_body` and `terms` need no time any more."""
    return await asyncio.to_thread(lambda: [{**row, _PACKED: packed_body(row), _TERMS: terms(row)} for row in rows])


def packed_body(row: Row) -> bytes:
    found: bytes = row[_PACKED] if _PACKED in row else packed([row["body"]])[0]
    return found


def terms(row: Row) -> Mapping[int, int]:
    """The terms of the row's text, and how often it says each."""
    found: Mapping[int, int] = row[_TERMS] if _TERMS in row else counts_of(row["text"])
    return found
