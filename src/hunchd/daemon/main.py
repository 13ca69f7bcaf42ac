"""Entry point of `hunchd`, the front process.

It acquires the daemon's lock, starts the components, and runs until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import gc
import logging
import logging.handlers
import os
import signal
import sys
import time
from pathlib import Path

from hunchd import __version__
from hunchd.config.app_paths import AppPaths, ensure_private_folder, resolve_app_paths
from hunchd.config.loading import load_settings
from hunchd.config.settings import Settings
from hunchd.daemon.service_manager import notify_manager, ping_watchdog
from hunchd.domain.errors import HunchError
from hunchd.protocol.malloc_tuning import limit_malloc
from hunchd.protocol.rendezvous import read_rendezvous
from hunchd.protocol.thread_limits import limit_to_one_thread

logger = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 2.0  # seconds from SIGTERM to the exit, even if something hangs
LOG_BACKUPS = 3
MAX_LOG_BYTES = 5 * 1024 * 1024  # size at which the log file is rotated; days of normal use


def main(argv: list[str] | None = None) -> int:
    """Run the daemon and return its exit status.

    0: stopped on request; 1: failed; 2: wrong usage or settings; 3: another daemon is running.
    """
    parser = argparse.ArgumentParser(
        prog="hunchd", description="The daemon behind `hunch`; it stays in the foreground."
    )
    parser.add_argument("--version", action="version", version=f"hunchd {__version__}")
    parser.add_argument("--log-to-stderr", action="store_true", help="log to standard error instead of the log file")
    arguments = parser.parse_args(argv)
    os.umask(0o077)
    limit_malloc()
    paths = resolve_app_paths()
    try:
        settings = load_settings(paths.config_file)
        for folder in (paths.data, paths.state, paths.runtime):
            ensure_private_folder(folder)
        lock = take_lock(_get_lock_file(paths))
    except HunchError as error:
        print(f"hunchd: {error.message}", file=sys.stderr)  # noqa: T201 - the log is not open yet
        return 2
    except OSError as error:
        print(f"hunchd: {error.filename or paths.state}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 2
    if isinstance(lock, int):
        print(f"hunchd: another daemon is running (pid {lock})", file=sys.stderr)  # noqa: T201
        return 3
    _configure_logging(paths, settings, to_stderr=arguments.log_to_stderr)
    try:
        asyncio.run(run_daemon(paths, settings))
    except HunchError as error:
        logger.error("hunchd failed: %s", error.message)
        return 1
    except Exception:
        logger.exception("hunchd failed")
        return 1
    finally:
        lock.close()
    return 0


async def run_daemon(paths: AppPaths, settings: Settings) -> None:
    """Serve requests until a signal, the idle timeout or the loss of required files.

    The signals are SIGTERM and SIGINT. The idle timeout applies only if it is set.
    """
    # Imported here so that a second daemon is turned away before the heavy part of the start.
    with limit_to_one_thread():
        from hunchd.daemon.data_dir_monitor import wait_for_lost_files
        from hunchd.daemon.wiring import run_components, wait_until_idle
        from hunchd.protocol.pipe import SWITCH_INTERVAL_SECONDS

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with run_components(paths, settings) as engine:
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        gc.freeze()  # objects created at start are permanent: the collector need not scan them again
        notify_manager("READY=1\nSTATUS=answering")
        watchdog = asyncio.create_task(ping_watchdog(), name="watchdog")
        lost_files = asyncio.create_task(wait_for_lost_files(_list_required_files(paths)), name="footing")
        idle_task = asyncio.create_task(wait_until_idle(engine, settings.daemon.idle_exit_minutes), name="idle-exit")
        stop_request = asyncio.create_task(stop.wait(), name="stop")
        await asyncio.wait([stop_request, idle_task, lost_files], return_when=asyncio.FIRST_COMPLETED)
        notify_manager("STOPPING=1")
        if lost_files.done():
            _handle_lost_files(paths, lost_files.result())
        for task in (watchdog, idle_task, lost_files):
            task.cancel()
        logger.info("hunchd is stopping")
        loop.call_later(STOP_TIMEOUT_SECONDS, _exit_now)
    notify_manager("STATUS=stopped")


def _list_required_files(paths: AppPaths) -> list[Path]:
    """Return the files and folders without which clients cannot use the daemon.

    These are the lock file in the data folder, the spool folder, and the rendezvous file and socket through which
    clients find the daemon.
    """
    rendezvous = read_rendezvous(paths.rendezvous_file)
    socket = [Path(rendezvous.socket)] if rendezvous is not None and rendezvous.socket else []
    return [_get_lock_file(paths), paths.spool, paths.rendezvous_file, *socket]


def _handle_lost_files(paths: AppPaths, lost_files: list[Path]) -> None:
    """Log that the daemon's own files were deleted or replaced.

    Clients can no longer find this daemon, and the next command starts a new one. If the data folder is gone, the
    process exits at once: further writes would interfere with whoever deleted it, or with the new daemon.
    """
    logger.warning("%s was deleted or replaced; stopping (any command starts a new daemon)", lost_files[0])
    if _get_lock_file(paths) in lost_files:
        logging.shutdown()
        os._exit(0)  # the helpers end with it


def _get_lock_file(paths: AppPaths) -> Path:
    return paths.data / "daemon.lock"


def take_lock(file: Path) -> int | _Lock:
    """Acquire the daemon's lock, or return the process ID of its holder.

    A daemon holds the lock for as long as it runs, so only one daemon can run at a time.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            return _read_holder_pid(descriptor)
        finally:
            os.close(descriptor)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return _Lock(descriptor)


def _read_holder_pid(descriptor: int) -> int:
    """Return the process ID that the holder wrote into the lock file.

    Returns 0 if the file contains no process ID within a second.
    """
    for _ in range(50):
        if (content := os.pread(descriptor, 32, 0).strip()).isdigit():
            return int(content)
        time.sleep(0.02)
    return 0


class _Lock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def close(self) -> None:
        os.close(self._descriptor)


def _configure_logging(paths: AppPaths, settings: Settings, *, to_stderr: bool) -> None:
    handler: logging.Handler = logging.StreamHandler()
    if not to_stderr:
        handler = logging.handlers.RotatingFileHandler(paths.log_file, maxBytes=MAX_LOG_BYTES, backupCount=LOG_BACKUPS)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=settings.daemon.log_level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)


def _exit_now() -> None:
    """End the process immediately, even if part of it hangs.

    Signals that were accepted are in the journal, so the next start recovers them.
    """
    logger.error("shutdown took more than %.0f s; exiting now", STOP_TIMEOUT_SECONDS)
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
