"""Templates of command lines: values become placeholders, secrets are masked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.ingestion.workflows.command_lines import parse_commands


def templates(line: str) -> list[str]:
    return [step.template for step in parse_commands(line)]


@pytest.mark.parametrize(
    ("line", "template"),
    [
        ('git commit -m "fix the login"', "git commit -m <arg>"),
        ("git commit -am wip", "git commit -am <arg>"),
        ("git push origin feature/login", "git push <arg> <path>"),
        ("git checkout main", "git checkout <arg>"),
        ("git checkout -b fix/x", "git checkout -b <path>"),
        ("git rebase -i HEAD~3", "git rebase -i <arg>"),
        ("git stash pop", "git stash pop"),
        ("git log -5", "git log -<n>"),
        ("git tag v1.2.3", "git tag <arg>"),
        ("pytest -x -q tests/test_a.py::test_b", "pytest -x <path>"),
        ("pytest tests/test_a.py tests/test_b.py", "pytest <path>"),
        ("/home/me/.venv/bin/pytest tests", "pytest <arg>"),
        ("python -m pytest tests", "python -m pytest <arg>"),
        ("python manage.py migrate", "python manage.py migrate"),
        ("FOO=1 sudo -u bob docker compose up -d", "docker compose up -d"),
        ("uv run --locked tox run -e py3.13", "uv run tox run -e <arg>"),
        ("npm run build", "npm run build"),
        ("make -j8 test lint", "make test lint -j<n>"),
        ("docker push example/app:1.2", "docker push <path>"),
        ("hunch run -- pytest -x", "pytest -x"),
        ("cat errors.log | grep -n timeout > found 2>&1", "grep -n <arg>"),
        ("for x in a b; do make test; done", "make test"),
        ("curl https://example.org/a?b=c", "curl <path>"),
        ("./dev check", "./dev check"),
        ("kubectl -n prod get pods", "kubectl get pods -n <arg>"),
        ("docker run -p 80:80 app", "docker run app -p <arg>"),
    ],
)
def test_template_replaces_values_with_placeholders(line: str, template: str) -> None:
    assert templates(line) == [template]


def test_line_yields_step_per_command() -> None:
    line = 'git add -A && git commit -m "a; b && c" && git push || echo "no"; make test'

    assert templates(line) == ["git add -A", "git commit -m <arg>", "git push", "echo <arg>", "make test"]


def test_here_document_is_no_command() -> None:
    assert templates("cat <<EOF > settings\nrm -rf build\nEOF\nmake test") == ["cat", "make test"]


@pytest.mark.parametrize("line", ["", "   ", "# a note", "done", "))((", '"', "$(", "export A=1", "\x00"])
def test_other_text_yields_no_step(line: str) -> None:
    assert all(step.template for step in parse_commands(line))
    assert len(parse_commands(line)) <= 1


@pytest.mark.parametrize(
    "line",
    [
        "deploy --token hunter2value prod",
        "mysql -u root -phunter2value shop",
        "curl -u me:hunter2value https://example.org",
        "docker login -u me -p hunter2value",
        "sshpass -p hunter2value ssh me@host",
        "DB_PASSWORD=hunter2value make migrate",
        "tool --api-key=hunter2value",
    ],
)
def test_password_option_value_is_masked(line: str) -> None:
    [step] = parse_commands(line)

    assert "hunter2value" not in step.template
    assert "hunter2value" not in step.text


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_skipped(line: str) -> None:
    for step in parse_commands(line):
        assert 0 < len(step.template) <= 120
        assert len(step.text) <= 300
