"""Vectors of files are kept in eight bits, found by path, and compared with a question's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hunchd.codesearch import vectors
from hunchd.codesearch.cards import LONGEST, build_card
from hunchd.ingestion.parsing import parse_outline


def unit(*numbers: float) -> bytes:
    vector = np.array(numbers, "<f4")
    return (vector / np.linalg.norm(vector)).tobytes()


def test_vectors_written_are_aligned_by_path(tmp_path: Path) -> None:
    file = tmp_path / vectors.NAME
    kept = {
        vectors.compute_path_key("a.py"): (1, vectors.quantize_vector(unit(1, 0))),
        vectors.compute_path_key("b.py"): (2, vectors.quantize_vector(unit(0, 1))),
    }
    vectors.write(file, kept, vectors.SeenState("0123456789ABCDEF", 7))

    assert vectors.read_vectors(file) == kept
    assert vectors.read_seen_state(file) == ("0123456789ABCDEF", 7)
    near = vectors.compute_cosines(vectors.align_vectors(file, ["b.py", "new.py", "a.py"]), unit(0.6, 0.8))
    assert np.allclose(near, [0.8, 0.0, 0.6], atol=0.01)


def test_vectors_damaged_file_has_none(tmp_path: Path) -> None:
    file = tmp_path / vectors.NAME
    file.write_bytes(b"hunchcv1" + bytes(7))

    assert vectors.read_vectors(file) == {}
    assert vectors.read_seen_state(file) == vectors.NOTHING_SEEN
    assert vectors.align_vectors(file, ["a.py"]).shape == (1, 0)
    assert vectors.compute_cosines(vectors.align_vectors(file, ["a.py"]), unit(1, 0)).tolist() == [0.0]


def test_card_says_path_names_and_documentation() -> None:
    source = (
        '"""Keeps baskets."""\n\nclass BasketStore:\n    """Where they lie."""\n    def add_item(self):\n        pass\n'
    )
    card = build_card(parse_outline("shop/basket_store.py", source.encode()))

    assert card.startswith("shop basket store py. Keeps baskets. basket store, add item")
    assert "Where they lie." in card
    assert len(build_card(parse_outline("a.py", b"def f(): pass\n" * 3_000))) <= LONGEST
