"""Check the GitHub workflows and forms: valid YAML, least permissions, and commands that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
DEV_COMMANDS = set(re.findall(r"^    ([a-z]+)\)$", (ROOT / "dev").read_text(), re.MULTILINE))
EXACT_VERSION = re.compile(r"[\w.-]+/[\w./-]+@v\d+\.\d+\.\d+")
WRITE_PERMISSIONS = {"publish": {"id-token", "attestations"}, "announce": {"contents"}}  # job → what it may write


def load(file: Path) -> dict[str, Any]:
    # YAML 1.1 reads the key `on` as True; the base loader keeps every scalar as text.
    content: dict[str, Any] = yaml.load(file.read_text("utf-8"), Loader=yaml.BaseLoader)
    return content


def jobs() -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    for file in WORKFLOWS:
        workflow = load(file)
        for name, job in workflow["jobs"].items():
            yield workflow, name, job


def commands() -> list[str]:
    return [step["run"] for _, _, job in jobs() for step in job["steps"] if "run" in step]


def test_all_github_files_are_valid_yaml() -> None:
    files = [*GITHUB.rglob("*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / "mkdocs.yml"]

    assert len(files) >= 9
    for file in files:
        assert load(file), file


def test_dev_commands_in_workflows_exist() -> None:
    named = {name for command in commands() for name in re.findall(r"\./dev ([a-z]+)", command)}

    assert named >= {"lint", "unit", "test", "docs", "lock"}
    assert named <= DEV_COMMANDS


def test_scripts_and_tests_in_workflows_exist() -> None:
    named = {path for command in commands() for path in re.findall(r"(?:\.ci|tests|requirements)/[\w./-]+", command)}

    assert named >= {".ci/run", ".ci/check-wheel", "tests/security/test_no_network.py"}
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_permissions_are_set_and_least() -> None:
    for workflow, name, job in jobs():
        granted = job.get("permissions", workflow["permissions"])
        written = {scope for scope, access in granted.items() if access == "write"}
        assert written == WRITE_PERMISSIONS.get(name, set()), name
        assert workflow["permissions"] in ({}, "{}", {"contents": "read"})


def test_actions_are_pinned_to_exact_versions() -> None:
    used = [step["uses"] for _, _, job in jobs() for step in job["steps"] if "uses" in step]

    assert used
    for action in used:
        assert EXACT_VERSION.fullmatch(action), action


def test_checkouts_keep_no_credentials() -> None:
    for _, name, job in jobs():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] == "false", name


def test_every_job_has_a_timeout() -> None:
    for _, name, job in jobs():
        assert int(job["timeout-minutes"]) <= 60, name


def test_python_versions_match_the_classifiers() -> None:
    matrix = load(GITHUB / "workflows" / "ci.yml")["jobs"]["unit"]["strategy"]["matrix"]["python"]
    classified = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())

    assert matrix == classified


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_issue_form_is_complete(form: Path) -> None:
    content = load(form)

    assert {"name", "description", "body"} <= set(content)
    ids = [element["id"] for element in content["body"] if element["type"] != "markdown"]
    assert len(set(ids)) == len(ids) > 1
    for element in content["body"]:
        assert element["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert element["type"] == "markdown" or element["attributes"]["label"]
