"""Workflows of CI files, makefiles, package scripts and hooks; hostile files yield nothing."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.domain.memory import Trust
from hunchd.domain.workflow import Workflow
from hunchd.ingestion.workflows import yaml_loader
from hunchd.ingestion.workflows.script_files import is_script
from hunchd.ingestion.workflows.scripts import parse_workflows, read_workflows
from hunchd.ingestion.workflows.workflow_memories import is_edited, make_hint, workflow_to_memory

NOW = datetime(2026, 11, 22, tzinfo=UTC)

GITHUB = """\
name: Tests
on:
  push:
    branches: [main]
    tags: ['v*']
  pull_request:
jobs:
  publish:
    needs: test
    runs-on: ubuntu-latest
    steps:
      - run: twine upload dist/*
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Install and test
        run: |
          set -e
          pip install -e . --group ${{ matrix.group }}
          if [ -n "$CI" ]; then
            pytest -x \\
              --cov
          fi
      - uses: codecov/codecov-action@v4
"""


def list_commands(path: str, text: str) -> dict[str, list[str]]:
    return {one.name: [step.command for step in one.steps] for one in parse_workflows(path, text)}


def test_github_jobs_yield_commands() -> None:
    found = parse_workflows(".github/workflows/ci.yml", GITHUB)

    assert [one.name for one in found] == ["CI ci.yml / publish", "CI ci.yml / test"]
    publish, test = found
    assert [step.command.split()[0] for step in test.steps] == ["pip", "pytest"]
    assert test.steps[0].command == "pip install -e . --group ${{ matrix.group }}"
    assert all(" ".join(step.command.split()) in " ".join(GITHUB.split()) for step in test.steps)
    assert test.steps[0].name == "Install and test"
    assert test.events == ("push to main and tag v*", "pull request")
    assert test.line == 13
    assert (test.purpose, publish.purpose) == ("test", "release")


def test_job_of_actions_is_no_workflow() -> None:
    text = "jobs:\n  stale:\n    steps:\n      - uses: actions/stale@v9\n      - run: echo done\n"

    assert parse_workflows(".github/workflows/stale.yml", text) == []


def test_gitlab_jobs_have_scripts_before() -> None:
    text = """
stages: [check, ship]
before_script: [make setup]
ship it:
  stage: ship
  script: [make ship]
  only: [main]
lint:
  stage: check
  before_script: []
  script:
    - make lint
    - [make types, make docs]
.hidden: {script: [rm -rf /]}
"""

    assert list_commands(".gitlab-ci.yml", text) == {
        "CI lint": ["make lint", "make types", "make docs"],
        "CI ship it": ["make setup", "make ship"],
    }


def test_makefile_targets_have_prerequisites_and_recipe() -> None:
    text = (
        "PYTHON := python3\n.PHONY: all test\n\n## Everything\nall: lint test ; @echo done\n\n"
        "test: build/x.o | dirs ## Runs the tests\n\t@$(PYTHON) -m pytest \\\n\t  -x\n\t-rm -rf tmp\n\n"
        "build/%.o: %.c\n\tcc $<\nlint:\n\t@echo linting\n\truff check .\ndefine X\nall: nothing\nendef\n"
    )

    found = {one.name: one for one in parse_workflows("Makefile", text)}

    assert set(found) == {"make all", "make test", "make lint"}
    assert [step.command for step in found["make all"].steps][:2] == ["make lint", "make test"]
    assert [step.command for step in found["make test"].steps][2:] == ["$(PYTHON) -m pytest \\\n-x", "rm -rf tmp"]
    assert [step.command for step in found["make lint"].steps] == ["ruff check ."]
    assert found["make test"].about == "Runs the tests"
    assert found["make test"].line == 7


def test_justfile_recipes_are_parsed() -> None:
    text = """set shell := ['bash']
# Runs the tests
@test *args: build
    cargo test {{args}}

build:
  cargo build
"""

    assert list_commands("justfile", text) == {
        "just test": ["just build", "cargo test {{args}}"],
        "just build": ["cargo build"],
    }


def test_package_scripts_include_pre_and_post() -> None:
    scripts = {"pretest": "pnpm lint", "test": "vitest run && tsc", "lint": "eslint ."}
    text = json.dumps({"packageManager": "pnpm@9", "scripts": scripts})

    assert list_commands("package.json", text) == {
        "pnpm run test": ["pnpm lint", "vitest run", "tsc"],
        "pnpm run lint": ["eslint ."],
    }
    assert list(list_commands("web/package.json", text)) == ["pnpm run test (in web)", "pnpm run lint (in web)"]


def test_python_task_runners_are_parsed() -> None:
    tox = """
[tox]
envlist = py
[testenv:lint]
description = Checks
commands =
  ruff check {posargs}
  mypy: mypy src
"""
    nox = '''
import nox

@nox.session(name="tests")
def run(session):
    """Run the tests."""
    session.install("-e", ".")
    session.run("pytest", *session.posargs)
'''
    pyproject = """
[tool.tox.env.style]
commands = [["pre-commit", "run", {replace = "posargs"}]]
[tool.poe.tasks]
ship = "twine upload dist/*"
"""

    assert list_commands("tox.ini", tox) == {"tox -e lint": ["ruff check {posargs}", "mypy src"]}
    [session] = parse_workflows("noxfile.py", nox)
    assert make_hint(session) == "nox -s tests: Run the tests."
    assert list_commands("pyproject.toml", pyproject) == {
        "tox run -e style": ["pre-commit run {posargs}"],
        "poe ship": ["twine upload dist/*"],
    }


def test_pre_commit_hooks_are_in_order() -> None:
    text = """
repos:
- repo: x
  hooks:
  - id: ruff-check
    args: [--fix]
  - id: slow
    stages: [pre-push]
  - id: mypy
"""

    found = parse_workflows(".pre-commit-config.yaml", text)

    assert [(one.name, [step.command for step in one.steps]) for one in found] == [
        ("pre-commit hooks", ["ruff-check --fix", "mypy"]),
        ("pre-commit hooks (before a push)", ["slow"]),
    ]


def test_shell_script_is_named_by_comment() -> None:
    [found] = parse_workflows("scripts/release.sh", "#!/bin/sh\n# Makes a release.\nset -eu\ngit push --tags\n")

    assert make_hint(found) == "scripts/release.sh: Makes a release."
    assert found.purpose == "release"


def test_hook_steps_exclude_bookkeeping() -> None:
    text = """#!/bin/sh
set -eu
for x in a b; do
  make $x
done
cat <<END >notes
rm -rf /
END
[ -n "$CI" ] || npx lint-staged && git push --tags
"""

    [found] = parse_workflows(".husky/pre-push", text)

    commands = [step.command for step in found.steps]
    assert commands == ["make $x", "cat", "npx lint-staged", "git push --tags"]


DISPATCHER = """#!/bin/sh
set -eu
usage() {
    cat <<'TEXT'
./dev check        everything that must hold
./dev fix          mend what can be mended
TEXT
}
cd "$(dirname -- "$0")"
set_up() {
    if "$candidate" -c 'import sys'; then python3 -m venv .venv; fi
}
command=${1:-help}
case $command in
    check) set_up; ruff check .; exec "$venv/bin/python" -m pytest ;;
    fix | mend) ruff check --fix . ;;
    help | --help) usage ;;
    *) usage; exit 2 ;;
esac
"""


def test_script_with_case_yields_task_workflows() -> None:
    found = parse_workflows("dev", DISPATCHER)

    assert list(map(make_hint, found)) == [
        "./dev check: everything that must hold",
        "./dev fix: mend what can be mended",
    ]
    assert [(one.line, one.purpose) for one in found] == [(15, "check"), (16, "")]


def test_makefile_loop_yields_inner_commands() -> None:
    recipe = "\t@hash golint 2>&1; if [ $$? -ne 0 ]; then \\\n\t\tgo get golint; \\\n\tfi\n"
    recipe += '\techo "mode: count" > out\n\tfor d in $(DIRS); do \\\n\t\tgo test $$d; \\\n\tdone\n'
    [found] = parse_workflows("Makefile", f"test:\n{recipe}")

    assert [step.command for step in found.steps] == ["go get golint", 'echo "mode: count" > out', "go test $d"]
    assert make_hint(found) == "make test: go get golint → go test $d"


def test_package_scripts_use_workspace_program(tmp_path: Path) -> None:
    for path in ("web/package.json", "web/parts/a/package.json", "other/package.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text('{"scripts": {"test": "vitest"}}')
    files = ["web/pnpm-lock.yaml", "web/package.json", "web/parts/a/package.json", "other/package.json"]

    assert sorted(one.name for one in read_workflows(tmp_path, files)) == [
        "npm run test (in other)",
        "pnpm run test (in web)",
        "pnpm run test (in web/parts/a)",
    ]


def test_workspace_without_lock_file_uses_package_manager(tmp_path: Path) -> None:
    for path, named in (
        ("a/package.json", '"packageManager": "yarn@4", '),
        ("a/b/package.json", ""),
        ("c/d/package.json", ""),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f'{{{named}"scripts": {{"test": "vitest"}}}}')
    files = ["a/package.json", "a/b/package.json", "c/pnpm-workspace.yaml", "c/d/package.json"]

    assert sorted(one.name for one in read_workflows(tmp_path, files)) == [
        "pnpm run test (in c/d)",
        "yarn run test (in a)",
        "yarn run test (in a/b)",
    ]


def test_source_file_prerequisite_is_no_step() -> None:
    [one] = parse_workflows("Makefile", "kilo: kilo.c\n\tcc -o kilo kilo.c\n")

    assert [step.command for step in one.steps] == ["cc -o kilo kilo.c"]


def test_workflow_memory_is_untrusted() -> None:
    [workflow] = parse_workflows("justfile", "test:\n  cargo test\n")
    memory = workflow_to_memory(workflow, "p1", NOW)

    assert memory.trust is Trust.UNTRUSTED
    assert make_hint(workflow) == "just test: cargo test"
    assert memory.id == workflow_to_memory(workflow, "p1", NOW).id != workflow_to_memory(workflow, "p2", NOW).id
    assert not is_edited(memory)


def test_tox_hint_uses_default_posargs() -> None:
    commands = "pytest --cov=shop {posargs:--durations=10 tests {toxinidir}/docs}\n  ruff {posargs}"
    [workflow] = parse_workflows("tox.ini", f"[testenv]\ncommands =\n  {commands}\n")

    assert make_hint(workflow) == "tox: pytest --cov=shop --durations=10 tests {toxinidir}/docs → ruff"


def test_target_with_all_prefix_is_no_check() -> None:
    updating, everything = parse_workflows(
        "Makefile", "update-all-go-deps:\n\tgo get -u\n\nall: lint test\n\techo done\n"
    )

    assert (updating.purpose, everything.purpose) == ("setup", "check")


def test_secrets_in_scripts_are_redacted() -> None:
    key = "AKIA" + "Q7RZ3LWX5TYB2NM4"
    text = f"deploy:\n\tAWS_ACCESS_KEY_ID={key} aws s3 sync . s3://x\n"

    [workflow] = parse_workflows("Makefile", text)

    assert key not in str(workflow_to_memory(workflow, "p1", NOW))


BOMB = "a0: &a0 [x,x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1},*a{n - 1},*a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "jobs: " + "[" * 5_000,
        "jobs: " + "{a: " * 3_000,
        "a: &a [*a]",
        "jobs: !!python/object/apply:os.system ['true']",
        "&x : " * 500,
        "\x00\x01",
        "- " * 20_000,
    ],
)
def test_hostile_yaml_is_rejected(text: str) -> None:
    with contextlib.suppress(yaml_loader.InvalidYaml):
        yaml_loader.load_yaml(text[:256_000])
    assert parse_workflows(".github/workflows/ci.yml", text) == []  # an expanded bomb would take years


PATHS = (
    ".github/workflows/a.yml",
    ".gitlab-ci.yml",
    "Makefile",
    "justfile",
    "package.json",
    "pyproject.toml",
    "tox.ini",
    "noxfile.py",
    ".pre-commit-config.yaml",
    "Taskfile.yml",
    "scripts/a.sh",
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(PATHS), st.text(max_size=400))
def test_any_file_content_is_parsed_or_skipped(path: str, text: str) -> None:
    assert all(isinstance(one, Workflow) and one.steps for one in parse_workflows(path, text))


def test_third_party_files_are_not_read(tmp_path: Path) -> None:
    text = '{"scripts": {"test": "vitest"}}'
    paths = ["package.json", "node_modules/x/package.json", "examples/a/package.json", "a/b/c/d/package.json"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    assert [one.path for one in read_workflows(tmp_path, paths)] == ["package.json"]
    assert not is_script("src/app.py")
