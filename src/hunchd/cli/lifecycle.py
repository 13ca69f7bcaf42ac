"""`hunch start`, `stop` and `restart`."""

from __future__ import annotations

import os
from argparse import Namespace

from hunchd.cli.errors import NoDaemon
from hunchd.cli.launching import DAEMON, end, holder, launch, running
from hunchd.cli.output import print_json
from hunchd.protocol.rendezvous import Rendezvous


def start(arguments: Namespace) -> int:
    daemon = running()
    if daemon is not None:
        return _told(arguments, daemon, is_new=False)
    if arguments.foreground:
        os.execv(DAEMON[0], (*DAEMON, "--log-to-stderr"))  # this process becomes the daemon
    return _told(arguments, launch(), is_new=True)


def stop(arguments: Namespace) -> int:
    pid = holder()
    if pid is None:
        raise NoDaemon("no daemon is running.")
    end(pid)
    if arguments.json:
        print_json({"stopped": pid})
    else:
        print(f"hunchd stopped (pid {pid}).")
    return 0


def restart(arguments: Namespace) -> int:
    pid = holder()
    if pid is not None:
        end(pid)
    return _told(arguments, launch(), is_new=True)


def _told(arguments: Namespace, daemon: Rendezvous, *, is_new: bool) -> int:
    """Print which daemon runs, without its token."""
    if arguments.json:
        print_json({"started": is_new, "pid": daemon.pid, "version": daemon.version, "url": daemon.url})
    else:
        print(f"hunchd {daemon.version} {'started' if is_new else 'is already running'} (pid {daemon.pid}).")
    return 0
