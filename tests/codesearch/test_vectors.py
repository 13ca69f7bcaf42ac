"""Vectors of chunks are kept in eight bits, found by their card, and compared with a question's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hunchd.codesearch import records, vectors
from hunchd.codesearch.cards import MOST_WORDS, build_card
from hunchd.codesearch.chunks import build_chunks
from hunchd.ingestion.parsing import parse_outline


def unit(*numbers: float) -> bytes:
    vector = np.zeros(2 * vectors.DIMENSIONS, "<f4")
    vector[: len(numbers)] = numbers
    return (vector / np.linalg.norm(vector)).tobytes()


def test_vectors_written_are_aligned_by_key(tmp_path: Path) -> None:
    file = tmp_path / vectors.NAME
    kept = {11: vectors.quantize_vector(unit(1, 0)), 22: vectors.quantize_vector(unit(0, 1))}
    vectors.write(file, kept, vectors.SeenState("0123456789ABCDEF", 7))

    assert vectors.read_vectors(file) == kept
    assert vectors.read_seen_state(file) == ("0123456789ABCDEF", 7)
    aligned = vectors.align_vectors(file, np.array([22, 33, 11], "<u8"))
    assert np.allclose(vectors.compute_cosines(aligned, unit(0.6, 0.8)), [0.8, 0.0, 0.6], atol=0.01)


def test_vectors_damaged_file_has_none(tmp_path: Path) -> None:
    file = tmp_path / vectors.NAME
    file.write_bytes(b"hunchcv1" + bytes(7))

    assert vectors.read_vectors(file) == {}
    assert vectors.read_seen_state(file) == vectors.NOTHING_SEEN
    aligned = vectors.align_vectors(file, np.array([1], "<u8"))
    assert aligned.shape == (1, 0)
    assert vectors.compute_cosines(aligned, unit(1, 0)).tolist() == [0.0]


def test_card_says_path_name_and_lines() -> None:
    card = build_card(
        "shop/basket_store.py", "BasketStore", "addItem", ["def addItem(self, item):", "  items.add(item)"]
    )

    assert card.startswith("shop basket store basket store add item")
    assert card.split().count("item") == 2
    assert len(build_card("a.py", "", "f", [f"word{at}" for at in range(500)]).split()) == MOST_WORDS


def test_packed_chunks_keep_cards() -> None:
    source = b"class Basket:\n    def add(self):\n        self.n += 1\n        return self\n"
    chunks = build_chunks(parse_outline("shop/basket.py", source), source.decode())
    record = records.unpack(records.pack(chunks))

    assert record.unpack_cards() == [chunk.card for chunk in chunks]
    assert len(set(record.keys.tolist())) == len(chunks)
