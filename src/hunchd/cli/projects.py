"""`hunch add`, `remove` and `projects`: the watched projects."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import Final

from hunchd.cli.answers import progress_of
from hunchd.cli.client import Client
from hunchd.cli.launching import connect
from hunchd.cli.output import clean, confirm, note, print_json
from hunchd.cli.progress import watched
from hunchd.cli.status import projects_table
from hunchd.cli.targets import folder, items, known_project

_LOOK: Final = 0.2  # seconds between two checks of the progress


def add(arguments: Namespace) -> int:
    path = folder(arguments.path)
    client = connect(start=not arguments.no_start)
    project = client.post("/projects", {"path": path})
    if arguments.wait:
        project = _indexed(client, project["id"])
    if arguments.json:
        print_json(project)
    else:
        print(f"{clean(project['name'])}: {project['state']}, {clean(project['path'])}")
    return 0


def _indexed(client: Client, identity: str) -> dict[str, object]:
    """Wait until the project is indexed; print each problem once."""
    told: set[str] = set()
    with watched(sys.stderr) as show:
        while True:
            project = known_project(client, identity)
            wrong = clean(project.get("index_error", ""))
            if wrong and wrong not in told:
                told.add(wrong)
                note(f"{clean(project['name'])}: {wrong}")
            if project["state"] != "indexing":
                return project
            show(progress_of(project))
            time.sleep(_LOOK)


def remove(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    return erase_project(client, arguments.project, yes=arguments.yes, as_json=arguments.json)


def erase_project(client: Client, argument: str, *, yes: bool, as_json: bool) -> int:
    """Erase everything stored about one project, after a confirmation."""
    project = known_project(client, argument)
    name, path = clean(project["name"]), clean(project["path"])
    question = f"Erase everything stored about {name} ({path})? The repository is not touched."
    confirm(question, yes=yes, otherwise="nothing was erased.")
    answer = client.delete(f"/projects/{project['id']}")
    if as_json:
        print_json(answer)
    else:
        print(f"{name}: erased.")
    return 0


def listing(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    answer = client.get("/projects")
    if arguments.json:
        print_json(answer)
        return 0
    projects = items(answer)
    if projects:
        print(projects_table(projects))
    else:
        note("no projects yet: run `hunch context FILE` or `hunch add` in a repository.")
    return 0
