"""Entry point of `hunchd`, the front process.

Takes the lock, starts the components, runs until it is stopped.
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
from hunchd.config.loading import load
from hunchd.config.places import Places, make_private, places
from hunchd.config.settings import Settings
from hunchd.daemon.notify import keep_watchdog_fed, notify
from hunchd.domain.errors import HunchError
from hunchd.protocol.allocating import bound
from hunchd.protocol.rendezvous import read
from hunchd.protocol.threads import one_thread_each

logger = logging.getLogger(__name__)

STOP_WITHIN = 2.0  # seconds from SIGTERM to the end, whatever hangs
OLD_LOGS = 3


def main(argv: list[str] | None = None) -> int:
    """Run the daemon.

    Exit status 0: stopped on request, 1: failed, 2: wrong usage or settings, 3: another one runs.
    """
    parser = argparse.ArgumentParser(
        prog="hunchd", description="The daemon behind `hunch`; it stays in the foreground."
    )
    parser.add_argument("--version", action="version", version=f"hunchd {__version__}")
    parser.add_argument("--log-to-stderr", action="store_true", help="log to standard error instead of the log file")
    arguments = parser.parse_args(argv)
    os.umask(0o077)
    bound()
    where = places()
    try:
        settings = load(where.config_file)
        for folder in (where.data, where.state, where.runtime):
            make_private(folder)
        lock = take_lock(_lock_file(where))
    except HunchError as error:
        print(f"hunchd: {error.message}", file=sys.stderr)  # noqa: T201 - the log is not open yet
        return 2
    except OSError as error:
        print(f"hunchd: {error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 2
    if isinstance(lock, int):
        print(f"hunchd: another daemon is running (pid {lock})", file=sys.stderr)  # noqa: T201
        return 3
    _log_to(where, settings, to_stderr=arguments.log_to_stderr)
    try:
        asyncio.run(run(where, settings))
    except HunchError as error:
        logger.error("hunchd failed: %s", error.message)
        return 1
    except Exception:
        logger.exception("hunchd failed")
        return 1
    finally:
        lock.close()
    return 0


async def run(where: Places, settings: Settings) -> None:
    """Serve until SIGTERM, SIGINT, or the idle timeout if one is set."""
    # Imported here so that a second daemon is turned away before the heavy part of the start.
    with one_thread_each():
        from hunchd.daemon.footing import until_lost
        from hunchd.daemon.wiring import assembled, until_idle
        from hunchd.protocol.pipe import GIVE_WAY_AFTER

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with assembled(where, settings) as engine:
        sys.setswitchinterval(GIVE_WAY_AFTER)
        gc.freeze()  # objects made at start are permanent: the collector need not scan them again
        notify("READY=1\nSTATUS=answering")
        watchdog = asyncio.create_task(keep_watchdog_fed(), name="watchdog")
        lost = asyncio.create_task(until_lost(_footing(where)), name="footing")
        idle = asyncio.create_task(until_idle(engine, settings.daemon.idle_exit_minutes), name="idle-exit")
        asked = asyncio.create_task(stop.wait(), name="stop")
        await asyncio.wait([asked, idle, lost], return_when=asyncio.FIRST_COMPLETED)
        notify("STOPPING=1")
        if lost.done():
            _without_footing(where, lost.result())
        for task in (watchdog, idle, lost):
            task.cancel()
        logger.info("hunchd is stopping")
        loop.call_later(STOP_WITHIN, _end_now)
    notify("STATUS=stopped")


def _footing(where: Places) -> list[Path]:
    """Return the files that the daemon depends on.

    These are its data, its log folder, and the files by which clients find it.
    """
    told = read(where.rendezvous_file)
    socket = [Path(told.socket)] if told is not None and told.socket else []
    return [_lock_file(where), where.spool, where.rendezvous_file, *socket]


def _without_footing(where: Places, lost: list[Path]) -> None:
    """Handle the loss of own files.

    No client finds this daemon, and any command starts another. If the data folder is gone, exit at once: further
    writes
    would get in the way of whoever deleted it, or of the next daemon.
    """
    logger.warning("%s was deleted or replaced; stopping, any command starts a new daemon", lost[0])
    if _lock_file(where) in lost:
        logging.shutdown()
        os._exit(0)  # the helpers end with it


def _lock_file(where: Places) -> Path:
    return where.data / "daemon.lock"


def take_lock(file: Path) -> int | _Lock:
    """Take the daemon's lock, or return the pid of its holder.

    The one daemon holds the lock while it lives.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            return _holder(descriptor)
        finally:
            os.close(descriptor)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return _Lock(descriptor)


def _holder(descriptor: int) -> int:
    """Return the pid that the lock's holder writes into the file.

    Returns 0 if it does not within a second.
    """
    for _ in range(50):
        if (told := os.pread(descriptor, 32, 0).strip()).isdigit():
            return int(told)
        time.sleep(0.02)
    return 0


class _Lock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def close(self) -> None:
        os.close(self._descriptor)


def _log_to(where: Places, settings: Settings, *, to_stderr: bool) -> None:
    handler: logging.Handler = logging.StreamHandler()
    if not to_stderr:
        handler = logging.handlers.RotatingFileHandler(
            where.log_file, maxBytes=settings.daemon.log_mib * 1024 * 1024, backupCount=OLD_LOGS
        )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=settings.daemon.log_level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)


def _end_now() -> None:
    """Exit although something hangs.

    Accepted signals are in the journal and are recovered at the next start.
    """
    logger.error("stopping took more than %.0f s; ending now", STOP_WITHIN)
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
