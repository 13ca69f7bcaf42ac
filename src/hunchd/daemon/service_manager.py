"""Interface to systemd or a compatible service manager.

It implements state notifications (sd_notify) and socket activation without a library.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping, MutableMapping


def notify_manager(message: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send `message` (READY=1, STATUS=…, WATCHDOG=1, STOPPING=1) to the service manager.

    Returns False if no service manager is listening.
    """
    address = environment.get("NOTIFY_SOCKET", "")
    if not address or address[0] not in "/@":
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        sock.connect("\0" + address[1:] if address[0] == "@" else address)
        sock.sendall(message.encode())
        return True
    return False


async def ping_watchdog() -> None:
    """Notify the service manager repeatedly, twice per watchdog interval.

    If the event loop is blocked, the notifications stop and the service manager restarts the daemon. Returns
    immediately if no watchdog is set for this process.
    """
    interval = int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6  # seconds
    watchdog_pid = os.environ.get("WATCHDOG_PID")
    if not interval or (watchdog_pid and int(watchdog_pid) != os.getpid()):
        return
    while True:
        notify_manager("WATCHDOG=1")
        await asyncio.sleep(interval / 2)


FIRST_INHERITED_DESCRIPTOR = 3  # after standard input, output and error


def take_inherited_sockets(environment: MutableMapping[str, str] = os.environ) -> list[socket.socket]:
    """Return the sockets passed by socket activation.

    The service manager opened them before it started this process. This works only once: the environment variables
    that announce the sockets are removed, so that child processes do not use the sockets.
    """
    variables = {name: environment.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")}
    if variables["LISTEN_PID"] != str(os.getpid()) or not variables["LISTEN_FDS"].isdigit():
        return []
    sockets = []
    for descriptor in range(FIRST_INHERITED_DESCRIPTOR, FIRST_INHERITED_DESCRIPTOR + int(variables["LISTEN_FDS"])):
        os.set_inheritable(descriptor, False)
        sockets.append(socket.socket(fileno=descriptor))
    return sockets
