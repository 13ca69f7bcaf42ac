"""`hunch export`, `import` and `erase`: moving and deleting the user's data."""

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
from urllib.parse import urlencode

from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.launching import connect, end, holder
from hunchd.cli.output import clean, confirm, note, number, print_json
from hunchd.cli.projects import erase_project
from hunchd.cli.targets import known_project
from hunchd.config.places import Places, places

_BLOCK: Final = 65_536  # bytes sent at a time
_TAKEN: Final = ("projects", "memories", "signals", "known", "contradictions")
_SHOWN: Final = 10  # rejected lines that are listed
_LINES: Final = "application/x-ndjson"


def export(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    project = known_project(client, arguments.project)["id"] if arguments.project else None
    lines = client.lines("/export", project=project)
    if arguments.file is None:
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return 0
    count = _written_whole(Path(arguments.file), lines)
    if arguments.json:
        print_json({"file": arguments.file, "lines": count})
    else:
        note(f"{number(count)} lines in {arguments.file}")
    return 0


def _written_whole(path: Path, lines: Iterator[bytes]) -> int:
    """Write the lines to a private file that appears only when complete.

    Returns their number.
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
    with ExitStack() as opened:
        file = sys.stdin.buffer if arguments.file == "-" else opened.enter_context(_readable(arguments.file))
        client = connect(start=not arguments.no_start)
        of = ""
        if arguments.colleague:
            asked = {"colleague": arguments.colleague, "project": known_project(client, arguments.project)["path"]}
            of = f"?{urlencode(asked)}"
        answer = client.upload(f"/import{of}", iter(lambda: file.read(_BLOCK), b""), kind=_LINES)
    if arguments.json:
        print_json(answer)
    else:
        counts = {name: count for name, count in answer.items() if isinstance(count, int) and name != "complete"}
        print(", ".join(f"{name} {number(count)}" for name, count in counts.items()))
        for told in [*_refusals(answer.get("rejected", ()))[:_SHOWN], *map(clean, answer.get("warnings", ()))]:
            note(told)
    if answer.get("refused") and not any(answer.get(name) for name in _TAKEN):
        raise CommandError(
            "the file contains no export that this hunchd can read.", hint="`hunch export FILE` writes one."
        )
    if answer.get("complete") is False:
        raise CommandError(
            "the export is incomplete; what arrived was imported.", hint="Import it again: nothing is stored twice."
        )
    return 0


def _refusals(rejected: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the reasons for rejected lines, each once."""
    lines = defaultdict[str, list[int]](list)
    for one in rejected:
        lines[clean(one["error"]["message"])].append(one["index"] + 1)
    return [
        f"line {number(which[0])}{f' and {number(len(which) - 1)} more' if len(which) > 1 else ''}: {why}"
        for why, which in lines.items()
    ]


def _readable(name: str) -> BinaryIO:
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise WrongUsage(f"{name!r} cannot be read: {error.strerror}.") from error


def erase(arguments: Namespace) -> int:
    if arguments.project:
        client = connect(start=not arguments.no_start)
        return erase_project(client, arguments.project, yes=arguments.yes, as_json=arguments.json)
    from hunchd.cli.hooks import recorded, uninstall_all
    from hunchd.cli.service import installed, uninstall, wanted_files

    where = places()
    folders = [folder for folder in everything(where) if folder.exists()]
    if not folders:
        _tell_erased(folders, as_json=arguments.json)
        return 0
    print("hunchd keeps its files in:", *(f"  {folder}" for folder in folders), sep="\n", file=sys.stderr)
    manager, hooked = installed(where), list(recorded(where))
    if manager or hooked:
        print(f"and has {'a service of ' + manager if manager else ''}", end="", file=sys.stderr)
        print(f"{' and ' if manager and hooked else ''}{'git hooks in:' if hooked else ''}", file=sys.stderr)
        print(*(f"  {clean(folder)}" for folder in hooked), sep="\n", file=sys.stderr)
    question = "Stop the daemon, uninstall those and delete these folders?"
    confirm(question, yes=arguments.yes, otherwise="nothing was erased.")
    if manager:
        uninstall(manager, wanted_files(manager, where, os.environ))
    uninstall_all(where)
    if (pid := holder(where)) is not None:
        end(pid)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=False)
    _remove_empty_home()
    _tell_erased(folders, as_json=arguments.json)
    return 0


def _tell_erased(folders: Sequence[Path], *, as_json: bool) -> None:
    if as_json:
        print_json({"erased": [str(folder) for folder in folders]})
    else:
        print("Everything was erased." if folders else "Nothing to erase.")


def everything(where: Places) -> tuple[Path, ...]:
    """Return the folders that hunchd writes to.

    None is inside another; the one with the rendezvous file comes first.
    """
    folders = dict.fromkeys((where.runtime, where.cache, where.state, where.data, where.config))
    return tuple(folder for folder in folders if not any(other in folder.parents for other in folders))


def _remove_empty_home() -> None:
    home = os.environ.get("HUNCHD_HOME")
    if home and Path(home).is_dir() and not any(Path(home).iterdir()):
        Path(home).rmdir()
