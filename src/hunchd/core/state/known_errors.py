"""Matching of error texts to known errors, even if only the last line is given.

The module does no I/O.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from hunchd.core.state.project import KnownError, Project
from hunchd.ingestion.errors import ParsedError, parse_error
from hunchd.ingestion.last_lines import is_distinctive, is_last_line, normalize_headline

MAX_POSSIBLE_ERRORS: Final = 3  # possible errors that are listed


def error_id(project: str, fingerprint: str) -> str:
    """Return the memory id of the error with this fingerprint."""
    return "m" + hashlib.blake2b(f"{project}:error:{fingerprint}".encode(), digest_size=10).hexdigest()


def find_error_id(text: str, error_text: ParsedError, project: Project, path: str | None = None) -> str:
    """Return the id of the error that `text` reports.

    If `text` is only the last line of an error, but specific enough, this is the id of the only known error whose
    trace ends with that line (and which occurred in `path`, if given).
    """
    own = error_id(project.id, error_text.fingerprint)
    if any(project.fixes.for_error(own)):
        return own
    matching = [one for one in _find_matching_errors(text, error_text, project) if path in (None, one.path)]
    return matching[0].memory if len(matching) == 1 and is_distinctive(error_text) else own


def find_possible_errors(text: str, project: Project) -> list[KnownError]:
    """Return the known errors that an ambiguous line may refer to.

    `text` may be the last line of any of their traces. The newest error comes first. Returns an empty list if the
    line identifies exactly one error.
    """
    error_text = parse_error(text)
    matching = _find_matching_errors(text, error_text, project)
    return [] if len(matching) == 1 and is_distinctive(error_text) else matching[:MAX_POSSIBLE_ERRORS]


def describe_error(error: KnownError, project: Project) -> str:
    """Describe an error so that similar ones can be told apart.

    Errors may have the same message, so the description says where the error was raised and what fixed it, if that
    is known.
    """
    nearest = next(iter(parse_error(error.text).nearest_places), None)
    place = f"{error.path or (nearest.path if nearest else '')}:{error.line or (nearest.line if nearest else '')}"
    within = f" in {nearest.function}" if nearest is not None and nearest.function else ""
    fix = project.fixes.best_for((error.memory,)).get(error.memory)
    return f"{place.strip(':')}{within}" + (f", {fix.summary}" if fix is not None else "")


def _find_matching_errors(text: str, error_text: ParsedError, project: Project) -> list[KnownError]:
    """Return the known errors with the same message, newest first.

    Errors of which only the last line is known are left out. Returns an empty list if `text` is more than the last
    line of an error.
    """
    message = normalize_headline(error_text.headline)
    if not message or not is_last_line(error_text, text):
        return []
    known_errors = (*project.cleared_errors.values(), *project.errors.values())
    matching = [
        one for one in known_errors if normalize_headline(one.headline) == message and not _is_last_line_only(one)
    ]
    return sorted(matching, key=lambda one: one.last, reverse=True)


def _is_last_line_only(error: KnownError) -> bool:
    return error.path is None and is_last_line(parse_error(error.text), error.text)


def describe_possible_errors(errors: Iterable[KnownError], project: Project) -> dict[str, list[str]]:
    """Describe which errors a bare last line may refer to.

    The result maps the memory id of each error in `errors` of which only the last line is known to the descriptions
    of the known errors that it may be.
    """
    possible = ((error.memory, find_possible_errors(error.text, project)) for error in errors)
    return {memory: [describe_error(one, project) for one in several] for memory, several in possible if several}
