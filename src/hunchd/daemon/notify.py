"""Interface to the service manager, without a library.

State notifications (sd_notify) and socket activation.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping, MutableMapping


def notify(message: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send `message` (READY=1, STATUS=…, WATCHDOG=1, STOPPING=1); return False if nobody listens."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address or address[0] not in "/@":
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        sock.connect("\0" + address[1:] if address[0] == "@" else address)
        sock.sendall(message.encode())
        return True
    return False


async def keep_watchdog_fed(environment: Mapping[str, str] = os.environ) -> None:
    """Ping the manager at half its watchdog interval.

    It restarts a daemon whose event loop is blocked.
    """
    interval = int(environment.get("WATCHDOG_USEC", "0")) / 1e6  # seconds
    meant_for = environment.get("WATCHDOG_PID")
    if not interval or (meant_for and int(meant_for) != os.getpid()):
        return
    while True:
        notify("WATCHDOG=1", environment)
        await asyncio.sleep(interval / 2)


FIRST_INHERITED = 3  # after standard input, output and error


def inherited_sockets(environment: MutableMapping[str, str] = os.environ) -> list[socket.socket]:
    """Return the sockets of socket activation.

    The service manager listened on them before it started this process. Works once: the variables are removed so
    that child
    processes do not claim the sockets.
    """
    told = {name: environment.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")}
    if told["LISTEN_PID"] != str(os.getpid()) or not told["LISTEN_FDS"].isdigit():
        return []
    found = []
    for descriptor in range(FIRST_INHERITED, FIRST_INHERITED + int(told["LISTEN_FDS"])):
        os.set_inheritable(descriptor, False)
        found.append(socket.socket(fileno=descriptor))
    return found
