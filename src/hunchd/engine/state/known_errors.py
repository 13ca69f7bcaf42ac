"""Matching of error texts to known errors, including a bare last line.

No I/O.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from hunchd.engine.state.project import Project, SeenError
from hunchd.ingestion.errors import ErrorText, understood
from hunchd.ingestion.last_lines import is_last_line, is_telling, said_by

MOST: Final = 3  # possible errors that are listed


def error_id(project: str, fingerprint: str) -> str:
    """Return the memory id of the error with this fingerprint."""
    return "m" + hashlib.blake2b(f"{project}:error:{fingerprint}".encode(), digest_size=10).hexdigest()


def error_meant(text: str, read: ErrorText, project: Project, path: str | None = None) -> str:
    """Return the id of the error that `text` reports.

    If the text is only a sufficiently specific last line, the id of the one known error with that line in its trace
    (in
    `path`, if given).
    """
    own = error_id(project.id, read.fingerprint)
    if any(project.fixes.of(own)):
        return own
    fitting = [one for one in _fitting(text, read, project) if path in (None, one.path)]
    return fitting[0].memory if len(fitting) == 1 and is_telling(read) else own


def may_be_meant(text: str, project: Project) -> list[SeenError]:
    """Return the known errors that an ambiguous last line may stand for, newest first."""
    read = understood(text)
    fitting = _fitting(text, read, project)
    return [] if len(fitting) == 1 and is_telling(read) else fitting[:MOST]


def told_apart(error: SeenError, project: Project) -> str:
    """Describe an error so that it differs from others with the same message.

    Names where it was raised, and what fixed it.
    """
    nearest = next(iter(understood(error.text).nearest), None)
    place = f"{error.path or (nearest.path if nearest else '')}:{error.line or (nearest.line if nearest else '')}"
    within = f" in {nearest.function}" if nearest is not None and nearest.function else ""
    fix = project.fixes.shown((error.memory,)).get(error.memory)
    return f"{place.strip(':')}{within}" + (f", {fix.line}" if fix is not None else "")


def _fitting(text: str, read: ErrorText, project: Project) -> list[SeenError]:
    """Return the known errors with the same message and a trace.

    Newest first.
    """
    said = said_by(read.headline)
    if not said or not is_last_line(read, text):
        return []
    known = (*project.mended.values(), *project.errors.values())
    fitting = [one for one in known if said_by(one.headline) == said and not _is_short(one)]
    return sorted(fitting, key=lambda one: one.last, reverse=True)


def _is_short(error: SeenError) -> bool:
    return error.path is None and is_last_line(understood(error.text), error.text)


def candidates(errors: Iterable[SeenError], project: Project) -> dict[str, list[str]]:
    """Describe the possible errors behind bare last lines.

    By the memory id of each error that is known by its last line only.
    """
    found = ((error.memory, may_be_meant(error.text, project)) for error in errors)
    return {memory: [told_apart(one, project) for one in several] for memory, several in found if several}
