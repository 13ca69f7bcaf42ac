"""Vectors of rewritten rows, which are kept if the embedded text is unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hunchd.store.database import sql_conditions
from hunchd.store.database.lance import Table
from hunchd.store.database.tables import Row, is_intact, set_vector


async def keep_vectors(table: Table, rows: Sequence[Row]) -> list[Row]:
    """Return the changed `rows`, each with the vector that is already stored for it.

    Rows whose embedded text has changed get no vector.
    """
    condition = sql_conditions.match_ids(row["id"] for row in rows)
    stored_rows = await table.select_rows(condition, columns=("id", "vector", "model", "text_digest"))
    rows_with_vector = {(row["id"], row["text_digest"]): row for row in stored_rows if row["vector"] is not None}
    matches = [rows_with_vector.get((row["id"], row["text_digest"])) for row in rows]
    return [
        set_vector(row, old["vector"], old["model"]) if old is not None else row
        for row, old in zip(rows, matches, strict=True)
    ]


async def apply_vectors(table: Table, vectors: Mapping[str, tuple[bytes, bytes]], model: str) -> list[Row]:
    """Return the stored rows with the vectors that `model` computed for them.

    `vectors` maps an id to a vector and the digest of the text from which it was computed. Rows that were deleted,
    damaged or changed in the meantime are left out.
    """
    return [
        set_vector(row, vectors[row["id"]][0], model)
        for row in await table.select_rows(sql_conditions.match_ids(vectors))
        if row["text_digest"] == vectors[row["id"]][1] and is_intact(row)
    ]


async def load_vectors(table: Table, digests: Sequence[bytes], model: str) -> dict[bytes, bytes]:
    """Return vectors that `model` computed earlier, keyed by the text's digest."""
    condition = sql_conditions.join_conditions(
        sql_conditions.match_text_digests(digests), sql_conditions.match_model(model)
    )
    return {
        row["text_digest"]: row["vector"]
        for row in await table.select_rows(condition, columns=("text_digest", "vector"))
    }
