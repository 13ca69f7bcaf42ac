"""`hunch agent-hook AGENT`: sends a hook's payload to the daemon and prints the response.

If curl is available, `cli/shell/agent-hook` does the same without starting Python. Neither of the two waits for the
daemon to start, fails, or delays the agent: a response is dropped if it takes longer than a tenth of a second, or half
a second at the start of a session.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hunchd.cli import http
from hunchd.cli.client import get_address
from hunchd.config.app_paths import resolve_app_paths
from hunchd.domain.errors import HunchError
from hunchd.protocol.agent_hooks import EMPTY_REPLIES, is_session_start
from hunchd.protocol.rendezvous import is_process_alive, read_rendezvous
from hunchd.repository.layout import find_repository

if TYPE_CHECKING:
    from argparse import Namespace

TIMEOUT_SECONDS: Final = 0.08  # seconds; the environment variable below extends it on a slow machine
START_TIMEOUT_SECONDS: Final = 0.4  # seconds, once per session: its first context is the most valuable one
_TIMEOUT_VARIABLE: Final = "HUNCH_HOOK_PATIENCE"


def agent_hook(arguments: Namespace) -> int:
    return answer_hook(arguments.agent)


def answer_hook(agent: str) -> int:
    """Send the hook's payload to the daemon; print the response.

    The payload is read from standard input. Always returns 0, because a failure of hunchd must not stop the agent.
    """
    answer = EMPTY_REPLIES.get(agent, "")
    try:
        answer = _request_answer(agent, sys.stdin.buffer.read()) or answer
    except (OSError, ValueError, HunchError) as error:
        if os.environ.get("HUNCH_DEBUG"):
            print(f"hunch: {error}", file=sys.stderr)
    if answer:
        print(answer)
    return 0


def _request_answer(agent: str, payload: bytes) -> str:
    daemon = read_rendezvous(resolve_app_paths().rendezvous_file)
    if daemon is None or not is_process_alive(daemon.pid):
        layout = find_repository(Path.cwd()) if is_session_start(payload) else None
        if layout is not None and not layout.problem:
            _start_daemon()
        return ""
    headers = {"Authorization": f"Bearer {daemon.token}", "Content-Type": "application/json"}
    path = f"/agents/{agent}/events"
    response = http.send_request(
        get_address(daemon), "POST", path, headers=headers, body=payload, timeout=_get_timeout(payload)
    )
    content = response.read_body()
    if response.status != 200:
        raise HunchError(f"the daemon answered with HTTP {response.status}: {content[:200]!r}")
    return content.decode("utf-8", "replace")


def _get_timeout(payload: bytes) -> float:
    default = START_TIMEOUT_SECONDS if is_session_start(payload) else TIMEOUT_SECONDS
    try:
        return float(os.environ.get(_TIMEOUT_VARIABLE, default))
    except ValueError:
        return default


def _start_daemon() -> None:
    """Start the daemon without waiting for it.

    It will be running when the next hook sends its request.
    """
    if not hasattr(os, "posix_spawn"):
        return
    with open(os.devnull, "r+b") as null_device:  # noqa: PTH123
        file_actions = [(os.POSIX_SPAWN_DUP2, null_device.fileno(), end) for end in (0, 1, 2)]
        os.posix_spawn(
            sys.executable, [sys.executable, "-m", "hunchd.cli", "start"], os.environ, file_actions=file_actions
        )
