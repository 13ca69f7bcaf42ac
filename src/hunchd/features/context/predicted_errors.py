"""Prediction of errors and their fixes, for the open files or for a given error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from hunchd.core.state.known_errors import describe_error, find_error_id, find_possible_errors
from hunchd.core.state.project import KnownError, Project
from hunchd.core.state.relative_time import format_age
from hunchd.domain.context import Focus
from hunchd.features.context.candidates import ERROR_RELEVANT_VALUE
from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.terminal_output import strip_output_prefixes
from hunchd.protocol.predictions import PredictedMemoryAnswer, predict_memory

MAX_ERRORS: Final = 4


def asked_errors(project: Project, texts: Sequence[str], now: datetime) -> tuple[KnownError, ...]:
    """Return the known errors that `texts` report.

    Errors that are still current are left out.
    """
    fresh = project.list_fresh_errors(now)
    known_texts = {error.text for error in fresh} | {error.headline for error in fresh}
    errors_by_id: dict[str, KnownError] = {}
    for text in texts[:MAX_ERRORS]:
        if text in known_texts:
            continue
        error_text = strip_output_prefixes(text)
        error = project.find_error(find_error_id(error_text, parse_error(error_text), project))
        if error is not None and error not in fresh:
            errors_by_id[error.memory] = error
    return tuple(errors_by_id.values())


def predict_errors(
    project: Project, focus: Focus, error_text: str | None, now: datetime
) -> list[PredictedMemoryAnswer]:
    """Return the recent errors in the open files, followed by known fixes.

    Fixes for the error in `error_text` come first among the fixes. Errors to which that text may refer come last.
    """
    here = [error for error in project.list_fresh_errors(now) if error.path in (focus.file, *focus.open_files)][
        :MAX_ERRORS
    ]
    error_ids = [error.memory for error in here]
    if error_text:
        error_ids.insert(0, find_error_id(error_text, parse_error(error_text), project))
    predictions = [
        _build_prediction(error.memory, error.headline, ERROR_RELEVANT_VALUE, format_age(error.last, now))
        for error in here
        if error.path is not None
    ]
    return [
        *predictions,
        *_iter_fixes(project, error_ids),
        *(_iter_possible_errors(project, error_text) if error_text else ()),
    ]


def _iter_fixes(project: Project, errors: list[str]) -> Iterator[PredictedMemoryAnswer]:
    for fix in project.fixes.best_for(dict.fromkeys(errors)).values():
        yield _build_prediction(fix.id, f"fixed: {fix.headline}", fix.confidence, fix.summary)


def _iter_possible_errors(project: Project, error_text: str) -> Iterator[PredictedMemoryAnswer]:
    """Yield the known errors that an ambiguous last line may refer to."""
    may_be = find_possible_errors(error_text, project)
    for error in may_be:
        yield _build_prediction(
            error.memory, error.headline, 1 / (len(may_be) + 1), f"may be this one: {describe_error(error, project)}"
        )


def _build_prediction(identifier: str, title: str, confidence: float, reason: str) -> PredictedMemoryAnswer:
    return predict_memory(identifier, "error", title[:120], confidence, reason)
