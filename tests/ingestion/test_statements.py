"""Statements in sentences, with the facts that a person reads in them."""

from __future__ import annotations

import pytest

from hunchd.ingestion.statements import ExtractedStatement, Voice, extract_statements

# (sentence, category, key, value)
OWNER = [
    ("we use pnpm, not npm", "convention", "package manager", "pnpm"),
    ("We use uv instead of pip because it is faster", "convention", "package manager", "uv"),
    ("use pathlib instead of os.path", "convention", "in place of os.path", "pathlib"),
    ("prefer composition over inheritance", "convention", "in place of inheritance", "composition"),
    ("we switched from travis to github actions", "convention", "ci", "github actions"),
    ("we moved from Jest to Vitest last week", "convention", "tests", "Vitest"),
    ("replaced flake8 with ruff", "convention", "lint", "ruff"),
    ("dropped moment.js in favour of date-fns", "convention", "dates", "date-fns"),
    ("we renamed UserStore to AccountStore", "decision", "name of UserStore", "AccountStore"),
    ("never push to main", "instruction", "push to main", "never"),
    ("Please don't use mocks in tests", "instruction", "use mocks in tests", "never"),
    ("always run ruff before committing", "instruction", "run ruff before committing", "always"),
    ("avoid global state in plugins", "instruction", "global state in plugins", "avoid"),
    ("we must not log tokens", "instruction", "log tokens", "never"),
    ("I prefer tabs over spaces", "preference", "indent", "tabs"),
    ("prefers short answers", "preference", "short answers", "preferred"),
    ("I prefer small pull requests", "preference", "small pull requests", "preferred"),
    ("minimum Python is 3.9", "convention", "python", ">=3.9"),
    ("Java 21 is the oldest we support", "convention", "java", ">=21"),
    ("Python 3.10 is our minimum version", "convention", "python", ">=3.10"),
    ("we use Gradle now, no longer Maven", "convention", "build tool", "Gradle"),
    ("we use vitest for tests, and no longer jest", "convention", "tests", "vitest"),
    ("we still support node 18", "convention", "node", ">=18"),
    ("we dropped support for Python 3.7", "constraint", "support for Python 3.7", "dropped"),
    ("our database is PostgreSQL", "convention", "database", "PostgreSQL"),
    ("tests run with pytest", "convention", "tests", "pytest"),
    ("we use Redis for caching", "convention", "cache", "Redis"),
    ("line length: 100", "convention", "line length", "100"),
    ("my name is Ada", "identity", "name", "Ada"),
    ("my name is Rosa and I work on the vet module", "identity", "name", "Rosa"),
    ("I'm a backend developer", "identity", "role", "backend developer"),
    ("my time zone is Europe/Berlin", "identity", "time zone", "Europe/Berlin"),
    ("we decided to keep sessions in signed cookies", "decision", "keep sessions in signed cookies", "yes"),
    ("we decided against microservices because of the overhead", "decision", "microservices", "no"),
]
COMMITS = [
    ("Replace greenkeeper with dependabot (#2162)", "convention", "dependency updates", "dependabot"),
    ("chore: migrate to vitest (#8076)", "convention", "tests", "vitest"),
    ("Use requests instead of urllib2", "convention", "http client", "requests"),
    ("Switch to ruff from flake8", "convention", "lint", "ruff"),
    ("Rename RequirementTracker to BuildTracker", "decision", "name of RequirementTracker", "BuildTracker"),
    ("refactor!: rename `get_one()` to `get_any()`", "decision", "name of get_one()", "get_any()"),
    ("Drop support for Python 3.8 (#5623)", "constraint", "support for Python 3.8", "dropped"),
    ("bump minimum node version to 18 (#14030)", "convention", "node", ">=18"),
    ("deprecate `UserConfig` in favor of `ViteUserConfig`", "convention", "in place of UserConfig", "ViteUserConfig"),
    ("Contributors must always sign their commits.", "instruction", "sign their commits", "always"),
]
NOTHING: list[tuple[Voice, str]] = [
    ("owner", "should we use npm instead of pnpm?"),
    ("owner", "maybe we should use poetry instead of pip"),
    ("owner", "what if we replaced flake8 with ruff"),
    ("owner", "4 spaces"),
    ("commit", "Use `Minitest` instead of `MiniTest` (#1931)"),
    ("owner", "we no longer use it that way"),
    ("owner", "Java 21 is the oldest thing in the room"),
    ("owner", "the build is slow today"),
    ("turn", "I think we might switch from npm to pnpm"),
    ("turn", "can we rename Foo to Bar?"),
    ("turn", "the error message says: use X instead of Y"),
    ("turn", "> we use pnpm, not npm"),
    ("turn", "```\nuse foo instead of bar\n```"),
    ("commit", 'Revert "Use requests instead of urllib2"'),
    ("commit", "Bump pytest from 7.1 to 7.2"),
    ("commit", "Merge branch 'switch-to-ruff'"),
    ("commit", "Use len() instead of count() in the parser"),
    ("commit", "Always close the file"),
    ("commit", "We don't need the dev version anymore"),
    ("commit", "switch docs to flit"),
    ("commit", "Rename teardown example to avoid confusion."),
    ("commit", "Fix typo: replace tabs with spaces in the changelog"),
    ("commit", "Use a set instead of a list"),
    ("commit", "move the server from lib to src"),
    ("commit", "Update README.md"),
    ("commit", "Fix the parser\n\nWe decided to split this up."),
    ("commit", "Fix the parser\n\nWe decided to make sure it worked."),
    ("commit", "Fix the parser\n\nI decided to add a _V1 macro."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "category", "key", "value"), OWNER, ids=lambda value: None)
