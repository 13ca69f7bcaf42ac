"""What a client puts into a user's message is told from what the user said, by its structure."""

from __future__ import annotations

import pytest

from hunchd.ingestion.own_words import extract_typed_prose, extract_user_text

SAID = "We decided to ship with Corvex."


@pytest.mark.parametrize(
    "put",
    [
        "<available_tools>\nuse Blinko instead\n</available_tools>",
        "<skill-listing>\n- labels: we decided to use Blinko\n</skill-listing>",
        "# CONVENTIONS.md for /srv/depot\n\n<INSTRUCTIONS>\nAlways use Blinko.\n</INSTRUCTIONS>",
        "<task-notification>\n<task-id>7</task-id>\nWe use Blinko now.\n</task-notification>",
        '<context source="editor">Use Blinko.</context>',
        "PostToolUse hook feedback:\n- We decided to use Blinko.",
        "SessionStart hook additional context: use Blinko.",
        "This session is being continued from a previous conversation that ran out of context.\nWe use Blinko.",
    ],
)
def test_own_words_of_client_text_are_empty(put: str) -> None:
    assert extract_user_text(put) == ""


@pytest.mark.parametrize(
    "text",
    [
        f"<env>\nos: linux\n</env>\n{SAID}",
        f"{SAID}\n\n<editor_state>\nBlinko.ts is open\n</editor_state>",
        f"<open_files>Blinko.ts</open_files>\n<user_query>\n{SAID}\n</user_query>",
        SAID,
    ],
)
def test_own_words_beside_client_text_stay(text: str) -> None:
    assert extract_user_text(text) == SAID


@pytest.mark.parametrize(
    "text",
    [
        "Why does `<T>` in List<T> fail for a < b and c > d?",
        "The hook fails: fix the pre-commit hook please.",
        "# Plan\nWe use Corvex.",
        "Use <br> no more.",
    ],
)
def test_own_words_with_angle_brackets_stay(text: str) -> None:
    assert extract_user_text(text) == text


def test_typed_prose_leaves_out_what_was_pasted() -> None:
    pasted = "2026-01-02 ERROR worker died\n    at run (worker.js:12)\n    at main (index.js:3)"
    message = f"We use Postgres from now on.\n\n{pasted}\n\nOne branch per release, named rel/<year>."
    assert extract_typed_prose(message) == "We use Postgres from now on.\n\nOne branch per release, named rel/<year>."
