"""What the classifier of rules tells apart; none of these sentences is among those that it was trained on."""

from __future__ import annotations

import pytest

from hunchd.ingestion.instructions import extract_instructions
from hunchd.ingestion.rule_classifier import VAGUE, Passage, rate_passage


@pytest.mark.parametrize(
    ("sentence", "topic"),
    [
        ("Every bug fix must come with a regression test in `spec/`.", "tests"),
        ("Add an entry to `CHANGES.md` below the heading for the next release.", "changelog"),
        ("The first line of a commit message must be shorter than 60 characters.", "commits"),
        ("Do not use `unwrap()` outside of tests.", "code"),
        ("Run `make lint` before you open a pull request.", "command"),
        ("Public functions must be documented with a docstring that has an example.", "documentation"),
    ],
)
def test_rule_is_rated_with_topic(sentence: str, topic: str) -> None:
    rating = rate_passage(Passage(sentence, is_item=True))

    assert rating.quotable > 0.5
    assert rating.topic == topic


@pytest.mark.parametrize(
    "sentence",
    [
        "Thank you for taking the time to help us!",
        "Search the tracker before you file a bug.",
        "We cannot take the risk of a lawsuit.",
        "Please be patient while we review your patch.",
        "This folder has the sources of the website.",
        "Clone the repository and install the dependencies.",
    ],
)
def test_talk_is_no_rule(sentence: str) -> None:
    assert rate_passage(Passage(sentence)).rule < 0.4


def test_platitude_is_stored_as_vague() -> None:
    [rule] = extract_instructions("# Contributing\n\n- Follow the existing style and conventions of the code.\n")

    assert rule.topic == VAGUE
