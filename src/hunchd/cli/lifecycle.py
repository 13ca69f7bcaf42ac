"""`hunch start`, `stop` and `restart`: control the daemon."""

from __future__ import annotations

import os
from argparse import Namespace

from hunchd.cli.daemon_control import DAEMON_COMMAND, find_lock_holder, find_running, launch_daemon, stop_process
from hunchd.cli.errors import NoDaemon
from hunchd.cli.output import print_json
from hunchd.protocol.rendezvous import Rendezvous


def start(arguments: Namespace) -> int:
    daemon = find_running()
    if daemon is not None:
        return _print_daemon(arguments, daemon, is_new=False)
    if arguments.foreground:
        os.execv(DAEMON_COMMAND[0], (*DAEMON_COMMAND, "--log-to-stderr"))  # this process becomes the daemon
    return _print_daemon(arguments, launch_daemon(), is_new=True)


def stop(arguments: Namespace) -> int:
    pid = find_lock_holder()
    if pid is None:
        raise NoDaemon("no daemon is running.")
    stop_process(pid)
    if arguments.json:
        print_json({"stopped": pid})
    else:
        print(f"hunchd stopped (pid {pid}).")
    return 0


def restart(arguments: Namespace) -> int:
    pid = find_lock_holder()
    if pid is not None:
        stop_process(pid)
    return _print_daemon(arguments, launch_daemon(), is_new=True)


def _print_daemon(arguments: Namespace, daemon: Rendezvous, *, is_new: bool) -> int:
    """Print the daemon's version and process id, without its token."""
    if arguments.json:
        print_json({"started": is_new, "pid": daemon.pid, "version": daemon.version, "url": daemon.url})
    else:
        print(f"hunchd {daemon.version} {'started' if is_new else 'is already running'} (pid {daemon.pid}).")
    return 0
