from __future__ import annotations

import pytest

from hunchd.ingestion.manifests.command_sources import read_commands, read_page_commands
from hunchd.ingestion.manifests.commands import CI_WEIGHT, choose_commands, make_commands
from hunchd.ingestion.manifests.invocations import SINGLE_PATTERN, Toolchain, fill_single_test
from hunchd.ingestion.manifests.tools import Statement


def state(
    key: str, value: str, *files: str, hooks: str = "", dependencies: str = "phpunit ruff rubocop ruby rspec eslint"
) -> str:
    return Toolchain(files, dependencies, hooks).state_invocation(Statement(key, value)).value


@pytest.mark.parametrize(
    ("key", "tool", "file", "command"),
    [
        ("lint", "eslint", "pnpm-lock.yaml", "`pnpm exec eslint .`"),
        ("lint", "ruff (E, F)", "poetry.lock", "`poetry run ruff check` (E, F)"),
        ("format", "ruff format, double quotes", "uv.lock", "`uv run ruff format`"),
        ("lint", "rubocop", "Gemfile", "`bundle exec rubocop`"),
        ("types", "mypy (strict)", "", "mypy (strict)"),
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


def test_features_of_ci_reach_single_test() -> None:
    assert state("tests", "`cargo test`, `cargo test --all-features`") == (
        "`cargo test`, `cargo test --all-features`; one: `cargo test --all-features --test <name>`"
    )
    bare = "`cargo test --no-default-features --features a`"
    assert state("tests", bare) == f"{bare}; one: `cargo test --test <name>`"


def test_appraisals_come_before_rspec() -> None:
    assert state("tests", "rspec", "Gemfile", "Appraisals").startswith("`bundle exec appraisal rspec`; one:")
    assert state("lint", "rubocop", "Gemfile", "Appraisals") == "`bundle exec rubocop`"


@pytest.mark.parametrize(
    ("line", "purpose"),
    [
        ("cargo test --manifest-path tests/Cargo.toml", ""),  # a file that is no test, and part of the project
        ("bundle exec rspec spec/cart_spec.rb", "one test"),
        ("TRYBUILD=overwrite cargo test", ""),
        ("UPDATE_SNAPSHOTS=1 npm test", ""),
        ("cargo build -Z minimal-versions", ""),
        ("cargo +nightly build -Z minimal-versions", "build"),
        ("cargo hack test --feature-powerset", "tests"),
    ],
)
def test_command_that_would_fail_is_not_told(line: str, purpose: str) -> None:
    made = [one.purpose for one in make_commands([line], CI_WEIGHT, "ci.yml") if one.weight > 1]
    assert made == ([purpose] if purpose else [])


def test_filtered_tests_yield_to_all() -> None:
    commands = [*make_commands(["cargo test pass"], CI_WEIGHT, "ci.yml"), *make_commands(["cargo test"], 1.9, "c")]
    commands += make_commands(["go test -tags cbor ./..."], CI_WEIGHT, "go.yml")
    values = {statement.value for statement, *_ in choose_commands(commands, {"rust": 9})}
    assert "`cargo test`" in values


def test_discouraged_command_is_not_read() -> None:
    page = "Use `bundle exec zeus rspec` instead of using `bundle exec rspec`.\n\nRun `make test` before a commit.\n"
    assert [one.line for one in read_page_commands("MAINTAINING.md", page)][-1:] == ["make test"]
    assert all(one.line != "bundle exec rspec" for one in read_page_commands("MAINTAINING.md", page))


def test_multiplatform_kotlin_runs_all_tests() -> None:
    lines = [one.line for one in read_commands("gradlew", "", ["src/commonMain/kotlin/A.kt"])]
    assert lines == ["./gradlew allTests"]


def test_script_that_rewrites_files_formats() -> None:
    manifest = '{"scripts": {"lint": "prettier -c src", "lint:fix": "eslint --fix . && prettier -w src"}}'
    found = {(one.purpose, one.line) for one in read_commands("package.json", manifest, ["pnpm-lock.yaml"])}
    assert ("format", "pnpm run lint:fix") in found
    assert ("format", "pnpm run lint") not in found
    types = '{"scripts": {"test": "vitest --run --typecheck.only"}}'
    assert all(one.purpose != "one test" for one in read_commands("package.json", types)), "it checks only types"
