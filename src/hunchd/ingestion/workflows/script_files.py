"""Detection of script and CI files by their names.

The module imports no parser, so it is cheap to import.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Final

MAX_DEPTH: Final = 3  # folders below the root
# Folders with third-party programs and examples.
_FOREIGN_FOLDER: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|fixtures?|testdata|examples?|templates?|template-[^/]*|playground"
    r"|__tests__|site-packages)(?:/|$)"
)


class ScriptFormat(Enum):
    """Format of a script or CI file."""

    GITHUB = auto()
    GITLAB = auto()
    PRE_COMMIT = auto()
    TASKFILE = auto()
    MAKE = auto()
    JUST = auto()
    NPM = auto()
    COMPOSER = auto()
    PYPROJECT = auto()
    TOX = auto()
    NOX = auto()
    CARGO = auto()
    HOOK = auto()
    SHELL = auto()


def is_script(path: str) -> bool:
    """Return True if the file at `path` may define workflows."""
    return path.count("/") <= MAX_DEPTH and detect_format(path) is not None and not _FOREIGN_FOLDER.search(path)


def detect_format(path: str) -> ScriptFormat | None:
    """Return the format of a script file, determined from its name and folder.

    Returns None for any other file.
    """
    name = path.rpartition("/")[2]
    return next((form for pattern, form in _FORMATS if fnmatchcase(path if "/" in pattern else name, pattern)), None)


# Earlier patterns take precedence; those with "/" match paths, the others file names.
_FORMATS: Final[tuple[tuple[str, ScriptFormat], ...]] = (
    (".github/workflows/*.yml", ScriptFormat.GITHUB),
    (".github/workflows/*.yaml", ScriptFormat.GITHUB),
    (".gitlab-ci.yml", ScriptFormat.GITLAB),
    (".pre-commit-config.yaml", ScriptFormat.PRE_COMMIT),
    ("Taskfile.y*ml", ScriptFormat.TASKFILE),
    ("[Mm]akefile", ScriptFormat.MAKE),
    ("GNUmakefile", ScriptFormat.MAKE),
    ("[Jj]ustfile", ScriptFormat.JUST),
    (".justfile", ScriptFormat.JUST),
    ("package.json", ScriptFormat.NPM),
    ("composer.json", ScriptFormat.COMPOSER),
    ("pyproject.toml", ScriptFormat.PYPROJECT),
    ("tox.ini", ScriptFormat.TOX),
    ("noxfile.py", ScriptFormat.NOX),
    (".cargo/config.toml", ScriptFormat.CARGO),
    (".husky/*", ScriptFormat.HOOK),
    (".githooks/*", ScriptFormat.HOOK),
    ("scripts/*", ScriptFormat.SHELL),
    ("script/*", ScriptFormat.SHELL),
    ("bin/*", ScriptFormat.SHELL),
    ("ci/*", ScriptFormat.SHELL),
    (".ci/*", ScriptFormat.SHELL),
    ("tools/*", ScriptFormat.SHELL),
    ("*.sh", ScriptFormat.SHELL),
    ("dev", ScriptFormat.SHELL),
)
