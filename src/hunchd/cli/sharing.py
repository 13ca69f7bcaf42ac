"""`hunch share` and `unshare`: memories as files in the repository.

Colleagues can review, commit and pull them.
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

from hunchd.cli.answers import known_first
from hunchd.cli.client import Client
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, DIM, GREEN, RED, clean, coloured, line, note, print_json
from hunchd.cli.targets import folder, root_of
from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import normal_key
from hunchd.domain.sharing import FOLDER, FOLDERS, WORKFLOWS
from hunchd.protocol.shared import LARGEST, SharedFile, is_shared_path, parsed, stem_of
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.reading import read_file

_MOST: Final = 2_000  # files listed per folder
_README: Final = f"{FOLDER}/README.md"
_ABOUT: Final = """\
Facts, decisions and workflows that the people of this project share, one a file. The daemon hunchd reads them, and so
may anyone else. Edit, review and delete them like any other file.
"""


class Found(NamedTuple):
    """File below the shared folder.

    Has its parsed content, or why it could not be parsed.
    """

    path: str
    content: bytes
    stated: SharedFile | None
    trouble: str = ""


def share(arguments: Namespace) -> int:
    """Share the named memories, or list them.

    Writes files into the repository; without names lists what is and what could be shared.
    """
    root = Path(_root(arguments))
    if not (arguments.names or arguments.all) and not arguments.list:
        note("no names given, listing instead; hunch share ID writes one, --all everything you stated yourself.")
    client = connect(start=not arguments.no_start)
    told = _asked(client, root, [] if arguments.list else arguments.names)
    if arguments.list or not (arguments.names or arguments.all):
        return _list(root, told["files"], as_json=arguments.json)
    wanted = told["files"] if arguments.names else [one for one in told["files"] if one["trust"] == "user"]
    found = {one.path: one for one in found_below(root)}
    files = [{**one, "path": _place(one, found)} for one in wanted]
    changed = [one for one in files if _before(one, found) != one["content"].encode()]
    if not arguments.dry_run:
        _write_all(root, changed)
    if arguments.json:
        done = {"root": str(root), "written": [] if arguments.dry_run else [one["path"] for one in changed]}
        print_json({**done, "files": files, "refused": told["refused"]})
    else:
        for one in told["refused"]:
            note(f"{clean(one['name'])} is not shared: {clean(one['reason'])}.")
        if files or not told["refused"]:
            _tell(root, files, changed, found, dry=arguments.dry_run)
    return 1 if told["refused"] else 0


def unshare(arguments: Namespace) -> int:
    """Delete shared files; the memories stay in the local store."""
    root = Path(_root(arguments))
    found = list(found_below(root))
    gone: list[Found] = []
    for name in arguments.names:
        meant = [one for one in found if _is_meant(one, name, root)]
        if not meant:
            raise WrongUsage(f"nothing is shared as {name!r}.", hint="hunch share --list shows the shared files.")
        gone += [one for one in meant if one not in gone]
    for one in gone:
        if not arguments.dry_run:
            (_checked(root, one.path)).unlink()
    if arguments.json:
        print_json({"root": str(root), "removed": [one.path for one in gone]})
        return 0
    for one in gone:
        print(f"{clean(one.path)}: {'would be ' if arguments.dry_run else ''}removed.")
    if gone and not arguments.dry_run:
        note("your own memories stay. Colleagues lose theirs when they pull your next commit.")
    return 0


def found_below(root: Path) -> Iterator[Found]:
    """Yield the shared files of a working tree.

    They are in path order, and read as the daemon reads them.
    """
    for name in (*FOLDERS, WORKFLOWS):
        place = root / FOLDER / name
        if place.is_symlink() or not place.is_dir():
            continue
        for path in sorted(f"{FOLDER}/{name}/{entry.name}" for entry in place.iterdir())[:_MOST]:
            yield _read(root, path)


def _read(root: Path, path: str) -> Found:
    if not is_shared_path(path):
        return Found(path, b"", None, "its name must consist of lower-case letters, digits and -, and end in .md")
    content = read_file(root, path, limit=LARGEST)
    if content is None:
        return Found(path, b"", None, f"it is not a plain file of at most {LARGEST // 1024} kB")
    try:
        return Found(path, content, parsed(path, content))
    except InvalidInput as error:
        return Found(path, content, None, error.message)


def _root(arguments: Namespace) -> str:
    return root_of(folder(arguments.project) if arguments.project else str(Path.cwd()))


def _asked(client: Client, root: Path, names: list[str]) -> Any:
    body = {"project": str(root), "names": names, "by": _user(root)}
    return known_first(client, str(root), lambda: client.post("/share", body))


def _user(root: Path) -> str:
    """Return the user's name from git's settings.

    It is in each commit anyway.
    """
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "config", "user.name"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _place(told: dict[str, Any], found: dict[str, Found]) -> str:
    """Return the path of a memory's file.

    A shared one keeps its file even if its title has changed.
    """
    for one in found.values():
        if one.stated is not None and one.stated.id and one.stated.id == told["id"]:
            return one.path
    return str(told["path"])


def _before(told: dict[str, Any], found: dict[str, Found]) -> bytes | None:
    known = found.get(told["path"])
    return known.content if known is not None else None


def _write_all(root: Path, files: list[dict[str, Any]]) -> None:
    for one in files:
        _write(root, one["path"], one["content"])
    if files and not (root / _README).exists() and not (root / _README).is_symlink():
        _write(root, _README, _ABOUT)


def _write(root: Path, path: str, content: str) -> None:
    """Write a file atomically, never through a symlink."""
    if path != _README and not is_shared_path(path):
        raise CommandError(f"{path!r} is not a path for a shared file.")
    place = _checked(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=place.parent, prefix=".hunch-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        Path(draft).chmod(0o644)  # like files that git checks out
        Path(draft).replace(place)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def _checked(root: Path, path: str) -> Path:
    """Return the path of a file below the root.

    Raises CommandError if a symlink leads away from it.
    """
    place = root
    for part in path.split("/"):
        place = place / part
        if place.is_symlink():
            raise CommandError(
                f"{place} is a symlink; files are not written through symlinks.", hint="Remove it first."
            )
    return place


def _tell(
    root: Path, files: list[dict[str, Any]], changed: list[dict[str, Any]], found: dict[str, Found], *, dry: bool
) -> None:
    for one in files:
        if one not in changed:
            print(f"{clean(one['path'])}: unchanged.")
            continue
        print(f"{coloured(clean(one['path']), BOLD)}: {'would be ' if dry else ''}written.")
        if dry:
            _show_difference(_before(one, found) or b"", one["content"])
    if not files:
        note("nothing to share: hunch share --list shows what could be.")
    if changed and not dry:
        note(f"git add {FOLDER} && git commit shares it; review it first: everybody with the repository can read it.")
    rules = IgnoreRules.load(root)
    if any(rules.reason(one["path"]) for one in changed):
        note(f"but this repository ignores {FOLDER}: git will not add it.")


def _show_difference(before: bytes, after: str) -> None:
    old = before.decode("utf-8", "replace").splitlines()
    for number, each in enumerate(difflib.unified_diff(old, after.splitlines(), lineterm="", n=1)):
        if number > 1 and not each.startswith("@@"):
            print("    " + coloured(clean(each), {"+": GREEN, "-": RED}.get(each[0], DIM)))


def _list(root: Path, told: list[dict[str, Any]], *, as_json: bool) -> int:
    found = list(found_below(root))
    own = {_place(one, {each.path: each for each in found}): one for one in told}
    shared = [_shown(one, own.get(one.path)) for one in found if one.stated is not None]
    there = {one.path for one in found}
    could = [
        {name: one[name] for name in ("id", "path", "title", "trust")} for path, one in own.items() if path not in there
    ]
    unread = [{"path": one.path, "reason": one.trouble} for one in found if one.stated is None]
    if as_json:
        print_json({"root": str(root), "shared": shared, "could_be": could, "unreadable": unread})
        return 0
    for one in shared:
        by = f" · {clean(one['by'])}" if one["by"] else ""
        state = {"same": "", "differs": " · differs from yours", "theirs": ""}[one["state"]]
        print(f"{coloured(line(one['title'], 80), BOLD)}  {coloured(clean(one['path']) + by + state, DIM)}")
    if could:
        print(coloured("could be shared:", DIM))
    for one in could:
        own_words = "" if one["trust"] == "user" else "  (not in your own words)"
        print(f"  {clean(one['id'])}  {line(one['title'], 90)}{coloured(own_words, DIM)}")
    for one in unread:
        note(f"{clean(one['path'])} is skipped: {clean(one['reason'])}.")
    if not (shared or could):
        note("nothing is shared or could be; hunch remember stores something first.")
    return 0


def _shown(found: Found, own: dict[str, Any] | None) -> dict[str, Any]:
    stated = found.stated
    assert stated is not None
    title = f"{stated.key}: {stated.value}" if stated.key else stated.title
    state = "theirs"
    if own is not None:
        state = "same" if own["content"].encode() == found.content or _says_the_same(own, stated) else "differs"
    return {"path": found.path, "title": title, "by": stated.by, "state": state}


def _says_the_same(own: dict[str, Any], stated: SharedFile) -> bool:
    mine = parsed(stated.path, own["content"].encode())
    return (mine.value, mine.value or mine.content) == (stated.value, stated.value or stated.content)


def _is_meant(found: Found, name: str, root: Path) -> bool:
    given = name.removeprefix("./")
    if given in (found.path, stem_of(found.path), str(root / found.path)):
        return True
    if Path(name).exists() and Path(name).resolve() == (root / found.path).resolve():
        return True
    stated = found.stated
    return stated is not None and (
        (bool(stated.key) and normal_key(stated.key or "") == normal_key(name))
        or (bool(stated.id) and stated.id == name)
    )
