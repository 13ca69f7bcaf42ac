"""A project's history made into a model: what the indexer does first, for somebody who waits for a first answer.

What else the indexer does loads as much code again, which nobody should wait for: nothing here imports it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.ingestion.history import units
from hunchd.prediction.learner import Learner
from hunchd.repository import layout
from hunchd.repository.git import Git

FIRST: Final = 150  # units of the very first model: a fifth of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One project as a call of the front describes it. `newest` units are read first, `most` at all; of files with more
    than `largest` bytes it is known that they are there."""

    root: Path
    code_cache: Path
    project: str
    model: Path | None
    newest: int
    most: int
    full: bool
    extra_ignore: tuple[str, ...]
    largest: int
    episodes_after: str
    now: datetime


def first_model(scope: Scope) -> Iterator[dict[str, Any]]:
    """A model of the newest commits alone, to answer with at once; nothing where there is none."""
    learner = Learner()
    if (git := history_of(scope.root)) is not None:
        with contextlib.suppress(RepositoryError):  # whoever reads all of it tells what is wrong with it
            for unit in units(git, newest=min(FIRST, scope.most)):
                learner.learn(unit)
    if len(learner):
        yield saved(learner, scope)


def history_of(root: Path) -> Git | None:
    """The repository at `root`; None for a plain folder."""
    found = layout.find(root)
    if found is None or found.git_dir is None or found.trouble:
        return None
    return Git(root)


def saved(learner: Learner, scope: Scope) -> dict[str, Any]:
    """Keep the model where the front expects it, and tell that it is there."""
    if scope.model is None:
        raise InvalidInput("an index needs a place for its model", field="model_path")
    scope.model.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    learner.save(scope.model)
    return {"stage": "model", "model": str(scope.model), "learnt": learner.newest() or ""}
