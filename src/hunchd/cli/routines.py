"""`hunch workflows` and `hunch import-history`: recurring workflows, and commands from before the installation."""

from __future__ import annotations

import hashlib
import os
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.errors import WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import DIM, clean, coloured, confirm, line, note, number, print_json
from hunchd.cli.targets import folder, items, root_of
from hunchd.config.loading import load
from hunchd.config.places import expanded, places
from hunchd.ingestion.workflows.shell_history import Past, Shell, past, shell_of, usual_file
from hunchd.repository.layout import find

PAGE: Final = 200
BATCH: Final = 500  # signals a request
MOST: Final = 4_000  # newest commands, as many as are searched for habits
# Commands without a time are reported in one sequence, so that no time of day is inferred from them.
APART: Final = 0.2  # seconds


def workflows(arguments: Namespace) -> int:
    """List workflows, habits before those from scripts."""
    client = connect(start=not arguments.no_start)
    root = root_of(folder(arguments.project or "."), client)
    found = _workflows(client, root)
    if arguments.purpose:
        found = [one for one in found if one.get("category") == arguments.purpose]
    found.sort(key=lambda one: ("habit" not in one["tags"], -int(one["source"].get("runs") or 0), one["title"]))
    if arguments.json:
        print_json(found)
        return 0
    for one in found:
        runs = one["source"].get("runs")
        said = f"{number(runs)} times" if runs else clean(one["source"].get("path", ""))
        print(f"{line(one.get('levels', {}).get('summary') or one['title'], 150)}")
        print(coloured(f"    {said} · {clean(one['id'])}", DIM))
    if not found:
        note("no workflows yet: `hunch shell-init` reports commands, scripts are read when a project is added.")
    return 0


def _workflows(client: Client, root: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        question = {"project": root, "kind": "workflow", "limit": PAGE, "cursor": cursor}
        page = client.get("/memories", **{name: value for name, value in question.items() if value is not None})
        found += items(page)
        cursor = page.get("next")
        if cursor is None:
            return found


def import_history(arguments: Namespace) -> int:
    """Import the commands of a project from a shell's history, after a confirmation."""
    root = root_of(folder(arguments.project or "."))
    file, shell = _file(arguments.source)
    try:
        commands = past(file, shell, str(Path.home()))
    except OSError as error:
        raise WrongUsage(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    mine = [one for one in commands if arguments.all or _is_below(one.folder, root)]
    wanted = [one for one in mine if not _is_private(one.folder or root)][-MOST:]
    told = f"{number(len(wanted))} of {number(len(commands))} commands in {clean(file)}"
    if arguments.dry_run:
        if arguments.json:
            print_json({"commands": [one.command for one in wanted], "of": len(commands)})
        else:
            print(*(clean(one.command) for one in wanted), sep="\n")
            note(f"{told} would be imported for {root}.")
        return 0
    if not wanted:
        note(f"{told} were run in {root}, judging by `cd`; --all imports all of them.")
        return 0
    question = f"Import {told} as run in {root}? Secrets are masked first."
    confirm(question, yes=arguments.yes, otherwise="nothing was imported.")
    accepted = _send(connect(start=not arguments.no_start), root, file, wanted)
    if arguments.json:
        print_json({"accepted": accepted, "of": len(commands)})
    else:
        print(f"{number(accepted)} commands imported. hunch workflows lists recurring ones.")
    return 0


def _send(client: Client, root: str, file: Path, wanted: Sequence[Past]) -> int:
    client.post("/projects", {"path": root})
    newest = file.stat().st_mtime
    accepted = 0
    for begin in range(0, len(wanted), BATCH):
        signals = []
        for place, one in enumerate(wanted[begin : begin + BATCH], start=begin):
            at = one.at if one.at is not None else newest - (len(wanted) - place) * APART
            known = hashlib.blake2b(f"{root}\n{at}\n{one.command}".encode(errors="replace"), digest_size=10).hexdigest()
            signals.append(
                {
                    "kind": "command_finished",
                    "project": root,
                    "command": one.command,
                    "exit_code": 0,
                    "at": datetime.fromtimestamp(at, UTC).isoformat(),
                    "event_id": f"history:{known}",
                    "source": "history",
                }
            )
        accepted += int(client.post("/signals", {"signals": signals})["accepted"])
    return accepted


def _file(source: str) -> tuple[Path, Shell]:
    match source:
        case "bash" | "zsh" | "fish":
            return usual_file(source, str(Path.home()), dict(os.environ)), source
        case _:
            file = Path(source)
            return file, shell_of(file)


def _is_below(where: str | None, root: str) -> bool:
    """Return True if a folder belongs to the project.

    It must be inside its tree, and not in a nested repository.
    """
    if where is None or not Path(where).is_relative_to(root):
        return False
    layout = find(Path(where)) if Path(where).is_dir() else None
    return layout is None or str(layout.root) == root


def _is_private(where: str) -> bool:
    private = load(places().config_file).shell.private_folders
    return any(Path(where).is_relative_to(expanded(one)) for one in private)
