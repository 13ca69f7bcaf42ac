"""Word index: BM25 ranking before and after merges, and damaged files."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.store.files import FileOperations
from hunchd.store.indexes import postings as posting
from hunchd.store.indexes import postings_file
from hunchd.store.indexes.postings import MAX_TIMES, PostingsBlock, WordPostings
from hunchd.store.indexes.terms import count_terms

TERMS = st.dictionaries(st.integers(1, 2**64 - 1) | st.integers(1, 9), st.integers(1, 70), max_size=6)
EVERY = np.ones(1_000, np.bool_)


def bm25(texts: dict[int, dict[int, int]], asked: dict[int, int]) -> dict[int, float]:
    """Compute textbook BM25, with lengths capped at eight times the mean."""
    mean = max(sum(sum(text.values()) for text in texts.values()) / max(len(texts), 1), 1.0)
    said = Counter(term for text in texts.values() for term in text)
    scores: Counter[int] = Counter()
    for slot, text in texts.items():
        for term, weight in asked.items():
            if term in text:
                idf = math.log(1 + (len(texts) - said[term] + 0.5) / (said[term] + 0.5))
                held_back = 1.2 * (1 - 0.75 + 0.75 * min(sum(text.values()) / mean, 8.0))
                scores[slot] += (
                    weight * idf * 2.2 * min(text[term], MAX_TIMES) / (min(text[term], MAX_TIMES) + held_back)
                )
    return dict(scores)


def block_of(postings: WordPostings, living: np.ndarray, path: Path) -> PostingsBlock:
    postings_file.write_block(FileOperations(), path, *postings.merge_blocks(living))
    found = postings_file.read_block(path)
    assert found is not None
    return found


@given(st.lists(TERMS, max_size=30), TERMS, st.sets(st.integers(0, 30)), st.integers(0, 30))
def test_search_equals_bm25_before_and_after_merge(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[dict[int, int]],
    asked: dict[int, int],
    gone: set[int],
    early: int,
) -> None:
    path = tmp_path_factory.mktemp("words") / "words"
    living = np.array([slot not in gone for slot in range(len(texts))], np.bool_)
    keys = np.arange(100, 100 + len(texts), dtype=np.uint64)
    postings = WordPostings()
    for slot, text in enumerate(texts[:early]):
        postings.add(slot, int(keys[slot]), text)
    postings = WordPostings(block_of(postings, living, path), keys, living)
    assert set(postings.list_unindexed(99)) == {slot for slot in range(early, len(texts)) if living[slot]}
    for slot, text in enumerate(texts[early:], early):
        postings.add(slot, int(keys[slot]), text)
    left = {slot: text for slot, text in enumerate(texts) if slot >= early or living[slot]}

    slots, scores = postings.search(asked, living, 10)

    expected = sorted(((-score, slot) for slot, score in bm25(left, asked).items() if living[slot]))[:10]
    assert scores.tolist() == pytest.approx([-score for score, _ in expected], rel=1e-4)
    assert all(living[slot] for slot in slots.tolist())
    # And when all is merged, what is gone does not count any more.
    postings = WordPostings(block_of(postings, living, path), keys, living)
    assert postings.is_complete
    left = {slot: text for slot, text in left.items() if living[slot]}
    slots, scores = postings.search(asked, living, 10)
    assert scores.tolist() == pytest.approx(sorted(bm25(left, asked).values(), reverse=True)[:10], rel=1e-4)


def test_search_ties_are_ordered_by_slot() -> None:
    postings = WordPostings()
    for slot in range(40):
        postings.add(slot, slot, {7: 1})

    assert postings.search({7: 1}, EVERY, 5)[0].tolist() == [0, 1, 2, 3, 4]


def test_merge_in_pieces_equals_bm25(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "_MERGE_BATCH", 50)
    chance = random.Random(1)
    texts = [{chance.randrange(1, 90): chance.randrange(1, 4) for _ in range(12)} for _ in range(300)]
    keys, living = np.arange(300, dtype=np.uint64), np.ones(300, np.bool_)
    postings = WordPostings()
    for end in (100, 200, 300):
        for slot in range(end - 100, end):
            postings.add(slot, slot, texts[slot])
        postings = WordPostings(block_of(postings, living, tmp_path / "words"), keys, living)

    asked = {3: 1, 50: 2}
    expected = bm25(dict(enumerate(texts)), asked)
    slots, scores = postings.search(asked, living, 300)
    assert dict(zip(slots.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("damage", ["a byte of it", "its end", "all of it", "its rules"])
def test_read_damaged_file_returns_none(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "words"
    postings = WordPostings()
    for slot in range(50):
        postings.add(slot, slot, count_terms(f"text {slot} about pelicans"))
    block_of(postings, EVERY, path)
    whole = path.read_bytes()
    broken = {
        "a byte of it": whole[:99] + bytes([whole[99] ^ 4]) + whole[100:],
        "its end": whole[:-50],
        "all of it": b"",
        "its rules": whole[:-32] + b"\xff" + whole[-31:],
    }[damage]
    assert postings_file.read_block(path) is not None
    path.write_bytes(broken)

    assert postings_file.read_block(path) is None


def test_terms_are_stemmed_without_stop_words() -> None:
    assert count_terms("Testing the TESTS was tested") == {next(iter(count_terms("test"))): 3}
    assert count_terms("Café naïve") == count_terms("cafe naive")
    assert count_terms("がか") != count_terms("かか")
    assert count_terms("x" * 65) == count_terms("the of and") == {}


def test_length_normalisation_is_capped() -> None:
    lengths = [10] * 400 + [400, 4_000]
    postings = WordPostings()
    for slot, length in enumerate(lengths):
        postings.add(slot, slot, {1: 1, 100 + slot: length - 1} if slot >= 400 else {2: length})
    slots, scores = postings.search({1: 1}, EVERY, 5)
    assert slots.tolist() == [400, 401]
    assert scores[0] == scores[1]
