"""`hunch agent-hook AGENT`: sends a hook's payload to the daemon and prints its response.

If curl is available, `cli/shell/agent-hook` does the same without starting Python. Neither waits for a daemon to
start,
fails, or delays an agent: a response that takes longer than a tenth of a second, or half a second at the start of a
session, is dropped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hunchd.cli import http
from hunchd.cli.client import address_of
from hunchd.config.places import places
from hunchd.domain.errors import HunchError
from hunchd.protocol.agents import NOTHING, begins
from hunchd.protocol.rendezvous import is_alive, read
from hunchd.repository.layout import find

if TYPE_CHECKING:
    from argparse import Namespace

PATIENCE: Final = 0.08  # seconds; the environment variable below extends it on a slow machine
PATIENCE_AT_THE_BEGINNING: Final = 0.4  # once per session, for its most valuable context
_PATIENCE_VARIABLE: Final = "HUNCH_HOOK_PATIENCE"


def agent_hook(arguments: Namespace) -> int:
    return answer_hook(arguments.agent)


def answer_hook(agent: str) -> int:
    """Answer a hook.

    Always return 0, because an agent must not stop because of hunchd.
    """
    answer = NOTHING.get(agent, "")
    try:
        answer = _answered(agent, sys.stdin.buffer.read()) or answer
    except (OSError, ValueError, HunchError) as error:
        if os.environ.get("HUNCH_DEBUG"):
            print(f"hunch: {error}", file=sys.stderr)
    if answer:
        print(answer)
    return 0


def _answered(agent: str, told: bytes) -> str:
    daemon = read(places().rendezvous_file)
    if daemon is None or not is_alive(daemon.pid):
        layout = find(Path.cwd()) if begins(told) else None
        if layout is not None and not layout.trouble:
            _start_daemon()
        return ""
    headers = {"Authorization": f"Bearer {daemon.token}", "Content-Type": "application/json"}
    path = f"/agents/{agent}/events"
    response = http.request(address_of(daemon), "POST", path, headers=headers, body=told, timeout=_patience(told))
    content = response.read()
    if response.status != 200:
        raise HunchError(f"the daemon answered {response.status}: {content[:200]!r}")
    return content.decode("utf-8", "replace")


def _patience(told: bytes) -> float:
    usual = PATIENCE_AT_THE_BEGINNING if begins(told) else PATIENCE
    try:
        return float(os.environ.get(_PATIENCE_VARIABLE, usual))
    except ValueError:
        return usual


def _start_daemon() -> None:
    """Start the daemon without waiting for it; the next request finds it."""
    if not hasattr(os, "posix_spawn"):
        return
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123
        ends = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), end) for end in (0, 1, 2)]
        os.posix_spawn(sys.executable, [sys.executable, "-m", "hunchd.cli", "start"], os.environ, file_actions=ends)
