"""Functions that find the file, folder or project that an argument names."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.repository.layout import find_repository, find_root, is_folder

# Like git: a file with a zero byte in this many bytes is binary.
_BINARY_CHECK_BYTES: Final = 8_000  # bytes


def resolve_text_file(argument: str, *, optional: bool = False) -> str:
    """Return the absolute path of the text file that an argument names.

    Symlinks in the path of the file's folder are resolved; the file itself may be a symlink. Raises WrongUsage if the
    argument names no readable text file. If `optional` is True, the message says that FILE can be left out.
    """
    path_given = Path(argument)
    # The last part may be "..", which is a folder; the check below rejects it.
    path = path_given.parent.resolve() / path_given.name
    quoted_argument = repr(argument)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise WrongUsage(
            f"no such file: {quoted_argument}.", hint="Paths are relative to the current folder."
        ) from None
    except OSError as error:
        raise WrongUsage(f"{quoted_argument} cannot be opened: {error.strerror}.") from error
    if stat.S_ISDIR(mode):
        omit_hint = ", or leave FILE out for the whole project" if optional else ""
        raise WrongUsage(f"{quoted_argument} is a folder.", hint=f"Name a file in it{omit_hint}.")
    if not stat.S_ISREG(mode):
        raise WrongUsage(f"{quoted_argument} is not a regular file.")
    try:
        with path.open("rb") as file:
            beginning = file.read(_BINARY_CHECK_BYTES)
    except OSError as error:
        raise WrongUsage(f"{quoted_argument} cannot be read: {error.strerror}.") from error
    if b"\0" in beginning:
        raise WrongUsage(
            f"{quoted_argument} is a binary file.", hint="hunchd works on text: sources, configuration, documents."
        )
    return str(path)


def find_project_root(path: str, client: Client | None = None) -> str:
    """Return the root of the project that contains `path`.

    This is the root of the git repository, or, if `client` is given, a plain folder that is registered with the
    daemon. Raises WrongUsage if there is neither.
    """
    layout = find_repository(Path(path))
    if layout is not None:
        if layout.problem:
            raise CommandError(f"{layout.root}: {layout.problem}")
        return str(layout.root)
    if client is not None:
        for project in get_items(client.get("/projects")):
            if path == project["path"] or path.startswith(project["path"].rstrip("/") + "/"):
                return str(project["path"])
    raise WrongUsage(f"{path!r} is not in a git repository.", hint="For a plain folder, run `hunch add FOLDER` first.")


def find_project_root_or_none(directory: str | None) -> str | None:
    """Return the root of the project named by `--project`, or of the current folder's project.

    Returns None if `--project` is not given and the current folder is not in a project.
    """
    if directory is not None:
        return find_project_root(resolve_folder(directory))
    return find_root(str(Path.cwd()))


def find_registered_project(client: Client, argument: str) -> dict[str, Any]:
    """Return the registered project with the given id, folder or name.

    Raises WrongUsage if there is no such project, or if several projects have that name.
    """
    projects = get_items(client.get("/projects"))
    for project in projects:
        if argument == project["id"]:
            return project
    path = Path(argument).resolve()
    layout = find_repository(path)
    candidates = {str(path), str(layout.root)} if layout is not None else {str(path)}
    for project in projects:
        if project["path"] in candidates:
            return project
    same_name = [project for project in projects if project["name"] == argument]
    if len(same_name) == 1:
        return same_name[0]
    if same_name:
        raise WrongUsage(f"{len(same_name)} projects are named {argument!r}.", hint="Name one by its folder or id.")
    raise WrongUsage(f"unknown project {argument!r}.", hint="Run `hunch projects` to list them.")


def resolve_folder(argument: str) -> str:
    """Return the absolute path of an existing folder.

    Raises WrongUsage if there is no such folder.
    """
    path = Path(argument).resolve()
    if not is_folder(path):
        if is_folder(path.parent) and os.access(path, os.F_OK):
            raise WrongUsage(f"{argument!r} is a file.", hint=f"Name its folder: {path.parent}")
        raise WrongUsage(f"no such folder: {argument!r}.")
    return str(path)


def get_items(answer: Any) -> list[dict[str, Any]]:
    """Return the items in a list response, whether or not it is paginated."""
    return list(answer["items"] if isinstance(answer, dict) else answer)
