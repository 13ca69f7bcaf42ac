"""`hunch start`, `stop` and `restart`: the daemon's life."""

from __future__ import annotations

import os
from argparse import Namespace

from hunchd.cli.errors import NoDaemon
from hunchd.cli.launching import DAEMON, end, holder, launch, running
from hunchd.protocol.rendezvous import Rendezvous


def start(arguments: Namespace) -> int:
    daemon = running()
    if daemon is not None:
        print(f"hunchd {daemon.version} is running already (pid {daemon.pid}).")
        return 0
    if arguments.foreground:
        os.execv(DAEMON[0], (*DAEMON, "--log-to-stderr"))  # from here on this process is the daemon
    _tell_started(launch())
    return 0


def stop(_: Namespace) -> int:
    pid = holder()
    if pid is None:
        raise NoDaemon("no daemon is running.")
    end(pid)
    print(f"hunchd stopped (pid {pid}).")
    return 0


def restart(_: Namespace) -> int:
    pid = holder()
    if pid is not None:
        end(pid)
    _tell_started(launch())
    return 0


def _tell_started(daemon: Rendezvous) -> None:
    print(f"hunchd {daemon.version} started (pid {daemon.pid}).")
