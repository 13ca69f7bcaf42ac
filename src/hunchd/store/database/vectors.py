"""Vectors of rows that are written again: each stays with the text that it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hunchd.store.database import expressions
from hunchd.store.database.lance import Table
from hunchd.store.database.tables import Row, is_intact, with_vector


async def with_their_vectors(table: Table, changed: Sequence[Row]) -> list[Row]:
    """The changed rows with the vectors they have in the table, where the embedded text is still the same."""
    condition = expressions.ids_among(row["id"] for row in changed)
    found = await table.select(condition, columns=("id", "vector", "model", "text_digest"))
    kept = {(row["id"], row["text_digest"]): row for row in found if row["vector"] is not None}
    same = [kept.get((row["id"], row["text_digest"])) for row in changed]
    return [
        with_vector(row, old["vector"], old["model"]) if old is not None else row
        for row, old in zip(changed, same, strict=True)
    ]


async def with_new_vectors(table: Table, vectors: Mapping[str, tuple[bytes, bytes]], model: str) -> list[Row]:
    """The rows with these vectors, by id, each with the digest of the text it stands for. Without those that are gone
    or damaged or say something else by now."""
    return [
        with_vector(row, vectors[row["id"]][0], model)
        for row in await table.select(expressions.ids_among(vectors))
        if row["text_digest"] == vectors[row["id"]][1] and is_intact(row)
    ]


async def made_before(table: Table, digests: Sequence[bytes], model: str) -> dict[bytes, bytes]:
    """Vectors that this model has already made, by the digest of the text."""
    condition = expressions.both(expressions.digests_among(digests), expressions.embedded_by(model))
    return {
        row["text_digest"]: row["vector"] for row in await table.select(condition, columns=("text_digest", "vector"))
    }
