"""`hunch doctor`, run for the page in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import msgspec

from hunchd.domain.errors import Unavailable
from hunchd.protocol.settings_answers import CheckAnswer

_TIMEOUT_SECONDS: Final = 60.0
_running = asyncio.Lock()  # one at a time, however often a page asks


async def run_doctor(*, fix: bool) -> list[CheckAnswer]:
    """Run the checks of `hunch doctor`, and with `fix` its safe fixes. Raises Unavailable."""
    command = [sys.executable, "-m", "hunchd.cli", "doctor", "--json", *(["--fix"] if fix else [])]
    async with _running:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_SECONDS)
            return msgspec.json.decode(output, type=list[CheckAnswer])
        except (TimeoutError, msgspec.DecodeError) as error:
            raise Unavailable("the checks did not finish", hint="run `hunch doctor` in a terminal") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
