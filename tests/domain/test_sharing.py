"""Tests of which memories may be shared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust
from hunchd.domain.sharing import explain_not_shared

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACT = Memory(
    id="m1", kind=Kind.FACT, title="t", content="c", at=NOW, created=NOW, updated=NOW, project="p", category="decision"
)  # fmt: skip


def explain(**told: Any) -> str:
    return explain_not_shared(replace(FACT, **told), project="p", branch="main", now=NOW)


def test_project_decision_is_shareable() -> None:
    assert explain() == ""
    assert explain(kind=Kind.WORKFLOW, category=None) == ""
    assert explain(branch="main", trust=Trust.DERIVED) == ""
    assert explain(valid_to=NOW + timedelta(days=1)) == ""


@pytest.mark.parametrize(
    ("told", "because"),
    [
        ({"kind": Kind.EPISODE}, "its kind is episode"),
        ({"kind": Kind.MESSAGE}, "its kind is message"),
        ({"kind": Kind.ERROR}, "its kind is error"),
        ({"project": None}, "it belongs to you"),
        ({"scope": Scope.USER}, "it belongs to you"),
        ({"project": "other"}, "another project"),
        ({"category": "preference"}, "which is personal"),
        ({"category": "identity"}, "which is personal"),
        ({"status": Status.SUPERSEDED}, "no longer valid"),
        ({"id": "m1.abc"}, "no longer valid"),
        ({"valid_to": NOW}, "no longer valid"),
        ({"source": {"type": "shared", "path": ".hunch/facts/a.md"}}, "shared already"),
        ({"source": {"type": "convention", "path": "pyproject.toml"}}, "everybody has it: pyproject.toml"),
        ({"source": {"type": "commit", "sha": "abcdef0123"}}, "everybody has it: commit abcdef01"),
        ({"trust": Trust.UNTRUSTED}, "untrusted"),
        ({"branch": "next"}, "on branch next only"),
    ],
)
def test_unshared_memory_has_reason(told: dict[str, Any], because: str) -> None:
    assert because in explain(**told)
