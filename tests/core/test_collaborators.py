"""Tests of candidates that announce new collaborators."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hunchd.core.state import collaborators
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.history import PathChange, Unit
from hunchd.domain.memory import Kind, Memory
from hunchd.prediction.predictor import Predictor
from hunchd.repository.layout import RepositoryLayout

NOW = datetime(2026, 5, 4, tzinfo=UTC)


def unit(number: int, name: str, path: str = "shop/cart.py", coauthors: tuple[str, ...] = ()) -> Unit:
    return Unit(
        sha=f"{number:040x}",
        parents=(),
        author=name,
        email=f"{name.lower()}@example.org",
        at=int(NOW.timestamp()),
        subject=f"work {number}",
        changes=(PathChange("M", path),),
        coauthors=coauthors,
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    tree = WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None))
    made = Project("p", "shop", tree, tmp_path, predictor=Predictor())
    for number in range(collaborators.MIN_UNITS):
        learn_unit(made, unit(number, "Ada"))
    return made


def learn_unit(project: Project, one: Unit) -> None:
    collaborators.detect_collaborators(project, one)
    assert project.predictor is not None
    project.predictor.learn_unit(one)


def render_candidates(project: Project, now: datetime = NOW) -> list[str]:
    return [piece.forms[0][1] for piece in collaborators.build_collaborator_candidates(project, now)]


def test_new_author_candidate_names_work_area(project: Project) -> None:
    assert render_candidates(project) == []
    learn_unit(project, unit(100, "Grace", "shop/web/app.py"))
    learn_unit(project, unit(101, "Grace", "shop/web/api.py"))

    assert render_candidates(project) == ["Grace joined just now, works on shop/web/"]
    assert render_candidates(project, NOW + timedelta(days=15)) == []


def test_coauthors_join_and_bots_do_not(project: Project) -> None:
    learn_unit(project, unit(100, "Ada", coauthors=("Alan T <alan@example.org>",)))
    learn_unit(project, unit(101, "renovate[bot]"))

    assert render_candidates(project) == ["Alan T joined just now"]


def test_only_commit_authors_are_called_authors(project: Project) -> None:
    collaborators.add_collaborator(project, "Grace", "grace@example.org", NOW)
    learn_unit(project, unit(100, "Alan"))
    assert [piece.reasons for piece in collaborators.build_collaborator_candidates(project, NOW)] == [
        (),
        ("new author on the branch",),
    ]


def test_candidate_includes_preferences(project: Project) -> None:
    wish = Memory(
        id="m1",
        kind=Kind.FACT,
        title="",
        content="Grace wants small commits",
        at=NOW,
        created=NOW,
        updated=NOW,
        project="p",
        category="preference",
    )
    project.facts[wish.id] = wish
    learn_unit(project, unit(100, "Grace"))

    assert render_candidates(project) == ["Grace joined just now, works on shop/cart.py; Grace wants small commits"]


def test_own_commits_announce_no_collaborator(project: Project) -> None:
    project.main.user_email = "Grace@Example.org"
    learn_unit(project, unit(100, "Grace"))

    assert render_candidates(project) == []


def test_many_collaborators_keep_only_newest(project: Project) -> None:
    for number in range(6):
        learn_unit(project, unit(100 + number, f"Person{number}"))

    assert [text.split()[0] for text in render_candidates(project)] == ["Person3", "Person4", "Person5"]
