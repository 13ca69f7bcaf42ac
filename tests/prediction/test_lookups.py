"""Vectorised lookups: equal to a computation file by file."""

from __future__ import annotations

import math
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.domain.history import PathChange, Unit
from hunchd.prediction.cochange import CoChange, compute_change_weight
from hunchd.prediction.evidence import MEAN_CHANGES, score_message_words
from hunchd.prediction.features import SPREAD_LIMIT, _ScoreLookup
from hunchd.prediction.field_index import FieldIndex
from hunchd.prediction.file_table import FolderTable
from hunchd.prediction.packed_arrays import MIN_SLICE_LENGTH, MIN_STRETCH, select_highest, take_ranges
from hunchd.prediction.ranking import Network
from hunchd.prediction.state import PredictorState
from hunchd.prediction.words import hash_text_words
from hunchd.text.bm25 import LENGTH_WEIGHT, SATURATION

FOLDERS = st.lists(st.lists(st.sampled_from("abc"), max_size=7).map("/".join), min_size=1, max_size=6)


@settings(deadline=None)
@given(FOLDERS)
def test_common_prefix_share_matches_path_parts(paths: list[str]) -> None:
    folders = FolderTable()
    for number, path in enumerate(paths):
        folders.set_path(number, path)

    shares = folders.compute_common_prefix(0, np.arange(len(paths)))

    own = [part for part in paths[0].split("/") if part]
    for path, share in zip(paths, shares.tolist(), strict=True):
        parts = [part for part in path.split("/") if part]
        common = 1 + len(list(takewhile(lambda pair: pair[0] == pair[1], zip(own, parts, strict=False))))
        assert share == np.float32(common / (max(len(own), len(parts)) + 1))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4) | st.just(2 * MIN_SLICE_LENGTH)), max_size=12))
def test_stretches_concatenates_long_and_short_ranges(given_stretches: list[tuple[int, int]]) -> None:
    starts, sizes = (np.array([pair[side] for pair in given_stretches], "<i8") for side in (0, 1))
    values = np.arange(100, 130 + 2 * MIN_SLICE_LENGTH, dtype="<u2")

    (laid,) = take_ranges(starts, sizes, values)

    assert laid.dtype == values.dtype
    assert laid.tolist() == [100 + start + place for start, size in given_stretches for place in range(size)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=4 * MIN_STRETCH))
