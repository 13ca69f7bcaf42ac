"""Telling the service manager how we are (sd_notify, without a library: one datagram)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping


def notify(message: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send `message` (READY=1, STATUS=…, WATCHDOG=1, STOPPING=1); False where nobody listens."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address or address[0] not in "/@":
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        sock.connect("\0" + address[1:] if address[0] == "@" else address)
        sock.sendall(message.encode())
        return True
    return False


async def keep_watchdog_fed(environment: Mapping[str, str] = os.environ) -> None:
    """Ping the manager at half the interval it asks for; a blocked event loop misses its turn and is restarted."""
    interval = int(environment.get("WATCHDOG_USEC", "0")) / 1e6  # seconds
    meant_for = environment.get("WATCHDOG_PID")
    if not interval or (meant_for and int(meant_for) != os.getpid()):
        return
    while True:
        notify("WATCHDOG=1", environment)
        await asyncio.sleep(interval / 2)
