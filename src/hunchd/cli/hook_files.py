"""Git hook files of a repository.

The functions find these files, inspect their state, and add or remove the lines that hunchd needs.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Final, Literal, NamedTuple

from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.hook_scripts import (
    BACKUP_SUFFIX,
    EVENTS,
    add_block,
    has_block,
    is_own,
    is_shell,
    render_block,
    render_own_script,
)
from hunchd.cli.hook_scripts import remove_block as stripped
from hunchd.config.app_paths import AppPaths
from hunchd.repository.layout import find_repository

HookState = Literal["installed", "outdated", "missing", "not installed", "tracked", "switched off"]

# Suffixes by which other tools rename a hook.
_SUFFIXES_OF_OTHER_TOOLS: Final = (".legacy", ".old")
_GIT_TIMEOUT_SECONDS: Final = 10.0  # seconds for a git command
_EXCLUDE_BEGIN: Final = b"# >>> hunch: its own hooks are nobody else's business >>>\n"
_EXCLUDE_END: Final = b"# <<< hunch <<<\n"


class HooksFolder(NamedTuple):
    """Folder where git looks for a repository's hooks.

    `is_in_worktree` is True if the folder is part of the working tree, `is_shared` if other repositories also use it.
    """

    root: Path
    folder: Path
    common_dir: Path
    is_in_worktree: bool
    is_shared: bool


class GitHook(NamedTuple):
    """Hook file for one event, and whether hunchd is installed in it."""

    event: str
    file: Path
    state: HookState
    note: str = ""

    def to_json(self) -> dict[str, str]:
        return {"event": self.event, "file": str(self.file), "state": self.state, "note": self.note}


def find_hooks_folder(path: Path) -> HooksFolder:
    """Return the hooks folder of the repository that contains `path`.

    Raises WrongUsage if there is no repository, or if no hook would ever run, as in a bare repository without
    working trees. Raises CommandError if git cannot use the repository.
    """
    layout = find_repository(path)
    if layout is None or layout.common_dir is None:
        raise WrongUsage(f"{str(path)!r} is not in a git repository.")
    if layout.problem:
        raise CommandError(f"{layout.root}: {layout.problem}")
    if layout.bare and not (layout.common_dir / "worktrees").is_dir():
        raise WrongUsage(
            f"{layout.root} is a bare repository without working trees: these hooks would never run.",
            hint="Install them in a repository with a working tree; linked working trees are enough.",
        )
    git_path = _git_output(layout.root, "rev-parse", "--git-path", "hooks")
    folder = Path(os.path.normpath(layout.root / os.fsdecode(git_path)))
    common = Path(os.path.realpath(layout.common_dir))
    real = Path(os.path.realpath(folder))
    in_git = real.is_relative_to(common)
    is_in_worktree = not in_git and not layout.bare and real.is_relative_to(layout.root)
    return HooksFolder(
        layout.root, folder, common, is_in_worktree=is_in_worktree, is_shared=not in_git and not is_in_worktree
    )


def list_hooks(hooks_folder: HooksFolder, paths: AppPaths) -> list[GitHook]:
    """Return the repository's hook for each event, with its state."""
    if hooks_folder.folder.exists() and not hooks_folder.folder.is_dir():
        note = f"core.hooksPath is {hooks_folder.folder}, which is not a folder"
        return [GitHook(event, hooks_folder.folder, "switched off", note) for event in EVENTS]
    return [_inspect_hook(hooks_folder, event, paths) for event in EVENTS]


def _inspect_hook(hooks_folder: HooksFolder, event: str, paths: AppPaths) -> GitHook:
    file = hooks_folder.folder / event
    content = _read_content(file)
    if content is not None and has_block(content):
        expected_block = render_block(event, spool=paths.spool, rendezvous=paths.rendezvous_file)
        is_current = _core_lines(expected_block) in content
        note = "beside yours" if not is_own(content) else "calls yours" if _backup_path(file).exists() else ""
        return GitHook(event, file, "installed" if is_current else "outdated", note)
    if _backup_path(file).exists() or _backup_path(file).is_symlink():
        return GitHook(event, file, "missing", "another tool has rewritten this file")
    for ending in _SUFFIXES_OF_OTHER_TOOLS:
        moved_content = _read_content(file.with_name(event + ending))
        if moved_content is not None and is_own(moved_content):
            is_called = ending == ".legacy"  # pre-commit calls the hook it found
            note = f"moved to {event}{ending} by another tool" + (", which calls it" if is_called else "")
            return GitHook(event, file, "installed" if is_called else "missing", note)
    if content is not None and hooks_folder.is_in_worktree and _is_tracked(hooks_folder, file):
        return GitHook(event, file, "tracked", "the repository tracks this file, so it is not changed")
    return GitHook(event, file, "not installed")


