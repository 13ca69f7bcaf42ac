"""Workflows from a project's files.

CI, Makefile, justfile, package scripts, hooks and shell scripts. Files are untrusted: they are read within limits,
nothing in them is executed or expanded, and a file that is not what its name promises yields nothing.
"""

from __future__ import annotations

import configparser
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from hunchd.domain.workflow import Workflow
from hunchd.ingestion.screening import screened
from hunchd.ingestion.workflows import build_files, continuous, manifest_scripts, shell_files
from hunchd.ingestion.workflows.memories import without_secrets
from hunchd.ingestion.workflows.places import Form, form_of, is_script
from hunchd.ingestion.workflows.purposes import purpose_of
from hunchd.repository.reading import read_file

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 256_000  # of one file; longer ones were generated
MOST_FILES: Final = 120  # of one project, the nearest to its root first
MOST_OF_A_FILE: Final = 80  # workflows
MOST: Final = 400  # of one project
# Lock files that determine the program for the scripts of a folder and all below it.
_LOCKS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "pnpm-workspace.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
_GAP: Final = re.compile(r"[ \t]{200,}")  # patterns would retry at each of its blanks
_MANAGER: Final = re.compile(r'"packageManager"\s*:\s*"(npm|pnpm|yarn|bun)@')
Reader = Callable[[str, str], Iterable[Workflow]]


def workflows(root: Path, files: Iterable[str]) -> list[Workflow]:
    """Collect the workflows of the files below `root`, top-level files first."""
    paths = list(files)
    locks = {folder: program for path in paths for folder, program in _locks(path)}
    found: list[Workflow] = []
    for path in sorted(filter(is_script, paths), key=lambda path: (not path.startswith("."), path.count("/"), path))[
        :MOST_FILES
    ]:
        source = read_file(root, path, limit=MAX_BYTES)
        if source is not None and b"\0" not in source:
            text = source.decode("utf-8", "replace").removeprefix("\ufeff")
            told = workflows_in(path, text)
            if form_of(path) is Form.NPM:
                if named := _MANAGER.search(text):
                    locks[path.rpartition("/")[0]] = named[1]
                told = _called_by(_nearest(locks, path), told)
            found += told
        if len(found) >= MOST:
            break
    return found[:MOST]


def _locks(path: str) -> Iterator[tuple[str, str]]:
    """Yield the folder and program of a lock file."""
    folder, _, name = path.rpartition("/")
    if name in _LOCKS:
        yield folder, _LOCKS[name]


def _nearest(locks: Mapping[str, str], path: str) -> str:
    """Return the program of the nearest lock file above `path`."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in locks:
            return locks[folder]
    return "npm"


def _called_by(program: str, told: Iterable[Workflow]) -> list[Workflow]:
    """Rename npm scripts of a workspace to the program that runs them."""
    return [replace(one, name=re.sub(r"^npm\b", program, one.name)) for one in told]


def workflows_in(path: str, text: str) -> list[Workflow]:
    """Parse the workflows of one file.

    Empty if it cannot be parsed.
    """
    form = form_of(path)
    if form is None:
        return []
    try:
        read = list(_bounded(_READERS[form](path, _GAP.sub(" ", screened(text)))))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, configparser.Error):
        logger.debug("skipping %s: its content does not match its name", path, exc_info=True)
        return []
    return [without_secrets(replace(workflow, purpose=workflow.purpose or purpose_of(workflow))) for workflow in read]


def _bounded(found: Iterable[Workflow]) -> Iterator[Workflow]:
    named: set[str] = set()
    for workflow in found:
        if workflow.steps and workflow.name not in named:  # the first of a name counts
            named.add(workflow.name)
            yield workflow
        if len(named) >= MOST_OF_A_FILE:
            return


_READERS: Final[Mapping[Form, Reader]] = {
    Form.GITHUB: continuous.github,
    Form.GITLAB: continuous.gitlab,
    Form.TRAVIS: continuous.travis,
    Form.CIRCLE: continuous.circle,
    Form.AZURE: continuous.azure,
    Form.PRE_COMMIT: continuous.pre_commit,
    Form.LEFTHOOK: continuous.lefthook,
    Form.TASKFILE: continuous.taskfile,
    Form.MAKE: build_files.make,
    Form.JUST: build_files.just,
    Form.NPM: manifest_scripts.package_json,
    Form.DENO: manifest_scripts.deno,
    Form.COMPOSER: manifest_scripts.composer,
    Form.PYPROJECT: manifest_scripts.pyproject,
    Form.TOX: manifest_scripts.tox,
    Form.NOX: manifest_scripts.nox,
    Form.CARGO: manifest_scripts.cargo_aliases,
    Form.HOOK: shell_files.hook,
    Form.SHELL: shell_files.script,
}
