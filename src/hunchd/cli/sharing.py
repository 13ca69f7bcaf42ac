"""`hunch share` and `unshare`: write memories to files in the repository and delete such files.

Colleagues can review, commit and pull the files.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from hunchd.cli.client import Client
from hunchd.cli.context import request_in_project
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.output import BOLD, DIM, GREEN, RED, colourize, format_line, print_json, print_note, strip_controls
from hunchd.cli.targets import find_project_root, resolve_folder
from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import normalize_key
from hunchd.domain.sharing import SHARED_FOLDER, SUBFOLDERS
from hunchd.protocol.shared_files import MAX_FILE_BYTES, SharedFile, get_stem, is_shared_path, parse_shared_file
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.safe_reading import read_file

_MAX_FILES: Final = 2_000  # maximum of files listed in each folder
_README_PATH: Final = f"{SHARED_FOLDER}/README.md"
_README_TEXT: Final = """\
Facts, decisions and workflows that the people of this project share, one a file. The daemon hunchd reads them, and so
may anyone else. Edit, review and delete them like any other file.
"""


class SharedEntry(NamedTuple):
    """File below the shared folder, with its content.

    `parsed_file` is None if the file could not be parsed; `problem` then states the reason.
    """

    path: str
    content: bytes
    parsed_file: SharedFile | None
    problem: str = ""


def share(arguments: Namespace) -> int:
    """Write the named memories to files in the repository.

    Without names, lists the memories that are shared and those that could be.
    """
    root = Path(_get_root(arguments))
    if not (arguments.names or arguments.all) and not arguments.list:
        print_note(
            "no ids were given, so the memories that are or can be shared are listed. "
            "Run `hunch share ID` to share one, or `hunch share --all` to share everything that you stated."
        )
    client = connect(start=not arguments.no_start)
    response = _request_shared(client, root, [] if arguments.list else arguments.names)
    if arguments.list or not (arguments.names or arguments.all):
        return _print_list(root, response["files"], as_json=arguments.json)
    selected_files = (
        response["files"] if arguments.names else [one for one in response["files"] if one["trust"] == "user"]
    )
    existing = {one.path: one for one in list_shared_files(root)}
    files = [{**one, "path": _choose_path(one, existing)} for one in selected_files]
    changed_files = [one for one in files if _existing_content(one, existing) != one["content"].encode()]
    if not arguments.dry_run:
        _write_all(root, changed_files)
    if arguments.json:
        result = {"root": str(root), "written": [] if arguments.dry_run else [one["path"] for one in changed_files]}
        print_json({**result, "files": files, "refused": response["refused"]})
    else:
        for one in response["refused"]:
            print_note(f"{strip_controls(one['name'])} is not shared: {strip_controls(one['reason'])}.")
        if files or not response["refused"]:
            _print_written(root, files, changed_files, existing, is_dry_run=arguments.dry_run)
    return 1 if response["refused"] else 0


def unshare(arguments: Namespace) -> int:
    """Delete shared files; the user's own memories remain in the local store."""
    root = Path(_get_root(arguments))
    existing = list(list_shared_files(root))
    removed_files: list[SharedEntry] = []
    for name in arguments.names:
        matching = [one for one in existing if _matches_name(one, name, root)]
        if not matching:
            raise WrongUsage(
                f"nothing is shared as {name!r}.", hint="Run `hunch share --list` to list the shared files."
            )
        removed_files += [one for one in matching if one not in removed_files]
    for one in removed_files:
        if not arguments.dry_run:
            (_resolve_without_links(root, one.path)).unlink()
    if arguments.json:
        print_json({"root": str(root), "removed": [one.path for one in removed_files]})
        return 0
    for one in removed_files:
        print(f"{strip_controls(one.path)}: {'would be ' if arguments.dry_run else ''}removed.")
    if removed_files and not arguments.dry_run:
        print_note("your own memories stay. Colleagues lose theirs when they pull your next commit.")
    return 0


