from __future__ import annotations

import pytest

from hunchd.ingestion.manifests.invocations import SINGLE_PATTERN, Toolchain, fill_single_test
from hunchd.ingestion.manifests.tools import Statement


def state(
    key: str, value: str, *files: str, hooks: str = "", dependencies: str = "phpunit ruff rubocop ruby eslint"
) -> str:
    return Toolchain(files, dependencies, hooks).state_invocation(Statement(key, value)).value


@pytest.mark.parametrize(
    ("key", "tool", "file", "command"),
    [
        ("lint", "eslint", "pnpm-lock.yaml", "`pnpm exec eslint .`"),
        ("lint", "ruff (E, F)", "poetry.lock", "`poetry run ruff check` (E, F)"),
        ("format", "ruff format, double quotes", "uv.lock", "`uv run ruff format`"),
        ("lint", "rubocop", "Gemfile", "`bundle exec rubocop`"),
        ("types", "mypy (strict)", "", "`mypy .` (strict)"),
        ("lint", "clippy", "Cargo.lock", "`cargo clippy`"),
        ("format", "spotless", "gradlew", "`./gradlew spotlessApply`"),
        ("format", "spotless", "pom.xml", "spotless"),
        ("lint", "shellcheck", "", "shellcheck"),  # needs arguments that nobody states
        ("run everything", "tox", "", "`tox`"),
    ],
)
def test_tool_gets_command_of_lock_file(key: str, tool: str, file: str, command: str) -> None:
    assert state(key, tool, file) == command


def test_tool_that_is_no_dependency_is_typed_alone() -> None:
    assert state("lint", "phpstan", "composer.json", dependencies='"phpunit/phpunit": "^9.0"') == "`phpstan analyse`"
    assert state("lint", "eslint", "package.json", dependencies="") == "`npx eslint .`"


def test_tool_of_hook_is_run_by_pre_commit() -> None:
    assert state("lint", "ruff", hooks="pre-commit: ruff") == "`pre-commit run ruff --all-files`"
    assert state("before a commit", "pre-commit: ruff, mypy") == "`pre-commit run --all-files`: ruff, mypy"


@pytest.mark.parametrize(
    ("tests", "file", "command"),
    [
        ("`bundle exec rake test` (minitest)", "test/a_test.rb", "bundle exec ruby -Ilib:test test/a_test.rb"),
        ("`uv run --frozen pytest -q tests`", "tests/test_a.py", "uv run --frozen pytest tests/test_a.py"),
        ("`composer test` (phpunit)", "tests/ATest.php", "vendor/bin/phpunit tests/ATest.php"),
        ("`go test -race ./...`", "a/b_test.go", "go test -race ./a"),
        ("`cargo test --all`", "tests/client.rs", "cargo test --test client"),
        ("`./gradlew test`", "core/io/src/jvmTest/kotlin/ATest.kt", "./gradlew :core:io:jvmTest --tests '*ATest'"),
        ("`mvn test`", "core/src/test/java/a/ATest.java", "mvn test -pl core -Dtest=ATest"),
        ("`dotnet test`", "test/ATests.cs", "dotnet test --filter ATests"),
    ],
)
def test_single_test_command_follows_test_tool(tests: str, file: str, command: str) -> None:
    single = SINGLE_PATTERN.search(state("tests", tests, "Gemfile", "composer.json"))
    assert single is not None
    assert fill_single_test(single[1], file) == command


def test_single_test_command_needs_selectable_file() -> None:
    assert not fill_single_test("cargo test --test <name>", "src/error.rs")
    assert not fill_single_test("./gradlew test --tests '*<name>'", "core/src/main/kotlin/A.kt")
    assert "one:" not in state("tests", "`./gradlew test`", "app/src/main/AndroidManifest.xml")
    assert "one:" not in state("tests", "`make test`")
    assert "one:" not in state("tests", "`npm test` (jest, mocha)", "package.json")


def test_task_runner_gets_no_command_for_a_file() -> None:
    assert state("tests", "`make pytest`") == "`make pytest`"


def test_option_of_another_file_is_no_test() -> None:
    stated = Toolchain(()).state_invocation(
        Statement("tests", "`cargo test`"), single="cargo test --manifest-path <file>"
    )
    assert stated.value == "`cargo test`; one: `cargo test --test <name>`"
