"""What says the same in other words is one memory; what differs in a number, a name or a "not" is two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hunchd.consolidation.duplicates import same_groups
from hunchd.consolidation.merging import merged
from hunchd.domain.memory import Artifact, Kind, Memory, Usage
from tests.consolidation.made import NOW, by_id, memory

TEXT = "Fix a crash of the importer when the configuration file is empty. The parser expected at least one section."


def said(name: str, text: str, **fields: object) -> Memory:
    return memory(name, title=text.splitlines()[0], content=text, **fields)


@pytest.mark.parametrize(
    "other",
    [
        "Resolve a crash of the importer whenever the configuration file is empty. "
        "The parser expected at least one section.",
        "The parser expected at least one section. Fix a crash of the importer when the configuration file is empty.",
        "Fix a crash of the importer when the config file is empty. The parser expected at least one section.",
        "- **fix a crash of the importer when the `configuration` file is EMPTY**\n"
        "- the parser expected at least one section!",
        TEXT + " It was reported by a customer.",
    ],
)
def test_the_same_in_other_words_is_recognised(other: str) -> None:
    noise = [said(f"n{number}", f"Speed up the {name} page of the shop") for number, name in enumerate("abcdefgh")]
    known = by_id(said("one", TEXT), said("two", other), *noise)
    assert same_groups(known) == [["one", "two"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Bump werkzeug from 2.3.1 to 2.3.2 in the requirements",
            "Bump werkzeug from 2.3.2 to 2.3.3 in the requirements",
        ),
        ("Close the socket in HttpClient.stop after a timeout", "Close the socket in HttpServer.stop after a timeout"),
        (
            "The scheduler does retry failed jobs after a restart",
            "The scheduler does not retry failed jobs after a restart",
        ),
        (
            "Make the connection pool of workers synchronous again",
            "Make the connection pool of workers asynchronous again",
        ),
        ("Fix the flaky test of the payment gateway on Windows", "Fix the flaky test of the payment gateway on macOS"),
        ("Add the .rst suffix to news fragments of releases", "Remove the .rst suffix from news fragments of releases"),
        ("Spider middleware: catch errors of the callback", "Test spider middleware: catch errors of the callback"),
        ("Type hints for private functions of the parser", "More type hints for private functions of the parser"),
        (
            "cascade verbosity for switching\n\nThe verbosity argument is passed down to submodules, so that output of "
            "commands is suppressed where somebody has asked for that",
            "cascade verbosity for updating\n\nThe verbosity argument is passed down to submodules, so that output of "
            "commands is suppressed where somebody has asked for that",
        ),
    ],
)
def test_a_number_a_name_or_a_denial_tells_two_things_apart(one: str, other: str) -> None:
    assert same_groups(by_id(said("one", one), said("two", other))) == []


def test_what_says_little_does_not_join_what_has_nothing_else_in_common() -> None:
    title = "Hooks of the formatter and of the linter are brought up to date automatically"
    known = by_id(
        said("one", title),
        said("two", f"{title}\n\nlints/quotes: v3.4.0 to v3.6.0"),
        said("three", f"{title}\n\nformats/imports: v1.5.1 to v1.6.0"),
    )
    assert max(map(len, same_groups(known)), default=0) <= 2


def test_two_commits_are_two_events_however_alike_their_messages_are() -> None:
    first, second = (said(name, TEXT, artifacts=(Artifact("commit", name * 13),)) for name in ("one", "two"))
    assert same_groups(by_id(first, second)) == []
    assert same_groups(by_id(first, replace(second, artifacts=first.artifacts))) == [["one", "two"]]


def test_another_branch_kind_or_key_is_another_subject() -> None:
    one, two = said("one", TEXT), said("two", TEXT)
    assert same_groups(by_id(one, replace(two, branch="topic"))) == []
    assert same_groups(by_id(one, replace(two, kind=Kind.FACT))) == []
    assert same_groups(by_id(replace(one, key="importer"), replace(two, key="exporter"))) == []


def test_a_few_words_say_too_little_of_an_event_and_enough_of_a_fact() -> None:
    assert same_groups(by_id(said("one", "Fix typo"), said("two", "fix typo"))) == []
    facts = (said(name, "Use tabs", kind=Kind.FACT) for name in ("one", "two"))
    assert same_groups(by_id(*facts)) == [["one", "two"]]


def test_provenance_and_usage_are_merged_into_the_one_that_stays() -> None:
    one = said("one", TEXT, usage=Usage(retrieved=2, cited=1), source={"type": "session"})
    two = said("two", TEXT.upper(), usage=Usage(retrieved=3), source={"type": "guide", "path": "NEWS.md"})
    known = by_id(one, two)
    [planned] = merged(known, same_groups(known), NOW)
    after = {memory.id: memory for memory in planned.after}
    assert (after["one"].usage.retrieved, after["one"].usage.cited) == (5, 1)
    assert after["one"].source["also"][0]["path"] == "NEWS.md"
    assert after["two"].superseded_by == "one"
