"""`hunch context` and `hunch predict`: the files and facts needed next."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.errors import Refused, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, clean, coloured, note, number, print_json, span
from hunchd.cli.progress import watched
from hunchd.cli.targets import root_of, text_file

NEXT_COMMANDS: Final = 3  # shown after the files
LEAST_BUDGET: Final = 100  # tokens below which the heading and one line hardly fit
SILENT: Final = 10  # seconds without a progress report, after which the last one is shown
_LOOK: Final = 0.1  # seconds between two checks of a project that is being indexed


def context(arguments: Namespace) -> int:
    """Print the bundle for a file, or for the current project."""
    path = text_file(arguments.file, optional=True) if arguments.file else None
    client = connect(start=not arguments.no_start)
    root = root_of(path or str(Path.cwd()), client)
    question = {
        "project": root,
        "file": path,
        "budget": arguments.budget,
        "activity": arguments.activity,
        "branch": arguments.branch,
        "query": arguments.query,
    }
    bundle = bundle_for(client, root, question, wait=arguments.wait)
    if arguments.json:
        print_json(bundle)
        return 0
    if bundle["context"].strip():
        print(clean(bundle["context"]).rstrip("\n"))
    if bundle["status"] == "empty":
        about = arguments.file or root
        if arguments.budget is not None and arguments.budget < LEAST_BUDGET:
            note(f"nothing that fits into {arguments.budget} tokens is known about {about}; the default is 8,000.")
        else:
            note(f"nothing relevant is known about {about} yet.")
    for reason in bundle["degraded"]:
        note(clean(reason))
    return 0


def predict(arguments: Namespace) -> int:
    """Print the predicted files, most likely first."""
    if not arguments.file and not arguments.query:
        raise WrongUsage("name the FILE you open, or say with --query what you are after.")
    path = text_file(arguments.file) if arguments.file else None
    client = connect(start=not arguments.no_start)
    root = root_of(path or str(Path.cwd()), client)
    question = {
        "project": root,
        "file_opened": path,
        "k": arguments.k,
        "query": arguments.query,
        "branch": arguments.branch,
    }
    body = {name: value for name, value in question.items() if value is not None}
    prediction = known_first(client, root, lambda: client.post("/context/predict", body))
    if arguments.json:
        print_json(prediction)
        return 0
    files = prediction["predicted_files"][: arguments.k]
    width = max((len(clean(file["path"])) for file in files), default=0)
    for file in files:
        path = clean(file["path"])
        reasons = " · ".join(clean(reason) for reason in file["reasons"])
        print(f"{file['confidence']:4.0%}  {coloured(path, BOLD)}{' ' * (width - len(path))}  {reasons}".rstrip())
    for command in prediction.get("predicted_commands", ())[:NEXT_COMMANDS]:
        reasons = " · ".join(clean(reason) for reason in command["reasons"])
        shown = coloured(f"$ {clean(command['command'])}", BOLD)
        print(f"{command['confidence']:4.0%}  {shown}  {reasons}".rstrip())
    for reason in prediction.get("degraded", ()):
        note(clean(reason))
    if not files and not prediction.get("degraded"):
        note(f"no hunch what comes after {arguments.file or arguments.query}.")
    return 0


def review(arguments: Namespace) -> int:
    """Print what the uncommitted change still lacks; nothing where it looks complete."""
    client = connect(start=not arguments.no_start)
    root = root_of(str(Path.cwd()), client)
    body = {"project": root} | ({"base": arguments.base} if arguments.base else {})
    told = known_first(client, root, lambda: client.post("/context/review", body))
    if arguments.json:
        print_json(told)
        return 0
    width = max((len(clean(one["path"])) for one in told["missing"]), default=0)
    for one in told["missing"]:
        path, reasons = clean(one["path"]), " · ".join(clean(reason) for reason in one["reasons"])
        print(f"{one['probability']:4.0%}  {coloured(path, BOLD)}{' ' * (width - len(path))}  {reasons}".rstrip())
    for reason in told.get("degraded", ()):
        note(clean(reason))
    return 0


def bundle_for(client: Client, root: str, question: dict[str, Any], *, wait: float) -> Any:
    """Request the bundle; wait for a useful one during indexing.

    After `wait` seconds, returns the best one so far.
    """
    deadline = time.monotonic() + wait
    bundle = known_first(client, root, lambda: client.get("/context", **question))
    if _is_useful(bundle) or wait == 0:
        return bundle
    with watched(sys.stderr) as show:
        while time.monotonic() < deadline and not _is_useful(bundle):
            # Registering a known project changes nothing and returns its progress, linked worktrees included.
            project = client.post("/projects", {"path": root})
            if project["state"] != "indexing":
                return client.get("/context", **question)
            show(progress_of(project))
            time.sleep(_LOOK)
            bundle = client.get("/context", **question)
    return bundle


def known_first(client: Client, root: str, ask: Any) -> Any:
    """Send a request; register an unknown project and retry."""
    try:
        return ask()
    except Refused as refusal:
        if refusal.status != 404:
            raise
    client.post("/projects", {"path": root})
    return ask()


def _is_useful(bundle: Any) -> bool:
    """Return True if the bundle has items about the focus, not just general conventions."""
    return any(item["tier"] <= 2 for item in bundle["items"])


def progress_of(project: dict[str, Any]) -> str:
    """Format the indexing progress of a project as one line."""
    parts = [
        f"{number(told['done'])} of {number(told['total'])} {name}"
        for name, told in project["progress"].items()
        if told["total"] and told["done"] < told["total"]
    ]
    if (project.get("reading") or {}).get("silent_seconds", 0) >= SILENT:
        parts.append(heard_of(project))
    return f"indexing {clean(project['name'])}" + (f": {', '.join(parts)}" if parts else " …")


def heard_of(project: Mapping[str, Any]) -> str:
    """Format the last progress report of a running index job and its age.

    Returns "" if there is none.
    """
    told = project.get("reading") or {}
    return f"last progress report {span(told['silent_seconds'])} ago: {clean(told['step'])}" if told else ""
