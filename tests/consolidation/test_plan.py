"""A change names what differs, is made only where nothing changed meanwhile, and leads back exactly."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.consolidation.plan import (
    USUAL,
    Entry,
    Planned,
    Step,
    applied,
    applies,
    entry_of,
    in_batches,
    outcome,
    remaining,
)
from hunchd.domain.memory import Levels, Memory, Status, Usage
from tests.consolidation.made import NOW, by_id, memory


def planned(before: tuple[Memory, ...], after: tuple[Memory, ...]) -> Entry:
    entry = entry_of(Planned(Step.USE, "counted", "what", "why", before, after), "p")
    return Entry.of_json(json.loads(json.dumps(entry.json())))  # as it comes back from the disk


# What a memory can hold: neither NUL nor half a surrogate pair passes the doors.
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
def test_a_change_and_its_inverse_give_back_what_was(first: dict[str, object], second: dict[str, object]) -> None:
    before = replace(memory("m1"), **first)  # type: ignore[arg-type]
    after = replace(before, **second)  # type: ignore[arg-type]
    entry = planned((before,), (after,))

    written, gone = outcome(entry, by_id(before))
    assert by_id(*written).get("m1", before) == after
    assert gone == ()
    back, _ = outcome(entry.inverse, by_id(after))
    assert by_id(*back).get("m1", after) == before


def test_what_is_made_is_removed_again_and_what_is_removed_is_made_again() -> None:
    old, new = memory("m1", category="x"), memory("m2", usage=Usage(1, 2, 3, 4, 5, NOW))
    entry = planned((old,), (new,))

    assert outcome(entry, by_id(old)) == ((new,), ("m1",))
    assert outcome(entry.inverse, by_id(new)) == ((old,), ("m2",))


def test_a_change_applies_only_to_what_was_planned_on() -> None:
    before, after = memory("m1"), memory("m1", importance=0.9)
    entry = planned((before,), (after,))

    assert applies(entry, by_id(before))
    assert applied(entry, by_id(after))
    touched = memory("m1", title="said otherwise meanwhile")
    assert not applies(entry, by_id(touched))
    assert not applied(entry, by_id(touched))
    assert not applies(entry, {})


def test_only_what_differs_is_written_down() -> None:
    entry = planned((memory("m1"), memory("m2")), (memory("m1", importance=0.9), memory("m2")))

    assert [(edit.id, edit.was, edit.now) for edit in entry.edits] == [("m1", {"importance": 0.4}, {"importance": 0.9})]


def test_two_changes_of_one_field_are_taken_back_in_either_order() -> None:
    before = memory("m1", source={"type": "git"})
    between = replace(before, source={"type": "git", "shown_as": "compressed"})
    after = replace(between, status=Status.ARCHIVED, source={**between.source, "archived": "not used"})
    first, second = planned((before,), (between,)), planned((between,), (after,))

    present = after
    for entry in (first, second):  # the older one first
        rest, whole = remaining(entry.inverse, by_id(present))
        assert whole
        [present], gone = outcome(rest, by_id(present))
        assert gone == ()
    assert replace(present, updated=before.updated) == before


def test_what_somebody_noted_himself_is_left_in_a_field_that_is_taken_back() -> None:
    before = memory("m1", source={"type": "git"})
    after = replace(before, source={"type": "git", "shown_as": "summary", "by": "rules"})
    theirs = replace(after, source={"type": "git", "shown_as": "mine", "by": "rules"})

    rest, whole = remaining(planned((before,), (after,)).inverse, by_id(theirs))

    assert not whole
    assert outcome(rest, by_id(theirs))[0][0].source == {"type": "git", "shown_as": "mine"}


def test_changes_go_together_by_how_many_memories_they_are_about() -> None:
    def change(*names: str) -> Entry:
        return planned((), tuple(memory(name) for name in names))

    one, two, many, last = change("a"), change("b", "c"), change(*"defghi"), change("j")
    assert list(in_batches([one, two, many, last], 4)) == [[one, two], [many], [last]]
    assert list(in_batches([], 4)) == []


def test_a_long_text_counts_as_many_memories() -> None:
    long = planned((memory("a", content="x" * 2 * USUAL),), (memory("a", content="y" * 2 * USUAL),))
    short = planned((), (memory("b"),))
    assert list(in_batches([short, long, short, short], 4)) == [[short], [long], [short, short]]
