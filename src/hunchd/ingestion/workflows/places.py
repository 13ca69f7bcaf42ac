"""Detection of script and CI files by name.

Imports no parser, so it is cheap to import.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Final

DEPTH: Final = 3  # folders below the root
# Folders of third-party programs and examples.
_ELSEWHERE: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|fixtures?|testdata|examples?|templates?|template-[^/]*|playground"
    r"|__tests__|site-packages)(?:/|$)"
)


class Form(Enum):
    """Format of a script or CI file."""

    GITHUB = auto()
    GITLAB = auto()
    TRAVIS = auto()
    CIRCLE = auto()
    AZURE = auto()
    PRE_COMMIT = auto()
    LEFTHOOK = auto()
    TASKFILE = auto()
    MAKE = auto()
    JUST = auto()
    NPM = auto()
    DENO = auto()
    COMPOSER = auto()
    PYPROJECT = auto()
    TOX = auto()
    NOX = auto()
    CARGO = auto()
    HOOK = auto()
    SHELL = auto()


def is_script(path: str) -> bool:
    """Return True if a file may define workflows."""
    return path.count("/") <= DEPTH and form_of(path) is not None and not _ELSEWHERE.search(path)


def form_of(path: str) -> Form | None:
    """Return the format of a file by name and place.

    Returns None for other files.
    """
    name = path.rpartition("/")[2]
    return next((form for pattern, form in _FORMS if fnmatchcase(path if "/" in pattern else name, pattern)), None)


# Earlier patterns win; those with "/" are for paths, the others for names.
_FORMS: Final[tuple[tuple[str, Form], ...]] = (
    (".github/workflows/*.yml", Form.GITHUB),
    (".github/workflows/*.yaml", Form.GITHUB),
    (".gitlab-ci.yml", Form.GITLAB),
    (".travis.yml", Form.TRAVIS),
    (".circleci/config.yml", Form.CIRCLE),
    ("azure-pipelines.yml", Form.AZURE),
    (".pre-commit-config.yaml", Form.PRE_COMMIT),
    ("lefthook.yml", Form.LEFTHOOK),
    ("Taskfile.y*ml", Form.TASKFILE),
    ("[Mm]akefile", Form.MAKE),
    ("GNUmakefile", Form.MAKE),
    ("[Jj]ustfile", Form.JUST),
    (".justfile", Form.JUST),
    ("package.json", Form.NPM),
    ("deno.json", Form.DENO),
    ("composer.json", Form.COMPOSER),
    ("pyproject.toml", Form.PYPROJECT),
    ("tox.ini", Form.TOX),
    ("noxfile.py", Form.NOX),
    (".cargo/config.toml", Form.CARGO),
    (".husky/*", Form.HOOK),
    (".githooks/*", Form.HOOK),
    ("scripts/*", Form.SHELL),
    ("script/*", Form.SHELL),
    ("bin/*", Form.SHELL),
    ("ci/*", Form.SHELL),
    (".ci/*", Form.SHELL),
    ("tools/*", Form.SHELL),
    ("*.sh", Form.SHELL),
    ("dev", Form.SHELL),
)
