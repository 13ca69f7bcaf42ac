"""Tests of reactions to answers: what a session does next moves the ranking for such questions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hunchd.core.memory.question_preferences import MAX_CHANGE, QuestionPreferences
from hunchd.domain.session import Message, MessageType
from hunchd.features.sessions.reactions import ReactionTracker
from hunchd.protocol.search_results import SearchResult

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ASKED = "Which tide table does the harbour map use?"
MEMORIES = (("m1", "The harbour map reads the Hamburg almanac."), ("m2", "Lunch moved to noon because of rehearsals."))


def log(*said: tuple[MessageType, str]) -> list[Message]:
    return [
        Message(number=at, id=f"l{at}", event=event, text=text, at=NOW, tokens=len(text) // 4)
        for at, (event, text) in enumerate(said, start=1)
    ]


def found(identifier: str, score: float) -> SearchResult:
    return SearchResult(id=identifier, ref=None, kind="fact", title="", snippet="", source={}, score=score, reasons=[])


@pytest.fixture
def tracker(tmp_path: Path) -> ReactionTracker:
    tracker = ReactionTracker(QuestionPreferences(tmp_path / "reactions.json"), now=lambda: NOW)
    tracker.remember("s", None, ASKED, MEMORIES, [])
    return tracker


def read_events(tracker: ReactionTracker, identifier: str) -> list[str]:
    return [one.what.partition(":")[0] for one in tracker.preferences.list_events(identifier)]


ANSWER = (MessageType.ASSISTANT, "It uses the Hamburg almanac, edition 2026.")


@pytest.mark.parametrize(
    ("message", "said", "reaction"),
    [
        ("That's not what I meant, I need the harbour depth.", [ANSWER], "was not what was meant by"),
        ("Das war nicht, was ich meinte.", [ANSWER], "was not what was meant by"),
        ("我的意思是另一个表。", [ANSWER], "was not what was meant by"),
        ("Which tide table is used by the harbour map?", [ANSWER], "was asked again"),
        (ASKED, [(MessageType.USER, ASKED)], "the answer was regenerated for"),
        ("Thanks, and now the legend of the chart.", [ANSWER], "was used in the answer to"),
    ],
)
def test_request_expresses_reaction(
    tracker: ReactionTracker, message: str, said: list[tuple[MessageType, str]], reaction: str
) -> None:
    tracker.observe("s", None, message, log(*said))

    assert read_events(tracker, "m1") == [reaction]


def test_unused_memory_sinks_used_one_rises(tracker: ReactionTracker) -> None:
    tracker.observe("s", None, "Thanks, and now the legend.", log(ANSWER))

    assert read_events(tracker, "m2") == ["was not used in the answer to"]
    ranked = tracker.preferences.rerank(
        "which tide table for the harbour map", None, [found("m2", 0.5), found("m1", 0.47)]
    )
    assert [(one.id, one.reasons[0].partition(" ")[0]) for one in ranked] == [("m1", "helped"), ("m2", "did")]


def test_memory_found_by_complaint_was_missed(tracker: ReactionTracker) -> None:
    message = "You missed the note about the spring tide."
    tracker.observe("s", None, message, log(ANSWER))
    tracker.remember("s", None, message, [("m3", "Spring tides follow the new moon."), MEMORIES[0]], log(ANSWER))

    assert (read_events(tracker, "m3"), read_events(tracker, "m1")) == (["was missed in the answer to"], [])


def test_tool_loop_with_same_message_changes_nothing(tracker: ReactionTracker) -> None:
    tracker.observe("s", None, ASKED, log((MessageType.USER, ASKED), (MessageType.RESULT, "3 files")))

    assert read_events(tracker, "m1") == []


def test_changes_are_bounded_and_kept_to_their_question(tracker: ReactionTracker, tmp_path: Path) -> None:
    for _ in range(20):
        tracker.observe("s", None, "That's not what I meant.", log(ANSWER))
    path = tmp_path / "saved.json"
    path.write_text(tracker.preferences.dump() or "")
    preferences = QuestionPreferences(path)

    [similar] = preferences.rerank("which tide table does the map use", None, [found("m1", 1.0)])
    [other] = preferences.rerank("who designed the legend", None, [found("m1", 1.0)])
    [elsewhere] = preferences.rerank(ASKED, "p", [found("m1", 1.0)])

    assert (similar.score, other.score, elsewhere.score) == (1.0 - MAX_CHANGE, 1.0, 1.0)


def test_erased_memories_and_sessions_leave_nothing(tracker: ReactionTracker) -> None:
    tracker.observe("s", None, "That's not what I meant.", log(ANSWER))
    tracker.preferences.forget(["m2"])
    assert tracker.preferences.dump() == "[]"
    tracker.observe("s", None, "That's not what I meant.", log(ANSWER))
    tracker.forget("s")
    assert tracker.preferences.dump() == "[]"
