"""Session history: within its budget, append-only between compactions, lossless."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.assembly.history import LARGE_CHARACTERS, MAX_TURNS, HistoryView, SessionHistory
from hunchd.assembly.token_counter import count_tokens
from hunchd.domain.session import Message, MessageType, group_into_turns
from hunchd.ingestion.session_digest import digest_turns

BUDGET = 4_000  # tokens
START = datetime(2026, 1, 1, tzinfo=UTC)


def log(*said: tuple[MessageType, str]) -> list[Message]:
    return [
        Message(
            number=number,
            id=f"m{number}",
            event=event,
            text=text,
            at=START + timedelta(minutes=number),
            tokens=count_tokens(text),
            name="tool" if event in (MessageType.CALL, MessageType.RESULT) else None,
        )
        for number, (event, text) in enumerate(said, start=1)
    ]


def make_messages(turns: int, words: int = 20) -> list[Message]:
    """Build alternating turns of user and assistant, each with a unique word."""
    return log(
        *(
            (MessageType.USER if n % 2 else MessageType.ASSISTANT, f"marker{n} " + "some words to say " * (words // 4))
            for n in range(1, turns + 1)
        )
    )


def views(messages: list[Message], budget: int = BUDGET) -> list[HistoryView]:
    """Return the view after each message."""
    history = SessionHistory(budget, digest_turns)
    found = []
    for message in messages:
        history.add(message)
        found.append(history.build_view())
    return found


EVENTS = st.sampled_from(
    [
        MessageType.USER,
        MessageType.ASSISTANT,
        MessageType.CALL,
        MessageType.RESULT,
        MessageType.RESULT,
        MessageType.SYSTEM,
    ]
)
TEXTS = st.integers(1, 400).flatmap(lambda n: st.sampled_from(["word ", "We use A instead of B. ", "é", "x=1;\n"]).map(lambda w: w * n))  # fmt: skip  # noqa: E501
LOGS = st.lists(st.tuples(EVENTS, TEXTS), max_size=70).map(lambda said: log(*said))


@settings(max_examples=15, deadline=None)
@given(LOGS, st.integers(600, 12_000))
def test_history_is_append_only_between_compactions(messages: list[Message], budget: int) -> None:
    before = HistoryView((), 0, 0, 0, 0)
    for view in views(messages, budget):
        if view.compactions == before.compactions:
            assert view.entries[: len(before.entries)] == before.entries
        assert view.tokens == sum(entry.tokens for entry in view.entries)
        before = view


@settings(max_examples=15, deadline=None)
@given(LOGS)
def test_same_log_gives_same_bytes(messages: list[Message]) -> None:
    half = SessionHistory(BUDGET, digest_turns)
    for message in messages:
        half.add(message)
        half.build_view()

    assert views(messages)[-1:] == ([half.build_view()] if messages else [])


@settings(max_examples=15, deadline=None)
@given(LOGS)
def test_last_turns_are_verbatim(messages: list[Message]) -> None:
    spoken = [
        one for one in messages if one.event in (MessageType.USER, MessageType.ASSISTANT) and one.tokens < BUDGET / 8
    ]
    last = {one.id for turn in group_into_turns(messages)[-3:] for one in turn.messages}
    shown = {entry.message: entry.text for entry in (views(messages)[-1].entries if messages else ())}

    for message in spoken:
        if message.id in last:
            assert shown[message.id] == message.text


def test_twenty_turns_condense_the_middle() -> None:
    before, *_, after = views(make_messages(MAX_TURNS + 1))[MAX_TURNS - 1 :]
    shown = "\n".join(entry.text for entry in after.entries)

    assert before.compactions == 0
    assert after.compactions == 1
    assert all(f"marker{n} " in shown for n in (1, 2, 18, 19, 20, 21))
    assert "marker5 " not in shown
    assert "Turns 3-" in shown


def test_half_the_budget_triggers_compaction() -> None:
    messages = make_messages(12, words=320)

    assert any(view.compactions for view in views(messages))
    assert views(messages)[-1].tokens <= BUDGET


def test_large_stale_result_becomes_pointer() -> None:
    large = "first line of it\n" + "x = 1\n" * LARGE_CHARACTERS + "last line of it"
    said = [
        (MessageType.USER, "read it"),
        (MessageType.CALL, "read"),
        (MessageType.RESULT, large),
        (MessageType.ASSISTANT, "I see."),
    ]
    messages = log(*said, *((MessageType.USER, f"next {n}") for n in range(30)))

    new, old = views(messages, 200_000)[2], views(messages, 200_000)[-1]
    fresh = next(entry for entry in new.entries if entry.message == "m3")
    stale = next((entry for entry in old.entries if entry.message == "m3"), None)

    assert large in fresh.text
    assert stale is not None
    assert stale.tokens < 150
    assert all(part in stale.text for part in ("kept as m3", "first line of it", "last line of it"))


def test_oversized_result_shows_both_ends() -> None:
    result = "begin " + "word " * 9_000 + "end"
    [*_, view] = views(log((MessageType.USER, "run"), (MessageType.CALL, "run"), (MessageType.RESULT, result)))

    assert view.tokens <= BUDGET / 2
    assert view.entries[-1].text.endswith("end")
    assert "begin word" in view.entries[-1].text
    assert "m3" in view.entries[-1].text


def test_decision_survives_many_compactions() -> None:
    messages = log(
        (MessageType.USER, "We decided on zstandard instead of gzip, because reading must be fast."),
        *((MessageType.ASSISTANT if n % 2 else MessageType.USER, f"step {n} " * 30) for n in range(400)),
    )
    condensed = log(*((one.event, one.text) for one in messages[1:41]), (MessageType.USER, messages[0].text))
    rest = [(one.event, one.text) for one in messages[41:]]
    [*_, view] = views(log(*((one.event, one.text) for one in condensed), *rest))

    assert view.compactions > 10
    assert any("zstandard instead of gzip" in entry.text for entry in view.entries)
    assert view.tokens <= BUDGET


@pytest.mark.parametrize("turns", [1, 2, 3, 6, 14])
def test_forced_compaction_keeps_first_and_last(turns: int) -> None:
    history = SessionHistory(BUDGET, digest_turns)
    for message in make_messages(turns):
        history.add(message)
    history.compact()
    shown = "\n".join(entry.text for entry in history.build_view().entries)

    assert all(f"marker{n} " in shown for n in {1, 2, turns, max(1, turns - 1), max(1, turns - 2)} if n <= turns)
