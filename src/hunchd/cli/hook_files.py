"""Files of a repository's git hooks.

Finds them, inspects their state, adds and removes hunchd's lines.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Final, Literal, NamedTuple

from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.hook_scripts import BEFORE, EVENTS, block, has_block, is_own, is_shell, own_script, with_block
from hunchd.cli.hook_scripts import without_block as stripped
from hunchd.config.places import Places
from hunchd.repository.layout import find

State = Literal["installed", "outdated", "missing", "not installed", "tracked", "switched off"]

# Suffixes by which other tools rename a hook.
_MOVED_BY_OTHERS: Final = (".legacy", ".old")
_PATIENCE: Final = 10.0  # seconds for a git command
_EXCLUDE_BEGIN: Final = b"# >>> hunch: its own hooks are nobody else's business >>>\n"
_EXCLUDE_END: Final = b"# <<< hunch <<<\n"


class HookPlace(NamedTuple):
    """Hooks folder of one repository.

    `folder` is where git looks, `inside` True if it is part of the working tree, `shared` True if it serves other
    repositories too.
    """

    root: Path
    folder: Path
    common_dir: Path
    inside: bool
    shared: bool


class Hook(NamedTuple):
    """Git hook with its state."""

    event: str
    file: Path
    state: State
    note: str = ""

    def json(self) -> dict[str, str]:
        return {"event": self.event, "file": str(self.file), "state": self.state, "note": self.note}


def place_of(path: Path) -> HookPlace:
    """Return the hooks folder of the repository that contains `path`.

    Raises WrongUsage if no hook would ever run.
    """
    layout = find(path)
    if layout is None or layout.common_dir is None:
        raise WrongUsage(f"{str(path)!r} is not in a git repository.")
    if layout.trouble:
        raise CommandError(f"{layout.root}: {layout.trouble}")
    if layout.bare and not (layout.common_dir / "worktrees").is_dir():
        raise WrongUsage(
            f"{layout.root} is a bare repository without working trees: these hooks would never run.",
            hint="Install them where you work. A bare repository with linked working trees is fine.",
        )
    told = _git(layout.root, "rev-parse", "--git-path", "hooks")
    folder = Path(os.path.normpath(layout.root / os.fsdecode(told)))
    common = Path(os.path.realpath(layout.common_dir))
    real = Path(os.path.realpath(folder))
    in_git = real.is_relative_to(common)
    inside = not in_git and not layout.bare and real.is_relative_to(layout.root)
    return HookPlace(layout.root, folder, common, inside=inside, shared=not in_git and not inside)


def look(place: HookPlace, where: Places) -> list[Hook]:
    """Return the state of each hook."""
    if place.folder.exists() and not place.folder.is_dir():
        note = f"core.hooksPath is {place.folder}, which is not a folder"
        return [Hook(event, place.folder, "switched off", note) for event in EVENTS]
    return [_look(place, event, where) for event in EVENTS]


def _look(place: HookPlace, event: str, where: Places) -> Hook:
    file = place.folder / event
    content = _content(file)
    if content is not None and has_block(content):
        wanted = block(event, spool=where.spool, rendezvous=where.rendezvous_file)
        same = _core(wanted) in content
        note = "beside yours" if not is_own(content) else "calls yours" if _before(file).exists() else ""
        return Hook(event, file, "installed" if same else "outdated", note)
    if _before(file).exists() or _before(file).is_symlink():
        return Hook(event, file, "missing", "another tool has rewritten this file")
    for ending in _MOVED_BY_OTHERS:
        other = _content(file.with_name(event + ending))
        if other is not None and is_own(other):
            called = ending == ".legacy"  # pre-commit calls the hook it found
            note = f"moved to {event}{ending} by another tool" + (", which calls it" if called else "")
            return Hook(event, file, "installed" if called else "missing", note)
    if content is not None and place.inside and _is_tracked(place, file):
        return Hook(event, file, "tracked", "this file is tracked by the repository and not changed")
    return Hook(event, file, "not installed")


def put(place: HookPlace, event: str, where: Places) -> None:
    """Install one hook beside whatever exists.

    Never change a file that git tracks.
    """
    hook = _look(place, event, where)
    if hook.state in ("installed", "tracked"):
        return
    file, content = hook.file, _content(hook.file)
    told = {"spool": where.spool, "rendezvous": where.rendezvous_file}
    if content is not None and has_block(content):  # of another version, or for another home
        content = take_out(place, event)
    if content is None and not os.path.lexists(file):
        _write(file, own_script(event, **told), 0o755)
        if place.inside and not _is_ignored(place, file):
            _exclude(place, file)
        return
    plain = not file.is_symlink() and os.access(file, os.X_OK)
    if content is not None and plain and is_shell(content):
        _write(file, with_block(content, event, **told), stat.S_IMODE(file.stat().st_mode))
        return
    _before(file).parent.joinpath(BEFORE).mkdir(exist_ok=True)
    link = _link(file)
    if os.path.lexists(_before(file)):
        raise CommandError(f"{_before(file)} exists already.", hint="hunch hooks uninstall restores the previous hook.")
    file.rename(_before(file))
    if not os.path.lexists(link):
        link.symlink_to(Path("..") / _before(file).name)
    _write(file, own_script(event, **told, chained=file), 0o755)


def take_out(place: HookPlace, event: str) -> bytes | None:
    """Uninstall one hook and restore the previous one.

    Returns the file's content, None if there is no file.
    """
    file = place.folder / event
    for other in (file, *(file.with_name(event + ending) for ending in _MOVED_BY_OTHERS)):
        content = _content(other)
        if content is None or not has_block(content) or (other != file and not is_own(content)):
            continue
        rest = stripped(content)
        if rest is not None:
            _write(other, rest, stat.S_IMODE(other.stat().st_mode))
            continue
        other.unlink()
        if other == file and os.path.lexists(_before(file)):
            _before(file).rename(file)
    if not os.path.lexists(_before(file)):
        _link(file).unlink(missing_ok=True)
        _remove_if_empty(place.folder / BEFORE)
    return _content(file)


def clear_exclusions(place: HookPlace) -> None:
    """Remove hunchd's lines from the repository's own exclude file."""
    file = place.common_dir / "info" / "exclude"
    content = _content(file) or b""
    if content.startswith(_EXCLUDE_BEGIN) and _EXCLUDE_END in content:
        rest = content.partition(_EXCLUDE_END)[2]
        if rest:
            _write(file, rest, stat.S_IMODE(file.stat().st_mode))
        else:
            file.unlink()
            _remove_if_empty(file.parent)


def _exclude(place: HookPlace, hook: Path) -> None:
    """Hide a hook file in the working tree from `git status`."""
    file = place.common_dir / "info" / "exclude"
    content = _content(file) or b""
    mode = stat.S_IMODE(file.stat().st_mode) if content else 0o644
    line = b"/" + os.fsencode(hook.resolve().relative_to(place.root)) + b"\n"
    if content.startswith(_EXCLUDE_BEGIN):
        ours, _, rest = content.partition(_EXCLUDE_END)
        if line in ours:
            return
        content = ours + line + _EXCLUDE_END + rest
    else:
        content = _EXCLUDE_BEGIN + line + _EXCLUDE_END + content
    file.parent.mkdir(exist_ok=True)
    _write(file, content, mode)


def _core(lines: bytes) -> bytes:
    """Return hunchd's lines that do not depend on the installation.

    The first line depends on how they were added; other parts are optional.
    """
    return lines[lines.index(b"\n(\n") : lines.index(b"\n) >/dev/null")]


def _before(file: Path) -> Path:
    return file.with_name(f"{file.name}.{BEFORE}")


def _link(file: Path) -> Path:
    """Return the link by which hunchd's hook calls an earlier one.

    Some hooks check the name they are called by.
    """
    return file.parent / BEFORE / file.name


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _write(file: Path, content: bytes, mode: int) -> None:
    """Replace the file atomically, because git may be about to run it."""
    draft = file.with_name(f".{file.name}.hunch")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
    draft.chmod(mode)
    draft.replace(file)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _is_tracked(place: HookPlace, file: Path) -> bool:
    return _asked(place.root, "ls-files", "--error-unmatch", "--", os.path.realpath(file.parent) + f"/{file.name}")


def _is_ignored(place: HookPlace, file: Path) -> bool:
    return _asked(place.root, "check-ignore", "--quiet", "--", os.path.realpath(file.parent) + f"/{file.name}")


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = _run(root, *arguments)
        done.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        raise CommandError(f"git {arguments[0]} failed in {root}: {error}") from error
    return done.stdout.removesuffix(b"\n")


def _asked(root: Path, *arguments: str) -> bool:
    return _run(root, *arguments).returncode == 0


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git without programs that the repository's own settings could make it start."""
    return subprocess.run(
        ["git", "-C", str(root), "-c", "core.fsmonitor=false", *arguments],
        capture_output=True,
        check=False,
        timeout=_PATIENCE,
        stdin=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")},
    )
