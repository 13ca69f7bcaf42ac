"""`hunch context`, `predict` and `review`: show the files and facts that the user needs next."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import RequestRejected, WrongUsage
from hunchd.cli.output import BOLD, colourize, format_duration, format_number, print_json, print_note, strip_controls
from hunchd.cli.progress import show_progress
from hunchd.cli.targets import find_project_root, resolve_text_file

MAX_NEXT_COMMANDS: Final = 3  # shown after the files
MIN_USEFUL_BUDGET: Final = 100  # tokens below which the heading and one line hardly fit
SILENT_SECONDS: Final = 10  # seconds without a progress report, after which the last one is shown
_POLL_INTERVAL_SECONDS: Final = 0.1  # seconds between two checks of a project that is being indexed


def context(arguments: Namespace) -> int:
    """Print the context bundle for a file.

    If no file is given, the bundle is for the uncommitted change.
    """
    path = resolve_text_file(arguments.file, optional=True) if arguments.file else None
    client = connect(start=not arguments.no_start)
    root = find_project_root(path or str(Path.cwd()), client)
    question = {
        "project": root,
        "file": path,
        "budget": arguments.budget,
        "activity": arguments.activity,
        "branch": arguments.branch,
        "query": arguments.query,
    }
    bundle = request_bundle(client, root, question, wait=arguments.wait)
    if arguments.json:
        print_json(bundle)
        return 0
    if bundle["context"].strip():
        print(strip_controls(bundle["context"]).rstrip("\n"))
    if bundle["status"] == "empty":
        subject = arguments.file or root
        if arguments.budget is not None and arguments.budget < MIN_USEFUL_BUDGET:
            print_note(f"nothing known about {subject} fits into {arguments.budget} tokens; the default is 8,000.")
        else:
            print_note(f"nothing relevant is known about {subject} yet.")
    for reason in bundle["degraded"]:
        print_note(strip_controls(reason))
    return 0


def predict(arguments: Namespace) -> int:
    """Print the files that the user will probably touch next, most likely first.

    After the files, it prints the most likely commands.
    """
    if not arguments.file and not arguments.query:
        raise WrongUsage("FILE is missing; name one, or use --query to describe what you are looking for.")
    path = resolve_text_file(arguments.file) if arguments.file else None
    client = connect(start=not arguments.no_start)
    root = find_project_root(path or str(Path.cwd()), client)
    question = {
        "project": root,
        "file_opened": path,
        "k": arguments.k,
        "query": arguments.query,
        "branch": arguments.branch,
    }
    body = {name: value for name, value in question.items() if value is not None}
    prediction = request_in_project(client, root, lambda: client.post("/context/predict", body))
    if arguments.json:
        print_json(prediction)
        return 0
    files = prediction["predicted_files"][: arguments.k]
    width = max((len(strip_controls(file["path"])) for file in files), default=0)
    for file in files:
        path = strip_controls(file["path"])
        reasons = " · ".join(strip_controls(reason) for reason in file["reasons"])
        print(f"{file['confidence']:4.0%}  {colourize(path, BOLD)}{' ' * (width - len(path))}  {reasons}".rstrip())
    for command in prediction.get("predicted_commands", ())[:MAX_NEXT_COMMANDS]:
        reasons = " · ".join(strip_controls(reason) for reason in command["reasons"])
        prompt_line = colourize(f"$ {strip_controls(command['command'])}", BOLD)
        print(f"{command['confidence']:4.0%}  {prompt_line}  {reasons}".rstrip())
    for reason in prediction.get("degraded", ()):
        print_note(strip_controls(reason))
    if not files and not prediction.get("degraded"):
        print_note(f"no prediction for {arguments.file or arguments.query} yet.")
    return 0


def review(arguments: Namespace) -> int:
    """Print the files that the uncommitted change probably still lacks.

    If it looks complete, nothing is printed; in a terminal, a note on stderr says so.
    """
    client = connect(start=not arguments.no_start)
    root = find_project_root(str(Path.cwd()), client)
    body = {"project": root} | ({"base": arguments.base} if arguments.base else {})
    answer = request_in_project(client, root, lambda: client.post("/context/review", body))
    if arguments.json:
        print_json(answer)
        return 0
    width = max((len(strip_controls(one["path"])) for one in answer["missing"]), default=0)
    for one in answer["missing"]:
        path, reasons = strip_controls(one["path"]), " · ".join(strip_controls(reason) for reason in one["reasons"])
        print(f"{one['probability']:4.0%}  {colourize(path, BOLD)}{' ' * (width - len(path))}  {reasons}".rstrip())
    for reason in answer.get("degraded", ()):
        print_note(strip_controls(reason))
    if not answer["missing"] and not answer.get("degraded") and sys.stderr.isatty():
        count = len(answer["changed"])
        print_note(f"nothing seems to be missing ({count} changed)." if count else "there is no change to review.")
    return 0


def request_bundle(client: Client, root: str, question: dict[str, Any], *, wait: float) -> Any:
    """Request a context bundle; while the project is being indexed, wait for a useful one.

    After `wait` seconds at most, the latest bundle is returned.
    """
    deadline = time.monotonic() + wait
    bundle = request_in_project(client, root, lambda: client.get("/context", **question))
    if _is_useful(bundle) or wait == 0:
        return bundle
    with show_progress(sys.stderr) as show_line:
        while time.monotonic() < deadline and not _is_useful(bundle):
            # Registering a known project changes nothing and returns its progress, linked worktrees included.
            project = client.post("/projects", {"path": root})
            if project["state"] != "indexing":
                return client.get("/context", **question)
            show_line(format_progress(project))
            time.sleep(_POLL_INTERVAL_SECONDS)
            bundle = client.get("/context", **question)
    return bundle


def request_in_project(client: Client, root: str, request: Any) -> Any:
    """Call `request`, which sends a request about the project at `root`.

    If the daemon does not know the project, it is registered and `request` is called again.
    """
    try:
        return request()
    except RequestRejected as refusal:
        if refusal.status != 404:
            raise
    client.post("/projects", {"path": root})
    return request()


def _is_useful(bundle: Any) -> bool:
    """Return True if the bundle says something about the current work.

    Items in tiers 3 and 4, such as general conventions, do not count.
    """
    return any(item["tier"] <= 2 for item in bundle["items"])


def format_progress(project: dict[str, Any]) -> str:
    """Format the indexing progress of a project as one line."""
    parts = [
        f"{format_number(counts['done'])} of {format_number(counts['total'])} {name}"
        for name, counts in project["progress"].items()
        if counts["total"] and counts["done"] < counts["total"]
    ]
    if (project.get("reading") or {}).get("silent_seconds", 0) >= SILENT_SECONDS:
        parts.append(format_last_report(project))
    return f"indexing {strip_controls(project['name'])}" + (f": {', '.join(parts)}" if parts else " …")


def format_last_report(project: Mapping[str, Any]) -> str:
    """Format the last progress report from a running index job, with its age.

    Returns "" if there is no report.
    """
    reading = project.get("reading") or {}
    return (
        f"last progress report {format_duration(reading['silent_seconds'])} ago: {strip_controls(reading['step'])}"
        if reading
        else ""
    )
