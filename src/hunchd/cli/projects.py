"""`hunch add`, `remove` and `projects`: the watched projects."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import Final

from hunchd.cli.client import Client
from hunchd.cli.context import format_progress
from hunchd.cli.daemon_control import connect
from hunchd.cli.output import print_json, print_note, require_confirmation, strip_controls
from hunchd.cli.progress import show_progress
from hunchd.cli.status import format_projects_table
from hunchd.cli.targets import find_registered_project, get_items, resolve_folder

_POLL_INTERVAL_SECONDS: Final = 0.2  # seconds between two checks of the progress


def add(arguments: Namespace) -> int:
    path = resolve_folder(arguments.path)
    client = connect(start=not arguments.no_start)
    project = client.post("/projects", {"path": path})
    if arguments.wait:
        project = _wait_until_indexed(client, project["id"])
    if arguments.json:
        print_json(project)
    else:
        print(f"{strip_controls(project['name'])}: {project['state']}, {strip_controls(project['path'])}")
    return 0


def _wait_until_indexed(client: Client, identity: str) -> dict[str, object]:
    """Wait until the project is indexed; print each problem once."""
    shown_errors: set[str] = set()
    with show_progress(sys.stderr) as show_line:
        while True:
            project = find_registered_project(client, identity)
            index_error = strip_controls(project.get("index_error", ""))
            if index_error and index_error not in shown_errors:
                shown_errors.add(index_error)
                print_note(f"{strip_controls(project['name'])}: {index_error}")
            if project["state"] != "indexing":
                return project
            show_line(format_progress(project))
            time.sleep(_POLL_INTERVAL_SECONDS)


def remove(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    return erase_project(client, arguments.project, yes=arguments.yes, as_json=arguments.json)


def erase_project(client: Client, argument: str, *, yes: bool, as_json: bool) -> int:
    """Erase everything stored about one project, after a confirmation."""
    project = find_registered_project(client, argument)
    name, path = strip_controls(project["name"]), strip_controls(project["path"])
    question = f"Erase everything stored about {name} ({path})? The repository is not touched."
    require_confirmation(question, is_confirmed=yes, otherwise="nothing was erased.")
    answer = client.delete(f"/projects/{project['id']}")
    if as_json:
        print_json(answer)
    else:
        print(f"{name}: erased.")
    return 0


def list_projects(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    answer = client.get("/projects")
    if arguments.json:
        print_json(answer)
        return 0
    projects = get_items(answer)
    if projects:
        print(format_projects_table(projects))
    else:
        print_note("no projects yet: run `hunch context FILE` or `hunch add` in a repository.")
    return 0
