"""Rule-based session digests and the segmentation into episodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hunchd.domain.session import Message, MessageType, Turn, group_into_turns
from hunchd.ingestion.session_digest import classify_sentence, digest_turns, split_sentences
from hunchd.ingestion.session_segments import judge_outcome, segment_session


def turns(*said: tuple[MessageType, str] | tuple[MessageType, str, str, dict[str, Any]]) -> tuple[Turn, ...]:
    messages = []
    for number, (event, text, *rest) in enumerate(said, start=1):
        name, data = rest if rest else (None, {})
        at = datetime(2026, 1, 1, tzinfo=UTC)
        messages.append(
            Message(number=number, id=f"m{number}", event=event, text=text, at=at, tokens=10, name=name, data=data)
        )
    return group_into_turns(messages)


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("We use PostgreSQL instead of MySQL for the ledger.", "decision"),
        ("Let's go with zstandard for archives.", "decision"),
        ("We decided against a second cache.", "decision"),
        ("Wir nehmen SQLite statt PostgreSQL.", "decision"),
        ("We keep zstandard for archives, not gzip.", "decision"),
        ("We keep seeing this error.", None),
        ("I prefer small commits.", "preference"),
        ("Always run the tests before you commit.", "instruction"),
        ("Toujours lancer les tests avant de pousser.", "instruction"),
        ("Please don't touch the generated files.", "instruction"),
        ("Should we use Redis?", "question"),
        ("Maybe we should use Redis instead of Valkey.", None),
        ("The weather is nice today.", None),
        ("Fix the parser of dates.", "action"),
    ],
)
def test_user_sentence_is_classified_by_words(sentence: str, kind: str | None) -> None:
    assert classify_sentence(sentence, by_user=True) == kind


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("I've added the test.", "action"),
        ("Done: the parser takes dates.", "action"),
        ("The root cause is a stale lock.", "insight"),
        ("We will use the second form instead of the first.", "decision"),
        ("Here is the file.", None),
    ],
)
def test_assistant_sentence_is_classified_by_words(sentence: str, kind: str | None) -> None:
    assert classify_sentence(sentence, by_user=False) == kind


def test_sentences_skip_code_and_keep_abbreviations() -> None:
    text = (
        "1. Use it, e.g. Like this one.\n```\nwe use nothing here\n```\n- **Never** push on Friday. It hurts everybody!"
    )

    assert split_sentences(text) == ["Use it, e.g. Like this one.", "Never push on Friday.", "It hurts everybody!"]


def test_point_quotes_sentence_of_its_turn() -> None:
    session = turns(
        (MessageType.USER, "We use uv instead of pip, because it is faster. And the sky is blue."),
        (MessageType.ASSISTANT, "Understood."),
        (MessageType.CALL, "", "Edit", {"input": {"file_path": "pyproject.toml"}}),
        (MessageType.RESULT, "ok", "Edit", {}),
        (
            MessageType.CALL,
            'git commit -m "Switch to uv"',
            "bash",
            {"input": {"command": 'git commit -m "Switch to uv"'}},
        ),
        (MessageType.RESULT, "=== 1 failed, 3 passed in 2s ===", "bash", {}),
    )
    digest = digest_turns(session)

    assert [(point.kind, point.text, point.turn) for point in digest.points] == [
        ("decision", "We use uv instead of pip, because it is faster.", 1),
        ("action", "edited pyproject.toml", 2),
        ("action", "committed: Switch to uv", 3),
        ("insight", "bash said: === 1 failed, 3 passed in 2s ===", 3),
    ]
    assert digest == digest_turns(session)
    assert digest.points[0].message == "m1"


def test_failure_is_read_from_run_tools_only() -> None:
    code = (
        'func check() {\n    return Error("invalid port")\n}\nif err := run(); err != nil {\n    t.Error("no signer")\n'
    )
    session = turns(
        (MessageType.USER, "Look at the signer, please."),
        (MessageType.CALL, "", "Read", {"input": {"file_path": "signer.go"}}),
        (MessageType.RESULT, code + "// Error: what the caller is told\n", "Read", {}),
        (MessageType.CALL, "", "Bash", {"input": {"command": "cat signer.go"}}),
        (MessageType.RESULT, code, "Bash", {}),
        (MessageType.CALL, "", "Bash", {"input": {"command": "go vet"}}),
        (MessageType.RESULT, "vet: Error: no signer was returned", "Bash", {}),
    )
    said = [point.text for point in digest_turns(session).points if point.kind == "insight"]

    assert said == ["Bash said: vet: Error: no signer was returned"]


def test_user_decision_with_reason_weighs_most() -> None:
    said = "We use uv instead of pip."
    session = turns(
        (MessageType.USER, said),
        (MessageType.ASSISTANT, said),
        (MessageType.USER, said[:-1] + ", because it is faster."),
    )
    by_user, by_assistant, reasoned = digest_turns(session).points

    assert by_assistant.weight < by_user.weight < reasoned.weight


def topic(name: str, times: int) -> list[tuple[MessageType, str]]:
    said = []
    for number in range(times):
        said.append((MessageType.USER, f"Change the {name} {name}_{number % 3} and its {name} handler"))
        said.append((MessageType.ASSISTANT, f"The {name} handler {name}_{number % 3} was changed"))
    return said


@pytest.mark.parametrize(("exchanges", "most"), [(1, 1), (9, 1), (25, 3), (50, 5), (150, 15)])
def test_hundred_turns_yield_at_most_five_segments(exchanges: int, most: int) -> None:
    session = turns(*(part for n in range(5) for part in topic(("parser", "cache", "login", "queue", "invoice")[n], exchanges // 5 + 1)))[: 2 * exchanges]  # fmt: skip  # noqa: E501
    chapters = segment_session(session)

    assert 1 <= len(chapters) <= most
    assert [turn for chapter in chapters for turn in chapter.turns] == list(session)
    assert all(chapter.turns[0].by_user for chapter in chapters)


def test_segment_starts_where_vocabulary_changes() -> None:
    chapters = segment_session(turns(*topic("parser", 12), *topic("invoice", 12)))

    assert [chapter.first_turn for chapter in chapters] == [1, 25]
    assert "parser" in chapters[0].topics
    assert "invoice" in chapters[1].topics


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ([(MessageType.ASSISTANT, "Done, all tests pass.")], "success"),
        ([(MessageType.USER, "Thanks, that works.")], "success"),
        ([(MessageType.ASSISTANT, "It is still failing: error: no module.")], "partial"),
        ([(MessageType.ASSISTANT, "Let me look."), (MessageType.CALL, "ls")], "interrupted"),
    ],
)
def test_outcome_is_judged_by_last_messages(last: list[tuple[MessageType, str]], outcome: str) -> None:
    assert judge_outcome(turns((MessageType.USER, "Fix it"), *last)) == outcome
