"""Errors and their fixes as predicted memories.

For the open files, or for a given error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from hunchd.domain.context import Focus
from hunchd.engine.answering.pieces import ERROR_HERE
from hunchd.engine.state.ages import ago
from hunchd.engine.state.known_errors import error_meant, may_be_meant, told_apart
from hunchd.engine.state.project import Project, SeenError
from hunchd.ingestion.errors import understood
from hunchd.ingestion.outputs import unprefixed

MOST: Final = 4


def asked_errors(project: Project, texts: Sequence[str], now: datetime) -> tuple[SeenError, ...]:
    """Return the errors of `texts` that are known from before, though no signal told that they are back."""
    fresh = project.fresh_errors(now)
    told = {error.text for error in fresh} | {error.headline for error in fresh}
    found: dict[str, SeenError] = {}
    for text in texts[:MOST]:
        if text in told:
            continue
        printed = unprefixed(text)
        error = project.known_error(error_meant(printed, understood(printed), project))
        if error is not None and error not in fresh:
            found[error.memory] = error
    return tuple(found.values())


def predicted_errors(project: Project, focus: Focus, asked: str | None, now: datetime) -> list[dict[str, Any]]:
    """Return errors of the open files and their fixes, in the API's form.

    Fixes of the error in `error_text` come first among the fixes.
    """
    here = [error for error in project.fresh_errors(now) if error.path in (focus.file, *focus.open_files)][:MOST]
    meant = [error.memory for error in here]
    if asked:
        meant.insert(0, error_meant(asked, understood(asked), project))
    told = [
        _told(error.memory, error.headline, ERROR_HERE, ago(error.last, now))
        for error in here
        if error.path is not None
    ]
    return [*told, *_fixes(project, meant), *(_candidates(project, asked) if asked else ())]


def _fixes(project: Project, errors: list[str]) -> Iterator[dict[str, Any]]:
    for fix in project.fixes.shown(dict.fromkeys(errors)).values():
        yield _told(fix.id, f"fixed: {fix.headline}", fix.confidence, fix.line)


def _candidates(project: Project, asked: str) -> Iterator[dict[str, Any]]:
    """Yield the errors that an ambiguous last line may stand for."""
    may_be = may_be_meant(asked, project)
    for error in may_be:
        yield _told(
            error.memory, error.headline, 1 / (len(may_be) + 1), f"may be this one: {told_apart(error, project)}"
        )


def _told(identifier: str, title: str, confidence: float, reason: str) -> dict[str, Any]:
    return {
        "id": identifier, "kind": "error", "title": title[:120], "confidence": round(confidence, 4),
        "reasons": [reason],
    }  # fmt: skip
