"""Shell at a real terminal, as a person uses it: lines are typed, the next prompt is awaited.

Each prompt must show its number between tildes (`~3~`): shells redraw the same prompt several times.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 30.0  # seconds until a prompt; far above what any takes


class Terminal:
    def __init__(self, descriptor: int, pid: int) -> None:
        self._descriptor = descriptor
        self._prompts = 0
        self.pid = pid

    def run(self, *lines: str) -> str:
        """Type one command; return what was printed until the next prompt."""
        for line in lines:
            os.write(self._descriptor, line.encode() + b"\r")
        return self.until_prompt()

    def until_prompt(self) -> str:
        self._prompts += 1
        mark = f"~{self._prompts}~".encode()
        found = b""
        deadline = time.monotonic() + PATIENCE
        while mark not in found:
            assert time.monotonic() < deadline, f"no prompt came, only: {found!r}"
            ready, _, _ = select.select([self._descriptor], [], [], 0.1)
            if ready:
                found += os.read(self._descriptor, 65_536)
        return found.partition(mark)[0].decode(errors="replace")


@contextmanager
def terminal(argv: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> Iterator[Terminal]:
    """Run `argv` at a terminal of its own until the block ends."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(argv[0], list(argv), dict(environment))
    shell = Terminal(descriptor, pid)
    try:
        shell.until_prompt()
        yield shell
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)
