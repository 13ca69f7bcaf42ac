"""First prediction model of a project's history.

The indexer builds it first, because a user waits for it. The rest of the indexer imports as much code again, which must
not delay the first answer: nothing here imports it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.ingestion.history import iter_units
from hunchd.prediction.learner import Learner
from hunchd.repository import layout
from hunchd.repository.git import Git

FIRST_MODEL_UNITS: Final = 150  # units in the first model, built in 0.2 s


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """Index request for one project, as the front sends it.

    `newest_units` units are read first, `max_units` in all; files with more than `max_file_bytes` bytes are listed but
    not parsed.
    """

    root: Path
    code_cache: Path
    project: str
    model: Path | None
    newest_units: int
    max_units: int
    is_full: bool
    extra_ignore: tuple[str, ...]
    max_file_bytes: int
    episodes_after: str
    now: datetime


def build_first_model(scope: IndexRequest) -> Iterator[dict[str, Any]]:
    """Build a model of the newest commits only, to answer with at once.

    Yield nothing without commits.
    """
    learner = Learner()
    if (git := open_repository(scope.root)) is not None:
        with contextlib.suppress(RepositoryError):  # the full index reports what is wrong
            for unit in iter_units(git, newest=min(FIRST_MODEL_UNITS, scope.max_units)):
                learner.learn_unit(unit)
    if len(learner):
        yield save_model(learner, scope)


def open_repository(root: Path) -> Git | None:
    """Return the repository at `root`, or None for a plain folder."""
    repository = layout.find_repository(root)
    if repository is None or repository.git_dir is None or repository.problem:
        return None
    return Git(root)


def save_model(learner: Learner, scope: IndexRequest) -> dict[str, Any]:
    """Save the model where the front expects it.

    Returns the step that announces it.
    """
    if scope.model is None:
        raise InvalidInput("an index needs a place for its model", field="model_path")
    scope.model.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    learner.save(scope.model)
    return {"stage": "model", "model": str(scope.model), "learnt": learner.get_newest_id() or ""}