def list_shared_files(root: Path) -> Iterator[SharedEntry]:
    """Yield the shared files in a working tree, ordered by path in each subfolder.

    The files are read in the same way as the daemon reads them.
    """
    for name in SUBFOLDERS:
        folder_path = root / SHARED_FOLDER / name
        if folder_path.is_symlink() or not folder_path.is_dir():
            continue
        for path in sorted(f"{SHARED_FOLDER}/{name}/{entry.name}" for entry in folder_path.iterdir())[:_MAX_FILES]:
            yield _read_shared_file(root, path)


def _read_shared_file(root: Path, path: str) -> SharedEntry:
    if not is_shared_path(path):
        return SharedEntry(path, b"", None, "the name must consist of lower-case letters, digits and -, and end in .md")
    content = read_file(root, path, limit=MAX_FILE_BYTES)
    if content is None:
        return SharedEntry(path, b"", None, f"not a regular file of at most {MAX_FILE_BYTES // 1024} kB")
    try:
        return SharedEntry(path, content, parse_shared_file(path, content))
    except InvalidInput as error:
        return SharedEntry(path, content, None, error.message)


def _get_root(arguments: Namespace) -> str:
    return find_project_root(resolve_folder(arguments.project) if arguments.project else str(Path.cwd()))


def _request_shared(client: Client, root: Path, names: list[str]) -> Any:
    body = {"project": str(root), "names": names, "by": get_git_user(root)}
    return request_in_project(client, str(root), lambda: client.post("/share", body))


def get_git_user(root: Path) -> str:
    """Return the user's name from git's settings.

    Returns "" if it cannot be read. Sharing the name reveals nothing new, because every commit contains it.
    """
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "config", "user.name"]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=5, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def _choose_path(entry: dict[str, Any], existing: dict[str, SharedEntry]) -> str:
    """Return the path of the file that a memory is written to.

    A memory that is already shared keeps its file, even if its title has changed.
    """
    for one in existing.values():
        if one.parsed_file is not None and one.parsed_file.id and one.parsed_file.id == entry["id"]:
            return one.path
    return str(entry["path"])


def _existing_content(entry: dict[str, Any], existing: dict[str, SharedEntry]) -> bytes | None:
    matching = existing.get(entry["path"])
    return matching.content if matching is not None else None


def _write_all(root: Path, files: list[dict[str, Any]]) -> None:
    for one in files:
        _write_file(root, one["path"], one["content"])
    if files and not (root / _README_PATH).exists() and not (root / _README_PATH).is_symlink():
        _write_file(root, _README_PATH, _README_TEXT)


