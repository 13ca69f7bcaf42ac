"""Extraction of workflows from a project's files.

The files are CI files, Makefiles, justfiles, package scripts, hooks and shell scripts. They are untrusted: they are
read within limits, nothing in them is executed or expanded, and a file whose content does not match its name yields
nothing.
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
from hunchd.ingestion.source_redaction import redact_source
from hunchd.ingestion.workflows import build_files, ci_files, manifest_scripts, shell_files
from hunchd.ingestion.workflows.purposes import classify_purpose
from hunchd.ingestion.workflows.script_files import ScriptFormat, detect_format, is_script
from hunchd.ingestion.workflows.workflow_memories import redact_workflow
from hunchd.repository.safe_reading import read_file
from hunchd.text.encodings import decode_text

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 256_000  # per file; larger files were generated
MAX_FILES: Final = 120  # per project, those nearest to the root first
MAX_FILE_WORKFLOWS: Final = 80  # workflows per file
MAX_WORKFLOWS: Final = 400  # per project
# Lock files that determine which program runs the scripts in a folder and all folders below it.
_PROGRAM_BY_LOCK_FILE: Final = {
    "pnpm-lock.yaml": "pnpm",
    "pnpm-workspace.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
_GAP: Final = re.compile(r"[ \t]{200,}")  # patterns would be retried at each of the blanks
_MANAGER: Final = re.compile(r'"packageManager"\s*:\s*"(npm|pnpm|yarn|bun)@')
Reader = Callable[[str, str], Iterable[Workflow]]


def read_workflows(root: Path, files: Iterable[str]) -> list[Workflow]:
    """Collect the workflows that files below `root` define.

    `files` are the paths below `root` that may be read. Those at the top level come first.
    """
    paths = list(files)
    locks = {folder: program for path in paths for folder, program in _read_lock(path)}
    workflows: list[Workflow] = []
    for path in sorted(filter(is_script, paths), key=lambda path: (not path.startswith("."), path.count("/"), path))[
        :MAX_FILES
    ]:
        source = read_file(root, path, limit=MAX_BYTES)
        if source is not None and b"\0" not in source:
            text = decode_text(source)
            file_workflows = parse_workflows(path, text)
            if detect_format(path) is ScriptFormat.NPM:
                if manager_match := _MANAGER.search(text):
                    locks[path.rpartition("/")[0]] = manager_match[1]
                file_workflows = _rename_runner(_find_program(locks, path), file_workflows)
            workflows += file_workflows
        if len(workflows) >= MAX_WORKFLOWS:
            break
    return workflows[:MAX_WORKFLOWS]


def _read_lock(path: str) -> Iterator[tuple[str, str]]:
    """Yield the folder of a lock file and the package manager that wrote it.

    Yields nothing if the file at `path` is not a lock file.
    """
    folder, _, name = path.rpartition("/")
    if name in _PROGRAM_BY_LOCK_FILE:
        yield folder, _PROGRAM_BY_LOCK_FILE[name]


def _find_program(program_by_folder: Mapping[str, str], path: str) -> str:
    """Return the package manager whose lock file is nearest to `path`.

    Only folders above `path` are searched. Returns "npm" if they contain no lock file.
    """
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in program_by_folder:
            return program_by_folder[folder]
    return "npm"


def _rename_runner(program: str, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Replace `npm` in the names of workflows with the actual package manager."""
    return [replace(one, name=re.sub(r"^npm\b", program, one.name)) for one in workflows]


def parse_workflows(path: str, text: str) -> list[Workflow]:
    """Parse the workflows that a file defines.

    Returns an empty list if the file cannot be parsed.
    """
    script_format = detect_format(path)
    if script_format is None:
        return []
    try:
        parsed_workflows = list(_limit(_READERS[script_format](path, _GAP.sub(" ", redact_source(text)))))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, configparser.Error):
        logger.debug("skipped %s: its content does not match its name", path, exc_info=True)
        return []
    return [
        redact_workflow(replace(workflow, purpose=workflow.purpose or classify_purpose(workflow)))
        for workflow in parsed_workflows
    ]


def _limit(workflows: Iterable[Workflow]) -> Iterator[Workflow]:
    names: set[str] = set()
    for workflow in workflows:
        if workflow.steps and workflow.name not in names:  # the first workflow with a name counts
            names.add(workflow.name)
            yield workflow
        if len(names) >= MAX_FILE_WORKFLOWS:
            return


_READERS: Final[Mapping[ScriptFormat, Reader]] = {
    ScriptFormat.GITHUB: ci_files.read_github,
    ScriptFormat.GITLAB: ci_files.read_gitlab,
    ScriptFormat.PRE_COMMIT: ci_files.read_pre_commit,
    ScriptFormat.TASKFILE: ci_files.read_taskfile,
    ScriptFormat.MAKE: build_files.read_makefile,
    ScriptFormat.JUST: build_files.read_justfile,
    ScriptFormat.NPM: manifest_scripts.read_package_json,
    ScriptFormat.COMPOSER: manifest_scripts.read_composer,
    ScriptFormat.PYPROJECT: manifest_scripts.read_pyproject,
    ScriptFormat.TOX: manifest_scripts.read_tox,
    ScriptFormat.NOX: manifest_scripts.read_nox,
    ScriptFormat.CARGO: manifest_scripts.read_cargo_aliases,
    ScriptFormat.HOOK: shell_files.read_hook,
    ScriptFormat.SHELL: shell_files.read_script,
}
