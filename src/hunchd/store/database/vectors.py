"""Vectors of rewritten rows: each stays with its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hunchd.store.database import expressions
from hunchd.store.database.lance import Table
from hunchd.store.database.tables import Row, is_intact, with_vector


async def with_their_vectors(table: Table, changed: Sequence[Row]) -> list[Row]:
    """Return changed rows with their current vectors.

    Rows with another embedded text get none.
    """
    condition = expressions.ids_among(row["id"] for row in changed)
    found = await table.select(condition, columns=("id", "vector", "model", "text_digest"))
    kept = {(row["id"], row["text_digest"]): row for row in found if row["vector"] is not None}
    same = [kept.get((row["id"], row["text_digest"])) for row in changed]
    return [
        with_vector(row, old["vector"], old["model"]) if old is not None else row
        for row, old in zip(changed, same, strict=True)
    ]


async def with_new_vectors(table: Table, vectors: Mapping[str, tuple[bytes, bytes]], model: str) -> list[Row]:
    """Return the rows with these vectors.

    `vectors` maps ids to a vector and the digest of its text. Rows that are deleted, damaged or changed meanwhile
    are left out.
    """
    return [
        with_vector(row, vectors[row["id"]][0], model)
        for row in await table.select(expressions.ids_among(vectors))
        if row["text_digest"] == vectors[row["id"]][1] and is_intact(row)
    ]


async def made_before(table: Table, digests: Sequence[bytes], model: str) -> dict[bytes, bytes]:
    """Return vectors computed earlier, by digest of the text."""
    condition = expressions.both(expressions.digests_among(digests), expressions.embedded_by(model))
    return {
        row["text_digest"]: row["vector"] for row in await table.select(condition, columns=("text_digest", "vector"))
    }
