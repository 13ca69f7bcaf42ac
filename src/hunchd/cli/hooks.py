"""`hunch hooks`: installs git hooks that report events to the daemon.

The hooks report commits, checkouts, merges and rewrites, even while no daemon is running.
"""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from hunchd.cli.errors import CommandError
from hunchd.cli.hook_files import (
    HooksFolder,
    clear_exclusions,
    find_hooks_folder,
    install_hook,
    list_hooks,
    uninstall_hook,
)
from hunchd.cli.hook_scripts import EVENTS
from hunchd.cli.output import format_table, print_json, print_note, strip_controls
from hunchd.config.app_paths import AppPaths, ensure_private_folder, replace_private_file, resolve_app_paths

_SHARED_NOTE: Final = "core.hooksPath is shared with other repositories; the hooks report events from all of them."
_TRACKED_NOTE: Final = "The daemon notices commits by itself: at once while it runs, otherwise at its next start."


def hooks(arguments: Namespace) -> int:
    paths = resolve_app_paths()
    if arguments.action == "uninstall" and arguments.everywhere:
        return _uninstall_everywhere(paths, as_json=arguments.json)
    hooks_folder = find_hooks_folder(Path(arguments.path))
    if arguments.action == "install":
        _install_hooks(hooks_folder, paths)
    elif arguments.action == "uninstall":
        uninstall_hooks(hooks_folder, paths)
    return _print_hooks(hooks_folder, paths, as_json=arguments.json)


def _install_hooks(hooks_folder: HooksFolder, paths: AppPaths) -> None:
    if hooks_folder.folder.exists() and not hooks_folder.folder.is_dir():
        raise CommandError(
            f"hooks are disabled in this repository: core.hooksPath is {hooks_folder.folder}, which is not a folder."
        )
    ensure_private_folder(paths.spool)  # hooks write nothing without it, so they stop with the daemon's data
    is_created = not hooks_folder.folder.exists()
    hooks_folder.folder.mkdir(parents=True, exist_ok=True)
    _save_record(paths, hooks_folder.folder, {"root": str(hooks_folder.root), "made": is_created})
    for event in EVENTS:
        install_hook(hooks_folder, event, paths)


def uninstall_hooks(hooks_folder: HooksFolder, paths: AppPaths) -> None:
    """Uninstall hunchd's hooks from a hooks folder, and restore the hooks that were there before."""
    if hooks_folder.folder.is_dir():
        for event in EVENTS:
            uninstall_hook(hooks_folder, event)
    clear_exclusions(hooks_folder)
    record = load_records(paths).get(str(hooks_folder.folder), {})
    if record.get("made") and hooks_folder.folder.is_dir() and not any(hooks_folder.folder.iterdir()):
        hooks_folder.folder.rmdir()
    _save_record(paths, hooks_folder.folder, None)


def uninstall_all_hooks(paths: AppPaths) -> list[str]:
    """Uninstall hunchd's hooks from every repository that has them. Returns the roots of these repositories."""
    roots = []
    for folder, record in load_records(paths).items():
        root = Path(record["root"])
        roots.append(str(root))
        if root.is_dir():
            try:
                uninstall_hooks(find_hooks_folder(root), paths)
            except CommandError as error:  # the repository was removed, and its hooks with it
                print_note(error.message)
        _save_record(paths, Path(folder), None)
    return roots


def load_records(paths: AppPaths) -> dict[str, dict[str, Any]]:
    """Return a record for each folder that has hunchd's hooks, keyed by the folder's path.

    A record contains the repository root, and whether hunchd created the folder.
    """
    try:
        records = json.loads(_records_file(paths).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def _uninstall_everywhere(paths: AppPaths, *, as_json: bool) -> int:
    roots = uninstall_all_hooks(paths)
    if as_json:
        print_json({"uninstalled": roots})
        return 0
    for root in roots:
        print(f"{strip_controls(root)}: uninstalled")
    if not roots:
        print_note("no hooks are installed.")
    return 0


def _save_record(paths: AppPaths, folder: Path, record: dict[str, Any] | None) -> None:
    records = load_records(paths)
    previous = records.pop(str(folder), None)
    if record is None and previous is None:
        return
    if record is not None:
        records[str(folder)] = {**record, "made": record["made"] or bool(previous and previous.get("made"))}
    replace_private_file(_records_file(paths), json.dumps(records, indent=1))


def _records_file(paths: AppPaths) -> Path:
    return paths.data / "hooks.json"


def _print_hooks(hooks_folder: HooksFolder, paths: AppPaths, *, as_json: bool) -> int:
    hooks_found = list_hooks(hooks_folder, paths)
    if as_json:
        report = {
            "folder": str(hooks_folder.folder),
            "shared": hooks_folder.is_shared,
            "hooks": [hook.to_json() for hook in hooks_found],
        }
        print_json(report)
        return 0
    print(f"{strip_controls(hooks_folder.root)}: hooks in {strip_controls(hooks_folder.folder)}")
    print(
        format_table(
            ("hook", "state", ""), [(hook.event, hook.state, strip_controls(hook.note)) for hook in hooks_found]
        )
    )
    if hooks_folder.is_shared:
        print_note(_SHARED_NOTE)
    if any(hook.state == "tracked" for hook in hooks_found):
        print_note(_TRACKED_NOTE)
    was_installed = str(hooks_folder.folder) in load_records(paths)
    if any(
        hook.state in ("outdated", "missing") or (hook.state == "not installed" and was_installed)
        for hook in hooks_found
    ):
        print_note(
            "another tool, or another installation, has rewritten these hooks; "
            "run `hunch hooks install` to restore them."
        )
    return 0
