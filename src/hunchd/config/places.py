"""Where files are kept (the only module that asks platformdirs), and folders that are ours alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hunchd.domain.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from platformdirs import PlatformDirs


class Places(NamedTuple):  # every command asks for it: quicker to load than a dataclass
    """The folders of one user. With HUNCHD_HOME all of them lie below that folder."""

    config: Path  # config.toml
    data: Path  # what must not be lost: journal, store, projects
    state: Path  # logs, spool
    cache: Path  # what can be made again: models of the history, parsed code
    runtime: Path  # rendezvous file, socket, locks

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

    @property
    def socket_file(self) -> Path:
        return self.runtime / "hunchd.sock"


def places(environment: dict[str, str] | None = None) -> Places:
    """The folders that `environment` (default: this process's) asks for. Nothing is created."""
    variables = os.environ if environment is None else environment
    if home := absolute_home(variables).get("HUNCHD_HOME"):
        base = Path(home)
        return Places(base / "config", base / "data", base / "state", base / "cache", base / "run")
    from platformdirs import PlatformDirs  # not loaded where HUNCHD_HOME decides

    ask = PlatformDirs("hunchd", appauthor=False)
    return Places(
        config=ask.user_config_path,
        data=ask.user_data_path,
        state=ask.user_state_path,
        cache=ask.user_cache_path,
        runtime=_runtime(variables.get("XDG_RUNTIME_DIR"), ask),
    )


def absolute_home(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """HUNCHD_HOME for a process that runs in another folder, if it is set: it may be relative to this one."""
    home = (os.environ if environment is None else environment).get("HUNCHD_HOME")
    return {"HUNCHD_HOME": str(expanded(home).absolute())} if home else {}


def _runtime(xdg: str | None, ask: PlatformDirs) -> Path:
    if os.name == "posix" and xdg and Path(xdg).is_dir():
        return Path(xdg) / "hunchd"
    if os.name == "posix" and "darwin" not in os.uname().sysname.lower():
        return ask.user_cache_path / "run"
    return ask.user_runtime_path


def expanded(path: str) -> Path:
    """The path with ~ and ~NAME written out; as it is where nobody is called so, or the system knows no home folder."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises RuntimeError then


def hint_of_foreign(folder: Path) -> str:
    """What helps who meets another user's folder where his own should be."""
    return f"If it is yours: sudo chown -R {os.getuid()} {folder}. HUNCHD_HOME names another place."


def make_private(folder: Path) -> Path:
    """Create `folder` for this user alone (0700), or see to it that it is so. Raises ConfigError if it cannot be."""
    for missing in reversed([parent for parent in folder.parents if not parent.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise ConfigError(f"{folder} is a symbolic link; hunchd keeps private data in real folders only")
    if os.name == "posix":
        if found.st_uid != os.getuid():
            raise ConfigError(
                f"{folder} belongs to another user (uid {found.st_uid})",
                hint=hint_of_foreign(folder),
            )
        if stat.S_IMODE(found.st_mode) & 0o022:
            raise ConfigError(f"{folder} can be written by others; run: chmod 700 {folder}")
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)
        _refuse_foreign(folder.parent)
    return folder


def _refuse_foreign(above: Path) -> None:
    """Who owns the folder above ours, or may write there, could put another one in its place."""
    found = above.stat()
    if found.st_uid not in (0, os.getuid()):
        raise ConfigError(f"{above} belongs to another user (uid {found.st_uid})")
    if found.st_mode & 0o002 and not found.st_mode & stat.S_ISVTX:
        raise ConfigError(f"{above} can be written by everybody; run: chmod o-w {above}")
