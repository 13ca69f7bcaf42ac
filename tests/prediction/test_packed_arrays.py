"""Packed rows and postings: lookups of several keys equal single lookups."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.prediction.packed_arrays import (
    PackedRows,
    expand_ranges,
    mask_members,
    max_by_number,
    sum_by_number,
    sum_each_by_number,
)
from hunchd.prediction.postings import KeyPostings

KEYS = st.lists(st.integers(0, 6), min_size=1, max_size=6, unique=True)
LESSONS = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), max_size=30)


@settings(deadline=None)
@given(LESSONS, LESSONS, KEYS, st.sampled_from((1, 3, 100)))
def test_postings_of_keys_equal_single_lookups(
    loaded: list[tuple[int, int]], added: list[tuple[int, int]], keys: list[int], newest: int
) -> None:
    postings = KeyPostings.create()
    for document, (key, count) in enumerate(loaded):
        postings.add_document(document, [key], [count])
    postings = postings.build_packed()
    for document, (key, count) in enumerate(added, start=len(loaded)):
        postings.add_document(document, [key], [count])

    documents, counts, sizes = postings.get_postings_of_keys(np.array(keys, "<u4"), newest)

    ends = sizes.cumsum()
    assert len(documents) == len(counts) == ends[-1]
    for key, start, end in zip(keys, ends - sizes, ends, strict=True):
        alone = postings.get_postings(key, newest)
        assert (documents[start:end].tolist(), counts[start:end].tolist()) == tuple(map(np.ndarray.tolist, alone))


@settings(deadline=None)
@given(LESSONS, LESSONS, LESSONS, KEYS, st.sampled_from((1, 3, 100)), st.sets(st.integers(0, 60)))
def test_postings_merge_drops_only_removed_documents(
    loaded: list[tuple[int, int]],
    added: list[tuple[int, int]],
    meanwhile: list[tuple[int, int]],
    keys: list[int],
    newest: int,
    gone: set[int],
) -> None:
    every = [*loaded, *added, *meanwhile]
    sorted_in = len(loaded) + len(added)
    merged, plain = KeyPostings.create(), KeyPostings.create()
    for document, (key, count) in enumerate(every):
        if document == len(loaded):
            merged = merged.build_packed()
        if document == sorted_in:
            work = merged.prepare_merge(lambda documents: ~np.isin(documents, list(gone)))
        merged.add_document(document, [key], [count])
        if document >= sorted_in or document not in gone:
            plain.add_document(document, [key], [count])
    if meanwhile:
        work()()
        assert merged.added_count == len(meanwhile)
        assert (
            merged.count_documents(np.array(keys, "<u4")).tolist()
            == plain.count_documents(np.array(keys, "<u4")).tolist()
        )
        ours, theirs = (one.get_postings_of_keys(np.array(keys, "<u4"), newest) for one in (merged, plain))
        assert [array.tolist() for array in ours] == [array.tolist() for array in theirs]


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from((0, 1, 2, 70_000, 90_000)), st.floats(0.0, 9.0))), max_size=5))
def test_summed_each_equals_summed(given_parts: list[list[tuple[int, float]]]) -> None:
    parts = [
        (np.array([number for number, _ in part], "<i4"), np.array([value for _, value in part], "<f8"))
        for part in given_parts
    ]

    for (files, sums), part in zip(sum_each_by_number(parts), parts, strict=True):
        alone = sum_by_number(*part)
        assert files.tolist() == alone[0].tolist()
        assert sums.tobytes() == alone[1].tobytes()  # to the last bit: rankings do not depend on company


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6), st.dictionaries(st.integers(0, 8), st.just([7, 7]))
)
def test_joined_rows_equal_single_rows(base: list[list[int]], changed: dict[int, list[int]]) -> None:
    offsets = np.cumsum([0, *(len(row) for row in base)])
    rows = PackedRows(np.array([value for row in base for value in row], "<i4"), offsets)
    for index, row in changed.items():
        rows[index] = np.array(row, "<i4")
    indexes = np.arange(9)

    joined, which = rows.join_rows(indexes)

    for place in range(9):
        assert joined[which == place].tolist() == rows[place].tolist()


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from((0, 1, 2, 90_000)), st.integers(1, 5))))
def test_summed_adds_near_and_far_numbers(given_pairs: list[tuple[int, int]]) -> None:
    expected: dict[int, float] = {}
    for number, value in given_pairs:
        expected[number] = expected.get(number, 0.0) + value

    numbers, values = sum_by_number(
        np.array([n for n, _ in given_pairs], "<i4"), np.array([v for _, v in given_pairs], "<f4")
    )

    assert dict(zip(numbers.tolist(), values.tolist(), strict=True)) == expected
    assert numbers.tolist() == sorted(expected)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5))))
def test_strongest_keeps_maximum_of_each_number(given_pairs: list[tuple[int, int]]) -> None:
    expected: dict[int, int] = {}
    for number, value in given_pairs:
        expected[number] = max(expected.get(number, 0), value)

    found = max_by_number(np.array([n for n, _ in given_pairs], "<i4"), np.array([v for _, v in given_pairs], "<f4"))

    assert list(zip(*(array.tolist() for array in found), strict=True)) == sorted(expected.items())


@settings(deadline=None)
@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_among_masks_contained_values(values: list[int], others: set[int]) -> None:
    found = mask_members(np.array(values, "<i4"), np.array(sorted(others), "<i4"))

    assert found.tolist() == [value in others for value in values]


def test_spans_concatenates_index_ranges() -> None:
    assert expand_ranges(np.array([5, 9, 2]), np.array([2, 0, 3])).tolist() == [5, 6, 2, 3, 4]
