"""Tests of the regression gate: attribution of losses, replacements, foreign changes."""

from __future__ import annotations

from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep, PlannedChange, make_entry
from hunchd.consolidation.regression_gate import Probe, compare_results, draw_queries, must_stay, trace_changes
from hunchd.domain.memory import Memory, Status, Trust
from tests.consolidation.made import NOW, by_id, memory


def entry(step: ConsolidationStep, before: Memory, after: Memory) -> ChangeEntry:
    return make_entry(PlannedChange(step, "x", f"{step} {before.id}", "", (before,), (after,)), "p")


def test_lost_result_attributed_to_last_step() -> None:
    one = memory("one")
    entries = [
        entry(ConsolidationStep.SUMMARISE, one, memory("one", importance=0.5)),
        entry(ConsolidationStep.FORGET, memory("one", importance=0.5), memory("one", status=Status.ARCHIVED)),
    ]
    probes = [Probe("a question", "p", ("one", "two")), Probe("another", "p", ("three",))]

    verdict = compare_results(probes, [["two"], []], trace_changes(entries, {"one", "two", "three"}))

    assert (verdict.result_count, verdict.loss_share) == (3, 2 / 3)
    assert [(loss.expected_id, loss.step) for loss in verdict.losses] == [("one", "forget"), ("three", "ranking")]


def test_foreign_change_is_no_loss() -> None:
    entries = [entry(ConsolidationStep.SUMMARISE, memory("one"), memory("one", importance=0.5))]
    probes = [Probe("a question", "p", ("one", "two", "three"))]

    verdict = compare_results(probes, [["three"]], trace_changes(entries, {"one", "two", "three"}), {"one", "two"})

    assert (verdict.result_count, [loss.expected_id for loss in verdict.losses]) == (2, ["one"])


def test_replacement_counts_as_found() -> None:
    merge_entry = entry(
        ConsolidationStep.DUPLICATES, memory("one"), memory("one", status=Status.SUPERSEDED, superseded_by="two")
    )
    history_entry = entry(
        ConsolidationStep.HISTORY, memory("old"), memory("old", links=({"type": "part_of", "ref": "history"},))
    )
    probes = [Probe("q", "p", ("one",)), Probe("r", "p", ("old",)), Probe("s", "p", ("one",))]

    verdict = compare_results(
        probes, [["two"], ["history"], ["nine"]], trace_changes([merge_entry, history_entry], {"one", "old"})
    )

    assert [(loss.query, loss.step) for loss in verdict.losses] == [("s", "duplicates")]


def test_foreign_change_of_replacement_is_no_loss() -> None:
    names = ["changed", "removed", "lost"]
    merged = [
        entry(
            ConsolidationStep.DUPLICATES,
            memory(one),
            memory(one, status=Status.SUPERSEDED, superseded_by=f"{one} keeper"),
        )
        for one in names
    ]
    probes = [Probe(f"{one}?", "p", (one,)) for one in names]

    verdict = compare_results(
        probes, [[], [], []], trace_changes(merged, set(names)), {"changed keeper"}, {"removed keeper"}
    )

    assert [loss.expected_id for loss in verdict.losses] == ["lost"]


def test_foreign_deletion_is_no_loss() -> None:
    touched = entry(ConsolidationStep.LINKS, memory("one"), memory("one", links=({"type": "about", "ref": "a.py"},)))

    verdict = compare_results([Probe("q", "p", ("one",))], [[]], trace_changes([touched], {"one"}), (), {"one"})

    assert (verdict.result_count, verdict.losses) == (0, [])


def test_queries_drawn_from_protected_memories() -> None:
    protected = memory("kept", age=300, trust=Trust.USER, content="always wash the zeppelin before landing")
    stale = memory("stale", age=300)
    vocabulary = Vocabulary()
    for one in (protected, stale):
        vocabulary.learn(one.content)

    probes = draw_queries(by_id(protected, stale), vocabulary, limit=10, seed="r1", now=NOW)

    assert [identifier for _, identifier in probes] == ["kept"]
    assert "zeppelin" in probes[0][0]
    assert not must_stay(stale, NOW)
    assert must_stay(memory("young", age=2), NOW)
    assert not must_stay(memory("lapsed", trust=Trust.USER, valid_to=NOW), NOW)
