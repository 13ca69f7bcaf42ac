"""Tests of planned changes: minimal entries, preconditions, and exact undo."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from hunchd.consolidation.plan import (
    TYPICAL_CHARACTERS,
    ChangeEntry,
    ConsolidationStep,
    PlannedChange,
    compute_outcome,
    find_remaining,
    is_applicable,
    make_entry,
    split_into_batches,
)
from hunchd.domain.memory import Levels, Memory, Status, Usage
from hunchd.protocol.responses import to_json
from tests.consolidation.made import NOW, by_id, memory


def make_change(before: tuple[Memory, ...], after: tuple[Memory, ...]) -> ChangeEntry:
    entry = make_entry(PlannedChange(ConsolidationStep.USE, "counted", "what", "why", before, after), "p")
    return convert(json.loads(json.dumps(to_json(entry))), ChangeEntry)  # round trip through JSON, as on disk


# Valid text: the API accepts neither NUL nor lone surrogates.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
changes = st.fixed_dictionaries(
    {},
    optional={
        "levels": st.builds(Levels, texts, texts, texts),
        "status": st.sampled_from(Status),
        "importance": st.floats(0, 1),
        "usage": st.builds(Usage, st.integers(0, 9), st.integers(0, 9), last=st.just(NOW)),
        "superseded_by": st.none() | st.just("m9"),
        "valid_to": st.none() | st.just(NOW),
        "category": st.none() | st.just("history"),
        "source": st.dictionaries(st.sampled_from(["a", "b"]), texts),
    },
)


@settings(deadline=None)
@given(first=changes, second=changes)
def test_change_and_inverse_restore_memory(first: dict[str, object], second: dict[str, object]) -> None:
    before = replace(memory("m1"), **first)  # type: ignore[arg-type]
    after = replace(before, **second)  # type: ignore[arg-type]
    entry = make_change((before,), (after,))

    changed, deleted = compute_outcome(entry, by_id(before))
    assert by_id(*changed).get("m1", before) == after
    assert deleted == ()
    back, _ = compute_outcome(entry.inverse, by_id(after))
    assert by_id(*back).get("m1", after) == before


def test_inverse_of_creation_and_deletion() -> None:
    old, new = memory("m1", category="x"), memory("m2", usage=Usage(1, 2, 3, 4, 5, NOW))
    entry = make_change((old,), (new,))

    assert compute_outcome(entry, by_id(old)) == ((new,), ("m1",))
    assert compute_outcome(entry.inverse, by_id(new)) == ((old,), ("m2",))


def test_change_applies_only_to_planned_state() -> None:
    before, after = memory("m1"), memory("m1", importance=0.9)
    entry = make_change((before,), (after,))

    assert is_applicable(entry, by_id(before))
    assert is_applicable(entry.inverse, by_id(after))
    touched = memory("m1", title="said otherwise meanwhile")
    assert not is_applicable(entry, by_id(touched))
    assert not is_applicable(entry.inverse, by_id(touched))
    assert not is_applicable(entry, {})


def test_entry_contains_only_differing_fields() -> None:
    entry = make_change((memory("m1"), memory("m2")), (memory("m1", importance=0.9), memory("m2")))

    assert [(edit.id, edit.fields_before, edit.fields_after) for edit in entry.edits] == [
        ("m1", {"importance": 0.4}, {"importance": 0.9})
    ]


def test_undo_two_changes_in_either_order() -> None:
    before = memory("m1", source={"type": "git"})
    between = replace(before, source={"type": "git", "shown_as": "compressed"})
    after = replace(between, status=Status.ARCHIVED, source={**between.source, "archived": "not used"})
    first, second = make_change((before,), (between,)), make_change((between,), (after,))

    present = after
    for entry in (first, second):  # the older one first
        rest, whole = find_remaining(entry.inverse, by_id(present))
        assert whole
        [present], deleted = compute_outcome(rest, by_id(present))
        assert deleted == ()
    assert replace(present, updated=before.updated) == before


def test_undo_of_link_keeps_later_links() -> None:
    first, second = {"type": "part_of", "ref": "m2"}, {"type": "reverts", "ref": "m3"}
    before = memory("m1")
    between, after = replace(before, links=(first,)), replace(before, links=(first, second))

    rest, whole = find_remaining(make_change((before,), (between,)).inverse, by_id(after))
    assert whole
    [without], _ = compute_outcome(rest, by_id(after))
    assert without.links == (second,)

    rest, whole = find_remaining(make_change((between,), (after,)).inverse, by_id(without))
    assert whole
    assert compute_outcome(rest, by_id(without))[0][0].links == ()


def test_undo_keeps_foreign_names_in_mapping() -> None:
    before = memory("m1", source={"type": "git"})
    after = replace(before, source={"type": "git", "shown_as": "summary", "by": "rules"})
    theirs = replace(after, source={"type": "git", "shown_as": "mine", "by": "rules"})

    rest, whole = find_remaining(make_change((before,), (after,)).inverse, by_id(theirs))

    assert not whole
    assert compute_outcome(rest, by_id(theirs))[0][0].source == {"type": "git", "shown_as": "mine"}


def test_batches_grouped_by_memory_count() -> None:
    def change(*names: str) -> ChangeEntry:
        return make_change((), tuple(memory(name) for name in names))

    one, two, many, last = change("a"), change("b", "c"), change(*"defghi"), change("j")
    assert list(split_into_batches([one, two, many, last], 4)) == [[one, two], [many], [last]]
    assert list(split_into_batches([], 4)) == []


def test_batch_weight_counts_long_text() -> None:
    long = make_change(
        (memory("a", content="x" * 2 * TYPICAL_CHARACTERS),), (memory("a", content="y" * 2 * TYPICAL_CHARACTERS),)
    )
    short = make_change((), (memory("b"),))
    assert list(split_into_batches([short, long, short, short], 4)) == [[short], [long], [short, short]]
