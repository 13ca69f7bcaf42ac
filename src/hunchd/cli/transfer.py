"""`hunch export`, `import` and `erase`: export, import and delete the user's data."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Final

from hunchd.cli.daemon_control import connect, find_lock_holder, stop_process
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.output import format_number, print_json, print_note, require_confirmation, strip_controls
from hunchd.cli.projects import erase_project
from hunchd.cli.targets import find_registered_project
from hunchd.config.app_paths import AppPaths, resolve_app_paths

_BLOCK_BYTES: Final = 65_536  # bytes sent at a time
_IMPORTED_COUNTS: Final = ("projects", "memories", "signals", "known")
_MAX_LISTED: Final = 10  # rejected lines that are listed
_LINES_TYPE: Final = "application/x-ndjson"


def export(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    project = find_registered_project(client, arguments.project)["id"] if arguments.project else None
    lines = client.iterate_lines("/export", project=project)
    if arguments.file is None:
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return 0
    count = _write_atomically(Path(arguments.file), lines)
    if arguments.json:
        print_json({"file": arguments.file, "lines": count})
    else:
        print_note(f"wrote {format_number(count)} lines to {arguments.file}")
    return 0


def _write_atomically(path: Path, lines: Iterator[bytes]) -> int:
    """Write the lines to a file that only the user can read.

    The file appears only when it is complete. Returns the number of lines.
    """
    if path.is_dir():
        raise WrongUsage(f"{str(path)!r} is a folder.", hint="Name a file in it.")
    if not path.parent.is_dir():
        raise WrongUsage(f"no such folder: {str(path.parent)!r}.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    count = 0
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for line in lines:
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return count


def import_(arguments: Namespace) -> int:
    with ExitStack() as stack:
        file = sys.stdin.buffer if arguments.file == "-" else stack.enter_context(_open_input(arguments.file))
        client = connect(start=not arguments.no_start)
        answer = client.upload("/import", iter(lambda: file.read(_BLOCK_BYTES), b""), kind=_LINES_TYPE)
    if arguments.json:
        print_json(answer)
    else:
        counts = {name: count for name, count in answer.items() if isinstance(count, int) and name != "complete"}
        print(", ".join(f"{name} {format_number(count)}" for name, count in counts.items()))
        for message in [
            *_summarize_rejections(answer.get("rejected", ()))[:_MAX_LISTED],
            *map(strip_controls, answer.get("warnings", ())),
        ]:
            print_note(message)
    if answer.get("refused") and not any(answer.get(name) for name in _IMPORTED_COUNTS):
        raise CommandError(
            "the file contains no export that this version of hunchd can read.",
            hint="Run `hunch export FILE` to write one.",
        )
    if answer.get("complete") is False:
        raise CommandError(
            "the export is incomplete; the lines before its end were imported.",
            hint="Import it again: nothing is stored twice.",
        )
    return 0


def _summarize_rejections(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return one line for each reason why lines were rejected."""
    lines = defaultdict[str, list[int]](list)
    for one in entries:
        lines[strip_controls(one["error"]["message"])].append(one["index"] + 1)
    summaries = []
    for reason, line_numbers in lines.items():
        others = f" and {format_number(len(line_numbers) - 1)} more" if len(line_numbers) > 1 else ""
        summaries.append(f"line {format_number(line_numbers[0])}{others}: {reason}")
    return summaries


def _open_input(name: str) -> BinaryIO:
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise WrongUsage(f"{name!r} cannot be read: {error.strerror}.") from error


def erase(arguments: Namespace) -> int:
    if arguments.project:
        client = connect(start=not arguments.no_start)
        return erase_project(client, arguments.project, yes=arguments.yes, as_json=arguments.json)
    from hunchd.cli.hooks import load_records, uninstall_all_hooks
    from hunchd.cli.service import build_service_files, find_installed_manager, uninstall_service

    paths = resolve_app_paths()
    folders = [folder for folder in list_data_folders(paths) if folder.exists()]
    if not folders:
        _print_erased(folders, as_json=arguments.json)
        return 0
    print("hunchd keeps its files in:", *(f"  {folder}" for folder in folders), sep="\n", file=sys.stderr)
    manager, hook_folders = find_installed_manager(paths), list(load_records(paths))
    if manager or hook_folders:
        print(f"and has {'a service of ' + manager if manager else ''}", end="", file=sys.stderr)
        print(
            f"{' and ' if manager and hook_folders else ''}{'git hooks in:' if hook_folders else ''}", file=sys.stderr
        )
        print(*(f"  {strip_controls(folder)}" for folder in hook_folders), sep="\n", file=sys.stderr)
    question = "Stop the daemon, uninstall all of this and delete these folders?"
    require_confirmation(question, is_confirmed=arguments.yes, otherwise="nothing was erased.")
    if manager:
        uninstall_service(manager, build_service_files(manager, paths, os.environ))
    uninstall_all_hooks(paths)
    if (pid := find_lock_holder(paths)) is not None:
        stop_process(pid)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=False)
    _remove_empty_home()
    _print_erased(folders, as_json=arguments.json)
    return 0


def _print_erased(folders: Sequence[Path], *, as_json: bool) -> None:
    if as_json:
        print_json({"erased": [str(folder) for folder in folders]})
    else:
        print("Everything was erased." if folders else "Nothing to erase.")


def list_data_folders(paths: AppPaths) -> tuple[Path, ...]:
    """Return the folders that hunchd writes to.

    Folders inside another of these folders are left out. The folder with the rendezvous file comes first.
    """
    folders = dict.fromkeys((paths.runtime, paths.cache, paths.state, paths.data, paths.config))
    return tuple(folder for folder in folders if not any(other in folder.parents for other in folders))


def _remove_empty_home() -> None:
    home = os.environ.get("HUNCHD_HOME")
    if home and Path(home).is_dir() and not any(Path(home).iterdir()):
        Path(home).rmdir()
