"""What a project says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.core.state.project import Project, WorkingTree
from hunchd.prediction.predictor import Predictor
from hunchd.repository.layout import RepositoryLayout


@pytest.mark.parametrize(
    ("was_indexed", "unread"), [(False, "older history and files"), (True, "changes since hunchd last ran")]
)
def test_problem_names_what_is_unread(tmp_path: Path, was_indexed: bool, unread: str) -> None:
    tree = WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None))
    project = Project("p", "shop", tree, tmp_path, predictor=Predictor(), indexing=True)
    project.is_indexed = was_indexed

    assert project.problem == f"shop: {unread} are still being read"
