"""`hunch hooks`: git hooks that report events to the daemon.

They report commits, checkouts, merges and rewrites, even while no daemon runs.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from hunchd.cli.errors import CommandError
from hunchd.cli.hook_files import HookPlace, clear_exclusions, look, place_of, put, take_out
from hunchd.cli.hook_scripts import EVENTS
from hunchd.cli.output import clean, note, print_json, table
from hunchd.config.places import Places, make_private, places

_SHARED: Final = "core.hooksPath is shared with other repositories; the hooks report events of all of them."
_TRACKED: Final = "The daemon notices commits itself while it runs, and others at its next start."


def hooks(arguments: Namespace) -> int:
    where = places()
    if arguments.action == "uninstall" and arguments.everywhere:
        return _uninstall_everywhere(where, as_json=arguments.json)
    place = place_of(Path(arguments.path))
    if arguments.action == "install":
        _install(place, where)
    elif arguments.action == "uninstall":
        uninstall(place, where)
    return _show(place, where, as_json=arguments.json)


def _install(place: HookPlace, where: Places) -> None:
    if place.folder.exists() and not place.folder.is_dir():
        raise CommandError(f"hooks are disabled here: core.hooksPath is {place.folder}.")
    make_private(where.spool)  # hooks write nothing without it, so they stop with the daemon's data
    made = not place.folder.exists()
    place.folder.mkdir(parents=True, exist_ok=True)
    _record(where, place.folder, {"root": str(place.root), "made": made})
    for event in EVENTS:
        put(place, event, where)


def uninstall(place: HookPlace, where: Places) -> None:
    """Uninstall the hooks and restore the previous ones."""
    if place.folder.is_dir():
        for event in EVENTS:
            take_out(place, event)
    clear_exclusions(place)
    known = recorded(where).get(str(place.folder), {})
    if known.get("made") and place.folder.is_dir() and not any(place.folder.iterdir()):
        place.folder.rmdir()
    _record(where, place.folder, None)


def uninstall_all(where: Places) -> list[str]:
    """Uninstall the hooks from every repository; return the roots."""
    roots = []
    for folder, told in recorded(where).items():
        root = Path(told["root"])
        roots.append(str(root))
        if root.is_dir():
            try:
                uninstall(place_of(root), where)
            except CommandError as error:  # the repository was removed, and its hooks with it
                note(error.message)
        _record(where, Path(folder), None)
    return roots


def recorded(where: Places) -> dict[str, dict[str, Any]]:
    """Return the folders with installed hooks: repository root, and whether hunchd created the folder."""
    try:
        told = json.loads(_file(where).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _uninstall_everywhere(where: Places, *, as_json: bool) -> int:
    roots = uninstall_all(where)
    if as_json:
        print_json({"uninstalled": roots})
        return 0
    for root in roots:
        print(f"{clean(root)}: uninstalled")
    if not roots:
        note("no hooks are installed.")
    return 0


def _record(where: Places, folder: Path, told: dict[str, Any] | None) -> None:
    known = recorded(where)
    before = known.pop(str(folder), None)
    if told is None and before is None:
        return
    if told is not None:
        known[str(folder)] = {**told, "made": told["made"] or bool(before and before.get("made"))}
    make_private(where.data)
    draft = _file(where).with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(known, file, indent=1)
    draft.replace(_file(where))


def _file(where: Places) -> Path:
    return where.data / "hooks.json"


def _show(place: HookPlace, where: Places, *, as_json: bool) -> int:
    found = look(place, where)
    if as_json:
        told = {"folder": str(place.folder), "shared": place.shared, "hooks": [hook.json() for hook in found]}
        print_json(told)
        return 0
    print(f"{clean(place.root)}: hooks in {clean(place.folder)}")
    print(table(("hook", "state", ""), [(hook.event, hook.state, clean(hook.note)) for hook in found]))
    if place.shared:
        note(_SHARED)
    if any(hook.state == "tracked" for hook in found):
        note(_TRACKED)
    was_installed = str(place.folder) in recorded(where)
    if any(
        hook.state in ("outdated", "missing") or (hook.state == "not installed" and was_installed) for hook in found
    ):
        note("another tool, or another installation, has rewritten these hooks; hunch hooks install restores them.")
    return 0
