"""Tests of duplicate search: paraphrases match, other numbers, names or denials do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hunchd.consolidation.duplicates.duplicate_search import group_duplicates
from hunchd.consolidation.merging import plan_merges
from hunchd.domain.memory import Artifact, Kind, Memory, Usage
from tests.consolidation.made import NOW, by_id, memory

TEXT = "Fix a crash of the importer when the configuration file is empty. The parser expected at least one section."


def text_memory(name: str, text: str, **fields: object) -> Memory:
    return memory(name, title=text.splitlines()[0], content=text, **fields)


def others() -> list[Memory]:
    """Return background memories that make the words of another one rare."""
    return [
        text_memory(f"n{number}", f"Speed up the {name} page of the shop") for number, name in enumerate("abcdefgh")
    ]


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
        TEXT + " Nothing else was changed.",
        TEXT.removesuffix(".") + " - fixes #4133",
        TEXT.replace("empty. The", "empty the"),
    ],
)
def test_paraphrase_is_duplicate(other: str) -> None:
    memories = by_id(text_memory("one", TEXT), text_memory("two", other), *others())
    assert group_duplicates(memories) == [["one", "two"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Implement retries of uploads in the nightly backup", "Implemented retries of uploads in the nightly backup"),
        ("Initialise the colour palette of the first chart", "Initialize the color palette of the first chart"),
        ("Make sure that the scheduler sees a dead worker", "Ensure that the scheduler sees a dead worker"),
        ("Cancelled jobs were written to the ledger twice", "Canceled jobs were written to the ledger twice"),
        (
            "Render invoices in the worker, w/o a lock on the ledger",
            "Render invoices in the worker, without lock on ledger",
        ),
        (
            "Closes #4133. Rename read_all() to read_each()",
            "Closes #4133. Rename read_all() to read_each(). A test covers it.",
        ),
        (
            "The importer requires wheels =0.10.* in its manifest.",
            "In its manifest, the importer requires wheels =0.10.*",
        ),
    ],
)
def test_inflections_and_spellings_are_duplicates(one: str, other: str) -> None:
    assert group_duplicates(by_id(text_memory("one", one), text_memory("two", other), *others())) == [["one", "two"]]


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
        ("The importer requires wheels =0.10.* in its manifest", "The importer requires wheels =0.10 in its manifest"),
        ("Close the socket of mail._pop after a slow login", "Close the socket of mail.pop after a slow login"),
        ('Revert "Update the metadata of packages"', 'Revert "Revert "Update the metadata of packages""'),
        (
            "Show what `cargo add` prints when the sign is missing, and add a test of cargo add and its versions",
            "Show what `cargo add` prints when the sign is missing, and add a test of cargo install and its versions",
        ),
        (
            "In a.py and b.py Client.stop() of the pool closes each socket of a release build",
            "In a.py and b.py Client.stop() of the pool leaks each socket of a release build",
        ),
        (
            "Disable retries in the importer. Enable caching in the exporter",
            "Enable retries in the importer. Disable caching in the exporter",
        ),
    ],
)
def test_different_number_name_or_denial_no_duplicate(one: str, other: str) -> None:
    assert group_duplicates(by_id(text_memory("one", one), text_memory("two", other), *others())) == []


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.EPISODE])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Use Celery instead of Dramatiq for jobs of the shop in the background",
            "Use Dramatiq instead of Celery for jobs of the shop in the background",
        ),
        (
            "The worker renders invoices before it mails them to customers at night",
            "The worker mails invoices before it renders them to customers at night",
        ),
        (
            "Raise the timeout of slow uploads from 10 to 30 seconds",
            "Raise the timeout of slow uploads from 30 to 10 seconds",
        ),
        ("make -> fab in the deployment section of the guide", "fab -> make in the deployment section of the guide"),
        (
            "Dramatiq replaces Celery in every worker of the shop",
            "Celery replaces Dramatiq in every worker of the shop",
        ),
    ],
)
def test_swapped_roles_no_duplicate(one: str, other: str, kind: Kind) -> None:
    assert (
        group_duplicates(by_id(text_memory("one", one, kind=kind), text_memory("two", other, kind=kind), *others()))
        == []
    )


def test_reordered_list_or_clause_is_duplicate() -> None:
    one = "Move the timeout of uploads from the client to the server, for slow and flaky networks"
    other = "To the server, for flaky and slow networks, move the timeout of uploads from the client"
    assert group_duplicates(by_id(text_memory("one", one), text_memory("two", other), *others())) == [["one", "two"]]


def test_uninformative_text_does_not_join_groups() -> None:
    title = "Hooks of the formatter and of the linter are brought up to date automatically"
    memories = by_id(
        text_memory("one", title),
        text_memory("two", f"{title}\n\nlints/quotes: v3.4.0 to v3.6.0"),
        text_memory("three", f"{title}\n\nformats/imports: v1.5.1 to v1.6.0"),
    )
    assert max(map(len, group_duplicates(memories)), default=0) <= 2


def test_different_commits_no_duplicate() -> None:
    first, second = (text_memory(name, TEXT, artifacts=(Artifact("commit", name * 13),)) for name in ("one", "two"))
    assert group_duplicates(by_id(first, second)) == []
    assert group_duplicates(by_id(first, replace(second, artifacts=first.artifacts))) == [["one", "two"]]


def test_different_branch_kind_or_key_no_duplicate() -> None:
    one, two = text_memory("one", TEXT), text_memory("two", TEXT)
    assert group_duplicates(by_id(one, replace(two, branch="topic"))) == []
    assert group_duplicates(by_id(one, replace(two, kind=Kind.FACT))) == []
    assert group_duplicates(by_id(replace(one, key="importer"), replace(two, key="exporter"))) == []


def test_short_text_duplicate_only_for_facts() -> None:
    assert group_duplicates(by_id(text_memory("one", "Fix typo"), text_memory("two", "fix typo"))) == []
    facts = (text_memory(name, "Use tabs", kind=Kind.FACT) for name in ("one", "two"))
    assert group_duplicates(by_id(*facts)) == [["one", "two"]]


COMMON_WORDS = ("fix", "handling", "docs", "settings", "parser", "report", "release", "broken")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fix MailParser.parse_each in the parser", True),  # a unique name
        ("Handling of #4133 in docs of the parser", True),
        ("Fix broken parser handling in docs of release settings", True),  # enough words
        ("Fix parser docs", False),
        ("Update docs/parser/settings.rst", False),  # files are updated many times
        ("Fix the parser broken by the previous commit", False),  # each commit has a predecessor
    ],
)
def test_identical_common_words_need_length_or_name(text: str, found: bool) -> None:
    noise = [
        text_memory(
            f"n{number:03}", f"{COMMON_WORDS[number % 8]} {COMMON_WORDS[number // 8 % 8]} commit of page {number}"
        )
        for number in range(200)
    ]
    groups = group_duplicates(by_id(text_memory("one", text), text_memory("two", f"> {text.upper()} …"), *noise))
    assert groups == ([["one", "two"]] if found else [])


def test_blocking_without_rare_words_uses_combination() -> None:
    noise = [
        text_memory(f"n{number:03}", f"upload backup worker ledger invoice of page {number}") for number in range(400)
    ]
    texts = "Upload the ledger to backup, worker", "To backup, worker: upload the ledger"
    memories = [text_memory(name, text, kind=Kind.FACT) for name, text in zip(("one", "two"), texts, strict=True)]
    assert group_duplicates(by_id(*memories, *noise)) == [["one", "two"]]


@pytest.mark.parametrize(("one", "other"), [("👍", "🎉"), ("---", "…"), ("the", "a")])
def test_texts_without_words_no_duplicates(one: str, other: str) -> None:
    facts = (memory(text, kind=Kind.FACT, title=text, content=text) for text in (one, other))
    assert group_duplicates(by_id(*facts)) == []


def test_merge_combines_provenance_and_usage() -> None:
    one = text_memory("one", TEXT, usage=Usage(retrieved=2, cited=1), source={"type": "session"})
    two = text_memory("two", TEXT.upper(), usage=Usage(retrieved=3), source={"type": "guide", "path": "NEWS.md"})
    memories = by_id(one, two)
    [planned] = plan_merges(memories, group_duplicates(memories), NOW)
    after = {memory.id: memory for memory in planned.after}
    assert (after["one"].usage.retrieved, after["one"].usage.cited) == (5, 1)
    assert after["one"].source["also"][0]["path"] == "NEWS.md"
    assert after["two"].superseded_by == "one"
