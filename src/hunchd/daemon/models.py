"""The first prediction model of a project, built from its newest commits.

The indexer builds this model first, because a user is waiting for it. This module imports nothing from the rest of the
indexer, because that would double the amount of code to load and delay the first response.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.ingestion.history import iter_units
from hunchd.prediction.learner import Learner
from hunchd.protocol.indexing_messages import IndexRequest, IndexStep, ProjectRequest
from hunchd.repository import layout
from hunchd.repository.git import Git

FIRST_MODEL_UNITS: Final = 150  # units in the first model, built in 0.2 s


def check_folder(request: ProjectRequest) -> None:
    """Check that the project's folder can be read.

    Raises RepositoryError if the folder cannot be read, and InvalidInput if its path is not absolute.
    """
    if not request.root.is_absolute():
        raise InvalidInput("the root of a project must be an absolute path", field="root")
    if not layout.is_readable(request.root):
        raise RepositoryError(f"{request.root} is not a readable folder")


def build_first_model(scope: IndexRequest) -> Iterator[IndexStep]:
    """Build a model from only the newest commits, which takes little time.

    Yields one step with the model, or nothing if there are no commits.
    """
    learner = Learner()
    if (git := open_repository(scope.root)) is not None:
        with contextlib.suppress(RepositoryError):  # the full index reports what is wrong
            for unit in iter_units(git, newest=min(FIRST_MODEL_UNITS, scope.max_units)):
                learner.learn_unit(unit)
    if len(learner):
        yield save_model(learner, scope)


def open_repository(root: Path) -> Git | None:
    """Return the git repository at `root`.

    Returns None for a plain folder, and for a repository that cannot be used.
    """
    repository = layout.find_repository(root)
    if repository is None or repository.git_dir is None or repository.problem:
        return None
    return Git(root)


def save_model(learner: Learner, scope: IndexRequest) -> IndexStep:
    """Save the model in the file that the request names.

    Returns the indexing step that announces the model.
    """
    if not scope.model_file:
        raise InvalidInput("the request must name the file in which to save the model", field="model_path")
    model = Path(scope.model_file)
    model.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    learner.save(model)
    return IndexStep(stage="model", model=scope.model_file, learnt=learner.get_newest_id() or "")
