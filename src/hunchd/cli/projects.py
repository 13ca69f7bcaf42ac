"""`hunch add`, `remove` and `projects`: manage the watched projects."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.context import format_progress
from hunchd.cli.daemon_control import connect
from hunchd.cli.output import format_number, print_json, print_note, require_confirmation, strip_controls
from hunchd.cli.progress import show_progress
from hunchd.cli.status import format_projects_table
from hunchd.cli.targets import find_registered_project, get_items, resolve_folder

_POLL_INTERVAL_SECONDS: Final = 0.2  # seconds between two checks of the progress
_STALL_SECONDS: Final = 60.0  # seconds without a new vector, after which nobody waits for more


def add(arguments: Namespace) -> int:
    path = resolve_folder(arguments.path)
    client = connect(start=not arguments.no_start)
    project = client.post("/projects", {"path": path})
    if arguments.wait:
        project = _wait_until_settled(client, project["id"])
    if arguments.json:
        print_json(project)
    else:
        print(f"{strip_controls(project['name'])}: {project['state']}, {strip_controls(project['path'])}")
    return 0


def _wait_until_settled(client: Client, identity: str) -> dict[str, Any]:
    """Wait until the project is indexed and its memories are stored and embedded.

    Each problem is printed once. If embedding makes no progress for _STALL_SECONDS, for example because its model is
    missing, this function prints how many memories remain and why, and stops waiting.
    """
    shown_errors: set[str] = set()
    embedded, changed_at = -1, time.monotonic()
    with show_progress(sys.stderr) as show_line:
        while True:
            status = client.get("/status")
            project = next((one for one in status["projects"] if one["id"] == identity), None)
            if project is None:  # removed in the meantime; this request reports it
                project = find_registered_project(client, identity)
            index_error = strip_controls(project.get("index_error", ""))
            if index_error and index_error not in shown_errors:
                shown_errors.add(index_error)
                print_note(f"{strip_controls(project['name'])}: {index_error}")
            if project["state"] == "missing" or _is_settled(project, status["queues"]):
                return project
            if project["state"] == "indexing" or project["progress"]["embeddings"]["done"] != embedded:
                embedded, changed_at = project["progress"]["embeddings"]["done"], time.monotonic()
            if time.monotonic() - changed_at > _STALL_SECONDS:
                print_note(_explain_stall(project, status["degraded"]))
                return project
            show_line(format_progress(project))
            time.sleep(_POLL_INTERVAL_SECONDS)


def _is_settled(project: Mapping[str, Any], queues: Mapping[str, int]) -> bool:
    embeddings = project["progress"]["embeddings"]
    is_stored = not queues["journal"] and not queues["writer"]
    return project["state"] != "indexing" and is_stored and embeddings["done"] >= embeddings["total"]


def _explain_stall(project: Mapping[str, Any], reasons: Sequence[str]) -> str:
    embeddings = project["progress"]["embeddings"]
    missing = format_number(embeddings["total"] - embeddings["done"])
    why = "; ".join(map(strip_controls, reasons)) or "embedding continues in the background"
    return f"{strip_controls(project['name'])}: {missing} memories can be found only by their words so far: {why}"


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
