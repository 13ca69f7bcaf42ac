"""Resolution of arguments to files, folders and projects."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.repository.layout import find, is_folder

# Like git: a file with a zero byte in this many bytes is binary.
_SNIFF: Final = 8_000  # bytes


def text_file(argument: str, *, optional: bool = False) -> str:
    """Return the absolute path of an existing text file.

    Resolve its folder, but not the file itself.
    """
    given = Path(argument)
    # The name ".." stands for a folder too; the check below rejects it.
    path = given.parent.resolve() / given.name
    shown = repr(argument)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise WrongUsage(f"no such file: {shown}.", hint="Paths are relative to the current folder.") from None
    except OSError as error:
        raise WrongUsage(f"{shown} cannot be opened: {error.strerror}.") from error
    if stat.S_ISDIR(mode):
        whole = ", or leave FILE out for the whole project" if optional else ""
        raise WrongUsage(f"{shown} is a folder.", hint=f"Name a file in it{whole}.")
    if not stat.S_ISREG(mode):
        raise WrongUsage(f"{shown} is not a regular file.")
    try:
        with path.open("rb") as file:
            beginning = file.read(_SNIFF)
    except OSError as error:
        raise WrongUsage(f"{shown} cannot be read: {error.strerror}.") from error
    if b"\0" in beginning:
        raise WrongUsage(f"{shown} is a binary file.", hint="hunchd works on text: sources, configuration, documents.")
    return str(path)


def root_of(path: str, client: Client | None = None) -> str:
    """Return the root of the project that contains `path`.

    It is the repository, or a registered plain folder.
    """
    layout = find(Path(path))
    if layout is not None:
        if layout.trouble:
            raise CommandError(f"{layout.root}: {layout.trouble}")
        return str(layout.root)
    if client is not None:
        for project in items(client.get("/projects")):
            if path == project["path"] or path.startswith(project["path"].rstrip("/") + "/"):
                return str(project["path"])
    raise WrongUsage(f"{path!r} is not in a git repository.", hint="For a plain folder run `hunch add FOLDER` first.")


def root_or_none(directory: str | None) -> str | None:
    """Return the project's root for `--project DIR`, or of the current folder.

    Returns None outside of any.
    """
    if directory is not None:
        return root_of(folder(directory))
    layout = find(Path.cwd())
    return str(layout.root) if layout is not None and not layout.trouble else None


def known_project(client: Client, argument: str) -> dict[str, Any]:
    """Return the registered project with this id, name or folder."""
    projects = items(client.get("/projects"))
    for project in projects:
        if argument == project["id"]:
            return project
    path = Path(argument).resolve()
    layout = find(path)
    candidates = {str(path), str(layout.root)} if layout is not None else {str(path)}
    for project in projects:
        if project["path"] in candidates:
            return project
    named = [project for project in projects if project["name"] == argument]
    if len(named) == 1:
        return named[0]
    if named:
        raise WrongUsage(f"{len(named)} projects are named {argument!r}.", hint="Name one by its folder or id.")
    raise WrongUsage(f"unknown project {argument!r}.", hint="hunch projects lists them.")


def folder(argument: str) -> str:
    """Return the absolute path of an existing folder."""
    path = Path(argument).resolve()
    if not is_folder(path):
        if is_folder(path.parent) and os.access(path, os.F_OK):
            raise WrongUsage(f"{argument!r} is a file.", hint=f"Name its folder: {path.parent}")
        raise WrongUsage(f"no such folder: {argument!r}.")
    return str(path)


def items(answer: Any) -> list[dict[str, Any]]:
    """Return the items of a list response, paged or plain."""
    return list(answer["items"] if isinstance(answer, dict) else answer)
