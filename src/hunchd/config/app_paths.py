"""Folders for hunchd's files, and checks that they are private.

This is the only module that uses platformdirs.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hunchd.domain.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from platformdirs import PlatformDirs


# sockaddr_un holds 108 bytes on Linux and 104 elsewhere, including the terminating zero.
MAX_SOCKET_PATH_BYTES = 103  # bytes


class AppPaths(NamedTuple):  # NamedTuple: used by every command, faster to load than a dataclass
    """Paths of the folders and files that hunchd uses for one user.

    If HUNCHD_HOME is set, all of them are below that folder, except possibly the socket.
    """

    config: Path  # config.toml
    data: Path  # data that must not be lost: journal, store, projects
    state: Path  # logs, spool
    cache: Path  # data that can be rebuilt: models of the history, parsed code
    runtime: Path  # rendezvous file, locks
    socket_file: Path  # in `runtime`, or in a folder with a shorter path if that is too long for a socket

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def log_file(self) -> Path:
        return self.state / "hunchd.log"

    @property
    def spool(self) -> Path:
        return self.state / "spool"

    @property
    def rendezvous_file(self) -> Path:
        return self.runtime / "daemon.json"


def resolve_app_paths(environment: dict[str, str] | None = None) -> AppPaths:
    """Return the paths that the environment variables determine.

    If `environment` is given, it is used instead of this process's environment. No folder is created.
    """
    variables = os.environ if environment is None else environment
    if home := get_absolute_home(variables).get("HUNCHD_HOME"):
        base = Path(home)
        runtime = base / "run"
        socket = _choose_socket_path(runtime, variables.get("XDG_RUNTIME_DIR"))
        return AppPaths(base / "config", base / "data", base / "state", base / "cache", runtime, socket)
    from platformdirs import PlatformDirs  # not loaded where HUNCHD_HOME decides

    ask = PlatformDirs("hunchd", appauthor=False)
    runtime = _resolve_runtime_dir(variables.get("XDG_RUNTIME_DIR"), ask)
    return AppPaths(
        config=ask.user_config_path,
        data=ask.user_data_path,
        state=ask.user_state_path,
        cache=ask.user_cache_path,
        runtime=runtime,
        socket_file=_choose_socket_path(runtime, variables.get("XDG_RUNTIME_DIR")),
    )


def get_absolute_home(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables to set for child processes.

    The only variable is HUNCHD_HOME, as an absolute path, because a child process may run in a different folder, where
    a relative path would be wrong. Returns an empty dict if HUNCHD_HOME is not set.
    """
    home = (os.environ if environment is None else environment).get("HUNCHD_HOME")
    return {"HUNCHD_HOME": str(expand_path(home).absolute())} if home else {}


def _resolve_runtime_dir(xdg: str | None, ask: PlatformDirs) -> Path:
    if os.name == "posix" and xdg and Path(xdg).is_dir():
        return Path(xdg) / "hunchd"
    if os.name == "posix" and "darwin" not in os.uname().sysname.lower():
        return ask.user_cache_path / "run"
    return ask.user_runtime_path


def _choose_socket_path(runtime: Path, xdg: str | None) -> Path:
    """Return the path of the socket that belongs to a runtime folder.

    If that path is too long for a socket, a folder with a short path is used instead. Daemons with different homes
    share this folder, so the socket is named after the runtime folder. Callers must first check that the folder
    belongs to this user, because anybody can create a folder in /tmp.
    """
    usual = runtime / "hunchd.sock"
    if os.name != "posix" or _fits_socket_path(usual):
        return usual
    import hashlib  # rarely needed

    name = f"{hashlib.blake2b(os.fsencode(runtime), digest_size=8).hexdigest()}.sock"
    in_session = Path(xdg) / "hunchd" / name if xdg and Path(xdg).is_dir() else None
    return in_session if in_session and _fits_socket_path(in_session) else Path(f"/tmp/hunchd-{os.getuid()}") / name


def _fits_socket_path(socket: Path) -> bool:
    return len(os.fsencode(socket)) <= MAX_SOCKET_PATH_BYTES


def expand_path(path: str) -> Path:
    """Expand ~ or ~NAME at the beginning of a path.

    Returns the path unchanged if there is no such user or the system knows no home folder.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises RuntimeError then


def format_foreign_folder_hint(folder: Path) -> str:
    """Return a hint on what to do about a folder that belongs to another user."""
    return f"If it is yours, run `sudo chown -R {os.getuid()} {folder}`; or set HUNCHD_HOME to a different folder."


def is_private(folder: Path) -> bool:
    """Return True if only this user and root control `folder`.

    Nobody else may own it or write to it. A missing folder counts as private.
    """
    if os.name != "posix":
        return True
    try:
        file_stat = folder.lstat()
    except FileNotFoundError:
        return True
    ours = stat.S_ISDIR(file_stat.st_mode) and file_stat.st_uid in (0, os.getuid())
    return ours and not file_stat.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def ensure_private_folder(folder: Path) -> Path:
    """Create `folder` so that only this user can access it (mode 0700).

    Access to an existing folder is restricted in the same way. Raises ConfigError if the folder is not safe: if it
    is a symlink, belongs to another user, or can be written or replaced by others.
    """
    for missing in reversed([parent for parent in folder.parents if not parent.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    folder_stat = folder.lstat()
    if stat.S_ISLNK(folder_stat.st_mode):
        raise ConfigError(f"{folder} is a symbolic link; hunchd keeps private data in real folders only")
    if os.name == "posix":
        if folder_stat.st_uid != os.getuid():
            raise ConfigError(
                f"{folder} belongs to another user (uid {folder_stat.st_uid})",
                hint=format_foreign_folder_hint(folder),
            )
        if stat.S_IMODE(folder_stat.st_mode) & 0o022:
            raise ConfigError(f"other users can write to {folder}; run `chmod 700 {folder}`")
        if stat.S_IMODE(folder_stat.st_mode) != 0o700:
            folder.chmod(0o700)
        _check_parent_safe(folder.parent)
    return folder


def replace_private_file(file: Path, text: str) -> None:
    """Replace a file atomically, so that only this user can read it.

    The folder of the file is created if it is missing. After a power cut the file may be lost, so this is for data
    that can be rebuilt. Raises OSError if the file cannot be written, for example because the disk is full.
    """
    ensure_private_folder(file.parent)
    draft = file.with_name(f".{file.name}.{os.urandom(8).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _check_parent_safe(above: Path) -> None:
    """Check that no other user can replace a folder inside `above`.

    The owner of `above`, and anybody who can write to it, could do that. Raises ConfigError if any of these is another
    user.
    """
    parent_stat = above.stat()
    if parent_stat.st_uid not in (0, os.getuid()):
        raise ConfigError(f"{above} belongs to another user (uid {parent_stat.st_uid})")
    if parent_stat.st_mode & 0o002 and not parent_stat.st_mode & stat.S_ISVTX:
        raise ConfigError(f"anybody can write to {above}; run `chmod o-w {above}`")
