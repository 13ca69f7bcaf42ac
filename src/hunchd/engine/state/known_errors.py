"""Which of the errors that were seen before a text means: the same one, or only its last line. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from hunchd.engine.state.project import Project, SeenError
from hunchd.ingestion.errors import ErrorText, understood
from hunchd.ingestion.last_lines import is_last_line, is_telling, said_by

MOST: Final = 3  # that may be meant are told


def error_id(project: str, fingerprint: str) -> str:
    return "m" + hashlib.blake2b(f"{project}:error:{fingerprint}".encode(), digest_size=10).hexdigest()


def error_meant(text: str, read: ErrorText, project: Project, path: str | None = None) -> str:
    """The id of the error that `text` tells of. Where it is no more than a last line that says enough, that of the one
    error that said so with its trace, in `path` if that is told."""
    own = error_id(project.id, read.fingerprint)
    if any(project.fixes.of(own)):
        return own
    fitting = [one for one in _fitting(text, read, project) if path in (None, one.path)]
    return fitting[0].memory if len(fitting) == 1 and is_telling(read) else own


def may_be_meant(text: str, project: Project) -> list[SeenError]:
    """Where the last line alone is known and does not tell which error it was: those that it may be, newest first."""
    read = understood(text)
    fitting = _fitting(text, read, project)
    return [] if len(fitting) == 1 and is_telling(read) else fitting[:MOST]


def told_apart(error: SeenError, project: Project) -> str:
    """What tells an error from others that say the same: where it was raised, and what mended it."""
    nearest = next(iter(understood(error.text).nearest), None)
    place = f"{error.path or (nearest.path if nearest else '')}:{error.line or (nearest.line if nearest else '')}"
    within = f" in {nearest.function}" if nearest is not None and nearest.function else ""
    fix = project.fixes.shown((error.memory,)).get(error.memory)
    return f"{place.strip(':')}{within}" + (f", {fix.line}" if fix is not None else "")


def _fitting(text: str, read: ErrorText, project: Project) -> list[SeenError]:
    """The errors seen with their traces that say what the last line says, newest first."""
    said = said_by(read.headline)
    if not said or not is_last_line(read, text):
        return []
    known = (*project.mended.values(), *project.errors.values())
    fitting = [one for one in known if said_by(one.headline) == said and not _is_short(one)]
    return sorted(fitting, key=lambda one: one.last, reverse=True)


def _is_short(error: SeenError) -> bool:
    return error.path is None and is_last_line(understood(error.text), error.text)


def candidates(errors: Iterable[SeenError], project: Project) -> dict[str, list[str]]:
    """What each of `errors` may be whose last line alone is known, in words that tell them apart."""
    found = ((error.memory, may_be_meant(error.text, project)) for error in errors)
    return {memory: [told_apart(one, project) for one in several] for memory, several in found if several}