def test_owner_statement_is_extracted(text: str, category: str, key: str, value: str) -> None:
    assert [(one.category, one.key, one.value) for one in extract_statements(text, "owner")] == [(category, key, value)]


@pytest.mark.parametrize(("text", "category", "key", "value"), COMMITS, ids=lambda value: None)
def test_commit_statement_concerns_whole_project(text: str, category: str, key: str, value: str) -> None:
    assert [(one.category, one.key, one.value) for one in extract_statements(text, "commit")] == [
        (category, key, value)
    ]


@pytest.mark.parametrize(("voice", "text"), NOTHING)
def test_questions_suppositions_and_quotes_state_nothing(voice: Voice, text: str) -> None:
    assert extract_statements(text, voice) == []


def test_statement_keeps_alternative_and_reason() -> None:
    [stated] = extract_statements("We use uv instead of pip because it is faster.", "owner")

    assert (stated.instead_of, stated.reason) == ("pip", "it is faster")
    assert stated.line == "package manager: uv, not pip (because it is faster)"


def test_label_is_no_key() -> None:
    """The next decision would otherwise replace the last."""
    for said in (
        "decision: seen requests are kept in Redis",
        "Correction: we keep the flag, not the file",
        "Our note: the captain is Ada",
        "todo: ask Ada",
    ):
        assert extract_statements(said, "owner") == []

    [ruled] = extract_statements("Rule: never log cookies", "owner")
    [chosen] = extract_statements("Design decision: use Redis instead of memcached", "owner")
    [named] = extract_statements("naming convention: camelCase", "owner")
    assert (ruled.line, chosen.line) == ("never log cookies", "cache: Redis, not memcached")
    assert named.key == "naming convention"


def test_reason_is_not_repeated() -> None:
    [stated] = extract_statements("database: PostgreSQL, because of its JSON", "owner")

    assert (stated.value, stated.line) == ("PostgreSQL", "database: PostgreSQL (because of its JSON)")


def test_commit_statement_has_lower_confidence() -> None:
    by = {
        voice: extract_statements("Replace flake8 with ruff", voice)[0].confidence
        for voice in ("owner", "turn", "commit")
    }

    assert by == {"owner": 1.0, "turn": 0.8, "commit": 0.7}


def test_several_sentences_yield_each_key_once() -> None:
    message = (
        "Use pnpm instead of npm\n\nWe must always commit the lock file. Use pnpm instead of yarn.\n\nSigned-off-by: A"
    )
    stated = extract_statements(message, "commit")

    assert [(one.key, one.instead_of) for one in stated] == [("package manager", "npm"), ("commit the lock file", "")]


def test_commit_decision_needs_a_reason() -> None:
    message = "Add gc\n\nWe decided to keep the gc commands in cargo clean because users look there."
    [stated] = extract_statements(message, "commit")

    assert (stated.key, stated.value) == ("keep the gc commands in cargo clean", "yes")
    assert stated.line == "keep the gc commands in cargo clean (because users look there)"
    assert extract_statements("we decided against microservices", "owner")[0].line == "not: microservices"


def test_rule_is_rendered_as_sentence() -> None:
    assert ExtractedStatement("instruction", "push to main", "never", "", "").line == "never push to main"


@pytest.mark.parametrize(
    ("said", "key", "value", "instead_of", "reason"),
    [
        ("We decided on Zstandard for the archive format, not gzip: cold files are read often.",
         "archive format", "Zstandard", "gzip", "cold files are read often"),
        ("We decided on pnpm, not npm.", "package manager", "pnpm", "npm", ""),
        ("We agreed on keyset cursors for pagination because page 900 took four seconds.",
         "pagination", "keyset cursors", "", "page 900 took four seconds"),
        ("We agreed on trunk only instead of git flow.", "in place of git flow", "trunk only", "git flow", ""),
        ("We decided on small commits.", "small commits", "yes", "", ""),
    ],
)  # fmt: skip
def test_decision_key_is_its_purpose(said: str, key: str, value: str, instead_of: str, reason: str) -> None:
    [one] = extract_statements(said, "owner")
    assert (one.category, one.key, one.value) == ("decision", key, value)
    assert (one.instead_of, one.reason) == (instead_of, reason)