def _write_file(root: Path, path: str, content: str) -> None:
    """Write a shared file atomically, but never through a symlink."""
    if path != _README_PATH and not is_shared_path(path):
        raise CommandError(f"{path!r} is not a path for a shared file.")
    target = _resolve_without_links(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=".hunch-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        Path(draft).chmod(0o644)  # like files that git checks out
        Path(draft).replace(target)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def _resolve_without_links(root: Path, path: str) -> Path:
    """Return the absolute path of a file below `root`.

    Raises CommandError if the file or any folder on the path is a symlink.
    """
    target = root
    for part in path.split("/"):
        target = target / part
        if target.is_symlink():
            raise CommandError(
                f"{target} is a symlink; files are not written through symlinks.", hint="Remove it first."
            )
    return target


def _print_written(
    root: Path,
    files: list[dict[str, Any]],
    changed_files: list[dict[str, Any]],
    existing: dict[str, SharedEntry],
    *,
    is_dry_run: bool,
) -> None:
    for one in files:
        if one not in changed_files:
            print(f"{strip_controls(one['path'])}: unchanged.")
            continue
        print(f"{colourize(strip_controls(one['path']), BOLD)}: {'would be ' if is_dry_run else ''}written.")
        if is_dry_run:
            _print_diff(_existing_content(one, existing) or b"", one["content"])
    if not files:
        print_note("nothing to share; run `hunch share --list` to see what could be shared.")
    if changed_files and not is_dry_run:
        print_note(
            f"to share the files, run `git add {SHARED_FOLDER} && git commit`. Review them first: "
            "anyone with access to the repository can read them."
        )
    rules = IgnoreRules.load(root)
    if any(rules.get_reason(one["path"]) for one in changed_files):
        print_note(f"this repository ignores {SHARED_FOLDER}, so git will not add it.")


def _print_diff(before: bytes, after: str) -> None:
    old = before.decode("utf-8", "replace").splitlines()
    for number, each in enumerate(difflib.unified_diff(old, after.splitlines(), lineterm="", n=1)):
        if number > 1 and not each.startswith("@@"):
            print("    " + colourize(strip_controls(each), {"+": GREEN, "-": RED}.get(each[0], DIM)))


def _print_list(root: Path, candidates: list[dict[str, Any]], *, as_json: bool) -> int:
    existing = list(list_shared_files(root))
    own_by_path = {_choose_path(one, {each.path: each for each in existing}): one for one in candidates}
    shared_lines = [_describe_shared(one, own_by_path.get(one.path)) for one in existing if one.parsed_file is not None]
    existing_paths = {one.path for one in existing}
    shareable = [
        {name: one[name] for name in ("id", "path", "title", "trust")}
        for path, one in own_by_path.items()
        if path not in existing_paths
    ]
    unreadable = [{"path": one.path, "reason": one.problem} for one in existing if one.parsed_file is None]
    if as_json:
        print_json({"root": str(root), "shared": shared_lines, "could_be": shareable, "unreadable": unreadable})
        return 0
    for one in shared_lines:
        author = f" · {strip_controls(one['by'])}" if one["by"] else ""
        state = {"same": "", "differs": " · differs from yours", "theirs": ""}[one["state"]]
        details = strip_controls(one["path"]) + author + state
        print(f"{colourize(format_line(one['title'], 80), BOLD)}  {colourize(details, DIM)}")
    if shareable:
        print(colourize("could be shared:", DIM))
    for one in shareable:
        own_words = "" if one["trust"] == "user" else "  (not in your own words)"
        print(f"  {strip_controls(one['id'])}  {format_line(one['title'], 90)}{colourize(own_words, DIM)}")
    for one in unreadable:
        print_note(f"skipped {strip_controls(one['path'])}: {strip_controls(one['reason'])}.")
    if not (shared_lines or shareable):
        print_note("nothing is shared, and there is nothing to share; run `hunch remember` to store something first.")
    return 0


def _describe_shared(entry: SharedEntry, own_entry: dict[str, Any] | None) -> dict[str, Any]:
    parsed_file = entry.parsed_file
    assert parsed_file is not None
    title = f"{parsed_file.key}: {parsed_file.value}" if parsed_file.key else parsed_file.title
    state = "theirs"
    if own_entry is not None:
        state = (
            "same"
            if own_entry["content"].encode() == entry.content or _has_same_statement(own_entry, parsed_file)
            else "differs"
        )
    return {"path": entry.path, "title": title, "by": parsed_file.by, "state": state}


def _has_same_statement(own_entry: dict[str, Any], parsed_file: SharedFile) -> bool:
    own_file = parse_shared_file(parsed_file.path, own_entry["content"].encode())
    return (own_file.value, own_file.value or own_file.content) == (
        parsed_file.value,
        parsed_file.value or parsed_file.content,
    )


def _matches_name(entry: SharedEntry, name: str, root: Path) -> bool:
    path_name = name.removeprefix("./")
    if path_name in (entry.path, get_stem(entry.path), str(root / entry.path)):
        return True
    if Path(name).exists() and Path(name).resolve() == (root / entry.path).resolve():
        return True
    parsed_file = entry.parsed_file
    return parsed_file is not None and (
        (bool(parsed_file.key) and normalize_key(parsed_file.key or "") == normalize_key(name))
        or (bool(parsed_file.id) and parsed_file.id == name)
    )
