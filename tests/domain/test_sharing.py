"""Who may know what: only what belongs to the project, holds, and is not everybody's anyway."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust
from hunchd.domain.sharing import why_not

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACT = Memory(
    id="m1", kind=Kind.FACT, title="t", content="c", at=NOW, created=NOW, updated=NOW, project="p", category="decision"
)  # fmt: skip


def reason(**told: Any) -> str:
    return why_not(replace(FACT, **told), project="p", branch="main", now=NOW)


def test_a_decision_or_a_workflow_of_the_project_may_be_shared() -> None:
    assert reason() == ""
    assert reason(kind=Kind.WORKFLOW, category=None) == ""
    assert reason(branch="main", trust=Trust.DERIVED) == ""
    assert reason(valid_to=NOW + timedelta(days=1)) == ""


@pytest.mark.parametrize(
    ("told", "because"),
    [
        ({"kind": Kind.EPISODE}, "of the kind episode"),
        ({"kind": Kind.MESSAGE}, "of the kind message"),
        ({"kind": Kind.ERROR}, "of the kind error"),
        ({"project": None}, "it is yours"),
        ({"scope": Scope.USER}, "it is yours"),
        ({"project": "other"}, "another project"),
        ({"category": "preference"}, "about a person"),
        ({"category": "identity"}, "about a person"),
        ({"status": Status.SUPERSEDED}, "holds no more"),
        ({"id": "m1.abc"}, "holds no more"),
        ({"valid_to": NOW}, "holds no more"),
        ({"source": {"type": "shared", "path": ".hunch/facts/a.md"}}, "shared already"),
        ({"source": {"type": "convention", "path": "pyproject.toml"}}, "everybody has it: pyproject.toml"),
        ({"source": {"type": "commit", "sha": "abcdef0123"}}, "everybody has it: commit abcdef01"),
        ({"trust": Trust.UNTRUSTED}, "nobody vouches"),
        ({"branch": "next"}, "on the branch next only"),
    ],
)
def test_what_is_not_shared_is_said_with_the_reason(told: dict[str, Any], because: str) -> None:
    assert because in reason(**told)
