from __future__ import annotations

import pytest

from hunchd.ingestion.manifests.command_sources import read_commands, read_page_commands
from hunchd.ingestion.manifests.commands import CI_WEIGHT, choose_commands, make_commands
from hunchd.ingestion.manifests.invocations import derive_single_test, fill_single_test, state_invocation
from hunchd.ingestion.manifests.tools import Statement


def test_tool_of_hook_is_run_by_pre_commit() -> None:
    def state(key: str, value: str) -> str:
        return state_invocation(Statement(key, value), "pre-commit: ruff, ruff-format", "").value

    assert state("lint", "ruff (E, F)") == "`pre-commit run ruff --all-files`"
    assert state("format", "ruff format, double quotes") == "`pre-commit run ruff-format --all-files`"
    assert state("lint", "flake8") == "flake8"
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


def test_manifest_alone_has_no_command() -> None:
    assert [one.line for one in read_commands("go.mod", "module a\n")] == []
    [(run, *_)] = choose_commands(make_commands(["go test -race ./..."], CI_WEIGHT, "ci.yml"), {"go": 9})
    assert (run.value, run.origins) == ("`go test -race ./...`", ("ci.yml",))


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


def test_script_that_rewrites_files_formats() -> None:
    manifest = '{"scripts": {"lint": "prettier -c src", "lint:fix": "eslint --fix . && prettier -w src"}}'
    found = {(one.purpose, one.line) for one in read_commands("package.json", manifest, ["pnpm-lock.yaml"])}
    assert ("format", "pnpm run lint:fix") in found
    assert ("format", "pnpm run lint") not in found
    types = '{"scripts": {"test": "vitest --run --typecheck.only"}}'
    assert all(one.purpose != "one test" for one in read_commands("package.json", types)), "it checks only types"
