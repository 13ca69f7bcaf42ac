"""`hunch workflows` and `import-history`: workflows that files define, and commands from shell history."""

from __future__ import annotations

import hashlib
import os
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import WrongUsage
from hunchd.cli.output import (
    DIM,
    colourize,
    format_line,
    format_number,
    print_json,
    print_note,
    require_confirmation,
    strip_controls,
)
from hunchd.cli.targets import find_project_root, get_items, resolve_folder
from hunchd.config.app_paths import expand_path, resolve_app_paths
from hunchd.config.loading import load_settings
from hunchd.ingestion.workflows.shell_history import (
    HistoryCommand,
    Shell,
    default_history_file,
    guess_shell,
    read_history,
)
from hunchd.repository.layout import find_repository

PAGE_SIZE: Final = 200
BATCH_SIZE: Final = 500  # signals in one request
MAX_COMMANDS: Final = 4_000  # newest commands that are imported; the daemon remembers no more
# Commands without a time are reported in one sequence, so that no time of day is inferred from them.
SPACING_SECONDS: Final = 0.2  # seconds


def workflows(arguments: Namespace) -> int:
    """List the workflows that the project's files define."""
    client = connect(start=not arguments.no_start)
    root = find_project_root(resolve_folder(arguments.project or "."), client)
    entries = _request_workflows(client, root)
    if arguments.purpose:
        entries = [one for one in entries if one.get("category") == arguments.purpose]
    entries.sort(key=lambda one: ("script" not in one["tags"], one["title"]))
    if arguments.json:
        print_json(entries)
        return 0
    for one in entries:
        path = strip_controls(one["source"].get("path", ""))
        print(f"{format_line(one.get('levels', {}).get('summary') or one['title'], 150)}")
        print(colourize(f"    {path} · {strip_controls(one['id'])}", DIM))
    if not entries:
        print_note("no workflows yet: makefiles, package scripts, CI files and hooks are read when a project is added.")
    return 0


def _request_workflows(client: Client, root: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        question = {"project": root, "kind": "workflow", "limit": PAGE_SIZE, "cursor": cursor}
        page = client.get("/memories", **{name: value for name, value in question.items() if value is not None})
        entries += get_items(page)
        cursor = page.get("next")
        if cursor is None:
            return entries


def import_history(arguments: Namespace) -> int:
    """Import a project's commands from a shell's history file.

    The user is asked for confirmation first. Commands run in private folders are left out.
    """
    root = find_project_root(resolve_folder(arguments.project or "."))
    file, shell = _resolve_history_file(arguments.source)
    try:
        commands = read_history(file, shell, str(Path.home()))
    except OSError as error:
        raise WrongUsage(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    in_project = [one for one in commands if arguments.all or _is_in_project(one.folder, root)]
    selected_commands = [one for one in in_project if not _is_private(one.folder or root)][-MAX_COMMANDS:]
    summary = (
        f"{format_number(len(selected_commands))} of {format_number(len(commands))} commands in {strip_controls(file)}"
    )
    if arguments.dry_run:
        if arguments.json:
            print_json({"commands": [one.command for one in selected_commands], "of": len(commands)})
        else:
            print(*(strip_controls(one.command) for one in selected_commands), sep="\n")
            print_note(f"{summary} would be imported for {root}.")
        return 0
    if not selected_commands:
        print_note(f"{summary} were run in {root}, judging by their `cd` commands; use --all to import every command.")
        return 0
    question = f"Import {summary} as run in {root}? Secrets are masked first."
    require_confirmation(question, is_confirmed=arguments.yes, otherwise="nothing was imported.")
    accepted_count = _send_commands(connect(start=not arguments.no_start), root, file, selected_commands)
    if arguments.json:
        print_json({"accepted": accepted_count, "of": len(commands)})
    else:
        print(f"{format_number(accepted_count)} commands imported; `hunch predict` uses them.")
    return 0


def _send_commands(client: Client, root: str, file: Path, selected_commands: Sequence[HistoryCommand]) -> int:
    client.post("/projects", {"path": root})
    newest = file.stat().st_mtime
    accepted_count = 0
    for begin in range(0, len(selected_commands), BATCH_SIZE):
        signals = []
        for index, one in enumerate(selected_commands[begin : begin + BATCH_SIZE], start=begin):
            at = one.at if one.at is not None else newest - (len(selected_commands) - index) * SPACING_SECONDS
            digest = hashlib.blake2b(
                f"{root}\n{at}\n{one.command}".encode(errors="replace"), digest_size=10
            ).hexdigest()
            signals.append(
                {
                    "kind": "command_finished",
                    "project": root,
                    "command": one.command,
                    "exit_code": 0,
                    "at": datetime.fromtimestamp(at, UTC).isoformat(),
                    "event_id": f"history:{digest}",
                    "source": "history",
                }
            )
        accepted_count += int(client.post("/signals", {"signals": signals})["accepted"])
    return accepted_count


def _resolve_history_file(source: str) -> tuple[Path, Shell]:
    match source:
        case "bash" | "zsh" | "fish":
            return default_history_file(source, str(Path.home()), dict(os.environ)), source
        case _:
            file = Path(source)
            return file, guess_shell(file)


def _is_in_project(folder_path: str | None, root: str) -> bool:
    """Return True if the project at `root` contains a folder.

    The folder must be inside the project's tree but not inside a nested repository.
    """
    if folder_path is None or not Path(folder_path).is_relative_to(root):
        return False
    layout = find_repository(Path(folder_path)) if Path(folder_path).is_dir() else None
    return layout is None or str(layout.root) == root


def _is_private(folder_path: str) -> bool:
    private = load_settings(resolve_app_paths().config_file).shell.private_folders
    return any(Path(folder_path).is_relative_to(expand_path(one)) for one in private)