def install_hook(hooks_folder: HooksFolder, event: str, paths: AppPaths) -> None:
    """Install the hook for one event beside any existing hook.

    A shell script gets hunchd's lines inserted. Any other file is renamed, and hunchd's hook calls it. A file that
    git tracks is never changed.
    """
    hook = _inspect_hook(hooks_folder, event, paths)
    if hook.state in ("installed", "tracked"):
        return
    file, content = hook.file, _read_content(hook.file)
    script_paths = {"spool": paths.spool, "rendezvous": paths.rendezvous_file}
    if content is not None and has_block(content):  # from a different version, or for a different home folder
        content = uninstall_hook(hooks_folder, event)
    if content is None and not os.path.lexists(file):
        _replace_file(file, render_own_script(event, **script_paths), 0o755)
        if hooks_folder.is_in_worktree and not _is_ignored(hooks_folder, file):
            _exclude_from_git(hooks_folder, file)
        return
    is_plain = not file.is_symlink() and os.access(file, os.X_OK)
    if content is not None and is_plain and is_shell(content):
        _replace_file(file, add_block(content, event, **script_paths), stat.S_IMODE(file.stat().st_mode))
        return
    _backup_path(file).parent.joinpath(BACKUP_SUFFIX).mkdir(exist_ok=True)
    link = _backup_link(file)
    if os.path.lexists(_backup_path(file)):
        raise CommandError(
            f"{_backup_path(file)} already exists.", hint="Run `hunch hooks uninstall` to restore the previous hook."
        )
    file.rename(_backup_path(file))
    if not os.path.lexists(link):
        link.symlink_to(Path("..") / _backup_path(file).name)
    _replace_file(file, render_own_script(event, **script_paths, chained_file=file), 0o755)


def uninstall_hook(hooks_folder: HooksFolder, event: str) -> bytes | None:
    """Uninstall the hook for one event and restore the previous one.

    Returns the content of the hook file afterwards, or None if there is no file.
    """
    file = hooks_folder.folder / event
    for other in (file, *(file.with_name(event + ending) for ending in _SUFFIXES_OF_OTHER_TOOLS)):
        content = _read_content(other)
        if content is None or not has_block(content) or (other != file and not is_own(content)):
            continue
        rest = stripped(content)
        if rest is not None:
            _replace_file(other, rest, stat.S_IMODE(other.stat().st_mode))
            continue
        other.unlink()
        if other == file and os.path.lexists(_backup_path(file)):
            _backup_path(file).rename(file)
    if not os.path.lexists(_backup_path(file)):
        _backup_link(file).unlink(missing_ok=True)
        _remove_if_empty(hooks_folder.folder / BACKUP_SUFFIX)
    return _read_content(file)


def clear_exclusions(hooks_folder: HooksFolder) -> None:
    """Remove hunchd's lines from the repository's exclude file."""
    file = hooks_folder.common_dir / "info" / "exclude"
    content = _read_content(file) or b""
    if content.startswith(_EXCLUDE_BEGIN) and _EXCLUDE_END in content:
        rest = content.partition(_EXCLUDE_END)[2]
        if rest:
            _replace_file(file, rest, stat.S_IMODE(file.stat().st_mode))
        else:
            file.unlink()
            _remove_if_empty(file.parent)


def _exclude_from_git(hooks_folder: HooksFolder, hook: Path) -> None:
    """Hide a hook file in the working tree from `git status`.

    The file is added to the repository's exclude file.
    """
    file = hooks_folder.common_dir / "info" / "exclude"
    content = _read_content(file) or b""
    mode = stat.S_IMODE(file.stat().st_mode) if content else 0o644
    line = b"/" + os.fsencode(hook.resolve().relative_to(hooks_folder.root)) + b"\n"
    if content.startswith(_EXCLUDE_BEGIN):
        own_lines, _, rest = content.partition(_EXCLUDE_END)
        if line in own_lines:
            return
        content = own_lines + line + _EXCLUDE_END + rest
    else:
        content = _EXCLUDE_BEGIN + line + _EXCLUDE_END + content
    file.parent.mkdir(exist_ok=True)
    _replace_file(file, content, mode)


def _core_lines(lines: bytes) -> bytes:
    """Return the part of hunchd's lines that is the same in every hook for an event.

    The first line depends on how the lines were added, and some other lines are optional, so these are left out.
    """
    return lines[lines.index(b"\n(\n") : lines.index(b"\n) >/dev/null")]


def _backup_path(file: Path) -> Path:
    return file.with_name(f"{file.name}.{BACKUP_SUFFIX}")


def _backup_link(file: Path) -> Path:
    """Return the path of the link to an earlier hook.

    Hunchd's hook calls the earlier hook through this link. The link bears the earlier hook's original name, because
    some hooks check the name under which they are called.
    """
    return file.parent / BACKUP_SUFFIX / file.name


def _read_content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _replace_file(file: Path, content: bytes, mode: int) -> None:
    """Replace a hook file atomically, because git may run it at any moment."""
    draft = file.with_name(f".{file.name}.hunch")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    draft.chmod(mode)
    draft.replace(file)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _is_tracked(hooks_folder: HooksFolder, file: Path) -> bool:
    return _git_succeeds(
        hooks_folder.root, "ls-files", "--error-unmatch", "--", os.path.realpath(file.parent) + f"/{file.name}"
    )


def _is_ignored(hooks_folder: HooksFolder, file: Path) -> bool:
    return _git_succeeds(
        hooks_folder.root, "check-ignore", "--quiet", "--", os.path.realpath(file.parent) + f"/{file.name}"
    )


def _git_output(root: Path, *arguments: str) -> bytes:
    try:
        result = _run_git(root, *arguments)
        result.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        raise CommandError(f"git {arguments[0]} failed in {root}: {error}") from error
    return result.stdout.removesuffix(b"\n")


def _git_succeeds(root: Path, *arguments: str) -> bool:
    return _run_git(root, *arguments).returncode == 0


def _run_git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in such a way that the repository's settings cannot start other programs."""
    return subprocess.run(
        ["git", "-C", str(root), "-c", "core.fsmonitor=false", *arguments],
        capture_output=True,
        check=False,
        timeout=_GIT_TIMEOUT_SECONDS,
        stdin=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")},
    )