def test_highest_returns_largest_values(values: list[int]) -> None:
    most = 3

    found = select_highest(np.array(values, "<f4"), most)

    assert len(set(found.tolist())) == most
    assert sorted(values[place] for place in found.tolist()) == sorted(values)[-most:]


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(0, 200), min_size=1, max_size=6), max_size=12))
def test_cochange_rows_match_counted_changes(changes: list[set[int]]) -> None:
    together = CoChange()
    for unit, change in enumerate(changes):
        together.record_change(np.array(sorted(change), "<i4"), unit, compute_change_weight(len(change)))

    for file in range(201):
        row, long, _ = together.load_neighbours(file, len(changes))
        beside = [change - {file} for change in changes if file in change]
        assert set(row["file"].tolist()) == set().union(*beside)
        for other, count, last, strength in zip(row["file"], row["count"], row["last"], long, strict=True):
            units = [unit for unit, change in enumerate(changes) if {file, other} <= change]
            assert (count, last) == (len(units), units[-1])
            faded = sum(
                compute_change_weight(len(changes[unit])) * 0.5 ** ((len(changes) - unit) / 2_000) for unit in units
            )
            assert math.isclose(strength, faded, rel_tol=1e-5)


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 49), st.integers(1, 9), min_size=1), st.sets(st.integers(0, 49), min_size=1))
def test_spread_looks_up_few_and_many_scores(given_scores: dict[int, int], asked: set[int]) -> None:
    files = np.array(sorted(given_scores), "<i4")
    scores = files, np.array([given_scores[file] for file in files.tolist()], "<f4")
    for candidates in (sorted(asked), [min(asked)]):
        spread = _ScoreLookup(50, np.array(candidates, "<i4")).lookup_scores(scores)

        assert isinstance(spread, np.ndarray)
        assert spread.tolist() == [given_scores.get(file, 0) for file in candidates]
    assert SPREAD_LIMIT < 50  # so that both ways are gone


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.dictionaries(st.integers(0, 4), st.integers(1, 9))), max_size=12),
    st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True),
)
def test_field_search_equals_bm25_after_updates(puts: list[tuple[int, dict[int, int]]], keys: list[int]) -> None:
    field = FieldIndex()
    held: dict[int, dict[int, int]] = {}
    for file, counts in puts:
        field.set_keys(file, list(counts), list(counts.values()))
        held[file] = counts
    held = {file: counts for file, counts in held.items() if counts}

    expected: dict[int, float] = {}
    mean = sum(sum(counts.values()) for counts in held.values()) / max(len(held), 1)
    for key in keys:
        holders = [file for file, counts in held.items() if key in counts]
        rarity = math.log1p((len(held) - len(holders) + 0.5) / (len(holders) + 0.5))
        for file in holders:
            count, length = held[file][key], sum(held[file].values())
            norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / mean)
            expected[file] = expected.get(file, 0.0) + rarity * count * (SATURATION + 1) / (count + norm)

    for one in (field, FieldIndex.from_arrays(field.to_arrays())):
        files, values = one.search(keys)

        assert files.tolist() == sorted(expected)
        np.testing.assert_allclose(values, [expected[file] for file in files.tolist()], rtol=1e-5)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_network_score_sums_members_and_linear_part(seed: int, rows: int) -> None:
    drawn = np.random.default_rng(seed)
    shapes = [(4,), (4,), (4,), (4,), (2, 4, 3), (2, 1, 3), (2, 3, 2), (2, 1, 2), (2, 2, 1), (4,), (1,)]
    parts = [drawn.normal(size=shape).astype("f4") for shape in shapes]
    parts[1], parts[3] = parts[0] + np.abs(parts[1]), np.abs(parts[3]) + 0.1
    low, high, mean, scale, first, first_bias, second, second_bias, last, straight, bias = parts
    matrix = drawn.normal(size=(rows, 4)).astype("f4")

    scores = Network(*parts).compute_scores(matrix)

    assert scores.shape == (rows,)
    for row, score in zip(matrix, scores, strict=True):
        inputs = [(min(max(row[at], low[at]), high[at]) - mean[at]) / scale[at] for at in range(4)]
        expected = bias[0] + sum(inputs[at] * straight[at] for at in range(4))
        for one in range(2):
            units = [
                max(0, first_bias[one, 0, u] + sum(inputs[at] * first[one, at, u] for at in range(4))) for u in range(3)
            ]
            units = [
                max(0, second_bias[one, 0, u] + sum(units[at] * second[one, at, u] for at in range(3)))
                for u in range(2)
            ]
            expected += sum(units[at] * last[one, at, 0] for at in range(2))
        assert score == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_message_words_score_equals_bm25() -> None:
    state = PredictorState()
    lessons = [("parse the header", ["a", "b"]), ("parse it again", ["a"]), ("header", ["b", "c"]), ("other", ["d"])]
    for number, (title, paths) in enumerate(lessons):
        changes = tuple(PathChange("M", path) for path in paths)
        unit = Unit(
            sha=f"{number:040x}", parents=(), author="me", email="me", at=number, subject=title, changes=changes
        )
        state.learn_unit(unit, title)
    keys = tuple(hash_text_words("parse header"))

    files, scores = score_message_words(state, state.messages.find_units_by_words(keys))

    expected = dict.fromkeys("abc", 0.0)
    changed = {"a": 2, "b": 2, "c": 1}
    for said in ({"a": 0.5**0.5 + 1.0, "b": 0.5**0.5}, {"a": 0.5**0.5, "b": 2 * 0.5**0.5, "c": 0.5**0.5}):
        for path, times in said.items():
            saturation = 1.2 * (0.25 + 0.75 / MEAN_CHANGES * changed[path])
            expected[path] += math.log1p(4 / 2) * times * 2.2 / (times + saturation)
    assert [state.files.paths[file] for file in files.tolist()] == list(expected)
    np.testing.assert_allclose(scores, list(expected.values()), rtol=1e-5)
