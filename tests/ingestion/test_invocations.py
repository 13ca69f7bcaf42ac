from __future__ import annotations

import pytest

from hunchd.ingestion.manifests.command_sources import read_commands, read_page_commands
from hunchd.ingestion.manifests.commands import CI_WEIGHT, choose_commands, make_commands
from hunchd.ingestion.manifests.invocations import Toolchain, derive_single_test, fill_single_test
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
    ("line", "file", "command"),
    [
        ("uv run --frozen pytest -q tests", "tests/test_a.py", "uv run --frozen pytest tests/test_a.py"),
        ("vendor/bin/phpunit --testdox", "tests/ATest.php", "vendor/bin/phpunit tests/ATest.php"),
        ("npx vitest --coverage", "a.test.ts", "npx vitest run a.test.ts"),
        ("go test -race ./...", "a/b_test.go", "go test -race ./a"),
        ("cargo test --all", "tests/client.rs", "cargo test --test client"),
        ("cargo test --all-features", "tests/client.rs", "cargo test --all-features --test client"),
        ("cargo test --no-default-features --features a", "tests/a.rs", "cargo test --test a"),
        ("./gradlew test", "core/io/src/jvmTest/kotlin/ATest.kt", "./gradlew :core:io:jvmTest --tests '*ATest'"),
        ("mvn test", "core/src/test/java/a/ATest.java", "mvn test -pl core -Dtest=ATest"),
        ("dotnet test", "test/ATests.cs", "dotnet test --filter ATests"),
    ],
)
def test_single_test_command_follows_witness(line: str, file: str, command: str) -> None:
    assert fill_single_test(derive_single_test(line), file) == command


@pytest.mark.parametrize("line", ["make pytest", "tox -e pytest", "npm test", "rake test", "scripts/test"])
def test_task_runner_gets_no_command_for_a_file(line: str) -> None:
    assert derive_single_test(line) == ""


def test_single_test_command_needs_selectable_file() -> None:
    assert not fill_single_test("cargo test --test <name>", "src/error.rs")
    assert not fill_single_test("./gradlew test --tests '*<name>'", "core/src/main/kotlin/A.kt")


def test_command_of_a_tool_name_is_a_guess() -> None:
    guessed = Toolchain(("Gemfile",), "rspec").state_invocation(Statement("tests", "rspec"))
    assert (guessed.value, guessed.is_guess) == ("`bundle exec rspec`", True)
    assert not Toolchain((), "", "pre-commit: ruff").state_invocation(Statement("lint", "ruff")).is_guess


def test_appraisals_come_before_rspec() -> None:
    assert state("tests", "rspec", "Gemfile", "Appraisals") == "`bundle exec appraisal rspec`"
    assert state("lint", "rubocop", "Gemfile", "Appraisals") == "`bundle exec rubocop`"


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        ("Rakefile", "Rake::TestTask.new(:test) do |t|\n", "bundle exec rake test TEST=<file>"),
        ("Rakefile", "Rake::TestTask.new do |t|\n", "bundle exec rake test TEST=<file>"),
        ("Rakefile", "RSpec::Core::RakeTask.new(:spec)\n", "bundle exec rspec <file>"),
        ("tox.ini", "[testenv]\ndeps = pytest\ncommands =\n    pytest {posargs:tests}\n", "tox -e py -- <file>"),
        (
            "noxfile.py",
            '@nox.session(python="3.12")\ndef tests(s):\n    s.run("pytest", *s.posargs)\n',
            "nox -s tests -- <file>",
        ),
        ("Makefile", "test:\n\t@uv run pytest -q tests\n", "uv run pytest <file>"),
        ("composer.json", '{"scripts": {"test": ["@lint", "phpunit"]}}', "vendor/bin/phpunit <file>"),
    ],
)
def test_single_test_command_follows_task(file: str, text: str, command: str) -> None:
    found = [one.line for one in read_commands(file, text, ["Gemfile"]) if one.purpose == "one test"]
    assert found == [command]


def test_link_is_no_command() -> None:
    page = "Tests\n=====\n\nTests use `pytest <https://docs.pytest.org/>`_; run `pytest -n 4`.\n"
    assert [one.line for one in read_page_commands("contributing.rst", page)] == ["pytest -n 4"]


def test_witness_replaces_command_that_any_project_has() -> None:
    guesses = [*read_commands("go.mod", "module a\n")]
    [(guess, *_)] = [one for one in choose_commands(guesses, {"go": 9}) if one[0].key == "tests"]
    both = choose_commands([*guesses, *make_commands(["go test -race ./..."], CI_WEIGHT, "ci.yml")], {"go": 9})
    [(run, *_)] = [one for one in both if one[0].key == "tests"]
    assert (guess.value, guess.is_guess) == ("`go test ./...`", True)
    assert (run.value, run.is_guess, run.origins) == ("`go test -race ./...`", False, ("ci.yml",))


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
